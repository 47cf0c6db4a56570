package telemetry

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestTracesAreSentOnlyWhenConfigured(t *testing.T) {
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318"
	for _, test := range []struct {
		environment string
		wanted      bool
		problem     string
	}{
		{environment: ""},
		{environment: endpoint, wanted: true},
		{environment: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://collector.example/v1/traces", wanted: true},
		{environment: endpoint + " OTEL_SDK_DISABLED=true"},
		{environment: endpoint + " OTEL_TRACES_EXPORTER=none"},
		{environment: endpoint + " OTEL_TRACES_EXPORTER=jaeger", wanted: true,
			problem: "OTEL_TRACES_EXPORTER must be otlp or none"},
		{environment: "OTEL_EXPORTER_OTLP_ENDPOINT=user:hunter2@collector:4318", wanted: true,
			problem: "OTEL_EXPORTER_OTLP_ENDPOINT must be an address such as http://127.0.0.1:4318"},
		{environment: endpoint + " OTEL_EXPORTER_OTLP_PROTOCOL=grpc", wanted: true,
			problem: "OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf or http/json: perksd sends traces over HTTP, " +
				"which collectors take at port 4318"},
		{environment: endpoint + " OTEL_EXPORTER_OTLP_HEADERS=hunter2", wanted: true,
			problem: "OTEL_EXPORTER_OTLP_HEADERS must be of the form NAME=VALUE,NAME=VALUE, with %XX for special " +
				"characters in a value"},
		{environment: endpoint + " OTEL_EXPORTER_OTLP_CERTIFICATE=/nowhere/ca.pem", wanted: true,
			problem: "OTEL_EXPORTER_OTLP_CERTIFICATE names a file that cannot be read: stat /nowhere/ca.pem: no such " +
				"file or directory"},
	} {
		t.Run(test.environment, func(t *testing.T) {
			for _, about := range []string{"ENDPOINT", "PROTOCOL", "HEADERS", "CERTIFICATE"} {
				for _, name := range variables(about) {
					t.Setenv(name, "")
				}
			}
			t.Setenv("OTEL_TRACES_EXPORTER", "")
			t.Setenv("OTEL_SDK_DISABLED", "")
			for pair := range strings.FieldsSeq(test.environment) {
				name, value, _ := strings.Cut(pair, "=")
				t.Setenv(name, value)
			}
			export, err := startTraces(t.Context(), newExportFailures(slog.New(slog.DiscardHandler)))
			switch {
			case test.problem != "":
				if err == nil || err.Error() != test.problem || !errors.As(err, new(VariableError)) {
					t.Errorf("the error is %v", err)
				}
			case err != nil || (export != nil) != test.wanted:
				t.Errorf("traces are sent: %t, %v", export != nil, err)
			}
			if export != nil {
				_ = export.Shutdown(t.Context()) // no collector is running
			}
		})
	}
}

func TestFailuresToSendTracesAreLoggedOnceAMinute(t *testing.T) {
	var log bytes.Buffer
	failures := newExportFailures(slog.New(slog.NewTextHandler(&log, nil)))
	synctest.Test(t, func(*testing.T) {
		for range 150 {
			failures.Handle(&net.OpError{Op: "dial", Err: errors.New(strings.Repeat("no route ", 1000))})
			time.Sleep(time.Second) // of the test's own clock
		}
	})
	if lines := strings.Count(log.String(), "\n"); lines != 3 || log.Len() > 2000 ||
		!strings.Contains(log.String(), "failures_not_logged=59") {
		t.Errorf("in 150 s %d lines were logged:\n%s", lines, log.String())
	}
}
