package args

import "unicode/utf8"

// A Span is a stretch of an input: what is kept of a text need not be kept twice. It is small, for a text that is made to waste
// memory has one for every few bytes. No input is as long as four gigabytes.
type Span struct{ From, To uint32 }

// Bytes are those of the stretch, as long as the input is asked for no more.
func (p Span) Bytes(in *Input) []byte { return in.buf[p.From:p.To] }

// Spans is text in pieces.
type Spans []Span

// Add adds a piece, to the last one if it goes on where that ends.
func (t *Spans) Add(from, to int) {
	if from >= to {
		return
	}
	if n := len(*t); n > 0 && (*t)[n-1].To == uint32(from) {
		(*t)[n-1].To = uint32(to)
		return
	}
	*t = append(*t, Span{uint32(from), uint32(to)})
}

// Text puts the pieces together, without the blanks at both ends.
func (t Spans) Text(in *Input) string {
	if len(t) == 1 {
		return string(Trim(t[0].Bytes(in)))
	}
	n := 0
	for _, p := range t {
		n += int(p.To - p.From)
	}
	b := make([]byte, 0, n)
	for _, p := range t {
		b = append(b, p.Bytes(in)...)
	}
	return string(Trim(b))
}

// Characters is the length of text without a character at its end that is not whole.
func Characters(text []byte) int {
	n := len(text)
	for back := 1; back <= utf8.UTFMax && back <= n; back++ {
		if utf8.RuneStart(text[n-back]) {
			if !utf8.FullRune(text[n-back:]) {
				n -= back
			}
			break
		}
	}
	return n
}
