package workspace

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/jackline-ai/jackline"
)

// A Target is a kind of file system, as far as names are concerned.
type Target int

// The targets.
const (
	Posix   Target = iota // names are bytes
	Folding               // letters of either case are one name
	Windows               // and some names are devices, streams or short for others
)

// Names judges path names by their text alone. It never looks at a file system, so it says the same of a path whether or
// not anything is there.
type Names struct {
	Target Target

	// State are further protected names: the folders of this program's own.
	State []string
}

// Limits of names, as file systems have them.
const (
	maxPath    = 4096 // bytes of a path
	maxElement = 255  // bytes of one element
)

// secret reports whether a folded name is one that any tool on any machine keeps secrets or its own state under.
func secret(name string) bool {
	switch name {
	case ".env.example", ".env.sample", ".env.template":
		return false
	case ".git", "git~1", ".netrc", ".npmrc", ".pypirc", ".git-credentials", ".htpasswd", ".ssh", ".gnupg", ".aws", ".kube":
		return true
	}
	for _, start := range [...]string{".env", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"} {
		if strings.HasPrefix(name, start) {
			return true
		}
	}
	return false
}

// Check refuses a path that no tool may use, whatever is there. What it accepts may still lie outside.
func (n Names) Check(path string) error {
	if err := n.form(path); err != nil {
		return err
	}
	if n.Target == Windows && strings.HasPrefix(path, "/") {
		return malformed(path, "starts at the root of a drive; give a path relative to the workspace")
	}
	return n.elements(path, split(path))
}

// Protected reports whether an element of a path names something that no tool may touch: key and secret files, the git
// store, the program's own folders. Spellings that some file system takes for such a name count as the name.
func (n Names) Protected(element string) bool {
	for part := range strings.FieldsFuncSeq(normal(element), func(r rune) bool { return r == '/' || r == '\\' }) {
		part, _, _ = strings.Cut(part, ":")
		part = strings.TrimRightFunc(part, func(r rune) bool { return r == '.' || unicode.IsSpace(r) })
		if secret(part) {
			return true
		}
		for _, state := range n.State {
			if part != "" && part == normal(state) {
				return true
			}
		}
	}
	return false
}

// elements applies what is said of single elements, and refuses dots that lead out whatever the other elements are.
func (n Names) elements(path string, elements []string) error {
	above := true
	for _, e := range elements {
		switch e {
		case "", ".":
			continue
		case "..":
			if above {
				return outside(path)
			}
			continue
		}
		above = false
		if n.Protected(e) {
			return protected(path)
		}
	}
	return nil
}

// form refuses what is wrong with the text of a path as a whole.
func (n Names) form(path string) error {
	switch {
	case !utf8.ValidString(path):
		return malformed(path, "is not valid UTF-8")
	case strings.TrimFunc(path, func(r rune) bool { return unicode.IsSpace(r) || ignorable(r) }) == "":
		return jackline.E("workspace.Check", jackline.Invalid, nil,
			"The path is empty; give a path relative to the workspace.")
	case len(path) > maxPath:
		return malformed(path, "is too long")
	}
	if r, bad := badRune(path); bad {
		return jackline.E("workspace.Check", jackline.Invalid, nil,
			"The path %s holds the control or invisible character U+%04X; leave it out.", quote(path), r)
	}
	switch {
	case strings.Contains(path, `\`):
		return malformed(path, "holds a backslash; separate folders with /")
	case path[0] == '~':
		return malformed(path, "starts with ~, which stands for nothing here; give a path relative to the workspace")
	case strings.HasPrefix(path, "//"), strings.HasPrefix(path, "/??/"):
		return malformed(path, "is a network or device path; give a path relative to the workspace")
	}
	switch scheme := schemeOf(path); {
	case len(scheme) == 1:
		return malformed(path, "starts with a drive letter; give a path relative to the workspace")
	case scheme != "" && (strings.HasPrefix(path[len(scheme):], ":/") || wellKnown(scheme)):
		return malformed(path, "is an address, not a path; for a file of that name write ./ in front")
	}
	for _, e := range split(path) {
		if len(e) > maxElement {
			return malformed(path, "holds a name that is too long")
		}
		if why := n.windows(e); why != "" {
			return malformed(path, why)
		}
	}
	return nil
}

// windows says why Windows would take an element for something else than a file of this name.
func (n Names) windows(e string) string {
	if n.Target != Windows || e == "" || e == "." || e == ".." {
		return ""
	}
	if strings.Contains(e, ":") {
		return "holds a colon, which names a stream on Windows"
	}
	if last := e[len(e)-1]; last == '.' || last == ' ' {
		return "holds a name that ends in a dot or space, which Windows drops"
	}
	if stem := strings.TrimRight(e, "0123456789"); len(stem) < len(e) && strings.HasSuffix(stem, "~") && utf8.RuneCountInString(e) <= 8 {
		return "holds a short name; write it out"
	}
	base, _, _ := strings.Cut(normal(e), ".")
	base = strings.TrimRightFunc(base, unicode.IsSpace)
	switch base {
	case "con", "prn", "aux", "nul", "conin$", "conout$":
		return "names a device"
	}
	if digit, ok := strings.CutPrefix(base, "com"); ok && device(digit) {
		return "names a device"
	}
	if digit, ok := strings.CutPrefix(base, "lpt"); ok && device(digit) {
		return "names a device"
	}
	return ""
}

func device(digit string) bool { return len(digit) == 1 && digit[0] >= '1' && digit[0] <= '9' }

// schemeOf is what stands before the colon of an address or drive at the start of path, or "".
func schemeOf(path string) string {
	for i := range len(path) {
		switch c := path[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		case i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'):
		case i > 0 && c == ':':
			return path[:i]
		default:
			return ""
		}
	}
	return ""
}

// wellKnown reports whether a scheme makes an address of whatever follows it. Other words before a colon may be names.
func wellKnown(scheme string) bool {
	switch strings.ToLower(scheme) {
	case "file", "http", "https", "ftp", "ftps", "sftp", "ssh", "scp", "smb", "nfs", "dav", "data", "blob", "jar", "javascript", "vbscript", "about",
		"mailto", "view-source", "ws", "wss", "git", "urn", "res", "search-ms", "ms-settings", "vscode":
		return true
	}
	return false
}

// split gives the elements of a path, as they stand.
func split(path string) []string { return strings.Split(path, "/") }

// normal is an element as the most forgiving file system would compare it: without ignorable code points,
// compatibility-normalised, case folded. The three are repeated because each can bring out work for another.
func normal(e string) string {
	ascii := true
	for i := range len(e) {
		ascii = ascii && e[i] >= ' ' && e[i] < utf8.RuneSelf
	}
	if ascii {
		return strings.ToLower(e)
	}
	const rounds = 4 // two are enough for all of Unicode; more cost nothing
	for range rounds {
		before := e
		e = strings.Map(func(r rune) rune {
			if ignorable(r) || unicode.IsControl(r) {
				return -1
			}
			return r
		}, e)
		e = cases.Fold().String(norm.NFKC.String(e))
		if e == before {
			break
		}
	}
	return e
}

// ignorable reports whether r is a code point that has no look of its own and that a file system may pass over.
func ignorable(r rune) bool {
	return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Cf, unicode.Variation_Selector)
}

// badRune finds the first character that makes a name other than it looks.
func badRune(s string) (rune, bool) {
	runes := []rune(s)
	for i, r := range runes {
		switch {
		case unicode.IsControl(r), r == '\u2028', r == '\u2029', r == utf8.RuneError: // what stood there is lost
			return r, true
		case r == '\u200c', r == '\u200d':
			if !joins(runes, i) {
				return r, true
			}
		case unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r):
			return r, true
		}
	}
	return 0, false
}

// joins reports whether the joiner at i stands between two letters of one script that uses joiners. Marks on the first
// letter may stand between.
func joins(runes []rune, i int) bool {
	k := i - 1
	for k >= 0 && unicode.IsMark(runes[k]) {
		k--
	}
	if k < 0 || i+1 >= len(runes) {
		return false
	}
	for _, script := range [...]*unicode.RangeTable{
		unicode.Arabic, unicode.Syriac, unicode.Mandaic, unicode.Mongolian, unicode.Nko, unicode.Phags_Pa, unicode.Manichaean,
		unicode.Hanifi_Rohingya, unicode.Adlam, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya,
		unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Tibetan, unicode.Myanmar,
		unicode.Khmer, unicode.Balinese, unicode.Javanese, unicode.Sundanese,
	} {
		if unicode.Is(script, runes[k]) {
			return unicode.IsLetter(runes[k]) && unicode.IsLetter(runes[i+1]) && unicode.Is(script, runes[i+1])
		}
	}
	return false
}

// quote shows a path in a message: at most a line of it, with nothing in it that acts on a terminal.
func quote(path string) string {
	const most = 120
	if r := []rune(path); len(r) > most {
		path = string(r[:most]) + "…"
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range path {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteRune('\ufffd')
		}
	}
	b.WriteByte('"')
	return b.String()
}

func malformed(path, why string) error {
	return jackline.E("workspace.Check", jackline.Invalid, nil, "The path %s %s.", quote(path), why)
}

func outside(path string) error {
	return jackline.E("workspace.Check", jackline.Forbidden, nil,
		"%s is outside the workspace; use a path inside it.", quote(path))
}

func protected(path string) error {
	return jackline.E("workspace.Check", jackline.Forbidden, nil,
		"%s is protected (secrets, keys, the git store): no tool may touch it. Go on without it.", quote(path))
}
