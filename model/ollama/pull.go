package ollama

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model/engine"
)

// Progress is how far the fetching of a model has come.
type Progress struct {
	// Status is what is being done, in Ollama's words, cleaned: "pulling manifest", "verifying sha256 digest", "success".
	Status string `json:"status"`

	// Done and Total are bytes of all parts of the model that are known so far, which the biggest is the first of. Total
	// grows with each part that becomes known; it is 0 before the first.
	Done  int64 `json:"done"`
	Total int64 `json:"total"`
}

const (
	maxStatus = 120  // bytes of a status
	maxLayers = 1024 // parts of a model; tensors that come one by one are some hundreds
	success   = "success"
	opPull    = "ollama.Pull"
)

// Pull has Ollama fetch a model from its library, and yields how far it is until it is there. The sequence ends without
// an error only if the model is whole. Ending ctx or breaking out of the loop stops the fetching; what has
// arrived is kept by Ollama, and Pull goes on from there the next time.
func (m *Model) Pull(ctx context.Context, name string) iter.Seq2[Progress, error] {
	return func(yield func(Progress, error) bool) {
		if err := m.named(opPull, name); err != nil {
			yield(Progress{}, err)
			return
		}
		p := &pull{m: m, name: name, layers: map[string]layer{}, yield: func(p Progress) bool { return yield(p, nil) }}
		t := m.client.For(name).Ask(ctx, opPull, "api/pull", [][]byte{naming(name, `,"stream":true`)}, p.read)
		switch {
		case t == nil || errors.Is(t.Err, engine.ErrGone):
		case ctx.Err() != nil:
			yield(Progress{}, ctx.Err())
		default:
			yield(Progress{}, t.Err)
		}
	}
}

type layer struct{ done, total int64 }

// A pull is one model being fetched.
type pull struct {
	m      *Model
	name   string
	layers map[string]layer
	last   Progress
	yield  func(Progress) bool
}

// read reads the lines of one answer. They come several times a second while something is fetched.
func (p *pull) read(reply *engine.Reply) *engine.Trouble {
	if !reply.OK() {
		return p.refused(reply.Refusal())
	}
	lines := engine.NewLines(reply)
	for {
		text, err := lines.Next()
		if err == nil {
			err = reply.Left()
		}
		var l struct {
			Status    string          `json:"status"`
			Digest    string          `json:"digest"`
			Total     int64           `json:"total"`
			Completed int64           `json:"completed"`
			Error     json.RawMessage `json:"error"`
		}
		var mismatch *json.UnmarshalTypeError
		switch {
		case err == io.EOF: //nolint:errorlint // wrapped, it is not the body that ended but a connection
			return &engine.Trouble{Err: jackline.E(opPull, jackline.Unavailable, io.ErrUnexpectedEOF,
				"The Ollama at %s stopped before %s was whole. Fetch it again: it goes on where it stopped.", p.m.client.Address(), p.name)}
		case err != nil:
			return reply.Cut(err)
		}
		if err := json.Unmarshal(text, &l); err != nil && !errors.As(err, &mismatch) {
			return &engine.Trouble{Err: p.m.client.Strange(opPull, text)}
		}
		if isSet(l.Error) {
			return p.refused(engine.Refusal{Body: text})
		}
		reply.Begun()
		before := p.last
		p.note(l.Digest, layer{done: l.Completed, total: l.Total})
		p.last.Status = engine.Printable(l.Status, maxStatus)
		if p.last != before && !p.yield(p.last) {
			return &engine.Trouble{Err: engine.ErrGone}
		}
		if l.Status == success {
			reply.Drain()
			return nil
		}
	}
}

// note puts a part's progress down and sums all parts up. Numbers that make no sense are left out, so that a sum neither
// overflows nor shrinks.
func (p *pull) note(digest string, l layer) {
	const most = 1 << 50 // bytes of one part: a petabyte
	known, old := p.layers[digest]
	if digest == "" || l.total <= 0 || l.total > most || l.done < 0 || !old && len(p.layers) == maxLayers {
		return
	}
	l.done = min(l.done, l.total)
	p.layers[digest] = l
	p.last.Done += l.done - known.done
	p.last.Total += l.total - known.total
}

// refused says why a model cannot be fetched.
func (p *pull) refused(r engine.Refusal) *engine.Trouble {
	client := p.m.client.For(p.name)
	at := client.Address()
	problem := engine.ReadProblem(r.Body)
	say := func(k jackline.Kind, format string, a ...any) *engine.Trouble {
		return &engine.Trouble{Err: jackline.E(opPull, k, client.Cause(r), format, a...)}
	}
	switch {
	case r.Status == 0 && problem.Says("file does not exist", "manifest unknown", "not found"):
		return say(jackline.NotFound, "Ollama's library has no model %q: check its name, and the tag behind the colon.", p.name)
	case problem.Says("invalid model name", "name*invalid"):
		return say(jackline.Invalid, "%q is no name of a model: names look like qwen3:8b.", p.name)
	case problem.Says("no space left", "not enough space", "insufficient disk", "disk full"):
		return say(jackline.Unavailable, "The disk of the Ollama at %s has no room for %s: make room and fetch it again.", at, p.name)
	case problem.Says("unauthorized", "access denied", "pull access"):
		return say(jackline.Forbidden, "The library does not give %s to the Ollama at %s.", p.name, at)
	case problem.Says("dial tcp", "no such host", "connection re", "timeout", "timed out", "tls", "eof", "max retries", "unreachable", "i/o"):
		return say(jackline.Unavailable,
			"The Ollama at %s lost its way to the library while it fetched %s. Fetch it again: it goes on where it stopped.", at, p.name)
	case problem.Says("digest mismatch"):
		return say(jackline.Unavailable, "What arrived of %s is damaged, and the Ollama at %s threw it away. Fetch it again.", p.name, at)
	}
	if t := client.Meant(opPull, r, problem); t != nil || problem.Status(r) != 0 {
		return cmp.Or(t, client.Failing(opPull, r, problem))
	}
	return say(jackline.Unavailable, "The Ollama at %s could not fetch %s. Its own log says why.", at, p.name)
}
