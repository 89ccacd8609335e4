// Package column is how values stand in the columns of a table that know only numbers and texts.
package column

import (
	"encoding/json"
	"errors"
	"math"
	"time"
)

// A Moment is a time in a column: nanoseconds, or 0 for none.
type Moment struct{ T *time.Time }

// Scan implements sql.Scanner.
func (m Moment) Scan(v any) error {
	n, ok := v.(int64)
	if !ok {
		return errors.New("a time column holds no number")
	}
	*m.T = time.Time{}
	if n != 0 {
		*m.T = time.Unix(0, n).UTC()
	}
	return nil
}

// Nanos is a time as a column holds it. Times beyond what a column can hold are the last that it can.
func Nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	if last := time.Unix(0, math.MaxInt64); t.After(last) {
		t = last
	}
	return t.UnixNano()
}

// Bit is a truth as a column holds it.
func Bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// A Word is a value in a column that holds its name, such as a mode.
type Word[T any, P interface {
	*T
	UnmarshalText([]byte) error
}] struct{ V *T }

// Scan implements sql.Scanner.
func (w Word[T, P]) Scan(v any) error {
	s, ok := v.(string)
	if !ok {
		return errors.New("a name column holds no text")
	}
	return P(w.V).UnmarshalText([]byte(s))
}

// A Doc is a value in a column that holds its JSON.
type Doc struct{ V any }

// Scan implements sql.Scanner.
func (d Doc) Scan(v any) error {
	s, ok := v.(string)
	if !ok {
		return errors.New("a JSON column holds no text")
	}
	return json.Unmarshal([]byte(s), d.V)
}
