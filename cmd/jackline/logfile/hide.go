package logfile

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/jackline-ai/jackline/redact"
)

// A hiding handler hides secrets in what is logged: in messages, and in the attributes of a record by their names and as text.
type hiding struct {
	slog.Handler
	hider *redact.Redactor
}

// Handle implements slog.Handler.
func (h hiding) Handle(ctx context.Context, r slog.Record) error {
	clean := slog.NewRecord(r.Time, r.Level, h.hider.Text(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(h.attr(a))
		return true
	})
	return h.Handler.Handle(ctx, clean)
}

// WithAttrs implements slog.Handler.
func (h hiding) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for k, a := range attrs {
		clean[k] = h.attr(a)
	}
	return hiding{h.Handler.WithAttrs(clean), h.hider}
}

// WithGroup implements slog.Handler.
func (h hiding) WithGroup(name string) slog.Handler {
	return hiding{h.Handler.WithGroup(name), h.hider}
}

func (h hiding) attr(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindString:
		return slog.String(a.Key, h.hider.Member(a.Key, v.String()))
	case slog.KindGroup:
		group := v.Group()
		clean := make([]slog.Attr, len(group))
		for k, g := range group {
			clean[k] = h.attr(g)
		}
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(clean...)}
	case slog.KindAny:
		return slog.String(a.Key, h.hider.Member(a.Key, fmt.Sprintf("%+v", v.Any())))
	case slog.KindBool, slog.KindDuration, slog.KindFloat64, slog.KindInt64, slog.KindTime, slog.KindUint64, slog.KindLogValuer:
	}
	return a
}
