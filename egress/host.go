package egress

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"
)

// A host is a name or an address in its one canonical form.
type host struct {
	name string     // ASCII, lower case, without brackets
	addr netip.Addr // valid where the host is an address
}

// Limits of names, as DNS has them.
const (
	maxName  = 253
	maxLabel = 63
)

// canonical is the part of U2 that gives a host its form. A host that has none is refused: a guard that guesses what a text
// might mean guesses differently from whoever resolves it.
func canonical(raw string) (host, error) {
	if strings.HasPrefix(raw, "[") {
		return bracketed(raw)
	}
	name, err := lower(raw)
	if err != nil {
		return host{}, err
	}
	name = strings.TrimSuffix(name, ".")
	if !ascii(name) {
		if name, err = idna.Registration.ToASCII(norm.NFC.String(name)); err != nil {
			return host{}, forbidden("The host has letters that no registered name has.")
		}
	}
	labels := strings.Split(name, ".")
	if len(name) > maxName {
		return host{}, invalid("The name of the host is too long.")
	}
	if numeric(labels[len(labels)-1]) {
		return dotted(name, labels)
	}
	encoded := false
	for _, l := range labels {
		if !clean(l) {
			return host{}, invalid("The name of the host is not made of letters, digits, hyphens and dots.")
		}
		encoded = encoded || strings.HasPrefix(l, "xn--")
	}
	if encoded {
		u, err := idna.Registration.ToUnicode(name)
		if err != nil {
			return host{}, forbidden("The host has letters that no registered name has.")
		}
		if back, err := idna.Registration.ToASCII(u); err != nil || back != name {
			return host{}, forbidden("The host has letters that no registered name has.")
		}
		for l := range strings.SplitSeq(u, ".") {
			if !restrictive(l) {
				return host{}, forbidden("The host mixes letters of different scripts, as names do that are to be taken for another.")
			}
		}
	}
	return host{name: name}, nil
}

// bracketed reads an address of the new family.
func bracketed(raw string) (host, error) {
	inside, ok := strings.CutSuffix(raw[1:], "]")
	a, err := netip.ParseAddr(inside)
	if !ok || err != nil || !a.Is6() || a.Zone() != "" {
		return host{}, invalid("What stands in brackets is no IPv6 address.")
	}
	if text := a.String(); text != strings.ToLower(inside) && !a.Is4In6() {
		return host{}, forbidden("The IPv6 address is not in its canonical form, [%s].", text)
	}
	return host{name: a.String(), addr: a}, nil
}

// dotted reads an address of four plain decimal parts. Every other way to write a number is refused.
func dotted(name string, labels []string) (host, error) {
	bad := forbidden("A host that ends in a number must be an address of four decimal parts.")
	if len(labels) != 4 {
		return host{}, bad
	}
	for _, l := range labels {
		n, err := strconv.ParseUint(l, 10, 8)
		if err != nil || strconv.FormatUint(n, 10) != l {
			return host{}, bad
		}
	}
	a, err := netip.ParseAddr(name)
	if err != nil {
		return host{}, bad
	}
	return host{name: name, addr: a}, nil
}

// numeric reports whether some resolver would read a label as a number.
func numeric(label string) bool {
	digits := "0123456789"
	if rest, ok := strings.CutPrefix(label, "0x"); ok {
		label, digits = rest, "0123456789abcdef"
		if label == "" {
			return true
		}
	}
	return label != "" && strings.Trim(label, digits) == ""
}

// lower makes lower-case letters of a host. A character that is only another way to write something is refused, and so is
// one that would become ASCII: what it was written for, it is not.
func lower(raw string) (string, error) {
	var b strings.Builder
	for _, r := range raw {
		low := unicode.ToLower(r)
		if r > unicode.MaxASCII && (low <= unicode.MaxASCII || !norm.NFKC.IsNormalString(string(r))) {
			return "", forbidden("The host has a character (U+%04X) that stands for another one.", r)
		}
		b.WriteRune(low)
	}
	return b.String(), nil
}

func ascii(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r > unicode.MaxASCII }) < 0
}

// clean reports whether a label is made of what host names are made of.
func clean(label string) bool {
	return label != "" && len(label) <= maxLabel && label[0] != '-' && label[len(label)-1] != '-' &&
		strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// inside are names that only a local network resolves: by the standards, and by habit.
var inside = []string{
	"localhost", "local", "localdomain", "lan", "home", "home.arpa", "internal", "intranet", "corp", "private",
}

// local reports whether a name means something on this network only.
func local(h host) bool {
	if h.addr.IsValid() {
		return false
	}
	return !strings.Contains(h.name, ".") || slices.ContainsFunc(inside, func(zone string) bool {
		return h.name == zone || strings.HasSuffix(h.name, "."+zone)
	})
}

// invisible reports whether a character cannot be seen where it stands, or is not one.
func invisible(r rune) bool {
	const braille = '\u2800' // a pattern of no dots
	return r == braille || unicode.Is(unicode.C, r) || unicode.Is(unicode.Z, r) ||
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Noncharacter_Code_Point)
}

// A script is a way of writing.
type script struct {
	name    string
	letters *unicode.RangeTable
}

// recommended are the scripts that are in everyday use (UAX 31, table 5). Names in others are not registered to be read.
var recommended = []script{
	{"Arabic", unicode.Arabic}, {"Armenian", unicode.Armenian}, {"Bengali", unicode.Bengali}, {"Bopomofo", unicode.Bopomofo},
	{"Cyrillic", unicode.Cyrillic}, {"Devanagari", unicode.Devanagari}, {"Ethiopic", unicode.Ethiopic}, {"Georgian", unicode.Georgian},
	{"Greek", unicode.Greek}, {"Gujarati", unicode.Gujarati}, {"Gurmukhi", unicode.Gurmukhi}, {"Han", unicode.Han}, {"Hangul", unicode.Hangul},
	{"Hebrew", unicode.Hebrew}, {"Hiragana", unicode.Hiragana}, {"Kannada", unicode.Kannada}, {"Katakana", unicode.Katakana},
	{"Khmer", unicode.Khmer}, {"Lao", unicode.Lao}, {"Latin", unicode.Latin}, {"Malayalam", unicode.Malayalam},
	{"Myanmar", unicode.Myanmar}, {"Oriya", unicode.Oriya}, {"Sinhala", unicode.Sinhala}, {"Tamil", unicode.Tamil},
	{"Telugu", unicode.Telugu}, {"Thaana", unicode.Thaana}, {"Thai", unicode.Thai}, {"Tibetan", unicode.Tibetan},
}

// together are the only mixtures of scripts in a highly restrictive name (UTS 39, section 5.2).
var together = [][]string{
	{"Latin", "Han", "Hiragana", "Katakana"}, {"Latin", "Han", "Bopomofo"}, {"Latin", "Han", "Hangul"},
}

// technical are letters of a recommended script that are not for names: phonetic signs, clicks that look like bars, tone
// letters. A few phonetic letters have become ordinary ones in African languages.
var technical = [][2]rune{
	{0x01c0, 0x01c3}, {0x0250, 0x0252}, {0x0255, 0x0255}, {0x0258, 0x0258}, {0x025a, 0x025a}, {0x025c, 0x0262}, {0x0264, 0x0267},
	{0x026a, 0x0271}, {0x0273, 0x0288}, {0x028a, 0x028a}, {0x028c, 0x02ba}, {0x02bd, 0x02ff}, {0x1d00, 0x1dbf}, {0xa700, 0xa721},
}

// restrictive reports whether a decoded label is highly restrictive in the sense of UTS 39: characters of everyday
// scripts only, all of one script or of one of the mixtures above, and digits of one system. It is asked label by label,
// as "com" behind a name is Latin whatever the name is.
func restrictive(label string) bool {
	scripts, zeros := map[string]bool{}, map[rune]bool{}
	runes := []rune(label)
	for k, r := range runes {
		switch {
		case invisible(r) || slices.ContainsFunc(technical, func(t [2]rune) bool { return t[0] <= r && r <= t[1] }) || !norm.NFKC.IsNormalString(string(r)):
			return false
		case r == 'ー' || r == '・': // common to the two kana only
			if !slices.ContainsFunc(runes, func(o rune) bool { return unicode.In(o, unicode.Hiragana, unicode.Katakana, unicode.Han) }) {
				return false
			}
			continue
		case r == '·': // only between two l, in Catalan
			if k == 0 || k == len(runes)-1 || runes[k-1] != 'l' || runes[k+1] != 'l' {
				return false
			}
			continue
		case r == '-':
			continue
		case !unicode.In(r, unicode.L, unicode.M, unicode.Nd):
			return false
		}
		if unicode.Is(unicode.Nd, r) {
			zeros[zero(r)] = true
		}
		if unicode.In(r, unicode.Common, unicode.Inherited) {
			continue
		}
		s := scriptOf(r)
		if s == "" {
			return false
		}
		scripts[s] = true
	}
	if len(zeros) > 1 {
		return false
	}
	return len(scripts) <= 1 || slices.ContainsFunc(together, func(mix []string) bool {
		for s := range scripts {
			if !slices.Contains(mix, s) {
				return false
			}
		}
		return true
	})
}

// scriptOf is the script of a letter, or "" where it is not a recommended one.
func scriptOf(r rune) string {
	for _, s := range recommended {
		if unicode.Is(s.letters, r) {
			return s.name
		}
	}
	return ""
}

// zero is the zero of the system that a digit belongs to: digits stand in runs of ten.
func zero(r rune) rune {
	for k := range rune(10) {
		if !unicode.Is(unicode.Nd, r-k-1) {
			return r - k
		}
	}
	return r - r%10 // runs that follow one another
}
