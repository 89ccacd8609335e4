package approval

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"github.com/jackline-ai/jackline"
)

const (
	sealVersion = "jackline approval 2"
	nonceSize   = 16
)

// seal gives a row a fresh nonce and the hash over its facts.
func (d *Desk) seal(a *jackline.Approval) {
	nonce := make([]byte, nonceSize)
	_, _ = rand.Read(nonce) // never fails
	a.Seal = append(nonce, d.hash(*a, nonce)...)
}

// sealed reports whether the row's facts are those that were sealed.
func (d *Desk) sealed(a jackline.Approval) bool {
	if len(a.Seal) != nonceSize+sha256.Size {
		return false
	}
	return hmac.Equal(a.Seal[nonceSize:], d.hash(a, a.Seal[:nonceSize]))
}

// Holds reports whether a is a yes to exactly i that is still in time.
//
// Labels are what the model had read when it wrote the call, and what the card said. An earlier call of the same step may
// have added to the session's since; that cannot have shaped this one, so a yes to these exact arguments still holds.
func (d *Desk) Holds(a jackline.Approval, i jackline.Intent) bool {
	if a.State != jackline.Approved || a.Kind != jackline.KindCall || !a.Answer.Yes || !d.now().Before(a.Expires) {
		return false
	}
	if _, ok := refused(i); ok {
		return false
	}
	// The row as it would have been, had it been asked about i.
	b := a
	facts(&b, i)
	b.Mode = a.Mode // the mode says what a grant is worth, not what a yes is
	if (b.Labels.Tainted || !a.Labels.Tainted) && (b.Labels.Private || !a.Labels.Private) {
		b.Labels = a.Labels
	}
	return d.sealed(a) && d.sealed(b)
}

// facts fills what a row takes from the intent and seals.
func facts(a *jackline.Approval, i jackline.Intent) {
	a.Owner, a.Session, a.Turn, a.Call = i.Actor.Owner, i.Actor.Session.ID, i.Actor.Turn.ID, i.Call
	a.Tool, a.Digest, a.Args = i.Tool, i.Digest, i.Args
	a.Folder, a.Mode = i.Actor.Session.Workspace, i.Actor.Session.Mode
	a.Effect, a.Touches, a.Labels = i.Effect, i.Touches, i.Labels
	a.Sandbox, a.Facts = i.Sandbox, i.Facts
}

// hash is over every fact, each behind its length, so that no two rows share an encoding.
func (d *Desk) hash(a jackline.Approval, nonce []byte) []byte {
	m := hmac.New(sha256.New, d.key)
	text := func(s string) { put(m, []byte(s)) }
	text(sealVersion)
	put(m, nonce)
	for _, s := range []string{
		string(a.ID), string(a.Kind), string(a.Owner), string(a.Session), string(a.Turn), string(a.Call),
		a.Tool, a.Digest, string(a.Args), a.Folder, a.Mode.String(),
	} {
		text(s)
	}
	number(m, int64(a.Effect))
	sealTouches(m, a.Touches)
	sealSandbox(m, a.Sandbox)
	number(m, int64(len(a.Facts)))
	for _, f := range a.Facts {
		text(f.Name)
		text(f.ID)
		text(f.Digest)
	}
	flag(m, a.Labels.Tainted)
	flag(m, a.Labels.Private)
	number(m, a.Expires.UnixNano())
	// A pending row cannot be turned into a yes without the key.
	flag(m, a.State == jackline.Approved && a.Answer.Yes)
	return m.Sum(nil)
}

func sealTouches(m hash.Hash, touches []jackline.Touch) {
	number(m, int64(len(touches)))
	for _, t := range touches {
		number(m, int64(t.Effect))
		put(m, []byte(t.Kind))
		put(m, []byte(t.Name))
		flag(m, t.Exists)
	}
}

func sealSandbox(m hash.Hash, s jackline.Sandbox) {
	number(m, int64(s.Level))
	put(m, []byte(s.Leaks))
	flag(m, s.Repository)
	for _, list := range [][]string{s.Hosts, s.Read, s.Write} {
		number(m, int64(len(list)))
		for _, name := range list {
			put(m, []byte(name))
		}
	}
}

func put(h hash.Hash, b []byte) {
	number(h, int64(len(b)))
	h.Write(b)
}

func number(h hash.Hash, n int64) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	h.Write(b[:])
}

func flag(h hash.Hash, b bool) {
	if b {
		number(h, 1)
		return
	}
	number(h, 0)
}
