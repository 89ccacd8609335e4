package args

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestReadText(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"strict", `{"a": [1, -2.5e3, true, null, "x\u00e9\n"]}`, `{"a":[1,-2.5e3,true,null,"xé\n"]}`},
		{"surrogates", `{"a": "\ud83d\udeb2 \ud83d"}`, `{"a":"🚲 ` + "\uFFFD" + `"}`},
		{"large integer", `{"a": 12345678901234567890}`, `{"a":12345678901234567890}`},
		{"last duplicate wins", `{"a": 1, "b": 2, "a": 3}`, `{"a":3,"b":2}`},
		{"smart double quotes", `{“a”: “it’s”}`, `{"a":"it’s"}`},
		{"smart single quotes", `{‘a’: ‘b’}`, `{"a":"b"}`},
		{"single quotes", `{'a': 'it\'s "fine"'}`, `{"a":"it's \"fine\""}`},
		{"apostrophe", `{'a': 'it's here'}`, `{"a":"it's here"}`},
		{"words", `{"a": True, "b": False, "c": None, "d": undefined, "e": NaN}`, `{"a":true,"b":false,"c":null,"d":null,"e":null}`},
		{"bare keys and words", `{name: weather, args: {city: São Paulo, at: 13:00}}`, `{"name":"weather","args":{"city":"São Paulo","at":"13:00"}}`},
		{"a number with a unit is a word", `{a: 5 MB, b: 5}`, `{"a":"5 MB","b":5}`},
		{"commas", `{"a": [1,,2,], , "b": 3,}`, `{"a":[1,2],"b":3}`},
		{"missing commas", `{"a": "x" "b": 1 "c": [1 2]}`, `{"a":"x","b":1,"c":[1,2]}`},
		{"equals signs", `{"a"="b", c => "d"}`, `{"a":"b","c":"d"}`},
		{"comments", "{\"a\": 1, // one\n/* two */ \"b\": 2 # three\n}", `{"a":1,"b":2}`},
		{"a comment is none in a word", "{a: https://x.test/y // home\n}", `{"a":"https://x.test/y"}`},
		{"odd numbers", `{"a": +5, "b": .5, "c": 007}`, `{"a":5,"b":0.5,"c":"007"}`},
		{"raw line end and tab", "{\"a\": \"x\ny\tz\"}", `{"a":"x\ny\tz"}`},
		{"triple quotes", `{"a": """say "hi" now"""}`, `{"a":"say \"hi\" now"}`},
		{"triple quotes after a quote", `{"a": """say "hi""""}`, `{"a":"say \"hi\""}`},
		{"unknown escapes", `{"a": "\d+ \w \u12"}`, `{"a":"\\d+ \\w \\u12"}`},
		{"unescaped quotes", `{"a": "He said "stop" and left"}`, `{"a":"He said \"stop\" and left"}`},
		{"unescaped quotes and a comma", `{"a": "He said "stop", then left", "b": 1}`, `{"a":"He said \"stop\", then left","b":1}`},
		{"unescaped quotes in brackets", `{"a": "print("hi")"}`, `{"a":"print(\"hi\")"}`},
		{"missing brackets", `{"a": {"b": [1, 2`, `{"a":{"b":[1,2]}}`},
		{"a missing bracket inside", `{"a": [1, 2}`, `{"a":[1,2]}`},
		{"the wrong bracket", `{"a": 1]}`, `{"a":1}`},
		{"brackets too many", `{"a": 1}}]`, `{"a":1}`},
		{"blanks of no width", "\ufeff{\u00a0\"a\"\u200b: 1\u2060}", `{"a":1}`},
		{"string cut off", `{"a": "tail -f log  `, `{"a":"tail -f log"}`},
		{"key cut off", `{"a": 1, "b`, `{"a":1}`},
		{"value cut off", `{"a": 1, "b":`, `{"a":1,"b":null}`},
		{"value missing", `{"a": , "b": 1}`, `{"a":null,"b":1}`},
		{"not an object", `{% if name %}`, ``},
		{"dots", `{...}`, ``},
		{"a set", `{"a", "b"}`, ``},
		{"text behind", `[weather] is a tag`, ``},
		{"empty", ` `, ``},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := ""
			if f, ok := ReadText(test.text); ok {
				got = Compact(f.Value)
			}
			if got != test.want {
				t.Errorf("ReadText(%q)\n got %s\nwant %s", test.text, got, test.want)
			}
		})
	}
}

// tag is a region that ends at a closing tag.
func tag() Region {
	return Region{First: "<", Stop: func(in *Input, i int) bool { return in.Has(i, "</call>") }}
}

func TestReadRegion(t *testing.T) {
	tests := []struct {
		name, text, want, rest string
		cut                    bool
	}{
		{"whole", `{"a": "b"}</call>`, `{"a":"b"}`, `</call>`, false},
		{"closer in a string", `{"a": "x </call> y"}</call>`, `{"a":"x </call> y"}`, `</call>`, false},
		{"closer in a mended string", `{'a': 'x </call> y'}</call>`, `{"a":"x </call> y"}`, `</call>`, false},
		{"string without end", `{"a": {"b": "ls}}</call> and so on`, `{"a":{"b":"ls"}}`, `</call> and so on`, true},
		{"string without end, other brackets", `{"a": {"b": "ls}</call>`, `{"a":{"b":"ls}"}}`, `</call>`, true},
		{"string and braces without end", `{"a": "ls</call>`, `{"a":"ls"}`, `</call>`, true},
		{"braces without end", "{\"a\": {\"b\": \"c\"\n</call> more \"", `{"a":{"b":"c"}}`, `</call> more "`, false},
		{"bare word", `{a: b </call>`, `{"a":"b"}`, `</call>`, false},
		{"next call", `{"a": {"b": "ls}}</call><call>{"a": {"b": "pwd"}}</call>`, `{"a":{"b":"ls"}}`, `</call><call>{"a": {"b": "pwd"}}</call>`, true},
		{"list", `["a", "b</call>`, `["a","b"]`, `</call>`, true},
		{"key", `{"a": 1, "b</call>`, `{"a":1}`, `</call>`, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f, ok := Read(Whole(test.text), 0, tag())
			if !ok {
				t.Fatalf("Read(%q) found nothing", test.text)
			}
			if got := Compact(f.Value); got != test.want {
				t.Errorf("value\n got %s\nwant %s", got, test.want)
			}
			if got := test.text[f.End:]; got != test.rest {
				t.Errorf("rest %q, want %q", got, test.rest)
			}
			if f.Cut != test.cut {
				t.Errorf("cut %v, want %v", f.Cut, test.cut)
			}
		})
	}
}

func TestReadQuotesAndCalls(t *testing.T) {
	region := Region{Quotes: []string{`<|"|>`}}
	f, ok := Read(Whole(`{city:<|"|>Rio "C:\n", {x}<|"|>,days:1}`), 0, region)
	if want := `{"city":"Rio \"C:\\n\", {x}","days":1}`; !ok || Compact(f.Value) != want {
		t.Errorf("got %s, want %s", Compact(f.Value), want)
	}
	f, ok = Read(Whole(`[(1, 2), ("a")]`), 0, Region{Call: true})
	if want := `[[1,2],["a"]]`; !ok || Compact(f.Value) != want {
		t.Errorf("got %s, want %s", Compact(f.Value), want)
	}
}

func TestReadDepth(t *testing.T) {
	if _, ok := ReadText(strings.Repeat("[", 100) + strings.Repeat("]", 100)); !ok {
		t.Error("a hundred levels are not read")
	}
	if _, ok := ReadText(strings.Repeat("[", 101) + strings.Repeat("]", 101)); ok {
		t.Error("more than a hundred levels are read")
	}
}

// TestReadLinear feeds texts on which a careless reader would go back again and again.
func TestReadLinear(t *testing.T) {
	for _, unit := range []string{`"`, `" `, `"a`, `",`, `\"`, `'"`, `[`, `{a:`, "//", "/*", `"a" "`, `“`, "x,", `{"a":"`, `","a`, "</call>", `"</call>`} {
		small := spend(`{"a": "` + strings.Repeat(unit, 40_000))
		large := spend(`{"a": "` + strings.Repeat(unit, 160_000))
		if large > 12*small && large > 200*time.Millisecond {
			t.Errorf("%q: four times the text took %v instead of %v", unit, large, small)
		}
	}
}

func spend(text string) time.Duration {
	best := time.Hour
	for range 3 {
		start := time.Now()
		Read(Whole(text), 0, tag())
		best = min(best, time.Since(start))
	}
	return best
}

func FuzzValue(f *testing.F) {
	corpus, err := os.ReadFile("../testdata/cases/toolcalls.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(corpus)) {
		v, err := Strict([]byte(line))
		if err != nil {
			f.Fatal(err)
		}
		if text, ok := v.(*Object).Get("text"); ok {
			s := text.(string)
			f.Add(s)
			if i := strings.IndexAny(s, "{["); i > 0 {
				f.Add(s[i:])
			}
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		found, ok := Read(Whole(text), 0, tag())
		if !ok {
			return
		}
		if found.End > len(text) || found.Seen > len(text)+16 {
			t.Fatalf("end %d, seen %d of %d", found.End, found.Seen, len(text))
		}
		written := Compact(found.Value)
		again, err := Strict([]byte(written))
		if err != nil {
			t.Fatalf("%q is not JSON: %v", written, err)
		}
		if Compact(again) != written {
			t.Fatalf("strictly read, %s becomes %s", written, Compact(again))
		}
		reread, ok := Read(Whole(written), 0, Region{})
		if !ok || !reread.Whole() || Compact(reread.Value) != written {
			t.Fatalf("read again, %s becomes %s", written, Compact(reread.Value))
		}
	})
}

// A text stays what it is, but for bytes that are no text.
func FuzzAppendText(f *testing.F) {
	f.Add("\x00\t\n\"\\<é\u2028\xff")
	f.Fuzz(func(t *testing.T, s string) {
		var got string
		if err := json.Unmarshal(AppendText(nil, s), &got); err != nil {
			t.Fatal(err)
		}
		var want strings.Builder // each byte that is no UTF-8 becomes a character of its own
		for _, r := range s {
			want.WriteRune(r)
		}
		if got != want.String() || !utf8.Valid(AppendText(nil, s)) {
			t.Fatalf("%q became %q", s, got)
		}
	})
}
