package server

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"example.com/perks/api"
	"example.com/perks/store"
)

// metrics are the server's Prometheus metrics. Every label has few values, whatever callers send.
type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	inFlight prometheus.Gauge
	routes   map[string]bool // the templates; complete before the first request

	redemptions *prometheus.CounterVec
	tokens      *prometheus.CounterVec
	refusals    *prometheus.CounterVec
	limited     *prometheus.CounterVec
	refusedLost *prometheus.CounterVec
	panics      prometheus.Counter
	expiring    prometheus.Gauge

	webhookRequests  *prometheus.CounterVec
	webhooksDisabled *prometheus.CounterVec
}

// Label values: why a bearer token was refused, and which limit was exceeded.
const (
	tokenMissing     = "missing"
	tokenInvalid     = "invalid"
	tokenLacksScope  = "scope"
	tokenSandboxOnly = "sandbox_only"

	limitOfClient        = "client"
	limitOfAudit         = "audit"
	limitOfTokenFailures = "token_failures"
	limitOfLists         = "lists"
)

// newMetrics registers the metrics of the server and its databases, and others, if the Config has a registerer.
func newMetrics(config Config, others ...prometheus.Collector) (*metrics, error) {
	m := &metrics{
		routes:   map[string]bool{},
		requests: counters("http_requests_total", "Requests served.", "method", "route", "code"),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: "http_request_duration_seconds",
			Help:    "Time from a request's headers to the end of its response.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 15},
		}, []string{"method", "route"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: "http_requests_in_flight",
			Help: "Requests in flight."}),

		redemptions: counters("redemptions_total",
			"Attempts to redeem a perk: the new redemption's status, \"replayed\", or the code of the refusal.",
			"database", "outcome"),
		tokens: counters("token_requests_total",
			"Requests for an access token: \"issued\", or the error of RFC 6749, or the code of the refusal.",
			"outcome"),
		refusals: counters("bearer_refusals_total", "Requests refused for their bearer token.", "reason"),
		limited:  counters("rate_limited_total", "Requests refused because there were too many.", "limit"),
		refusedLost: counters("refused_redemptions_lost_total",
			"Refused redemptions that nobody can find, because a client sent too many, or the database failed.",
			"database"),
		webhookRequests: counters("webhook_deliveries_total", "Requests to webhooks, by what came of them.", "database",
			"outcome"),
		webhooksDisabled: counters("webhooks_disabled_total", "Webhooks that this server has disabled.", "database"),
		panics: prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: "panics_total",
			Help: "Panics in request handlers. Each is a bug."}),
		expiring: prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: "clients_expiring",
			Help: "Clients that get tokens now and expire within 14 days. It is updated every hour."}),
	}
	m.startAtZero(config.Sandbox != nil)
	return m, m.register(config, append(others,
		m.requests, m.duration, m.inFlight, m.redemptions, m.tokens, m.refusals, m.limited, m.refusedLost, m.panics,
		m.expiring, m.webhookRequests, m.webhooksDisabled,
		newDatabaseCollector(config),
	)...)
}

// register adds collectors, if the Config has a registerer.
func (*metrics) register(config Config, collectors ...prometheus.Collector) error {
	if config.Metrics == nil {
		return nil
	}
	for _, c := range collectors {
		if err := config.Metrics.Register(c); err != nil {
			return fmt.Errorf("registering the metrics: %w", err)
		}
	}
	return nil
}

const namespace = "perks"

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

func gauge(name, help string, labels prometheus.Labels, read func() int) prometheus.Collector {
	options := prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help, ConstLabels: labels}
	return prometheus.NewGaugeFunc(options, func() float64 { return float64(read()) })
}

// startAtZero creates counters before their first event, so that Prometheus sees the first one as an increase.
func (m *metrics) startAtZero(hasSandbox bool) {
	for _, outcome := range []string{
		string(api.StatusApproved), string(api.StatusPending), "replayed",
		string(api.CodeAlreadyRedeemed), string(api.CodeSoldOut), string(api.CodePerkExpired),
		string(api.CodePerkNotStarted), string(api.CodeUnavailable),
		string(api.CodeInternal),
	} {
		m.redemptions.WithLabelValues(databaseLabel(false), outcome)
		if hasSandbox {
			m.redemptions.WithLabelValues(databaseLabel(true), outcome)
		}
	}
	for sandbox := range map[bool]bool{false: true, hasSandbox: true} {
		m.webhookRequests.WithLabelValues(databaseLabel(sandbox), outcomeNameDelivered)
		m.webhookRequests.WithLabelValues(databaseLabel(sandbox), outcomeNameFailed)
		m.webhooksDisabled.WithLabelValues(databaseLabel(sandbox))
	}
	for counter, values := range map[*prometheus.CounterVec][]string{
		m.tokens:   {"issued", "invalid_client", string(api.CodeRateLimited), string(api.CodeUnavailable)},
		m.refusals: {tokenMissing, tokenInvalid, tokenLacksScope, tokenSandboxOnly},
		m.limited:  {limitOfClient, limitOfAudit, limitOfTokenFailures, limitOfLists},
	} {
		for _, value := range values {
			counter.WithLabelValues(value)
		}
	}
}

func databaseLabel(sandbox bool) string {
	if sandbox {
		return "sandbox"
	}
	return "live"
}

// All unknown addresses and methods have one label value, because callers can make up any number of them.
const (
	otherRoute  = "other"
	otherMethod = "other"
)

// measuredMethods have label values of their own.
var measuredMethods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
	http.MethodOptions,
}

func methodLabel(method string) string {
	if slices.Contains(measuredMethods, method) {
		return method
	}
	return otherMethod
}

// routeOf returns the template of a request's route, or otherRoute.
func (m *metrics) routeOf(c echo.Context) string {
	if m.routes[c.Path()] {
		return c.Path()
	}
	return otherRoute
}

func (s *service) measure(next echo.HandlerFunc) echo.HandlerFunc {
	if s.config.Metrics == nil {
		return next
	}
	m := s.metrics
	return func(c echo.Context) error {
		m.inFlight.Inc()
		defer m.observe(c, time.Now()) // also if net/http aborts the response with a panic
		return next(c)
	}
}

func (m *metrics) observe(c echo.Context, start time.Time) {
	m.inFlight.Dec()
	took, route, method := time.Since(start).Seconds(), m.routeOf(c), methodLabel(c.Request().Method)
	duration := m.duration.WithLabelValues(method, route)
	if span := trace.SpanContextFromContext(c.Request().Context()); span.IsSampled() {
		// An exemplar leads from a slow request to its trace.
		duration.(prometheus.ExemplarObserver).ObserveWithExemplar(took,
			prometheus.Labels{"trace_id": span.TraceID().String()})
	} else {
		duration.Observe(took)
	}
	m.requests.WithLabelValues(method, route, strconv.Itoa(c.Response().Status)).Inc()
}

// databaseCollector reads the metrics of the databases when Prometheus asks for them. It checks whether each accepts
// writes, as /readyz does, so that alerts don't depend on anybody calling that.
type databaseCollector struct {
	databases map[string]store.Store      // by label
	metrics   map[string]*prometheus.Desc // by the last part of their names
}

func newDatabaseCollector(config Config) databaseCollector {
	c := databaseCollector{databases: map[string]store.Store{databaseLabel(false): config.Live},
		metrics: map[string]*prometheus.Desc{}}
	if config.Sandbox != nil {
		c.databases[databaseLabel(true)] = config.Sandbox
	}
	describe := func(name, help string, labels ...string) {
		c.metrics[name] = prometheus.NewDesc(prometheus.BuildFQName(namespace, "database", name), help,
			append([]string{"database"}, labels...), nil)
	}
	describe("ready", "1 if the database committed a write just now, else 0.")
	describe("connections", "Connections that are open, in use or idle.", "pool", "state")
	describe("connections_max", "Connections that a pool can have.", "pool")
	describe("standby_read", "1 if lists are read from the standby, 0 if it is down, too far behind, or the primary.",
		"standby")
	describe("standby_behind_seconds", "How old what is read from the standby is at most.", "standby")
	describe("connection_waits_total", "Times that a caller waited for a connection.", "pool")
	describe("connection_wait_seconds_total", "Time spent waiting for a connection.", "pool")
	describe("queue_writes", "Writes in the queue or the current transaction: all writes on SQLite, redemptions on "+
		"PostgreSQL.")
	describe("queue_capacity_writes", "Capacity of the queue. When it is full, callers wait.")
	describe("batch_writes", "Queued writes that one transaction carried out.")
	describe("statement_duration_seconds",
		"Time from the start of a statement, or of several sent together, to the end of its result.", "pool")
	describe("commit_duration_seconds", "Time that commits of writes took.")
	describe("blocked_seconds",
		"How long a statement has waited for a lock that another session has on the table, or for a standby.", "table")
	describe("log_bytes", "Size of SQLite's write-ahead log.")
	describe("disk_free_bytes", "Space left on the disk of a SQLite database.")
	describe("disk_lasts_seconds", "How long that space lasts at the rate of the last hour, at most 100 years.")
	describe("batch_failures_total", "Transactions of queued writes that failed or whose outcome is unknown.")
	return c
}

// Describe is part of prometheus.Collector.
func (c databaseCollector) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range c.metrics {
		out <- desc
	}
}

// Collect is part of prometheus.Collector. It takes at most as long as a readiness check.
func (c databaseCollector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), readyTime)
	defer cancel()
	var running sync.WaitGroup
	for label, db := range c.databases {
		running.Go(func() { c.collect(ctx, out, label, db) })
	}
	running.Wait()
}

func (c databaseCollector) collect(ctx context.Context, out chan<- prometheus.Metric, label string, db store.Store) {
	send := func(name string, value float64, labels ...string) {
		kind := prometheus.GaugeValue
		if strings.HasSuffix(name, "_total") {
			kind = prometheus.CounterValue
		}
		out <- prometheus.MustNewConstMetric(c.metrics[name], kind, value, append([]string{label}, labels...)...)
	}
	ready := 0.0
	if db.Ready(ctx) == nil {
		ready = 1
	}
	send("ready", ready)
	stats := db.Stats()
	for _, pool := range stats.Pools {
		send("connections", float64(pool.InUse), pool.Name, "in_use")
		send("connections", float64(pool.Idle), pool.Name, "idle")
		send("connections_max", float64(pool.Max), pool.Name)
		send("connection_waits_total", float64(pool.Waits), pool.Name)
		send("connection_wait_seconds_total", pool.Waited.Seconds(), pool.Name)
	}
	for _, standby := range stats.Standbys {
		isRead := 0.0
		if standby.IsRead {
			isRead = 1
			send("standby_behind_seconds", standby.Behind.Seconds(), standby.Name)
		}
		send("standby_read", isRead, standby.Name)
	}
	send("queue_writes", float64(stats.Queue.Waiting))
	send("queue_capacity_writes", float64(stats.Queue.Capacity))
	batches := stats.Queue.Batches
	send("batch_failures_total", float64(batches.Failed))
	upTo := map[float64]uint64{}
	for i, size := range store.BatchSizes() {
		upTo[float64(size)] = batches.UpTo[i]
	}
	out <- prometheus.MustNewConstHistogram(c.metrics["batch_writes"], batches.Finished, float64(batches.Writes), upTo,
		label)
	sendDurations := func(name string, stats store.DurationStats, labels ...string) {
		if stats.UpTo == nil {
			return
		}
		upTo := map[float64]uint64{}
		for i, bound := range store.DurationBounds() {
			upTo[bound.Seconds()] = stats.UpTo[i]
		}
		labels = append([]string{label}, labels...)
		out <- prometheus.MustNewConstHistogram(c.metrics[name], stats.Count, stats.Total.Seconds(), upTo, labels...)
	}
	sendDurations("commit_duration_seconds", stats.Commits)
	for _, pool := range stats.Pools {
		sendDurations("statement_duration_seconds", pool.Statements, pool.Name)
	}
	if waiting := stats.Waiting; waiting != nil {
		send("blocked_seconds", time.Since(waiting.Since).Seconds(), waiting.Table)
	} else {
		send("blocked_seconds", 0, "")
	}
	if stats.LogBytes > 0 {
		send("log_bytes", float64(stats.LogBytes))
	}
	if disk := stats.Disk; disk != nil {
		send("disk_free_bytes", float64(disk.Free))
		send("disk_lasts_seconds", cmp.Or(disk.Lasts, store.MaxDiskForecast).Seconds())
	}
}
