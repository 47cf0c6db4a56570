package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/pflag"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"example.com/perks/api/build"
	"example.com/perks/store"
)

// telemetryOptions says where a server's metrics are to be read. Where its traces are to be sent, OpenTelemetry's own
// variables say.
type telemetryOptions struct {
	metrics          metricsOptions
	trustTraceparent bool
}

const telemetryHelp = "Prometheus reads metrics at --metrics-addr. Traces are sent by OTLP over HTTP to OTEL_EXPORTER_OTLP_ENDPOINT, such as http://127.0.0.1:4318;\n" +
	"OpenTelemetry's other variables count too: OTEL_SERVICE_NAME, OTEL_TRACES_SAMPLER, OTEL_EXPORTER_OTLP_HEADERS and the like."

func (o *telemetryOptions) flags(f *pflag.FlagSet) {
	o.metrics.flags(f)
	f.BoolVar(&o.trustTraceparent, "trust-traceparent", false,
		"continue the trace that a request names, and record it if that says so; otherwise a trace of its own is linked to it")
}

// telemetry is what a running server tells of itself.
type telemetry struct {
	metrics prometheus.Registerer // nil keeps none
	tracer  trace.TracerProvider  // nil makes none

	purges *purgeMeter
	page   *metricsPage // nil without an address
	export *traceExport // nil without an endpoint
}

// start takes the address of the metrics, and fails before anything is served if it cannot be had.
func (o *telemetryOptions) start(ctx context.Context, log *slog.Logger) (*telemetry, error) {
	if o.metrics.anywhere && o.metrics.address == "" {
		return nil, usageError{errors.New("--metrics-open means nothing without --metrics-addr")}
	}
	failures := newExportFailures(log)
	export, err := startTraces(ctx, failures)
	if err != nil {
		return nil, err
	}
	t := &telemetry{purges: newPurgeMeter(), export: export}
	if export != nil {
		t.tracer = export.provider
	}
	if o.metrics.address == "" {
		return t, nil
	}
	registry := newRegistry()
	registry.MustRegister(t.purges.runs, t.purges.keys, failures.count)
	if t.page, err = o.metrics.open(registry, log); err != nil {
		t.stop()
		return nil, err
	}
	t.metrics = registry
	return t, nil
}

// stop sends what is left of the traces, and is the end of the metrics.
func (t *telemetry) stop() {
	if t.export != nil {
		t.export.stop()
	}
	if t.page != nil {
		t.page.stop()
	}
}

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

// metricsOptions says where Prometheus reads.
type metricsOptions struct {
	address  string // "" for nowhere
	anywhere bool
}

func (o *metricsOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&o.address, "metrics-addr", "", "the `HOST:PORT` at which Prometheus reads /metrics, of this machine or of a private network (default none)")
	f.BoolVar(&o.anywhere, "metrics-open", false, "let --metrics-addr be any address, because a firewall or a network policy decides who comes there")
}

// check refuses addresses that the whole internet may reach. Metrics hold no secrets, but they tell how busy a business is, and
// who attacks learns from them what works.
func (o *metricsOptions) check() (*net.TCPAddr, error) {
	address, err := net.ResolveTCPAddr("tcp", o.address)
	if err != nil {
		return nil, usageError{fmt.Errorf("--metrics-addr must be HOST:PORT: %w", err)}
	}
	if o.anywhere || address.IP.IsLoopback() || address.IP.IsPrivate() || address.IP.IsLinkLocalUnicast() {
		return address, nil
	}
	return nil, usageError{fmt.Errorf("perksd does not show its metrics on %s, because people on the internet may come there: "+
		"name an address of this machine's private network, or add --metrics-open if a firewall keeps others out", o.address)}
}

// metricsPage is where Prometheus reads.
type metricsPage struct {
	server *http.Server
	ended  chan struct{}
}

// maxMetricsConnections is many for Prometheus, and few for anybody who wants to do harm.
const maxMetricsConnections = 64

// open takes the address and answers there until stop.
func (o *metricsOptions) open(registry *prometheus.Registry, log *slog.Logger) (*metricsPage, error) {
	address, err := o.check()
	if err != nil {
		return nil, err
	}
	listener, err := takeAddress("--metrics-addr", address)
	if err != nil {
		return nil, err
	}
	bounded := boundCrowding(listener, maxMetricsConnections)
	errorLog := slog.NewLogLogger(log.Handler(), slog.LevelWarn)
	p := &metricsPage{ended: make(chan struct{}), server: &http.Server{
		Handler:           metricsHandler(registry, errorLog),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute, // Prometheus comes back every minute at the latest
		MaxHeaderBytes:    16 << 10,
		ConnState:         bounded.notice,
		ErrorLog:          errorLog,
	}}
	go func() {
		defer close(p.ended)
		if err := p.server.Serve(bounded); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the metrics cannot be read any more", "error", err)
		}
	}()
	log.Info("metrics", "url", "http://"+listener.Addr().String()+"/metrics")
	return p, nil
}

func metricsHandler(registry *prometheus.Registry, errorLog promhttp.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		Registry: registry, EnableOpenMetrics: true, ErrorLog: errorLog, ErrorHandling: promhttp.ContinueOnError,
		MaxRequestsInFlight: 4, Timeout: 10 * time.Second,
	}))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "perksd tells Prometheus its metrics at /metrics.\n") // who has gone needs no answer
	})
	return mux
}

// stop lets an answer under way end within a second.
func (p *metricsPage) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if p.server.Shutdown(ctx) != nil {
		_ = p.server.Close() // what it was to say nobody waits for
	}
	<-p.ended
}

// newRegistry has what does not depend on the server: the process, Go, and which version this is.
func newRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	program := build.Read()
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "perks_build_info", Help: "Always 1; the labels say what runs.",
		ConstLabels: prometheus.Labels{"version": program.Version, "commit": program.Commit, "goversion": program.Go},
	})
	info.Set(1)
	registry.MustRegister(info, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return registry
}

// traceExport sends spans to a collector. It never holds a request up: spans that the collector is too slow for are dropped.
type traceExport struct {
	provider *sdktrace.TracerProvider
	failures *exportFailures
}

// startTraces returns nil unless OpenTelemetry's variables name an endpoint.
func startTraces(ctx context.Context, failures *exportFailures) (*traceExport, error) {
	if !tracesAreWanted() {
		return nil, nil
	}
	if err := checkTraceVariables(); err != nil {
		return nil, usageError{err}
	}
	otel.SetErrorHandler(failures)
	otel.SetLogger(logr.Discard()) // it would write to stderr, past the log
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("preparing to send traces: %w", err)
	}
	origin, err := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithHost(),
		resource.WithAttributes(semconv.ServiceName("perksd"), semconv.ServiceVersion(build.Read().Version)),
		resource.WithFromEnv(), // comes last, so that it counts more than the rest
	)
	if err != nil {
		return nil, usageError{fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES cannot be read: %w", err)}
	}
	limits := sdktrace.NewSpanLimits()
	if limits.AttributeValueLengthLimit < 0 {
		limits.AttributeValueLengthLimit = maxAttribute
	}
	return &traceExport{failures: failures, provider: sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter), sdktrace.WithResource(origin), sdktrace.WithRawSpanLimits(limits))}, nil
}

// maxAttribute is how many characters of a text are sent, unless OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT says otherwise.
const maxAttribute = 1024

// traceEndpoints are the variables that make perksd send traces. The second counts more.
var traceEndpoints = []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"}

func tracesAreWanted() bool {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") || os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return false
	}
	for _, name := range traceEndpoints {
		if os.Getenv(name) != "" {
			return true
		}
	}
	return false
}

// checkTraceVariables refuses what OpenTelemetry would pass over in silence, and send traces to elsewhere or not at all. No
// value is repeated, because headers and addresses may hold secrets.
func checkTraceVariables() error {
	for _, name := range traceEndpoints {
		value := os.Getenv(name)
		if u, err := url.Parse(value); value != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
			return fmt.Errorf("%s must be an address such as http://127.0.0.1:4318", name)
		}
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"} {
		switch os.Getenv(name) {
		case "", "http/protobuf", "http/json":
		default:
			return fmt.Errorf("%s must be http/protobuf or http/json: perksd sends traces over HTTP, which collectors take at port 4318", name)
		}
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"} {
		if !areHeaders(os.Getenv(name)) {
			return fmt.Errorf("%s must be of the form NAME=VALUE,NAME=VALUE, with %%XX for special characters in a value", name)
		}
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_CERTIFICATE", "OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE"} {
		if path := os.Getenv(name); path != "" {
			if _, err := os.Stat(path); err != nil { // #nosec G703 -- the operator names it
				return fmt.Errorf("%s names a file that cannot be read: %w", name, err)
			}
		}
	}
	if exporter := os.Getenv("OTEL_TRACES_EXPORTER"); exporter != "" && exporter != "otlp" {
		return errors.New("OTEL_TRACES_EXPORTER must be otlp or none")
	}
	return nil
}

func areHeaders(list string) bool {
	if list == "" {
		return true
	}
	for header := range strings.SplitSeq(list, ",") {
		name, value, found := strings.Cut(header, "=")
		if _, err := url.PathUnescape(value); !found || err != nil || strings.TrimSpace(name) == "" {
			return false
		}
	}
	return true
}

// flushTime is how long the end of the server waits for the collector.
const flushTime = 3 * time.Second

// stop sends what is left, within bounds.
func (e *traceExport) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	if err := e.provider.Shutdown(ctx); err != nil {
		e.failures.log.Warn("the last traces were not sent", "error", short(err))
	}
}

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
