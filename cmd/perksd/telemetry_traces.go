package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"example.com/perks/api/build"
)

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
