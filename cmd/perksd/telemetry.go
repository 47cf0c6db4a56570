package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"go.opentelemetry.io/otel/trace"
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
