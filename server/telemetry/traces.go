package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"golang.org/x/time/rate"

	"example.com/perks/api"
)

// VariableError names an OpenTelemetry variable that is not valid.
type VariableError struct{ error }

// maxAttribute is the maximum length of an attribute, unless OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT sets another.
const maxAttribute = 1024

// startTraces returns nil unless OpenTelemetry's variables name an endpoint. A slow collector loses spans.
func startTraces(ctx context.Context, failures *exportFailures) (*sdktrace.TracerProvider, error) {
	if !tracesEnabled() {
		return nil, nil
	}
	if err := checkVariables(); err != nil {
		return nil, VariableError{err}
	}
	otel.SetErrorHandler(failures)
	otel.SetLogger(logr.Discard()) // it would write to stderr, not to our log
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("preparing to send traces: %w", err)
	}
	origin, err := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithHost(),
		resource.WithAttributes(semconv.ServiceName("perksd"), semconv.ServiceVersion(api.Build().Version)),
		resource.WithFromEnv(), // last, so that it overrides the rest
	)
	if err != nil {
		return nil, VariableError{fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES cannot be read: %w", err)}
	}
	limits := sdktrace.NewSpanLimits()
	if limits.AttributeValueLengthLimit < 0 {
		limits.AttributeValueLengthLimit = maxAttribute
	}
	return sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(origin),
		sdktrace.WithRawSpanLimits(limits)), nil
}

// variables returns the variable for all signals, and the one for traces, which overrides it.
func variables(about string) []string {
	return []string{"OTEL_EXPORTER_OTLP_" + about, "OTEL_EXPORTER_OTLP_TRACES_" + about}
}

func tracesEnabled() bool {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") || os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return false
	}
	for _, name := range variables("ENDPOINT") {
		if os.Getenv(name) != "" {
			return true
		}
	}
	return false
}

// checkVariables rejects what OpenTelemetry would silently ignore, and then send traces elsewhere or nowhere. Its
// errors don't repeat values, because headers and addresses may contain secrets.
func checkVariables() error {
	for _, rule := range []struct {
		about, problem string
		valid          func(value string) bool
	}{
		{"ENDPOINT", "must be an address such as http://127.0.0.1:4318", func(value string) bool {
			u, err := url.Parse(value)
			return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
		}},
		{"PROTOCOL", "must be http/protobuf or http/json: perksd sends traces over HTTP, which collectors take at " +
			"port 4318", func(value string) bool {
			return value == "http/protobuf" || value == "http/json"
		}},
		{"HEADERS", "must be of the form NAME=VALUE,NAME=VALUE, with %XX for special characters in a value",
			areHeaders},
	} {
		for _, name := range variables(rule.about) {
			if value := os.Getenv(name); value != "" && !rule.valid(value) {
				return errors.New(name + " " + rule.problem)
			}
		}
	}
	for _, name := range variables("CERTIFICATE") {
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
	for header := range strings.SplitSeq(list, ",") {
		name, value, found := strings.Cut(header, "=")
		if _, err := url.PathUnescape(value); !found || err != nil || strings.TrimSpace(name) == "" {
			return false
		}
	}
	return true
}

// exportFailures counts failed exports of traces. It logs at most one a minute: a missing collector would fill the log.
type exportFailures struct {
	log      *slog.Logger
	count    prometheus.Counter
	logged   rate.Sometimes
	unlogged atomic.Int64
}

func newExportFailures(log *slog.Logger) *exportFailures {
	return &exportFailures{log: log, logged: rate.Sometimes{Interval: time.Minute},
		count: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "perks_trace_export_errors_total", Help: "Failed exports of traces.",
		})}
}

// Handle is part of otel.ErrorHandler.
func (f *exportFailures) Handle(err error) {
	f.count.Inc()
	f.unlogged.Add(1)
	f.logged.Do(func() {
		f.log.Warn("traces cannot be sent; requests are not affected", "error", short(err), "failures_not_logged",
			f.unlogged.Swap(0)-1)
	})
}

// short truncates an error, which may contain a response from anyone.
func short(err error) string {
	const enough = 300
	if text := err.Error(); len(text) > enough {
		return text[:enough] + "..."
	}
	return err.Error()
}
