package value

import (
	"slices"
	"strings"
)

// Options are the arguments of a command, taken apart as GNU tools do it: options stand anywhere, letters may be glued,
// long names may be shortened and may hold their value behind an equals sign.
type Options struct {
	Letters string
	Long    []string
	Values  map[string][]string // by letter or long name
	Rest    []string            // the operands
}

// Getopt reads arguments. Letters of takes need a value, as do the long names in longs.
func Getopt(args []string, takes string, longs ...string) Options {
	o := Options{Values: map[string][]string{}}
	for k := 0; k < len(args); k++ {
		a := args[k]
		switch {
		case a == "--":
			o.Rest = append(o.Rest, args[k+1:]...)
			return o
		case strings.HasPrefix(a, "--"):
			name, value, ok := strings.Cut(a[2:], "=")
			o.Long = append(o.Long, name)
			full := name
			if k := slices.IndexFunc(longs, func(l string) bool { return strings.HasPrefix(l, name) }); k >= 0 && !slices.Contains(longs, name) {
				full = longs[k]
			}
			if !ok && slices.Contains(longs, full) && k+1 < len(args) {
				k++
				value, ok = args[k], true
			}
			if ok {
				o.Values[full] = append(o.Values[full], value)
			}
		case len(a) > 1 && a[0] == '-':
			for i := 1; i < len(a); i++ {
				o.Letters += a[i : i+1]
				if strings.IndexByte(takes, a[i]) < 0 {
					continue
				}
				value := a[i+1:]
				if value == "" && k+1 < len(args) {
					k++
					value = args[k]
				}
				o.Values[a[i:i+1]] = append(o.Values[a[i:i+1]], value)
				break
			}
		default:
			o.Rest = append(o.Rest, a)
		}
	}
	return o
}

// Has reports whether one of the letters was given, or a long name or the start of one.
func (o Options) Has(letters string, longs ...string) bool {
	if strings.ContainsAny(o.Letters, letters) {
		return true
	}
	for _, given := range o.Long {
		for _, l := range longs {
			if given != "" && strings.HasPrefix(l, given) {
				return true
			}
		}
	}
	return false
}

// Literal is all that was given to a letter or a long name.
func (o Options) Literal(letters string, longs ...string) []string {
	var all []string
	for _, l := range letters {
		all = append(all, o.Values[string(l)]...)
	}
	for _, l := range longs {
		all = append(all, o.Values[l]...)
	}
	return all
}

// Behind skips the options of a wrapper: those with letters in takes, and the long ones in longs, have a value. It stops
// at the first operand.
func Behind(args []string, takes string, longs ...string) []string {
	for len(args) > 0 {
		a := args[0]
		switch {
		case a == "--":
			return args[1:]
		case strings.HasPrefix(a, "--"):
			args = args[1:]
			if name, _, ok := strings.Cut(a[2:], "="); !ok {
				for _, l := range longs {
					if l == name && len(args) > 0 {
						args = args[1:]
						break
					}
				}
			}
		case len(a) > 1 && a[0] == '-':
			args = args[1:]
			for i := 1; i < len(a); i++ {
				if strings.IndexByte(takes, a[i]) >= 0 {
					if i+1 == len(a) && len(args) > 0 {
						args = args[1:]
					}
					break
				}
			}
		default:
			return args
		}
	}
	return nil
}
