package args

// An Input is a text that may still be growing. Readers ask it for bytes by offset;
// when one is asked for that has not arrived, the Input waits for it.
//
// That is how one reader serves a whole text and a stream alike: it never sees the
// difference, and it never asks for a byte that it can do without.
type Input struct {
	buf  []byte
	more func() []byte
	idle *reader // one that has been used, for the next value
}

// End is what [Input.At] returns behind the last byte.
const End = -1

// Whole returns an Input for a text that is complete.
func Whole(text string) *Input { return &Input{buf: []byte(text)} }

// Growing returns an Input that calls more when it needs the next bytes. An empty answer
// means that the text is at its end.
func Growing(more func() []byte) *Input { return &Input{more: more} }

// At returns the byte at offset i, or [End].
func (in *Input) At(i int) int {
	if i < len(in.buf) {
		return int(in.buf[i])
	}
	return in.pull(i)
}

func (in *Input) pull(i int) int {
	for in.more != nil {
		piece := in.more()
		if len(piece) == 0 {
			in.more = nil
			break
		}
		in.buf = append(in.buf, piece...)
		if i < len(in.buf) {
			return int(in.buf[i])
		}
	}
	return End
}

// Offer adds a piece to a growing text if taken says so of all that is there then. Otherwise nothing has happened. Whoever reads
// the text must be waiting for its next byte.
func (in *Input) Offer(piece []byte, taken func(all []byte) bool) bool {
	n := len(in.buf)
	in.buf = append(in.buf, piece...)
	if !taken(in.buf) {
		in.buf = in.buf[:n]
		return false
	}
	return true
}

// Known returns the number of bytes that have arrived.
func (in *Input) Known() int { return len(in.buf) }

// Slice returns the text from offset i to j, which must have arrived.
func (in *Input) Slice(i, j int) string { return string(in.buf[i:j]) }

// Bytes returns all that has arrived. It must not be changed, and is valid until the
// Input is next asked for a byte.
func (in *Input) Bytes() []byte { return in.buf }

// Has reports whether word stands at offset i. It asks for no more bytes than it takes to
// tell.
func (in *Input) Has(i int, word string) bool {
	if end := i + len(word); end <= len(in.buf) && word != "" {
		// Most words that do not stand there differ in their last byte already, which is cheaper to tell than to call for.
		return in.buf[end-1] == word[len(word)-1] && string(in.buf[i:end]) == word
	}
	for k := 0; k < len(word); k++ {
		if in.At(i+k) != int(word[k]) {
			return false
		}
	}
	return true
}

// HasFold is [Input.Has] without regard to the case of ASCII letters; word is in lower case.
func (in *Input) HasFold(i int, word string) bool {
	for k := 0; k < len(word); k++ {
		c := in.At(i + k)
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != int(word[k]) {
			return false
		}
	}
	return true
}

// Blank returns the length of the blank at offset i, or 0. Besides space, tab and line
// ends these are the no-break space and the characters of no width that leak into model
// output.
func (in *Input) Blank(i int) int {
	switch in.At(i) {
	case ' ', '\t', '\r', '\n':
		return 1
	case 0xC2:
		if in.At(i+1) == 0xA0 { // U+00A0
			return 2
		}
	case 0xE2:
		switch in.At(i + 1) {
		case 0x80:
			if c := in.At(i + 2); 0x8B <= c && c <= 0x8D { // U+200B to U+200D
				return 3
			}
		case 0x81:
			if in.At(i+2) == 0xA0 { // U+2060
				return 3
			}
		}
	case 0xEF:
		if in.At(i+1) == 0xBB && in.At(i+2) == 0xBF { // U+FEFF
			return 3
		}
	}
	return 0
}

// Skip returns the offset of the first byte at or behind i that is not blank.
func (in *Input) Skip(i int) int {
	for {
		for i < len(in.buf) && (in.buf[i] == ' ' || in.buf[i] == '\n' || in.buf[i] == '\t' || in.buf[i] == '\r') {
			i++
		}
		if i < len(in.buf) && in.buf[i] < 0x80 {
			return i
		}
		n := in.Blank(i)
		if n == 0 {
			return i
		}
		i += n
	}
}

// SkipLine is [Input.Skip], but it stops at the end of the line.
func (in *Input) SkipLine(i int) int {
	for in.At(i) != '\n' {
		n := in.Blank(i)
		if n == 0 {
			break
		}
		i += n
	}
	return i
}

// Trim takes blanks off both ends of text.
func Trim[T string | []byte](text T) T { return TrimRight(TrimLeft(text)) }

// TrimLeft takes blanks off the beginning of text.
func TrimLeft[T string | []byte](text T) T {
	for len(text) > 0 {
		n := leading(text)
		if n == 0 {
			break
		}
		text = text[n:]
	}
	return text
}

// TrimRight takes blanks off the end of text.
func TrimRight[T string | []byte](text T) T {
	for len(text) > 0 {
		n := trailing(text)
		if n == 0 {
			break
		}
		text = text[:len(text)-n]
	}
	return text
}

// wide are the blanks of more than one byte.
var wide = [...]string{"\u00a0", "\ufeff", "\u200b", "\u200c", "\u200d", "\u2060"}

func leading[T string | []byte](text T) int {
	switch c := text[0]; {
	case c == ' ', c == '\t', c == '\r', c == '\n':
		return 1
	case c < 0x80:
		return 0
	}
	for _, w := range wide {
		if len(text) >= len(w) && string(text[:len(w)]) == w {
			return len(w)
		}
	}
	return 0
}

func trailing[T string | []byte](text T) int {
	switch text[len(text)-1] {
	case ' ', '\t', '\r', '\n':
		return 1
	}
	if text[len(text)-1] < 0x80 {
		return 0
	}
	for _, w := range wide {
		if len(text) >= len(w) && string(text[len(text)-len(w):]) == w {
			return len(w)
		}
	}
	return 0
}
