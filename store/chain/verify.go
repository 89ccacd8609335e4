package chain

import (
	"crypto/hmac"
	"fmt"

	"github.com/jackline-ai/jackline"
)

// maxFaults is how many faults a report names: a chain that was written anew has as many as lines.
const maxFaults = 100

// A Verifier looks at the lines of one chain, in their order. Its fields are set before the first one.
type Verifier struct {
	Keys Keys // the zero Keys leave the lines themselves unchecked

	// From is the line before the first that will come, if it is known by its MAC; the zero From is the beginning of the
	// chain. Whoever looks at the end of a chain only, or at an export of some lines, sets Anywhere: then the first line says
	// by itself what it follows.
	From     Head
	Anywhere bool

	// Gaps lets lines be missing, because not all were asked for.
	Gaps bool

	report jackline.AuditReport
	last   MAC
	begun  bool
	broken bool // what stands before the next line is not known
}

// Line looks at the next line. Prev must be filled; where it is not, the line cannot be checked.
func (v *Verifier) Line(e jackline.AuditEntry) {
	r := &v.report
	prev, ok := ParseMAC(e.Prev)
	mac, sealed := ParseMAC(e.MAC)
	expected := r.Last + 1
	if !v.begun {
		v.begun, v.last, expected = true, v.From.MAC, v.From.N+1
		if v.Anywhere {
			expected, v.last = e.N, prev
		}
		r.First = e.N
	}
	follows := e.N == expected
	switch {
	case e.N < expected:
		v.fault(e.N, jackline.BreakAltered, fmt.Sprintf("Line %d stands behind line %d.", e.N, expected-1))
	case e.N > expected && !v.Gaps:
		v.fault(expected, jackline.BreakMissing, missing(expected, e.N-1))
	}
	if !follows || v.broken {
		v.last = prev // what it says that it follows
	}
	v.broken = false
	switch {
	case !sealed || !ok:
		v.fault(e.N, jackline.BreakAltered, fmt.Sprintf("Line %d has no seal.", e.N))
		v.broken = true
	case v.last != prev:
		v.fault(e.N, jackline.BreakAltered, fmt.Sprintf("Line %d does not follow the line before it.", e.N))
	case v.Keys.Known():
		if want := v.Keys.Next(prev, e); !hmac.Equal(want[:], mac[:]) {
			v.fault(e.N, jackline.BreakAltered, fmt.Sprintf("Line %d is not as it was written, or the one before it is not.", e.N))
		}
	}
	if e.Kind == jackline.AuditFault {
		if len(r.Noted) < maxFaults {
			r.Noted = append(r.Noted, e)
		}
	}
	v.last, r.Last = mac, max(r.Last, e.N)
	r.Checked++
}

func missing(from, to int64) string {
	if from == to {
		return fmt.Sprintf("Line %d is missing.", from)
	}
	return fmt.Sprintf("The lines %d to %d are missing.", from, to)
}

func (v *Verifier) fault(n int64, kind jackline.AuditBreak, text string) {
	if len(v.report.Faults) == maxFaults {
		v.report.More++
		return
	}
	v.report.Faults = append(v.report.Faults, jackline.AuditProblem{N: n, Kind: kind, Text: text})
}

// pageLines is how many lines are read at a time.
const pageLines = 500

// A Reader reads lines behind one, oldest first, at most so many. Fewer means that there are no more.
type Reader func(after int64, limit int) ([]jackline.AuditEntry, error)

// Verify looks at the lines behind from, and at the head: as Read gave it, before the lines were read. See [Keys.Against] for
// sealed. An error is one of the reader's.
func (k Keys) Verify(from int64, h Head, headErr error, sealed int64, read Reader) (jackline.AuditReport, error) {
	v := Verifier{Keys: k, Anywhere: from > 0}
	for at := from; ; {
		lines, err := read(at, pageLines)
		if err != nil {
			return jackline.AuditReport{}, err
		}
		for _, e := range lines {
			v.Line(e)
			at = e.N
		}
		if len(lines) < pageLines {
			break
		}
	}
	named, err := read(h.N-1, 1)
	if err != nil {
		return jackline.AuditReport{}, err
	}
	var at MAC
	ok := len(named) > 0 && named[0].N == h.N
	if ok {
		at, _ = ParseMAC(named[0].MAC)
	}
	v.Head(h, headErr, sealed, at, ok)
	r := v.Report()
	r.Full = from == 0
	return r, nil
}

// Head compares the lines with the head, once all were looked at. at is the MAC of the line that the head names, and ok is
// false where there is no such line. sealed is the line up to which the program knows that it sealed: see [Keys.Against].
func (v *Verifier) Head(h Head, err error, sealed int64, at MAC, ok bool) {
	if p := v.Keys.Against(h, err, sealed, v.report.Last, at, ok); p != nil {
		v.fault(p.N, p.Kind, p.Text)
	}
	if err == nil {
		v.report.Head, v.report.Sealed, v.report.Since = h.N, h.At, max(0, v.report.Last-h.N)
	}
}

// Against says what does not fit between a head, as Read gave it, and a chain that ends at the line last. at is the MAC of the
// line that the head names; ok is false where there is none. sealed is the line up to which the program noted, beside the
// chain, that it had sealed before its last time. Nil is that all fits.
func (k Keys) Against(h Head, err error, sealed, last int64, at MAC, ok bool) *jackline.AuditProblem {
	problem := func(n int64, kind jackline.AuditBreak, text string, a ...any) *jackline.AuditProblem {
		return &jackline.AuditProblem{N: n, Kind: kind, Text: fmt.Sprintf(text, a...)}
	}
	switch {
	case Gone(err) && sealed == 0:
		return nil // it was never sealed
	case Gone(err):
		return problem(sealed, jackline.BreakNoHead, "The file %s is gone, though the audit was sealed up to line %d: lines behind those that are there may have been cut off.", FileHead, sealed)
	case err != nil:
		return problem(sealed, jackline.BreakHead, "The file %s cannot be read or was not written by this program: lines behind those that are there may have been cut off.", FileHead)
	case h.N > last:
		return problem(last+1, jackline.BreakCut, "The audit ends at line %d, and it was sealed up to line %d: what stood behind was cut off.", last, h.N)
	case h.N > 0 && !ok:
		return problem(h.N, jackline.BreakMissing, "Line %d, at which the audit was sealed, is missing.", h.N)
	case h.N > 0 && at != h.MAC:
		return problem(h.N, jackline.BreakNoChain, "Line %d is another one than when the audit was sealed.", h.N)
	case h.N < sealed:
		return problem(h.N, jackline.BreakOldHead, "The file %s is an earlier one that was put back: it names line %d, and the audit was sealed up to line %d since.", FileHead, h.N, sealed)
	}
	return nil
}

// Report is what was found.
func (v *Verifier) Report() jackline.AuditReport {
	r := v.report
	r.Keyed = v.Keys.Known()
	r.OK = len(r.Faults) == 0
	if r.Faults == nil {
		r.Faults = []jackline.AuditProblem{}
	}
	if r.Noted == nil {
		r.Noted = []jackline.AuditEntry{}
	}
	return r
}
