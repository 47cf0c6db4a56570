package server

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// collectors are the gauges of the webhooks of a database.
func (s *webhookSender) collectors() []prometheus.Collector {
	labels := func(more ...string) prometheus.Labels {
		all := prometheus.Labels{"database": databaseLabel(s.sandbox)}
		for i := 0; i < len(more); i += 2 {
			all[more[i]] = more[i+1]
		}
		return all
	}
	const webhooks = "Webhooks of all servers, while any is enabled."
	return []prometheus.Collector{
		gauge("webhooks", webhooks, labels("state", "enabled"), func() int { return s.load().enabled }),
		gauge("webhooks", webhooks, labels("state", "disabled"), func() int { return s.load().disabled }),
		gauge("webhooks_held", "Webhooks that this server delivers.", labels(), func() int { return s.load().held }),
		gauge("webhook_failures", "Events that failed, or wait behind one that did, at this server.", labels(),
			func() int { return s.load().failures }),
		gauge("webhook_oldest_seconds", "Age of the oldest event that was read here and is not delivered.", labels(),
			func() int { return int(s.load().oldest.Seconds()) }),
	}
}

// webhookLoad is what the gauges show.
type webhookLoad struct {
	enabled, disabled, held, failures int
	oldest                            time.Duration
}

func (s *webhookSender) load() (l webhookLoad) {
	s.mu.Lock()
	l.enabled, l.disabled = s.state.Enabled, s.state.Disabled
	delivers := s.delivers
	s.mu.Unlock()
	l.held = len(delivers)
	for _, e := range delivers {
		e.mu.Lock()
		l.failures += e.progress.failures
		if !e.progress.oldest.IsZero() {
			l.oldest = max(l.oldest, s.service.now().Sub(e.progress.oldest))
		}
		e.mu.Unlock()
	}
	return l
}
