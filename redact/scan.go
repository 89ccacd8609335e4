package redact

import (
	"strings"
	"sync"
)

// table holds the shapes of tokens, made when the first text is looked at.
var table = sync.OnceValue(newShapes) //nolint:gochecknoglobals // it never changes

const (
	// maxLook is how many bytes are looked at ahead before a value, a token or an address is judged by what there is. Longer ones are
	// followed to their end all the same. It bounds what a stream holds back and what a hostile text can cost.
	maxLook = 512

	// enough is how many bytes of a token or of a weak name's value tell whether it is one.
	enough = 128

	// maxName is how many bytes of a name count: its end.
	maxName = 64
)

// phase is where a text is between a name and its value.
type phase int

const (
	nowhere phase = iota
	inName        // the last byte belongs to a name
	closed        // behind the quote or bracket that ends a name
	spaced        // blanks behind a name
	parted        // behind the sign between a name and its value
)

// mode is what the bytes that come are taken for.
type mode int

const (
	reading  mode = iota
	dropping      // the rest of a long hidden value
	block         // the body of a private key
	blob          // the data of a picture
)

// A scan hides what the rules T1 to T6 know in a text that comes in pieces. What it remembers of the text so far follows from what it gave
// out, so that a second scan of that changes nothing.
type scan struct {
	shapes *shapeTable

	buf  string // what is looked at: given out up to pos, except what comes after from
	pos  int
	from int
	out  []byte
	last byte // given out last; of a colour code, the byte that begins it
	raw  byte // given out last

	mode mode
	drop func(string) bool // whether a hidden value ends before this text
	body int               // lines of the private key so far

	phase    phase
	carry    string // the name, as far as it is no longer in buf
	nameFrom int
	nameTo   int
	before   byte // in front of the name
	option   bool // the name begins with dashes
	dash     bool // dashes that may begin an option are last
	dashes   int  // how many

	expect meaning // of what comes next, a value
	sign   byte    // between the name and the value
	heir   meaning // what the name inherits from the one before: a type between a name and its value
	pair   meaning // what a name that stood as a value says about the value beside it

	naming  bool // a name comes as a value
	pairing bool // and is being read

	program string // what runs, on this line, of programs whose short options hold secrets
	netrc   bool   // login lines have begun
	url     bool   // in an address
	hook    string // in an address whose path holds secrets: what they are
}

// feed takes a piece and gives what is decided.
func (s *scan) feed(piece string, final bool) string {
	if s.buf != "" {
		s.compact()
		piece = s.buf + piece
	}
	s.buf = piece
	s.run(final)
	if s.from == 0 && s.pos == len(s.buf) && len(s.out) == 0 {
		out := s.buf
		s.keepName()
		s.buf, s.pos = "", 0
		return out
	}
	s.flush()
	out := string(s.out)
	s.out = s.out[:0]
	return out
}

// compact forgets what was given out.
func (s *scan) compact() {
	s.keepName()
	s.buf = strings.Clone(s.buf[s.pos:])
	s.pos, s.from = 0, 0
}

func (s *scan) keepName() {
	s.carry = strings.Clone(s.name())
	s.nameFrom, s.nameTo = 0, 0
}

func (s *scan) flush() {
	s.out = append(s.out, s.buf[s.from:s.pos]...)
	s.from = s.pos
}

// name is the name that was read last, or its end.
func (s *scan) name() string {
	n := s.buf[s.nameFrom:s.nameTo]
	if s.carry != "" {
		n = s.carry + n
	}
	if len(n) > maxName {
		n = n[len(n)-maxName:]
	}
	return n
}

// hide puts a placeholder in place of the next n bytes.
func (s *scan) hide(n int, what string) {
	s.flush()
	if s.raw == escape {
		s.out = append(s.out, ' ') // else the placeholder would be read as a colour code
	}
	s.out = append(append(append(s.out, opening...), what...), closing...)
	s.skip(n)
	s.hid()
}

// skip gives nothing out for the next n bytes.
func (s *scan) skip(n int) {
	s.pos += n
	s.from = s.pos
}

// hid is what is known behind a placeholder.
func (s *scan) hid() {
	s.last, s.raw = closing[0], closing[0]
	s.phase, s.expect, s.heir, s.dash = nowhere, meaning{}, meaning{}, false
}

// pass gives the next n bytes out.
func (s *scan) pass(n int) {
	if s.pos += n; s.pos > 0 && n > 0 {
		s.last = s.buf[s.pos-1]
		s.raw = s.last
	}
}

// wordByte reports whether a byte belongs to a word.
func wordByte(c byte) bool { return kindOf(c) != 0 || c == '_' || c >= 0x80 }

func blank(c byte) bool { return c == ' ' || c == '\t' }

// run goes as far as can be decided.
func (s *scan) run(final bool) {
	for s.pos < len(s.buf) {
		more := false
		switch s.mode {
		case dropping:
			more = s.dropped(final)
		case block:
			more = s.blocked(final)
		case blob:
			more = s.picture()
		case reading:
			more = s.read(final)
		}
		if more {
			return
		}
	}
	if final && s.mode != reading {
		s.mode = reading
	}
}

// dropped drops a hidden value's rest.
func (s *scan) dropped(final bool) (more bool) {
	for s.pos < len(s.buf) {
		if !final && len(s.buf)-s.pos < longestEnd {
			return true
		}
		if s.drop(s.buf[s.pos:]) {
			s.mode = reading
			return false
		}
		s.skip(1)
	}
	return false
}

// picture gives out the data of a picture as it is.
func (s *scan) picture() (more bool) {
	k := s.pos
	for k < len(s.buf) && s.shapes.sets[based][s.buf[k]] {
		k++
	}
	if k > s.pos {
		s.pass(k - s.pos)
	}
	if k < len(s.buf) {
		s.mode, s.phase = reading, nowhere
	}
	return false
}

// read takes the next step in ordinary text.
func (s *scan) read(final bool) (more bool) {
	c := s.buf[s.pos]
	if c == escape {
		return s.code(final)
	}
	if c == opening[0] {
		if rest := s.buf[s.pos:]; len(rest) < longestPlaceholder && !final && strings.HasPrefix(opening, rest[:min(len(rest), len(opening))]) {
			return true
		} else if n := placeholder(rest); n > 0 {
			s.pass(n)
			s.hid()
			return false
		}
	}
	longer := (c == '=' || c == '>') && (s.last == '=' || s.last == ':') // a sign of two or three: := => ==
	if !blank(c) && c != '\n' && c != '\r' && !longer && (s.phase == parted && s.expect.grade != plain || s.phase == spaced && s.telling()) {
		done, wait := s.valued(final)
		if done || wait {
			return wait
		}
	}
	if s.shapes.words[c] {
		return s.word(final)
	}
	return s.punctuation(c, final)
}

// code gives a colour code out as if it were not there.
func (s *scan) code(final bool) (more bool) {
	n, whole := colour(s.buf[s.pos:])
	if !whole && !final {
		return true
	}
	if n == 0 {
		n = 1
	}
	s.pass(n)
	s.last = escape // what follows begins a word
	if s.phase == inName {
		s.phase = closed
	}
	return false
}

// word reads a word, or a token in its place.
func (s *scan) word(final bool) (more bool) {
	begins := !s.shapes.words[s.last]
	if s.last == '\\' && strings.IndexByte("nrt", s.buf[s.pos]) >= 0 {
		s.pass(1)
		s.last, s.phase = escape, nowhere
		return false
	}
	if begins || s.phase != inName {
		if n, what, more := s.special(final, begins); more {
			return true
		} else if n > 0 {
			s.hide(n, what)
			s.overlong(s.shapes.sets[dashed])
			return false
		}
	}
	if s.dash && s.dashes == 1 && s.buf[s.pos] == 'p' && s.phase != inName && glued(s.program) {
		text := s.buf[s.pos+1:]
		n, found := endBare(text, final)
		if !found && !final {
			return true
		}
		if n > 0 && secret(meaning{strong, kindPassword}, text[:n], false) {
			s.pass(1)
			s.hide(n, kindPassword)
			return false
		}
	}
	if s.phase != inName {
		s.carry, s.nameFrom, s.before = "", s.pos, s.last
		s.option = s.dash
		s.pairing, s.naming = s.naming, false
		s.phase = inName
	}
	k := s.pos + 1
	for k < len(s.buf) && s.shapes.words[s.buf[k]] {
		k++
	}
	s.pass(k - s.pos)
	s.nameTo = k
	s.dash = false
	return false
}

// glued reports whether a program takes a password right behind -p.
func glued(program string) bool {
	return strings.HasPrefix(program, "mysql") || strings.HasPrefix(program, "mariadb") || program == "mycli" || program == "sshpass" || program == "7z"
}

// overlong goes on dropping a token that is longer than what was looked at. Where a piece ends right behind that, the next one tells.
func (s *scan) overlong(of *set) {
	if s.pos == len(s.buf) || of[s.buf[s.pos]] {
		s.mode, s.drop = dropping, func(t string) bool { return !of[t[0]] }
	}
}

// special looks for a token where a word begins, or behind the letter of an escape, or where an address holds one in its path.
func (s *scan) special(final, begins bool) (n int, what string, more bool) {
	text := s.buf[s.pos:]
	if begins {
		if s.url && s.hook != "" && s.last == '/' {
			if n, more := s.segment(text, final); n > 0 || more {
				return n, s.hook, more
			}
		}
		if len(text) > 1 && !s.shapes.begins(text[0], text[1]) || len(text) == 1 && final {
			return 0, "", false
		}
		if n, what, more = s.shapes.token(text, final); n > 0 || more {
			return n, what, more
		}
		if n, more = odd(text, final); n > 0 || more {
			return n, kindToken, more
		}
	}
	return 0, "", false
}

// punctuation reads what is no word.
func (s *scan) punctuation(c byte, final bool) (more bool) {
	if s.pairing && s.phase == inName && c != '-' && c != '.' {
		s.pair, s.pairing = meaningOf(s.name()), false
	}
	next := nowhere
	switch c {
	case '\n', '\r':
		s.newline()
	case ' ', '\t':
		if s.phase == parted {
			next = parted
		} else if s.phase != nowhere {
			s.ends()
			next = spaced
		}
		s.url = false
	case ':':
		if s.phase == inName && s.authority() {
			return s.address(final)
		}
		if rest := s.buf[s.pos:]; s.phase == inName && len(rest) < len("://") && !final && strings.HasPrefix("://", rest) {
			return true
		}
		next = s.part(c)
	case '=', '>', ',':
		next = s.part(c)
	case '"', '\'', '`', ']', '\\':
		if s.phase == inName || s.phase == closed {
			next = closed
		}
		if c != '\\' && c != ']' {
			s.url = false
		}
	case '/', '?', '#':
		s.step(c)
	case '-', '.':
		if s.phase == inName {
			s.pass(1)
			s.nameTo = s.pos
			return false
		}
		if c == '-' {
			if n, more := begin(s.buf[s.pos:], s.last, final); more || n > 0 {
				if n > 0 {
					s.hide(n, kindPrivate)
					s.mode, s.body = block, 0
				}
				return more
			}
			if edge(s.last) {
				s.dash, s.dashes = true, 0
			}
			s.dashes++
		}
	case '!', '+', '~':
		if s.phase != nowhere && s.phase != parted {
			next = spaced
		}
	case '|', ';', '&':
		if s.phase == spaced || s.last == ' ' {
			s.program = ""
		}
	case '}':
		s.pair = meaning{}
	}
	if next != parted {
		s.expect = meaning{}
	}
	if next == nowhere {
		s.heir = meaning{}
	}
	if c != '-' {
		s.dash = false
	}
	s.phase = next
	s.pass(1)
	return false
}

// part reads a sign that may stand between a name and its value.
func (s *scan) part(c byte) (next phase) {
	named := s.phase == inName || s.phase == closed || s.phase == spaced
	switch {
	case c == '>':
		s.url = false
		if s.phase == parted && s.sign == '=' {
			return parted
		}
		named = s.phase == inName && s.before == '<'
	case c == ',':
		if s.phase == inName && s.before == ';' && strings.HasSuffix(s.name(), "base64") {
			s.mode = blob
			return nowhere
		}
		named = s.phase == closed
	case s.phase == parted && s.sign != ',':
		return parted
	}
	if !named {
		return nowhere
	}
	s.sign = c
	s.expect = s.meaning()
	if c == ',' && s.expect.grade > weak && s.expect.grade < header {
		s.expect.grade = weak
	}
	return parted
}

// edge reports whether what follows a byte can begin a command's option.
func edge(c byte) bool {
	switch c {
	case 0, ' ', '\t', '\n', '\r', '"', '\'', '`', '[', '(', '{', ',', '=', '|', escape:
		return true
	}
	return false
}

// newline forgets what holds for a line only.
func (s *scan) newline() {
	if s.last == '\n' {
		s.netrc, s.pair = false, meaning{}
	}
	s.program, s.url, s.hook, s.heir, s.naming = "", false, "", meaning{}, false
}

// telling reports whether the word before a blank may say something about the one behind it. Most do not.
func (s *scan) telling() bool {
	if s.option || s.heir.grade != plain {
		return true
	}
	if s.nameTo-s.nameFrom < 3 {
		return s.carry != ""
	}
	return endsLikeSecret(s.buf[s.nameFrom:s.nameTo])
}

// ends looks at a word that a blank ended: it may be a program whose options matter, or stand between a name and its value.
func (s *scan) ends() {
	if s.phase == spaced {
		return
	}
	name := s.name()
	if len(name) > 12 { // no program that matters is called so
		return
	}
	switch name {
	case "mysql", "mysqldump", "mysqladmin", "mysqlimport", "mariadb", "mariadb-dump", "mycli", "sshpass", "docker", "podman", "helm", "redis-cli",
		"curl", "http", "https", "xh", "wget", "ldapsearch", "smbclient", "skopeo", "buildah", "oras", "nerdctl", "7z", "unzip", "zip", "openssl":
		s.program = name
	case "login", "machine":
		s.netrc = true
	}
}

// meaning is what the name that was read last says about its value.
func (s *scan) meaning() meaning {
	name := s.name()
	m := meaningOf(name)
	if (s.before == '?' || s.before == '&' || s.before == '#' || s.before == ';' && s.url) && s.sign == '=' && m.grade < firm {
		if q := queryMeaning(name); q.grade > m.grade {
			m = q
		}
	}
	switch strings.ToLower(name) {
	case "value", "defaultvalue", "val", "content", "data":
		if s.pair.grade > m.grade {
			m = s.pair
		}
	case "name", "key", "property", "id", "field", "option", "header":
		s.pair, s.naming = meaning{}, true
	}
	if s.heir.grade > m.grade {
		m = s.heir
	}
	return m
}
