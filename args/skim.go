package args

// Skimmed is what a first look at a value tells.
type Skimmed int

// What a value can be at first sight.
const (
	Unsure  Skimmed = iota // it must be read
	Answer                 // it is strict JSON in which no key is one that was asked for
	NoValue                // it cannot be one
)

// Skim looks at the value at i, which is an object or a list, as far as it is strict JSON and none of its keys is among those
// that key reports. An answer in JSON need not be read to know that it is no call, which is much faster. It asks for no more
// bytes than [Read] would. End is behind the value, or how far it was looked at.
func Skim(in *Input, i int, items Items, key func(name []byte) bool) (end int, what Skimmed) {
	var open [depth]byte // closers of what is open
	n, curly := 0, 0
	for {
		// A value begins at i.
		i = in.space(i)
		c := in.At(i)
		if n > 0 && curly == 0 && items == Nested && c != '{' && c != '[' {
			return i, Unsure
		}
		ok := true
		switch {
		case c == '{' || c == '[':
			if n == depth {
				return i, NoValue
			}
			open[n] = byte(c) + 2
			n++
			i = in.space(i + 1)
			closes := in.At(i) == int(open[n-1])
			if c == '{' {
				curly++
				if c := in.At(i); c == '{' || c == '[' {
					return i, NoValue // nothing mends that
				}
				if !closes {
					i, ok = in.skimKey(i, key)
				}
			}
			if ok && !closes {
				continue
			}
		case c == '"':
			i, ok = in.skimText(i)
		case c == '-' || '0' <= c && c <= '9':
			i, ok = in.skimNumber(i)
		case in.Has(i, "true") || in.Has(i, "null"):
			i += 4
		case in.Has(i, "false"):
			i += 5
		default:
			ok = false
		}
		if !ok {
			return i, Unsure
		}
		// A value ends at i, or what holds it does.
		for {
			i = in.space(i)
			c := in.At(i)
			if c == ',' {
				i++
				break
			}
			if c != int(open[n-1]) {
				return i, Unsure
			}
			i++
			n--
			if c == '}' {
				curly--
			}
			if n == 0 {
				return i, Answer
			}
		}
		if open[n-1] == '}' {
			if i, ok = in.skimKey(in.space(i), key); !ok {
				return i, Unsure
			}
		}
	}
}

// space skips the blanks of JSON.
func (in *Input) space(i int) int {
	for {
		for i < len(in.buf) && (in.buf[i] == ' ' || in.buf[i] == '\n' || in.buf[i] == '\t' || in.buf[i] == '\r') {
			i++
		}
		if i < len(in.buf) || in.At(i) == End {
			return i
		}
	}
}

// skimKey passes over a key and its colon.
func (in *Input) skimKey(i int, asked func(name []byte) bool) (int, bool) {
	end, ok := in.skimText(i)
	if !ok {
		return end, false
	}
	name := in.buf[i+1 : end-1]
	if len(name) > longest || asked(name) { // Read takes no longer ones for keys
		return end, false
	}
	for _, c := range name {
		if c == '\\' { // it may spell one that was asked for
			return end, false
		}
	}
	end = in.space(end)
	return end + 1, in.At(end) == ':'
}

// skimText passes over a text in quotation marks.
func (in *Input) skimText(i int) (int, bool) {
	if in.At(i) != '"' {
		return i, false
	}
	for i++; ; i++ {
		for i < len(in.buf) && in.buf[i] >= ' ' && in.buf[i] != '"' && in.buf[i] != '\\' {
			i++
		}
		switch c := in.At(i); {
		case c == '"':
			return i + 1, true
		case c == '\\':
			i++
			switch in.At(i) {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				for range 4 {
					i++
					if c := in.At(i); (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
						return i, false
					}
				}
			default:
				return i, false
			}
		case c < ' ':
			return i, false
		}
	}
}

// skimNumber passes over a number.
func (in *Input) skimNumber(i int) (int, bool) {
	if in.At(i) == '-' {
		i++
	}
	if in.At(i) == '0' {
		i++
	} else if j := in.skimDigits(i); j > i {
		i = j
	} else {
		return i, false
	}
	if in.At(i) == '.' {
		j := in.skimDigits(i + 1)
		if j == i+1 {
			return i, false
		}
		i = j
	}
	if c := in.At(i); c == 'e' || c == 'E' {
		i++
		if c := in.At(i); c == '+' || c == '-' {
			i++
		}
		j := in.skimDigits(i)
		if j == i {
			return i, false
		}
		i = j
	}
	return i, true
}

func (in *Input) skimDigits(i int) int {
	for c := in.At(i); '0' <= c && c <= '9'; c = in.At(i) {
		i++
	}
	return i
}
