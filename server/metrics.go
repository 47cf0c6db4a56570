package server

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"example.com/perks/api"
)

// metrics counts what the server does, for Prometheus. Every label has few values, whatever callers send.
type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	inFlight prometheus.Gauge
	routes   map[string]*routeMeter // complete before the first request

	redemptions *prometheus.CounterVec
	tokens      *prometheus.CounterVec
	refusals    *prometheus.CounterVec
	limited     *prometheus.CounterVec
	panics      prometheus.Counter
}

// The reasons for which a bearer token does not open an address.
const (
	tokenMissing     = "missing"
	tokenInvalid     = "invalid"
	tokenLacksScope  = "scope"
	tokenSandboxOnly = "sandbox_only"
)

// The limits that callers meet.
const (
	limitOfClient        = "client"
	limitOfTokenFailures = "token_failures"
)

// newMetrics makes the server's metrics, and registers them and those of its databases unless there is no registerer.
func newMetrics(config Config) (*metrics, error) {
	m := &metrics{
		requests: counters("http_requests_total", "Requests answered.", "method", "route", "code"),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: "http_request_duration_seconds", Help: "Time from a request's headers to the end of its answer.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 15},
		}, []string{"method", "route"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: "http_requests_in_flight", Help: "Requests under way."}),

		redemptions: counters("redemptions_total", "Attempts to redeem a perk, by the new redemption's status, \"replayed\", or the code of the refusal.", "database", "outcome"),
		tokens:      counters("token_requests_total", "Requests for an access token: \"issued\", or the error of RFC 6749, or the code of the refusal.", "outcome"),
		refusals:    counters("bearer_refusals_total", "Requests refused for their bearer token.", "reason"),
		limited:     counters("rate_limited_total", "Requests refused because there were too many.", "limit"),
		panics:      prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: "panics_total", Help: "Panics while a request was answered. Each is a fault of the program."}),
	}
	m.startAtZero(config.Sandbox != nil)
	if config.Metrics == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{
		m.requests, m.duration, m.inFlight, m.redemptions, m.tokens, m.refusals, m.limited, m.panics, newDatabaseCollector(config),
	} {
		if err := config.Metrics.Register(c); err != nil {
			return nil, fmt.Errorf("registering the metrics: %w", err)
		}
	}
	return m, nil
}

const namespace = "perks"

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

// startAtZero lets those counters be seen before they count, so that the first time is an increase like any other.
func (m *metrics) startAtZero(hasSandbox bool) {
	for _, outcome := range []string{
		string(api.StatusApproved), string(api.StatusPending), "replayed",
		string(api.CodeAlreadyRedeemed), string(api.CodeSoldOut), string(api.CodePerkExpired), string(api.CodePerkNotStarted), string(api.CodeUnavailable),
	} {
		m.redemptions.WithLabelValues(databaseLabel(false), outcome)
		if hasSandbox {
			m.redemptions.WithLabelValues(databaseLabel(true), outcome)
		}
	}
	for _, outcome := range []string{"issued", "invalid_client", string(api.CodeRateLimited), string(api.CodeUnavailable)} {
		m.tokens.WithLabelValues(outcome)
	}
	for _, reason := range []string{tokenMissing, tokenInvalid, tokenLacksScope, tokenSandboxOnly} {
		m.refusals.WithLabelValues(reason)
	}
	for _, limit := range []string{limitOfClient, limitOfTokenFailures} {
		m.limited.WithLabelValues(limit)
	}
}

func databaseLabel(sandbox bool) string {
	if sandbox {
		return "sandbox"
	}
	return "live"
}

// redeemed counts the outcome of an attempt to redeem: the redemption's status, "replayed", or the code of the refusal.
func (m *metrics) redeemed(sandbox bool, outcome string) {
	m.redemptions.WithLabelValues(databaseLabel(sandbox), outcome).Inc()
}

// tokenAsked counts the outcome of a request for a token: "issued", or the error of RFC 6749, or the code.
func (m *metrics) tokenAsked(outcome string) { m.tokens.WithLabelValues(outcome).Inc() }

// bearerRefused counts a request that was refused for its bearer token.
func (m *metrics) bearerRefused(reason string) { m.refusals.WithLabelValues(reason).Inc() }

// rateLimited counts a request that met a limit.
func (m *metrics) rateLimited(limit string) { m.limited.WithLabelValues(limit).Inc() }

// exemplar names the trace of a request that is traced, so that a slow one can be looked at; nil for any other.
func exemplar(span trace.SpanContext) prometheus.Labels {
	if !span.IsSampled() {
		return nil
	}
	return prometheus.Labels{"trace_id": span.TraceID().String()}
}
