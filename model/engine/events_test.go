package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/jackline-ai/jackline/args"
	"github.com/jackline-ai/jackline/model/engine"
)

// read writes down what a body holds, one event a line, and how it ends.
func read(r io.Reader) string {
	var b strings.Builder
	for e := engine.NewEvents(r); ; {
		ev, err := e.Next()
		switch {
		case err == io.EOF: //nolint:errorlint // as it is
			return b.String() + "end"
		case errors.Is(err, engine.ErrNoStream):
			return b.String() + "no stream"
		case errors.Is(err, engine.ErrTooMuch):
			return b.String() + "too long"
		case err != nil:
			return b.String() + "broken"
		}
		fmt.Fprintf(&b, "%s=%s|", ev.Kind, ev.Data)
	}
}

func TestEvents(t *testing.T) {
	tests := []struct{ name, body, want string }{
		{"plain", "event: a\ndata: {\"x\":1}\n\ndata: {\"y\":2}\n\n", `a={"x":1}|={"y":2}|end`},
		{"comments and other fields", ": hi\n\nid: 7\nretry: 3\nevent: a\ndata:{\"x\":1}\n\n", `a={"x":1}|end`},
		{"crlf and byte order mark", "\ufeffevent: a\r\ndata: {\"x\":1}\r\n\r\n", `a={"x":1}|end`},
		{"no blank lines between", "event: a\ndata: {\"x\":1}\nevent: b\ndata: {\"y\":2}\n", `a={"x":1}|b={"y":2}|end`},
		{"over several lines", "event: a\ndata: {\"x\":\ndata: 1}\n\ndata: {}\n\n", "a={\"x\":\n1}\n|={}|end"},
		{"over several lines, no blank line", "data: {\"x\":\ndata: 1}", "={\"x\":\n1}\n|end"},
		{"no last line end", "data: {}", "={}|end"},
		{"the marker of others", "data: {}\n\ndata: [DONE]\n\ndata: {}\n\n", "={}|end"},
		{"bare error", "data: {}\n\n{\"error\":1}\n", `={}|={"error":1}|end`},
		{"broken", "data: {}\n\ndata: {\"x", "={}|broken"},
		{"broken over several lines", "data: {\ndata: ", "broken"},
		{"one piece", " \n{\"x\":1}\n", `={"x":1}|end`},
		{"a list", "[1]", `=[1]|end`},
		{"values in a row", "{}{}", "={}|={}|end"},
		{"half a value", `{"x":`, "broken"},
		{"bad value", `{"x":]}`, "no stream"},
		{"page", "\n <html>", "no stream"},
		{"nothing", "", "end"},
		{"blanks", "\r\n \n", "end"},
		{"nothing but blanks", strings.Repeat("\n", 100_000), "no stream"},
		{"a word", "hello", "end"},
		{"a long line", "data: " + strings.Repeat("x", 17<<20), "too long"},
		{"a long value", "{\"" + strings.Repeat("x", 17<<20), "too long"},
		{"many long lines", strings.Repeat("data: "+strings.Repeat("x", 1<<20)+"\n", 17), "too long"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := read(strings.NewReader(tt.body)); got != tt.want {
				t.Errorf("got %.200q, want %.200q", got, tt.want)
			}
		})
	}
}

func FuzzEvents(f *testing.F) {
	for _, s := range []string{"data: {}\n\n", "event: a\r\ndata: {\r\ndata: }\r\n\r\n", "{}", "\ufeff<", "data: [DONE]\n", "{\"a\":1}\n{"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		if whole, bits := read(strings.NewReader(body)), read(iotest.OneByteReader(strings.NewReader(body))); whole != bits {
			t.Errorf("at once %q, in bytes %q", whole, bits)
		}
	})
}

func FuzzQuote(f *testing.F) {
	f.Add("a\"\\\n\t\r\x00\u2028\xff船")
	f.Fuzz(func(t *testing.T, s string) {
		raw := args.AppendText(nil, s)
		var back string
		if err := json.Unmarshal(raw, &back); err != nil || back != strings.ToValidUTF8(s, "\ufffd") && utf8.ValidString(s) || !utf8.Valid(raw) {
			t.Errorf("%q became %s, %q: %v", s, raw, back, err)
		}
	})
}

func TestSchema(t *testing.T) {
	const any = `{"type":"object","properties":{}}`
	for raw, want := range map[string]string{
		`{ "type": "object", "properties": {"b": {"type": "string"}, "a": 1} }`: `{"type":"object","properties":{"b":{"type":"string"},"a":1}}`,
		``: any, `7`: any, `null`: any, `{`: any, `[]`: any,
		`{}`:                              `{"properties":{},"type":"object"}`,
		`{"type":"object"}`:               `{"properties":{},"type":"object"}`,
		`{"type":["object","null"]}`:      `{"properties":{},"type":"object"}`,
		`{"anyOf":[1],"properties":{}}`:   `{"properties":{},"type":"object"}`,
		`{"title":"<a>","properties":{}}`: `{"properties":{},"title":"<a>","type":"object"}`,
	} {
		if got := string(engine.ObjectSchema(json.RawMessage(raw))); got != want {
			t.Errorf("%s became %s, want %s", raw, got, want)
		}
	}
}

func TestSentNames(t *testing.T) {
	long := strings.Repeat("a", 70)
	n := engine.NewNames([]string{"file_read", "srv.find", "srv find", long, long + "b", "srv.find", "", "船"})
	for ours, sent := range map[string]string{
		"file_read": "file_read", "srv.find": "srv_find", "srv find": "srv_find_2", long: long[:64], long + "b": long[:62] + "_2", "": "unknown", "船": "___",
	} {
		if got := n.Sent(ours); got != sent {
			t.Errorf("%q is sent as %q, want %q", ours, got, sent)
		}
		if got := n.Ours(sent); got != ours {
			t.Errorf("%q is read as %q, want %q", sent, got, ours)
		}
	}
	if got := n.Sent("no such tool") + " " + n.Sent("!") + " " + n.Ours("else") + " " + (engine.Names{}).Sent(""); got != "no_such_tool _ else unknown" {
		t.Error(got)
	}
}

func TestSmallThings(t *testing.T) {
	if got := string(engine.Base64(nil, "data:", []byte("\xff"))); got != `"data:/w=="` {
		t.Error(got)
	}
}

func TestStates(t *testing.T) {
	var k engine.States
	if k.Has("a") {
		t.Error("a is there")
	}
	for i := range 10_001 {
		k.Add(fmt.Sprint(i))
	}
	if !k.Has("10000") || k.Has("1") {
		t.Error("it grows without end, or forgets what is new")
	}
}
