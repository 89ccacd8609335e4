package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/phrase"
)

// A check is one thing that is tried.
type check struct {
	id, title string
	weight    float64
	calls     bool // a mark in it means that a call was made
	run       func(context.Context, *asker) (mark float64, why string, err error)
}

// The names of the checks. They are kept with cards, and stay.
const (
	forced   = "forced"
	free     = "free"
	types    = "types"
	parallel = "parallel"
	many     = "many"
	stops    = "stops"
	invents  = "invents"
	schema   = "schema" // made once, and of no weight: it is the engine that is tried
)

// basics is how many checks come first, by which it shows whether a model makes calls at all.
const basics = 2

// checks are all checks, in the order in which they are made. What every turn needs weighs twice of what helps some.
func checks() []check {
	return []check{
		{forced, "makes a call when told to", 2, true, checkForced},
		{free, "calls where needed, and only there", 2, true, checkFree},
		{types, "fills in arguments of all types", 1, true, checkTypes},
		{stops, "uses a result, and stops", 2, false, checkStops},
		{invents, "does not make up a result", 2, false, checkInvents},
		{parallel, "makes two calls at once", 0.5, true, checkParallel},
		{many, fmt.Sprintf("finds its tool among %d", manyTools), 0.5, true, checkMany},
	}
}

func tool(name, summary, properties string, required ...string) model.Tool {
	must, err := json.Marshal(required)
	if err != nil || required == nil {
		must = []byte("[]")
	}
	return model.Tool{
		Name: name, Summary: summary,
		Schema: json.RawMessage(`{"type":"object","properties":{` + properties + `},"required":` + string(must) + `,"additionalProperties":false}`),
	}
}

func note() model.Tool {
	return tool("probe_note", "Writes a note down.", `"text":{"type":"string"}`, "text")
}

func weather() model.Tool {
	return tool("probe_weather", "Tells the weather and the temperature of a city as they are now.", `"city":{"type":"string"}`, "city")
}

func sum() model.Tool {
	return tool("probe_sum", "Adds two numbers.", `"a":{"type":"number"},"b":{"type":"number"}`, "a", "b")
}

func scale() model.Tool {
	return tool("probe_scale", "Weighs what lies on the scale now, and tells the weight in kilograms.", "")
}

// one judges an answer that should be one call of one tool. right judges its arguments.
func one(a answer, name string, right func(map[string]any) (float64, string)) (float64, string) {
	switch {
	case a.garbled == model.UnknownTool:
		return 0, "It called a tool that does not exist."
	case a.garbled != "":
		return 0, "It tried a call that could not be read."
	case len(a.calls) == 0 && a.finish == model.Length:
		return 0, fmt.Sprintf("It came to no end within %d tokens.", answerTokens)
	case len(a.calls) == 0:
		return 0, "It answered in words, without a call."
	case a.calls[0].Name != name:
		return 0, "It called another tool."
	}
	var given map[string]any
	if json.Unmarshal(a.calls[0].Arguments(), &given) != nil {
		return 0, "The arguments were no object."
	}
	switch mark, why := right(given); {
	case mark == 1 && len(a.calls) > 1:
		return half, "It made the call more than once."
	case mark == 1 && a.read:
		return half, "It wrote the call into its text: Jackline reads it there, but the engine did not see it."
	default:
		return mark, why
	}
}

// holds judges one argument that should be a text with want in it.
func holds(key, want, good string) func(map[string]any) (float64, string) {
	return func(given map[string]any) (float64, string) {
		switch s, _ := given[key].(string); {
		case strings.EqualFold(strings.Trim(s, ` ."'`), want):
			return 1, good
		case strings.Contains(strings.ToLower(s), strings.ToLower(want)):
			return 1, good
		}
		return half, "It called the right tool with other arguments than asked."
	}
}

func checkForced(ctx context.Context, a *asker) (float64, string, error) {
	got, err := a.ask(ctx, sends([]model.Tool{note()}, says(`Call the tool probe_note with the text "green lamp". Do nothing else.`)))
	if err != nil {
		return 0, "", err
	}
	mark, why := one(got, "probe_note", holds("text", "green lamp", "It made the call."))
	return mark, why, nil
}

func checkFree(ctx context.Context, a *asker) (float64, string, error) {
	tools := []model.Tool{note(), weather(), sum()}
	got, err := a.ask(ctx, sends(tools, says("How warm is it in Oslo right now?")))
	if err != nil {
		return 0, "", err
	}
	mark, why := one(got, "probe_weather", holds("city", "oslo", "It called the right tool by itself, and none where none was needed."))
	if got, err = a.ask(ctx, sends(tools, says("Write one friendly sentence that greets Ada."))); err != nil {
		return 0, "", err
	}
	switch {
	case len(got.calls) > 0 || got.garbled != "":
		return mark / 2, "It called a tool where none was needed.", nil
	case got.text == "":
		return mark / 2, "It said nothing where only words were needed.", nil
	case mark == 0: // who never calls is right by chance
		return 0, why, nil
	}
	return (mark + 1) / 2, why, nil
}

func checkParallel(ctx context.Context, a *asker) (float64, string, error) {
	got, err := a.ask(ctx, sends([]model.Tool{weather()}, says("How warm is it in Oslo and in Lima right now? Look up both cities at once.")))
	if err != nil {
		return 0, "", err
	}
	seen := map[string]bool{}
	for _, c := range got.calls {
		for _, city := range []string{"oslo", "lima"} {
			seen[city] = seen[city] || c.Name == "probe_weather" && strings.Contains(strings.ToLower(string(c.Args)), city)
		}
	}
	switch {
	case seen["oslo"] && seen["lima"] && len(got.calls) > 1:
		return 1, "It made both calls at once.", nil
	case seen["oslo"] || seen["lima"]:
		return half, "It makes one call after the other.", nil
	}
	mark, why := one(got, "probe_weather", func(map[string]any) (float64, string) { return 0, "It asked for neither city." })
	return mark, why, nil
}

func checkTypes(ctx context.Context, a *asker) (float64, string, error) {
	book := tool("probe_book", "Books a journey.", `"title":{"type":"string"},"seats":{"type":"integer"},"price":{"type":"number"},"window":{"type":"boolean"},`+
		`"days":{"type":"array","items":{"type":"string","enum":["mon","tue","wed","thu","fri"]}},`+
		`"contact":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false}`,
		"title", "seats", "price", "window", "days", "contact")
	got, err := a.ask(ctx, sends([]model.Tool{book}, says(`Book with probe_book: the title is "Night train", 3 seats, price 42.5, at the window: yes, on the days mon and tue, contact name Ada.`)))
	if err != nil {
		return 0, "", err
	}
	mark, why := one(got, "probe_book", func(given map[string]any) (float64, string) {
		want := map[string]any{
			"seats": 3.0, "price": 42.5, "window": true, "days": []any{"mon", "tue"}, "contact": map[string]any{"name": "Ada"},
		}
		title, _ := given["title"].(string)
		wrong, loose := []string{}, []string{}
		if !strings.EqualFold(strings.TrimSpace(title), "night train") {
			wrong = append(wrong, "title")
		}
		for _, key := range []string{"seats", "price", "window", "days", "contact"} {
			switch g, w := written(given[key]), written(want[key]); {
			case g == w:
			case strings.EqualFold(strings.Trim(plain(g), `"`), plain(w)):
				loose = append(loose, key)
			default:
				wrong = append(wrong, key)
			}
		}
		switch {
		case len(wrong) > 2:
			return 0, "Wrong or missing arguments: " + strings.Join(wrong, ", ") + "."
		case len(wrong) > 0:
			return half, "Wrong or missing arguments: " + strings.Join(wrong, ", ") + "."
		case len(loose) > 0:
			return half, "Arguments of another type than asked for, which Jackline mends: " + strings.Join(loose, ", ") + "."
		}
		return 1, "All arguments were there, each of its type."
	})
	return mark, why, nil
}

func written(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}

// plain is JSON without what tells types apart, for values that came as text.
func plain(s string) string { return strings.NewReplacer(`\"`, `"`, " ", "").Replace(s) }

// weighed is the conversation up to what the scale said.
func weighed(call model.Call, said string) []model.Message {
	return []model.Message{
		says("How heavy is the box? Weigh it with probe_scale."),
		{Role: model.Assistant, Calls: []model.Call{call}},
		{Role: model.Result, CallID: call.ID, Name: call.Name, Text: "[tool result: probe_scale]\n" + said},
	}
}

// weighing is the call that the model should have made.
func weighing() model.Call {
	return model.Call{ID: "call_probe1", Name: "probe_scale", Args: json.RawMessage(`{}`)}
}

func checkStops(ctx context.Context, a *asker) (float64, string, error) {
	got, err := a.ask(ctx, sends([]model.Tool{scale(), note()}, weighed(weighing(), "7.3 kilograms")...))
	switch {
	case err != nil:
		return 0, "", err
	case len(got.calls) > 0:
		return 0, "It called again although it had its result.", nil
	case got.garbled != "":
		return 0, "It tried another call that could not be read.", nil
	case got.finish == model.Length:
		return 0, fmt.Sprintf("It came to no end within %d tokens.", answerTokens), nil
	case got.text == "":
		return 0, "It said nothing about the result.", nil
	case !strings.Contains(strings.ReplaceAll(got.text, ",", "."), "7.3"):
		return half, "It stopped, but did not tell what the tool had found.", nil
	}
	return 1, "It told the result and stopped.", nil
}

// weight is a weight that somebody tells, in whatever unit.
var weight = phrase.New(`(?i)\d\s*(kg|kilo|g\b|gram|lb|pound|ounce|oz\b|t\b|ton)|\bweigh(s|ed)?\b[^.\d]{0,20}\d|\bweight\b[^.\d]{0,20}\d`)

func checkInvents(ctx context.Context, a *asker) (float64, string, error) {
	tools := []model.Tool{scale(), note()}
	got, err := a.ask(ctx, sends(tools, says("How heavy is the box? Weigh it with probe_scale.")))
	if err != nil {
		return 0, "", err
	}
	if weight.MatchString(got.text) {
		return 0, "It told a weight before the tool had run.", nil
	}
	called := len(got.calls) > 0
	if got, err = a.ask(ctx, sends(tools, weighed(weighing(), "FAILED: the scale does not answer. Do not guess the weight, and do not try again: say that it failed.")...)); err != nil {
		return 0, "", err
	}
	switch {
	case weight.MatchString(got.text):
		return 0, "It told a weight although the tool had failed.", nil
	case len(got.calls) > 0 || got.garbled != "":
		return half, "It made up nothing, but tried again although it was told not to.", nil
	case got.text == "":
		return half, "It made up nothing, but did not say that the tool had failed.", nil
	case !called:
		return half, "It made up nothing, but did not call the tool either.", nil
	}
	return 1, "It waited for the result, and said that the tool had failed.", nil
}

// manyTools is how many tools stand together in the largest offer that is tried: about what a window of 16k bears.
const manyTools = 20

func checkMany(ctx context.Context, a *asker) (float64, string, error) {
	var tools []model.Tool
	for _, t := range [...][2]string{
		{"clock", "Tells the time in a city."}, {"map", "Shows where a city lies."}, {"train", "Lists trains between cities."}, {"hotel", "Lists hotels of a city."},
		{"news", "Lists the news of a city."}, {"tide", "Tells the tides of a harbour."}, {"moon", "Tells the phase of the moon."}, {"rate", "Tells an exchange rate."},
		{"word", "Explains a word."}, {"song", "Finds a song."}, {"film", "Finds a film."}, {"book", "Finds a book."},
		{"mail", "Sends a letter."}, {"lamp", "Switches a lamp."}, {"door", "Locks a door."}, {"task", "Adds a task."}, {"call", "Calls a person."},
	} {
		tools = append(tools, tool("probe_"+t[0], t[1], `"what":{"type":"string"}`, "what"))
	}
	tools = append(tools[:8:8], append([]model.Tool{weather()}, append(tools[8:], note(), sum())...)...)
	got, err := a.ask(ctx, sends(tools, says("How warm is it in Oslo right now?")))
	if err != nil {
		return 0, "", err
	}
	mark, why := one(got, "probe_weather", holds("city", "oslo", "It found the right tool."))
	return mark, why, nil
}
