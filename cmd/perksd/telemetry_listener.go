package main

import "github.com/prometheus/client_golang/prometheus"

// showConnections counts connections from now on.
func (t *telemetry) showConnections(connections *crowding) {
	if t.metrics == nil {
		return
	}
	t.gauge("perks_http_connections", "Connections of clients that are open.",
		func() float64 { return float64(connections.figures().open) })
	t.gauge("perks_http_connections_max", "Connections of clients that there is room for. More wait, or take the place of an idle one.",
		func() float64 { return float64(connections.most) })
	t.metrics.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "perks_http_connections_crowded_out_total", Help: "Idle connections that were closed to make room for others.",
	}, func() float64 { return float64(connections.figures().crowdedOut) }))
}

// showExpiry tells how long the certificate is valid that is shown at the moment.
func (t *telemetry) showExpiry(c *certificate) {
	if t.metrics == nil || c == nil {
		return
	}
	t.gauge("perks_tls_certificate_expiry_timestamp_seconds", "When the certificate that clients see expires, in Unix time.",
		func() float64 { return float64(c.current.Load().Leaf.NotAfter.Unix()) })
}

func (t *telemetry) gauge(name, help string, read func() float64) {
	t.metrics.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
}
