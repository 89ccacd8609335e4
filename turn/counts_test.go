package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/contract"
)

// A drawer is a memory that counts how often it is written.
type drawer struct {
	raw     json.RawMessage
	written int
	fail    error
}

func (d *drawer) Setting(context.Context, jackline.Owner, string) (json.RawMessage, error) {
	return d.raw, d.fail
}

func (d *drawer) PutSetting(_ context.Context, _ jackline.Owner, _ string, raw json.RawMessage) error {
	if d.fail == nil {
		d.raw, d.written = raw, d.written+1
	}
	return d.fail
}

// What was learnt is written when it has changed by enough, and read once.
func TestCountsAreKept(t *testing.T) {
	ctx := t.Context()
	var c counts
	d := &drawer{}
	try := func(want int, what string) {
		t.Helper()
		if err := c.keep(ctx, d); err != nil || d.written != want {
			t.Errorf("%s: written %d times, want %d; %v", what, d.written, want, err)
		}
	}
	try(0, "nothing learnt")
	c.learn("a native", 35000, 0, 20000)
	try(1, "new")
	c.learn("a native", 35000, 0, 20100)
	try(1, "hardly changed")
	c.learn("a native", 35000, 0, 10000)
	try(2, "changed")
	c.learn("a text", 35000, 0, 10000)
	try(3, "another way of calling")

	var later counts
	if err := later.recall(ctx, d); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a native", "a text", "b native"} {
		if got, want := later.tokens(key, 35000, 10), c.tokens(key, 35000, 10); got != want {
			t.Errorf("%s: %d, want %d", key, got, want)
		}
	}
	if later.tokens("a native", 35000, 0) == later.tokens("b native", 35000, 0) {
		t.Error("nothing was kept")
	}
	if err := later.keep(ctx, d); err != nil || d.written != 3 {
		t.Error("what was read is written again")
	}
	d.raw = json.RawMessage(`{"a native":{"ratio":1}}`)
	before := later.tokens("a native", 35000, 0)
	if err := later.recall(ctx, d); err != nil || later.tokens("a native", 35000, 0) != before {
		t.Error("it is read twice")
	}
}

// A memory that is damaged, or holds what cannot be true, costs what was learnt and nothing else.
func TestCountsFromOutside(t *testing.T) {
	for _, raw := range []string{``, `null`, `[]`, `{"a":`, `{"a":{"ratio":99}}`, `{"a":{"ratio":-1}}`, `{"a":{"ratio":"x"}}`, `{"a":{}}`} {
		var c counts
		if err := c.recall(t.Context(), &drawer{raw: json.RawMessage(raw)}); err != nil || c.tokens("a", 3500, 0) != 1000 {
			t.Errorf("%s: %v, %d", raw, err, c.tokens("a", 3500, 0))
		}
	}
	var c counts
	if err := c.recall(t.Context(), &drawer{fail: errors.New("broken")}); err == nil {
		t.Error("a store that cannot be read is one that is empty")
	}
	d := &drawer{}
	for k := range mostCounts + 50 {
		c.learn(fmt.Sprint(k), 3500, 0, 1500)
	}
	if err := c.keep(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	var kept map[string]count
	if err := json.Unmarshal(d.raw, &kept); err != nil || len(kept) != mostCounts {
		t.Errorf("%d are kept, %v", len(kept), err)
	}
	if _, ok := kept[fmt.Sprint(mostCounts+49)]; !ok {
		t.Error("the newest is not")
	}
	if err := c.recall(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// The first estimate is near what tokenizers make of a text, whatever its script: the tokens are those that the vocabularies cl100k
// and o200k give.
func TestFirstEstimates(t *testing.T) {
	for _, c := range []struct {
		text         string
		older, newer int
	}{
		{"Please read the report and tell me in three sentences what it says about last year.", 17, 17},
		{"Lies bitte den Bericht und erzähle mir in drei Sätzen, was er über das vergangene Jahr sagt.", 28, 24},
		{"请阅读这份报告，并用三句话告诉我它对去年的情况说了什么。", 33, 20},
		{"このレポートを読んで、昨年について何が書かれているかを三文で教えてください。", 36, 27},
		{"보고서를 읽고 작년에 대해 무엇을 말하는지 세 문장으로 알려 주세요.", 34, 19},
		{"Прочитай отчёт и расскажи в трёх предложениях, что там говорится о прошлом годе.", 39, 23},
		{"โปรดอ่านรายงานแล้วบอกฉันในสามประโยคว่ามันพูดถึงปีที่แล้วอย่างไร", 61, 26},
		{"for i := range items {\n\tif items[i].Name == name {\n\t\treturn i, nil\n\t}\n}\n", 23, 23},
		{`{"name": "file_read", "args": {"path": "src/main.go", "from": 10, "to": 120}}`, 30, 30},
	} {
		got := estimated(contract.Weight(c.text), 0)
		if got < 0.7*float64(c.older) || got > 2.5*float64(c.newer) {
			t.Errorf("%.0f for %d to %d: %s", got, c.newer, c.older, c.text)
		}
	}
}
