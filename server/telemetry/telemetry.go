// Package telemetry exports a server's metrics and traces: Prometheus reads metrics on an address of their own, and a
// collector gets traces by OTLP over HTTP. No request waits for either.
package telemetry

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"example.com/perks/api"
	"example.com/perks/server/listen"
)

// Telemetry exports metrics and traces until it is stopped.
type Telemetry struct {
	Metrics prometheus.Registerer // nil without an address
	Tracer  trace.TracerProvider  // nil without an endpoint

	spans  *sdktrace.TracerProvider // nil without an endpoint
	log    *slog.Logger
	stop   func() // stops serving metrics
	purges *prometheus.CounterVec
	purged prometheus.Counter
}

// Start sends traces if OpenTelemetry's variables name an endpoint, and serves metrics on a listener that is not nil.
func Start(ctx context.Context, metrics net.Listener, log *slog.Logger) (*Telemetry, error) {
	failures := newExportFailures(log)
	spans, err := startTraces(ctx, failures)
	if err != nil {
		return nil, err
	}
	t := &Telemetry{
		spans: spans, log: log,
		stop: func() {},
		purges: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "perks_idempotency_purges_total", Help: "Hourly deletions of old idempotency keys from a database.",
		}, []string{"outcome"}),
		purged: prometheus.NewCounter(prometheus.CounterOpts{Name: "perks_idempotency_keys_purged_total",
			Help: "Old idempotency keys deleted."}),
	}
	if spans != nil {
		t.Tracer = spans
	}
	if metrics != nil {
		t.purges.WithLabelValues(purgeDone)
		t.purges.WithLabelValues(purgeFailed)
		program := api.Build()
		info := prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "perks_build_info", Help: "Always 1; the labels have the version.",
			ConstLabels: prometheus.Labels{"version": program.Version, "commit": program.Commit,
				"goversion": program.Go},
		})
		info.Set(1)
		registry := prometheus.NewRegistry()
		registry.MustRegister(info, collectors.NewGoCollector(),
			collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
			t.purges, t.purged, failures.count)
		t.Metrics, t.stop = registry, serveMetrics(registry, metrics, log)
	}
	return t, nil
}

// flushTime is how long a stopping server waits for the collector.
const flushTime = 3 * time.Second

// Stop sends the remaining traces, and stops serving metrics.
func (t *Telemetry) Stop() {
	if t.spans != nil {
		ctx, cancel := context.WithTimeout(context.Background(), flushTime)
		defer cancel()
		if err := t.spans.Shutdown(ctx); err != nil {
			t.log.Warn("the last traces were not sent", "error", short(err))
		}
	}
	t.stop()
}

// maxMetricsConnections is plenty for Prometheus, and too few for a denial of service.
const maxMetricsConnections = 64

// serveMetrics serves Prometheus until stop is called. A request in flight may take another second.
func serveMetrics(registry *prometheus.Registry, l net.Listener, log *slog.Logger) (stop func()) {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		Registry: registry, EnableOpenMetrics: true, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: 4, Timeout: 10 * time.Second,
	}))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "Metrics for Prometheus are at /metrics.\n") // the client may have disconnected
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := listen.Server{Handler: mux, MaxHeader: 16 << 10, Drain: time.Second, Log: log}.Serve(ctx,
			listen.Limit(l, maxMetricsConnections))
		if ctx.Err() == nil {
			log.Error("cannot serve metrics any more", "error", err)
		}
	}()
	log.Info("metrics", "url", "http://"+l.Addr().String()+"/metrics")
	return func() {
		cancel()
		<-done
	}
}

// Watch adds metrics of the clients' connections and, unless it is nil, of the certificate.
func (t *Telemetry) Watch(connections *listen.Limited, certificate *listen.Certificate) {
	if t.Metrics == nil {
		return
	}
	gauge := func(name, help string, read func() int64) {
		options := prometheus.GaugeOpts{Name: name, Help: help}
		t.Metrics.MustRegister(prometheus.NewGaugeFunc(options, func() float64 { return float64(read()) }))
	}
	counter := func(name, help string, read func() int) {
		options := prometheus.CounterOpts{Name: name, Help: help}
		t.Metrics.MustRegister(prometheus.NewCounterFunc(options, func() float64 { return float64(read()) }))
	}
	gauge("perks_http_connections", "Open client connections.",
		func() int64 { return int64(connections.Stats().Open) })
	gauge("perks_http_connections_max", "Maximum number of client connections. More wait, or replace an idle one.",
		func() int64 { return int64(connections.Stats().Limit) })
	counter("perks_http_connections_evicted_total", "Idle connections that were closed to make space for others.",
		func() int { return connections.Stats().Evicted })
	counter("perks_http_connections_refused_total",
		"Requests that were answered with 503 because all connections but the reserve were busy.",
		func() int { return connections.Stats().Refused })
	if certificate != nil {
		gauge("perks_tls_certificate_expiry_timestamp_seconds", "When the server's certificate expires, in Unix time.",
			func() int64 { return certificate.Leaf().NotAfter.Unix() })
	}
}

const (
	purgeDone   = "done"
	purgeFailed = "failed"
)

// CountPurge counts a deletion of old idempotency keys from a database, and the keys deleted.
func (t *Telemetry) CountPurge(keys int64, err error) {
	t.purged.Add(float64(keys))
	outcome := purgeDone
	if err != nil {
		outcome = purgeFailed
	}
	t.purges.WithLabelValues(outcome).Inc()
}
