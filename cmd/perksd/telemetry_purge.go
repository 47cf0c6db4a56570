package main

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/perks/store"
)

// purgeMeter counts what is purged.
type purgeMeter struct {
	runs *prometheus.CounterVec
	keys prometheus.Counter
}

func newPurgeMeter() *purgeMeter {
	m := &purgeMeter{
		runs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "perks_idempotency_purges_total", Help: "Times that a database was rid of old idempotency keys, which happens every hour, or should have been.",
		}, []string{"outcome"}),
		keys: prometheus.NewCounter(prometheus.CounterOpts{Name: "perks_idempotency_keys_purged_total", Help: "Old idempotency keys that were forgotten."}),
	}
	m.runs.WithLabelValues(purgeDone)
	m.runs.WithLabelValues(purgeFailed)
	return m
}

const (
	purgeDone   = "done"
	purgeFailed = "failed"
)

// of returns the stores such that their purges are counted.
func (m *purgeMeter) of(stores []store.Store) []store.Store {
	var counted []store.Store
	for _, s := range stores {
		counted = append(counted, countedPurges{s, m})
	}
	return counted
}

type countedPurges struct {
	store.Store
	meter *purgeMeter
}

func (c countedPurges) PurgeIdempotencyKeys(ctx context.Context, before time.Time) (int64, error) {
	purged, err := c.Store.PurgeIdempotencyKeys(ctx, before)
	c.meter.keys.Add(float64(purged))
	if err != nil {
		c.meter.runs.WithLabelValues(purgeFailed).Inc()
	} else {
		c.meter.runs.WithLabelValues(purgeDone).Inc()
	}
	return purged, err
}
