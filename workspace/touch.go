package workspace

import (
	"path"

	"github.com/jackline-ai/jackline"
)

// Touch names what a call will use at path, for a judge. It looks at names and links and opens no file, and it looks
// at nothing that is protected. The name is where the path really leads, from the root. A path that nobody may allow
// comes with the reason.
//
// A deletion is of the entry itself: a link at the end is not followed.
func (r *Root) Touch(effect jackline.Effect, path string) []jackline.Touch {
	return r.touch(effect, path, !effect.Has(jackline.Delete))
}

// TouchEntry is Touch for a call that moves the entry at path: a link at the end is not followed.
func (r *Root) TouchEntry(effect jackline.Effect, path string) []jackline.Touch {
	return r.touch(effect, path, false)
}

func (r *Root) touch(effect jackline.Effect, given string, follow bool) []jackline.Touch {
	t := jackline.Touch{Effect: effect, Kind: "path", Name: path.Clean(given)}
	p, err := r.resolve(given, follow)
	if err != nil {
		switch jackline.KindOf(err) {
		case jackline.Forbidden, jackline.Invalid:
			t.Name, t.Refused = printable(given), jackline.Say(err)
		default:
			if lexicallyOut(given) {
				t.Name, t.Refused = printable(given), jackline.Say(outside(given))
			}
		}
		return []jackline.Touch{t}
	}
	defer p.close()
	t.Name, t.Exists = p.full(), p.found
	return []jackline.Touch{t}
}

// lexicallyOut reports whether the text of a path leads out where nothing of it exists.
func lexicallyOut(given string) bool {
	clean := path.Clean(given)
	return clean == ".." || len(clean) > 2 && clean[:3] == "../"
}

func printable(path string) string {
	q := quote(path)
	return q[1 : len(q)-1]
}
