// Package telemetry lets operators watch a running server: Prometheus reads metrics at an address of their own, and a
// collector gets the traces of requests by OTLP over HTTP. Nothing of it holds a request up.
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

	"example.com/perks/api/build"
	"example.com/perks/server/listen"
)

// Telemetry is what a running server tells of itself.
type Telemetry struct {
	Metrics prometheus.Registerer // nil keeps none
	Tracer  trace.TracerProvider  // nil makes none

	spans  *sdktrace.TracerProvider // nil without an endpoint
	log    *slog.Logger
	end    func() // of the metrics
	purges *prometheus.CounterVec
	purged prometheus.Counter
}

// Start sends traces where OpenTelemetry's variables say, if they do, and shows metrics at the listener unless it is nil.
func Start(ctx context.Context, metrics net.Listener, log *slog.Logger) (*Telemetry, error) {
	failures := newExportFailures(log)
	spans, err := startTraces(ctx, failures)
	if err != nil {
		return nil, err
	}
	t := &Telemetry{
		spans: spans, log: log,
		end: func() {},
		purges: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "perks_idempotency_purges_total", Help: "Times that a database was rid of old idempotency keys, which happens every hour, or should have been.",
		}, []string{"outcome"}),
		purged: prometheus.NewCounter(prometheus.CounterOpts{Name: "perks_idempotency_keys_purged_total", Help: "Old idempotency keys that were forgotten."}),
	}
	if spans != nil {
		t.Tracer = spans
	}
	if metrics != nil {
		t.purges.WithLabelValues(purgeDone)
		t.purges.WithLabelValues(purgeFailed)
		program := build.Read()
		info := prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "perks_build_info", Help: "Always 1; the labels say what runs.",
			ConstLabels: prometheus.Labels{"version": program.Version, "commit": program.Commit, "goversion": program.Go},
		})
		info.Set(1)
		registry := prometheus.NewRegistry()
		registry.MustRegister(info, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
			t.purges, t.purged, failures.count)
		t.Metrics, t.end = registry, showMetrics(registry, metrics, log)
	}
	return t, nil
}

// flushTime is how long the end of the server waits for the collector.
const flushTime = 3 * time.Second

// Stop sends what is left of the traces, and is the end of the metrics.
func (t *Telemetry) Stop() {
	if t.spans != nil {
		ctx, cancel := context.WithTimeout(context.Background(), flushTime)
		defer cancel()
		if err := t.spans.Shutdown(ctx); err != nil {
			t.log.Warn("the last traces were not sent", "error", short(err))
		}
	}
	t.end()
}

// maxMetricsConnections is many for Prometheus, and few for anybody who wants to do harm.
const maxMetricsConnections = 64

// showMetrics answers Prometheus until end is called. An answer under way may take another second.
func showMetrics(registry *prometheus.Registry, l net.Listener, log *slog.Logger) (end func()) {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		Registry: registry, EnableOpenMetrics: true, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn), ErrorHandling: promhttp.ContinueOnError,
		MaxRequestsInFlight: 4, Timeout: 10 * time.Second,
	}))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "perksd tells Prometheus its metrics at /metrics.\n") // who has gone needs no answer
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err := listen.Server{Handler: mux, MaxHeader: 16 << 10, Drain: time.Second, Log: log}.Serve(ctx, listen.Limit(l, maxMetricsConnections))
		if ctx.Err() == nil {
			log.Error("the metrics cannot be read any more", "error", err)
		}
	}()
	log.Info("metrics", "url", "http://"+l.Addr().String()+"/metrics")
	return func() {
		cancel()
		<-ended
	}
}

// Watch shows the connections of clients from now on and, unless it is nil, how long the certificate is valid that is shown
// at the moment.
func (t *Telemetry) Watch(connections *listen.Limited, certificate *listen.Certificate) {
	if t.Metrics == nil {
		return
	}
	gauge := func(name, help string, read func() float64) {
		t.Metrics.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
	}
	gauge("perks_http_connections", "Connections of clients that are open.", func() float64 {
		open, _, _ := connections.Figures()
		return float64(open)
	})
	gauge("perks_http_connections_max", "Connections of clients that there is room for. More wait, or take the place of an idle one.", func() float64 {
		_, most, _ := connections.Figures()
		return float64(most)
	})
	t.Metrics.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "perks_http_connections_crowded_out_total", Help: "Idle connections that were closed to make room for others.",
	}, func() float64 {
		_, _, evicted := connections.Figures()
		return float64(evicted)
	}))
	if certificate != nil {
		gauge("perks_tls_certificate_expiry_timestamp_seconds", "When the certificate that clients see expires, in Unix time.",
			func() float64 { return float64(certificate.Leaf().NotAfter.Unix()) })
	}
}

const (
	purgeDone   = "done"
	purgeFailed = "failed"
)

// Purged counts the idempotency keys that a database was rid of, or that it could not be.
func (t *Telemetry) Purged(keys int64, err error) {
	t.purged.Add(float64(keys))
	outcome := purgeDone
	if err != nil {
		outcome = purgeFailed
	}
	t.purges.WithLabelValues(outcome).Inc()
}
