package redact

import (
	"strings"
	"testing"
	"time"
)

const prose = `The quick brown fox jumps over the lazy dog, and nobody knows why: it had been asked to. In 1987 there were about 40 foxes
here; today there are fewer. "It is what it is", said the dog, "so let us go on". The key to it, as always, is patience.
`

const program = `func (s *scan) word(final bool) (more bool) {
	begins := !wordByte(s.last)
	if s.last == '\\' && strings.IndexByte("nrt", s.buf[s.pos]) >= 0 {
		s.pass(1)
		s.last, s.phase = escape, nowhere
		return false
	}
	token := lookUp(ctx, "https://example.test/a/b?c=d")
`

func benchmark(b *testing.B, r *Redactor, text string) {
	text = strings.Repeat(text, 1<<20/len(text))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		r.Text(text)
	}
}

func BenchmarkProse(b *testing.B)      { benchmark(b, nil, prose) }
func BenchmarkProseKnown(b *testing.B) { benchmark(b, knowing(), prose) }
func BenchmarkProgram(b *testing.B)    { benchmark(b, nil, program) }

// BenchmarkEvent is what one event of a step costs.
func BenchmarkEvent(b *testing.B) {
	r := knowing()
	event := []byte(`{"call":"c_0123456789abcdefghij","name":"file_read","outcome":"ok","text":"` + strings.ReplaceAll(strings.ReplaceAll(prose, "\n", "\\n"), `"`, `\"`) +
		`","view":{"shape":"text"},"ms":3,"label":"workspace"}`)
	for b.Loop() {
		r.JSON(event)
	}
}

// TestLinear: no text takes more than its share of time, whatever it is made of.
func TestLinear(t *testing.T) {
	const size = 1 << 18 // a quadratic scan takes minutes for it
	for _, unit := range []string{
		"key=", "password=", "password: ", "://", "a://b:c", "-----BEGIN ", "-----BEGIN RSA PRIVATE KEY-----\n", "[hidden:", "eyJ", "sk-", "\x1b[", "\x1b[0m",
		"password is ", "Authorization: ", "Cookie: a", "M", "1234567", "\"", "\\", "\\\"", "name=", ",", "a,", "token=a&", "token=a,", "%", "w5Gt8Rn2Lk", "-p", "a.", "a-", "--token ",
		"token=\"", "bot1234567", "|", "{", "https://hooks.a/b/", "x", "x ", "\n", "password: |\n a",
	} {
		text := strings.Repeat(unit, size/len(unit))
		start := time.Now()
		r := knowing()
		r.Text(text)
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%q many times takes %v", unit, took)
		} else if took > 200*time.Millisecond {
			t.Logf("%q many times takes %v", unit, took)
		}
	}
}
