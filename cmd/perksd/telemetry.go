package main

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"go.opentelemetry.io/otel/trace"
)

// telemetryOptions says where a server's metrics are to be read and its traces to be sent.
type telemetryOptions struct{}

func (o *telemetryOptions) flags(f *pflag.FlagSet) {}

// telemetry is what a running server tells of itself.
type telemetry struct {
	metrics prometheus.Registerer // nil keeps none
	tracer  trace.TracerProvider  // nil makes none
}

func (o *telemetryOptions) start(ctx context.Context, stores serveStores, log *slog.Logger) (*telemetry, error) {
	return &telemetry{}, nil
}

// stop sends what is left.
func (t *telemetry) stop() {}
