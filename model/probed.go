package model

import "time"

// A Probe is a model that is being tried out, or what came of it.
type Probe struct {
	ID     string   `json:"id"`
	Ref    string   `json:"ref" doc:"the model, as a reference"`
	Status string   `json:"status" enum:"running,done,failed,cancelled"`
	Doing  string   `json:"doing" doc:"what is being tried just now; empty at the end"`
	Done   int      `json:"done" doc:"checks that are over"`
	Total  int      `json:"total" doc:"checks in all, as far as is known: a way of calling that has full marks ends it early"`
	Error  string   `json:"error,omitempty" doc:"why it failed, and what to do"`
	Result *Verdict `json:"result,omitempty" doc:"what came of it, once it is done"`
}

// How a probe stands.
const (
	ProbeRunning   = "running"
	ProbeDone      = "done"
	ProbeFailed    = "failed"
	ProbeCancelled = "cancelled"
)

// Over reports that nothing more happens to p.
func (p Probe) Over() bool { return p.Status != ProbeRunning }

// A Verdict is what a probe found out about a model.
type Verdict struct {
	At    time.Time `json:"at"`
	Times int       `json:"times" doc:"how often each check was made"`
	Ways  []Way     `json:"ways" doc:"the ways of calling tools that were tried"`

	Mode        string   `json:"mode,omitempty" doc:"the best way of calling tools; empty if none is good for anything"`
	Passed      bool     `json:"passed" doc:"that way does what a turn needs"`
	Why         string   `json:"why" doc:"why this mode: a sentence for a person"`
	Tools       Known    `json:"tools" enum:"unknown,no,yes" doc:"calls through the engine's own interface work"`
	Thinking    Known    `json:"thinking" enum:"unknown,no,yes" doc:"it was seen to reason"`
	Holds       Known    `json:"holds" enum:"unknown,no,yes" doc:"the engine was seen to hold an answer to a form"`
	Constraints []string `json:"constraints,omitempty" doc:"what the engine was seen to hold an answer to"`
	ToolBudget  int      `json:"tool_budget,omitempty" doc:"how many tools are worth offering at once"`
	StepBudget  int      `json:"step_budget,omitempty" doc:"model requests that a turn may take by default; 0 is as for all models"`
	Reads       float64  `json:"reads,omitempty" doc:"tokens of a prompt a second; 0 is unknown"`
	Writes      float64  `json:"writes,omitempty" doc:"tokens of an answer a second; 0 is unknown"`
	Measured    string   `json:"measured,omitempty" enum:"engine,clock" doc:"whose clock the speeds are by"`

	Tokens int   `json:"tokens" doc:"of all prompts and answers of the probe"`
	Millis int64 `json:"ms" doc:"how long it took"`
}

// A Way is one way of calling tools, with how a model did in it.
type Way struct {
	Mode   string  `json:"mode" enum:"native,envelope,text"`
	Score  float64 `json:"score" doc:"from 0 to 1, over all checks that count"`
	Fit    bool    `json:"fit" doc:"good enough for turns"`
	Why    string  `json:"why,omitempty" doc:"why it was not tried, or not to the end"`
	Grades []Grade `json:"grades"`
}

// A Grade is how a model did in one check.
type Grade struct {
	Check   string  `json:"check" doc:"which check; the same ever after"`
	Title   string  `json:"title" doc:"what is checked, in a few words"`
	Verdict string  `json:"verdict" enum:"pass,partial,fail,skipped"`
	Share   float64 `json:"share" doc:"of the full mark, from 0 to 1, over all times"`
	Why     string  `json:"why" doc:"what was seen: a sentence for a person"`
	Tokens  int     `json:"tokens"`
	Millis  int64   `json:"ms"`
}

// The verdicts on one check.
const (
	Pass    = "pass"
	Partial = "partial"
	Fail    = "fail"
	Skipped = "skipped"
)
