package server

import (
	"context"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/perks/store"
)

// databaseCollector reads the figures of the databases when Prometheus asks for them. It asks each whether it takes writes,
// as /readyz does, so that an alert needs nobody who asks there.
type databaseCollector struct {
	databases map[string]store.Store // by label

	ready, connections, connectionsMax, waits, waited *prometheus.Desc
	waiting, capacity, batches, failed                *prometheus.Desc
}

func newDatabaseCollector(config Config) *databaseCollector {
	describe := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName(namespace, "database", name), help, append([]string{"database"}, labels...), nil)
	}
	c := &databaseCollector{
		databases: map[string]store.Store{databaseLabel(false): config.Live},

		ready:          describe("ready", "1 if the database committed a write just now, else 0."),
		connections:    describe("connections", "Connections that are open, in use or idle.", "pool", "state"),
		connectionsMax: describe("connections_max", "Connections that a pool can have.", "pool"),
		waits:          describe("connection_waits_total", "Times that somebody had to wait for a connection.", "pool"),
		waited:         describe("connection_wait_seconds_total", "Time that was spent waiting for a connection.", "pool"),
		waiting:        describe("queue_writes", "Writes in the queue or in the transaction under way: all writes on SQLite, redemptions on PostgreSQL."),
		capacity:       describe("queue_capacity_writes", "Writes that the queue has room for. More make their callers wait before they are queued."),
		batches:        describe("batch_writes", "Writes of the queue that one transaction answered."),
		failed:         describe("batch_failures_total", "Transactions of the queue that came to nothing, or whose outcome is not known."),
	}
	if config.Sandbox != nil {
		c.databases[databaseLabel(true)] = config.Sandbox
	}
	return c
}

// Describe is part of prometheus.Collector.
func (c *databaseCollector) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{c.ready, c.connections, c.connectionsMax, c.waits, c.waited, c.waiting, c.capacity, c.batches, c.failed} {
		out <- desc
	}
}

// Collect is part of prometheus.Collector. It takes no longer than a check for readiness may.
func (c *databaseCollector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), readyTime)
	defer cancel()
	var asked sync.WaitGroup
	for label, db := range c.databases {
		asked.Go(func() {
			c.collectReady(ctx, out, label, db)
			c.collectStats(out, label, db.Stats())
		})
	}
	asked.Wait()
}

func (c *databaseCollector) collectReady(ctx context.Context, out chan<- prometheus.Metric, label string, db store.Store) {
	ready := 0.0
	if db.Ready(ctx) == nil {
		ready = 1
	}
	out <- prometheus.MustNewConstMetric(c.ready, prometheus.GaugeValue, ready, label)
}

func (c *databaseCollector) collectStats(out chan<- prometheus.Metric, label string, stats store.Stats) {
	gauge := func(desc *prometheus.Desc, value int, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(value), append([]string{label}, labels...)...)
	}
	counter := func(desc *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, value, append([]string{label}, labels...)...)
	}
	for _, pool := range stats.Pools {
		gauge(c.connections, pool.InUse, pool.Name, "in_use")
		gauge(c.connections, pool.Idle, pool.Name, "idle")
		gauge(c.connectionsMax, pool.Max, pool.Name)
		counter(c.waits, float64(pool.Waits), pool.Name)
		counter(c.waited, pool.Waited.Seconds(), pool.Name)
	}
	gauge(c.waiting, stats.Queue.Waiting)
	gauge(c.capacity, stats.Queue.Capacity)
	batches := stats.Queue.Batches
	counter(c.failed, float64(batches.Failed))
	upTo := map[float64]uint64{}
	for i, size := range store.BatchSizes() {
		upTo[float64(size)] = batches.UpTo[i]
	}
	out <- prometheus.MustNewConstHistogram(c.batches, batches.Ended, float64(batches.Writes), upTo, label)
}
