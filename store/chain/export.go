package chain

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackline-ai/jackline"
)

const (
	exportVersion = "jackline audit 1"

	// maxExportLine bounds one line of an export, in bytes: what a line says is short, each part of it.
	maxExportLine = 64 << 10
)

// The first and the last line of an export. All others are lines of the audit.
type (
	opening struct {
		Audit    string    `json:"audit"`
		Exported time.Time `json:"exported"`
		Filtered bool      `json:"filtered"` // lines were left out because they were not asked for
		Head     string    `json:"head"`     // the head's file; "" where the chain was never sealed
	}
	closing struct {
		End   bool  `json:"end"`
		Lines int64 `json:"lines"`
	}
)

// An Exporter writes lines of the audit as JSON, one a line, so that [VerifyExport] can check them later and elsewhere.
type Exporter struct {
	w     *bufio.Writer
	enc   *json.Encoder
	lines int64
}

// NewExporter begins an export. filtered says that not all lines will come. The head is that of the chain; it is left out where
// there is none.
func (k Keys) NewExporter(w io.Writer, h Head, filtered bool) (*Exporter, error) {
	x := &Exporter{w: bufio.NewWriter(w)}
	x.enc = json.NewEncoder(x.w)
	x.enc.SetEscapeHTML(false)
	first := opening{Audit: exportVersion, Exported: time.Now().UTC(), Filtered: filtered}
	if h.N > 0 {
		first.Head = k.file(h)
	}
	return x, x.enc.Encode(first)
}

// Line writes one line.
func (x *Exporter) Line(e jackline.AuditEntry) error {
	x.lines++
	return x.enc.Encode(e)
}

// Close ends the export. It does not close the writer below.
func (x *Exporter) Close() error {
	return errors.Join(x.enc.Encode(closing{End: true, Lines: x.lines}), x.w.Flush())
}

// Export writes all lines that a reader gives, page by page of so many.
func (k Keys) Export(w io.Writer, h Head, filtered bool, page int, read Reader) error {
	x, err := k.NewExporter(w, h, filtered)
	if err != nil {
		return err
	}
	for at := int64(0); ; {
		lines, err := read(at, page)
		if err != nil {
			return err
		}
		for _, e := range lines {
			if err := x.Line(e); err != nil {
				return err
			}
			at = e.N
		}
		if len(lines) < page {
			return x.Close()
		}
	}
}

// VerifyExport looks at an export. With the keys of the store it finds every line that was changed, and with all lines of the
// store also those that are missing. Without keys it finds only lines that do not follow each other: a person who changes a
// line and makes its MACs fit one another is not found out. An error means that r could not be read, or is no export.
func VerifyExport(r io.Reader, k Keys) (jackline.AuditReport, error) {
	const op = "chain.VerifyExport"
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 0, 4096), maxExportLine)
	var first opening
	if !sc.Scan() || json.Unmarshal(sc.Bytes(), &first) != nil || first.Audit != exportVersion {
		return jackline.AuditReport{}, jackline.E(op, jackline.Invalid, sc.Err(), "This is no export of an audit: its first line would say so.")
	}
	v := Verifier{Keys: k, Gaps: first.Filtered, Anywhere: first.Filtered}
	head, headErr := k.Parse([]byte(first.Head))
	var at MAC
	named, ended := false, false
	for n := 2; sc.Scan(); n++ {
		line := bytes.TrimSpace(sc.Bytes())
		var end closing
		if json.Unmarshal(line, &end) == nil && end.End {
			if ended = end.Lines == v.report.Checked; !ended {
				v.fault(v.report.Last, jackline.BreakMissing, fmt.Sprintf("The export ends with %d lines, and says that it has %d.", v.report.Checked, end.Lines))
			}
			ended = true
			break
		}
		var e jackline.AuditEntry
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.DisallowUnknownFields() // what is not signed must not look as if it were
		if dec.Decode(&e) != nil || dec.More() || e.N < 1 {
			v.fault(v.report.Last+1, jackline.BreakUnread, fmt.Sprintf("Line %d of the file is no line of an audit.", n))
			continue
		}
		v.Line(e)
		if headErr == nil && e.N == head.N {
			at, named = ParseMAC(e.MAC)
		}
	}
	if err := sc.Err(); err != nil {
		return jackline.AuditReport{}, jackline.E(op, jackline.Invalid, err, "The export cannot be read to its end: a line of it is too long, or the file fails.")
	}
	if !ended {
		v.fault(v.report.Last, jackline.BreakCut, "The export has no end: it was cut off, or not written to its end.")
	}
	switch {
	case first.Head == "" || first.Filtered && !named:
	case headErr != nil:
		v.fault(0, jackline.BreakHead, "The head in the export's first line was not written by this program.")
	default:
		v.Head(head, nil, 0, at, named)
	}
	rep := v.Report()
	rep.Full, rep.Gaps = !first.Filtered, first.Filtered
	return rep, nil
}
