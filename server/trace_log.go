package server

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/trace"
)

// tracedLog names the trace in each line that is logged for a request that is recorded.
type tracedLog struct{ slog.Handler }

func (l tracedLog) Handle(ctx context.Context, record slog.Record) error {
	if span := trace.SpanContextFromContext(ctx); span.IsSampled() {
		record.AddAttrs(slog.String("trace_id", span.TraceID().String()))
	}
	return l.Handler.Handle(ctx, record)
}

func (l tracedLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return tracedLog{l.Handler.WithAttrs(attrs)}
}

func (l tracedLog) WithGroup(name string) slog.Handler { return tracedLog{l.Handler.WithGroup(name)} }
