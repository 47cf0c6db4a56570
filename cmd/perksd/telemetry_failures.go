package main

import (
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// exportFailures logs that traces cannot be sent, at most once a minute: a collector that is gone would fill the log.
type exportFailures struct {
	log   *slog.Logger
	now   func() time.Time
	count prometheus.Counter

	mu       sync.Mutex
	logged   time.Time
	unlogged int
}

// quietTime is how long nothing more is logged.
const quietTime = time.Minute

func newExportFailures(log *slog.Logger) *exportFailures {
	return &exportFailures{log: log, now: time.Now, count: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "perks_trace_export_errors_total", Help: "Times that traces could not be sent.",
	})}
}

// Handle is part of otel.ErrorHandler.
func (f *exportFailures) Handle(err error) {
	f.count.Inc()
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	if !f.logged.IsZero() && now.Sub(f.logged) < quietTime {
		f.unlogged++
		return
	}
	f.log.Warn("traces cannot be sent; requests are answered all the same", "error", short(err), "failures_not_logged", f.unlogged)
	f.logged, f.unlogged = now, 0
}

// short is the beginning of an error that may repeat what a stranger answered.
func short(err error) string {
	const enough = 300
	text := err.Error()
	if len(text) > enough {
		return text[:enough] + "..."
	}
	return text
}
