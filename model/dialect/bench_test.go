package dialect

import (
	"encoding/json"
	"strings"
	"testing"
)

// A megabyte is how long the texts of the benchmarks are.
const megabyte = 1 << 20

// fill repeats unit up to a megabyte.
func fill(unit string) string { return strings.Repeat(unit, megabyte/len(unit)) }

// The texts of the benchmarks: what models really write, and what a careless reader would go back over.
const (
	plainProse = "The harbour is open from six to ten. Boats that come later wait outside, or ask by radio for a place at the quay; " +
		"the fee is 12.50 a night, and half of that in winter. A café near the light sells coffee, bread and ice – not much else.\n\n"

	mixedProse = "The fix is in `src/main.go`: see <https://example.test/> and [the page](https://example.test/a?b=1).\n\n" +
		"- [ ] read the *config* (`a < b`)\n- [x] write it > keep it\n1. first\n2. second & third\n\n" +
		"```go\nfunc main() {\n\tx := map[string]int{\"a\": 1}\n\tif len(x) < 2 && x[\"a\"] > 0 {\n\t\tfmt.Println(x[\"a\"])\n\t}\n}\n```\n\n" +
		"| a | b |\n|---|---|\n| 1 | 2 |\n\n> quoted\n\nIt prints 1.\n\n"

	jsonAnswer = "{\"answer\": {\"status\": \"ok\", \"items\": [1, 2, 3], \"note\": \"nothing is wrong here\", \"nested\": {\"a\": true, \"b\": null}}}\n"
)

// malformed are calls of several families as bad models write them.
var malformed = map[string]string{
	"tags that never close":   "<tool_call>\n{\"name\": \"shell\", \"arguments\": {\"command\": \"ls -la /srv/data\"\n",
	"strings that run on":     "{\"name\": \"shell\", \"arguments\": {\"command\": \"ls\n",
	"python without an end":   "[shell(command=\"ls -la\", \n",
	"functions in pieces":     "<function=shell>\n<parameter=command>ls -la\n<parameter=command>\n",
	"keys without values":     "<tool_call>shell\n<arg_key>command</arg_key>\n<arg_value>ls\n",
	"names and half objects":  "[TOOL_CALLS]shell[ARGS]{\"command\": \"ls -la\n",
	"tokens of DeepSeek":      "<｜tool▁call▁begin｜>function<｜tool▁sep｜>shell\n```json\n{\"command\": \n",
	"headers of gpt-oss":      "<|channel|>commentary to=functions.shell <|constrain|>json<|message|>{\"command\": \"ls\n",
	"quotes of Gemma":         "<|tool_call>call:shell{command:<|\"|>ls -la\n",
	"mentions of markers":     "The tags <tool_call>, <function=NAME> and [TOOL_CALLS] {begin} a call.\n",
	"single quotes":           "{'name': 'shell', 'arguments': {'command': 'ls -la', 'cwd': '.'\n",
	"repaired and unknown":    "<tool_call>{name: fly, arguments: {where: up, how: 'fast',}}</tool_call>\n",
	"fences with half a call": "```json\n{\"name\": \"shell\", \"arguments\": {\"command\": \"ls\n```\n",
}

func read(b *testing.B, text string) {
	catalog := everything(b, loadCorpus(b))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		Read(catalog, text)
	}
}

// valid is what encoding/json takes for the same bytes: a pass over them as one string, which is valid JSON throughout, so
// that it does not stop at the first byte.
func valid(b *testing.B, text string) {
	quoted, err := json.Marshal(text)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if !json.Valid(quoted) {
			b.Fatal("not valid")
		}
	}
}

func guarded(b *testing.B, text string) {
	catalog, piece := everything(b, loadCorpus(b)), []byte(text)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		g := NewGuard(catalog, Options{})
		for i := 0; i < len(piece); i += 4 { // as long as a token is on average
			g.Write(piece[i:min(i+4, len(piece))])
		}
		g.Close()
	}
}

// BenchmarkPlain reads prose without a call.
func BenchmarkPlain(b *testing.B) {
	text := fill(plainProse)
	b.Run("dialect", func(b *testing.B) { read(b, text) })
	b.Run("json", func(b *testing.B) { valid(b, text) })
}

// BenchmarkMixed reads prose with code, lists, links and answers in JSON, without a call.
func BenchmarkMixed(b *testing.B) {
	for name, text := range map[string]string{"markdown": fill(mixedProse), "JSON": fill(jsonAnswer), "both": fill(mixedProse + jsonAnswer + "\n")} {
		b.Run(name+"/dialect", func(b *testing.B) { read(b, text) })
		b.Run(name+"/json", func(b *testing.B) { valid(b, text) })
	}
}

// BenchmarkMalformed reads calls that are broken.
func BenchmarkMalformed(b *testing.B) {
	for name, unit := range malformed {
		text := fill(unit)
		b.Run(name+"/dialect", func(b *testing.B) { read(b, text) })
		b.Run(name+"/json", func(b *testing.B) { valid(b, text) })
	}
}

// BenchmarkBrackets reads a megabyte of brackets that never close.
func BenchmarkBrackets(b *testing.B) {
	for name, unit := range map[string]string{"curly": "{", "square": "[", "both": "{[", "lines": "{\n", "quoted": "[{\"", "marked": "<tool_call>[{"} {
		text := fill(unit)
		b.Run(name+"/dialect", func(b *testing.B) { read(b, text) })
		b.Run(name+"/json", func(b *testing.B) { valid(b, text) })
	}
}

// BenchmarkGuarded feeds the guard pieces of four bytes.
func BenchmarkGuarded(b *testing.B) {
	for name, text := range map[string]string{"prose": fill(plainProse), "mixed": fill(mixedProse), "answer with a call": answer50()} {
		b.Run(name+"/dialect", func(b *testing.B) { guarded(b, text) })
		b.Run(name+"/json", func(b *testing.B) { valid(b, text) })
	}
}
