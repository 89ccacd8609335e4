package model

// A Catalogue is what there is to choose from: the engines that are known, with their models.
type Catalogue struct {
	Default string   `json:"default" doc:"the model of new chats, as a reference; empty where nobody chose one"`
	Engines []Engine `json:"engines"`
	Pulls   []Pull   `json:"pulls" doc:"models that are being fetched, and those that were a short while ago"`
	Probes  []Probe  `json:"probes" doc:"models that are being probed, and those that were a short while ago"`
}

// An Engine is one place where models are asked, as people see it. It holds no key.
type Engine struct {
	ID      string `json:"id" doc:"short and stable: what stands in front of a model's name in a reference"`
	Name    string `json:"name,omitempty" doc:"what a person called it"`
	Engine  string `json:"engine" doc:"which program or service it is; empty if nobody knows"`
	API     string `json:"api" enum:"ollama,openai,anthropic,responses" doc:"what is spoken to it"`
	BaseURL string `json:"base_url"`
	Version string `json:"version"`
	State   string `json:"state" enum:"ready,loading,needs-key,no-model,down,unknown"`
	Why     string `json:"why" doc:"how it is doing, and what to do: sentences for a person"`
	KeyEnv  string `json:"key_env" doc:"the environment variable that holds its key, or would"`
	Origin  string `json:"origin" enum:"configured,added,found,cloud" doc:"how it came to be known"`
	Models  []Item `json:"models"`
}

// An Item is one model of an engine: its card, and how it would be used.
type Item struct {
	Ref           string            `json:"ref" doc:"what names it among all engines: the engine's id, a slash, its name"`
	ID            string            `json:"id" doc:"its name, as the engine wants it"`
	Mode          string            `json:"mode" enum:"native,envelope,text" doc:"how it makes calls"`
	Window        int               `json:"window" doc:"context size that is planned with, in tokens"`
	WindowAssumed bool              `json:"window_assumed" doc:"the window is a guess"`
	Trained       int               `json:"trained" doc:"the window it was trained for, in tokens; 0 is unknown"`
	Tools         Known             `json:"tools" enum:"unknown,no,yes"`
	Thinking      Known             `json:"thinking" enum:"unknown,no,yes"`
	Vision        Known             `json:"vision" enum:"unknown,no,yes"`
	Loaded        Known             `json:"loaded" enum:"unknown,no,yes" doc:"in memory, so that an answer begins at once"`
	Remote        Known             `json:"remote" enum:"unknown,no,yes" doc:"what is asked leaves this engine for somebody else's machine"`
	Bytes         int64             `json:"bytes" doc:"size of the weights; 0 is unknown"`
	Digest        string            `json:"digest" doc:"of the weights; empty if the engine has none"`
	Constraints   []string          `json:"constraints" doc:"what the engine can hold an answer to: json_schema, grammar"`
	ToolBudget    int               `json:"tool_budget" doc:"how many tools are worth offering at once; 0 is unknown"`
	StepBudget    int               `json:"step_budget" doc:"model requests of a turn where no setting says otherwise; 0 is as for all models"`
	Reads         float64           `json:"reads" doc:"tokens of a prompt a second; 0 is unknown"`
	Writes        float64           `json:"writes" doc:"tokens of an answer a second; 0 is unknown"`
	Source        map[string]string `json:"source" doc:"who told a field: engine, owner, probe, or use, which is what was noticed in chats"`
	Probed        *Verdict          `json:"probed,omitempty" doc:"what the last probe found; left out if there was none"`
	Stale         bool              `json:"stale,omitempty" doc:"the weights are others than were probed: nothing of it is used, probe again"`
	Written       int               `json:"written,omitempty" doc:"answers with calls in their text where they should have come through the engine, since the last probe"`
}

// An Address is where a person says that an engine is.
type Address struct {
	Name    string `json:"name,omitempty" maxLength:"80" doc:"what to call it"`
	BaseURL string `json:"base_url,omitempty" maxLength:"2048"`
	API     string `json:"api,omitempty" enum:"ollama,openai,anthropic,responses" doc:"what it speaks; left out, it is found out"`
	Key     string `json:"key,omitempty" maxLength:"4096" doc:"sent to this address and shown to nobody"`
}

// A Pull is a model that an engine is fetching, or has fetched a short while ago.
type Pull struct {
	ID     string `json:"id"`
	Engine string `json:"engine" doc:"the engine's id"`
	Model  string `json:"model"`
	Status string `json:"status" doc:"what is being done, in the engine's words; at the end success, failed or cancelled"`
	Done   int64  `json:"done" doc:"bytes"`
	Total  int64  `json:"total" doc:"bytes of what is known so far; 0 before anything is"`
	Error  string `json:"error,omitempty" doc:"why it failed, and what to do"`
}

// How a pull ends: its last status.
const (
	PullDone      = "success"
	PullFailed    = "failed"
	PullCancelled = "cancelled"
)

// Over reports that nothing more happens to p.
func (p Pull) Over() bool {
	return p.Status == PullDone || p.Status == PullFailed || p.Status == PullCancelled
}
