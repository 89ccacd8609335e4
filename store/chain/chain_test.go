package chain

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/jackline-ai/jackline"
)

func keys() Keys {
	return KeysOf(func(purpose string) []byte { return []byte(purpose + strings.Repeat(".", 32-len(purpose))) })
}

// made is a chain of some lines.
func made(texts ...string) []jackline.AuditEntry {
	k := keys()
	var prev MAC
	var list []jackline.AuditEntry
	for i, s := range texts {
		e := jackline.AuditEntry{N: int64(i + 1), At: time.Unix(0, int64(i)).UTC(), Owner: "me", Kind: jackline.AuditRan, Rule: s, Prev: prev.Hex()}
		prev = k.Next(prev, e)
		e.MAC = prev.Hex()
		list = append(list, e)
	}
	return list
}

func exported(t testing.TB, k Keys, lines []jackline.AuditEntry, h Head) []byte {
	t.Helper()
	var b bytes.Buffer
	x, err := k.NewExporter(&b, h, false)
	for _, e := range lines {
		if err == nil {
			err = x.Line(e)
		}
	}
	if err == nil {
		err = x.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// FuzzCanonical takes two lines that differ by how one text is divided between two fields, and looks that their forms differ.
func FuzzCanonical(f *testing.F) {
	f.Add("file_read", "rule", 4)
	f.Add("", "", 0)
	f.Add("\x00\x01", "ü", 1)
	f.Fuzz(func(t *testing.T, a, b string, cut int) {
		all := a + b
		cut = max(0, min(cut, len(all)))
		one := jackline.AuditEntry{Tool: a, Rule: b}
		two := jackline.AuditEntry{Tool: all[:cut], Rule: all[cut:]}
		if same := bytes.Equal(Canonical(one), Canonical(two)); same != (one.Tool == two.Tool) {
			t.Fatalf("%q %q %d: same form: %v", a, b, cut, same)
		}
		// What a line says survives its way through JSON, or else it is no text.
		e := made(strings.ToValidUTF8(a, "?"))[0]
		raw, err := json.Marshal(e)
		var back jackline.AuditEntry
		if err != nil || json.Unmarshal(raw, &back) != nil || !bytes.Equal(Canonical(e), Canonical(back)) {
			t.Fatalf("%s: %v", raw, err)
		}
	})
}

// FuzzVerifyExport reads exports that somebody else wrote. It never breaks down, and calls no other lines whole than those that
// were written.
func FuzzVerifyExport(f *testing.F) {
	k := keys()
	lines := made("a", "b", "c")
	mac, _ := ParseMAC(lines[2].MAC)
	whole := exported(f, k, lines, Head{N: 3, MAC: mac, At: time.Unix(1, 0)})
	f.Add(whole)
	f.Add(bytes.Replace(whole, []byte(`"rule":"b"`), []byte(`"rule":"x"`), 1))
	f.Add([]byte(`{"audit":"jackline audit 1"}` + "\n" + `{"end":true,"lines":0}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := VerifyExport(bytes.NewReader(text), k)
		if err != nil || !r.OK || r.Checked == 0 {
			return
		}
		for _, line := range bytes.Split(text, []byte("\n")) {
			var e jackline.AuditEntry
			if json.Unmarshal(line, &e) != nil || e.N == 0 {
				continue
			}
			if e.N < 1 || e.N > 3 || !bytes.Equal(Canonical(e), Canonical(lines[e.N-1])) {
				t.Fatalf("%s: taken for a line of this chain", line)
			}
		}
	})
}

// FuzzParse reads heads.
func FuzzParse(f *testing.F) {
	k := keys()
	f.Add([]byte(k.file(Head{N: 3, At: time.Unix(1, 2)})))
	f.Add([]byte("jackline audit head 1\nline 3\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		h, err := k.Parse(text)
		if err == nil && k.file(h) != string(text) {
			t.Fatalf("%q is taken for %q", text, k.file(h))
		}
	})
}

// TestDigest: the same text has the same digest, another purpose and another key another one.
func TestDigest(t *testing.T) {
	k := keys()
	other := KeysOf(func(string) []byte { return make([]byte, 32) })
	a := k.Digest("value", []byte("x"))
	if len(a) != 2*digestSize || a != k.Digest("value", []byte("x")) || a == k.Digest("rulings", []byte("x")) ||
		a == other.Digest("value", []byte("x")) || a == k.Digest("value", []byte("y")) || k.Digest("value", nil) != "" {
		t.Fatal(a)
	}
}

// TestForgedWithoutKey changes a line and makes the chain anew with a key of one's own: with the key it is found, and without
// it, as the report says, it is not.
func TestForgedWithoutKey(t *testing.T) {
	lines := made("a", "b", "c")
	lines[1].Rule = "x"
	mine := KeysOf(func(string) []byte { return make([]byte, 32) })
	var prev MAC
	for i := range lines {
		lines[i].Prev = prev.Hex()
		prev = mine.Next(prev, lines[i])
		lines[i].MAC = prev.Hex()
	}
	text := exported(t, mine, lines, Head{})
	r, err := VerifyExport(bytes.NewReader(text), keys())
	if err != nil || r.OK || !r.Keyed || len(r.Faults) != 3 {
		t.Fatalf("%+v %v", r, err)
	}
	if r, err = VerifyExport(bytes.NewReader(text), Keys{}); err != nil || !r.OK || r.Keyed {
		t.Fatalf("%+v %v", r, err)
	}
}

// TestFollows: a line that does not follow the one before it is found without the key, too.
func TestFollows(t *testing.T) {
	lines := made("a", "b", "c")
	other := made("x", "y", "z")
	lines[1] = other[1] // of another chain, and whole in itself
	for _, k := range []Keys{{}, keys()} {
		r, err := VerifyExport(bytes.NewReader(exported(t, keys(), lines, Head{})), k)
		if err != nil || r.OK || len(r.Faults) != 2 || r.Faults[0].N != 2 || r.Faults[1].N != 3 {
			t.Errorf("keyed %v: %+v %v", r.Keyed, r, err)
		}
	}
}
