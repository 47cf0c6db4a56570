package server

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// Attributes that OpenTelemetry has no name for.
const (
	attributeRequestID = attribute.Key("perks.request_id")
	attributeClientID  = attribute.Key("perks.client_id")
	attributeDatabase  = attribute.Key("perks.database")
	attributeOutcome   = attribute.Key("perks.code")
)

// trace returns what makes spans, and has the databases and the log take part. Without a provider it returns nil.
func (c *Config) trace() trace.Tracer {
	if c.Tracer == nil {
		return nil
	}
	tracer := c.Tracer.Tracer("example.com/perks/server", trace.WithSchemaURL(semconv.SchemaURL))
	c.Live = tracedStore{c.Live, tracer, databaseLabel(false)}
	if c.Sandbox != nil {
		c.Sandbox = tracedStore{c.Sandbox, tracer, databaseLabel(true)}
	}
	c.Logger = slog.New(tracedLog{c.Logger.Handler()})
	return tracer
}

// trace makes a span of every request but those of probes, which come every few seconds and say nothing. It holds neither
// the query, nor a header, nor a body.
func (s *service) trace(next echo.HandlerFunc) echo.HandlerFunc {
	if s.tracer == nil {
		return next
	}
	return func(c echo.Context) error {
		if isProbe(c.Path()) {
			return next(c)
		}
		ctx, span := s.startSpan(c)
		defer span.End()
		c.SetRequest(c.Request().WithContext(ctx))
		if span.IsRecording() {
			defer s.describeSpan(c, span)
		}
		return next(c)
	}
}

func isProbe(route string) bool { return route == "/livez" || route == "/readyz" }

// startSpan begins a trace, which is linked to the one that the caller names. Only where callers are trusted it is continued
// instead: whoever can do that can also decide that all requests are recorded, or none of theirs.
func (s *service) startSpan(c echo.Context) (context.Context, trace.Span) {
	r := c.Request()
	ctx := r.Context()
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer)}
	given := propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(r.Header))
	if caller := trace.SpanContextFromContext(given); s.config.TrustTraceparent {
		ctx = given
	} else if caller.IsValid() {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: caller.WithTraceState(trace.TraceState{})}))
	}
	return s.tracer.Start(ctx, s.spanName(c), options...)
}

// spanName is one of few, whatever callers send.
func (s *service) spanName(c echo.Context) string {
	method := spanMethod(c.Request().Method)
	if method == otherSpanMethod {
		method = "HTTP"
	}
	if route := s.metrics.routeOf(c); route != otherRoute {
		return method + " " + route
	}
	return method
}

const otherSpanMethod = "_OTHER" // as the semantic conventions have it

func spanMethod(method string) string {
	if known := measuredMethods[methodIndex(method)]; known != otherMethod {
		return known
	}
	return otherSpanMethod
}

// describeSpan comes when the request is answered.
func (s *service) describeSpan(c echo.Context, span trace.Span) {
	status := c.Response().Status
	attributes := []attribute.KeyValue{
		semconv.HTTPRequestMethodKey.String(spanMethod(c.Request().Method)),
		semconv.HTTPResponseStatusCode(status),
		semconv.URLPath(loggable(c.Request().URL.Path)),
		semconv.URLScheme(c.Scheme()),
		semconv.NetworkProtocolVersion(strings.TrimPrefix(c.Request().Proto, "HTTP/")),
		attributeRequestID.String(requestID(c)),
	}
	if route := s.metrics.routeOf(c); route != otherRoute {
		attributes = append(attributes, semconv.HTTPRoute(route))
	}
	if client := callerOf(c).ClientID; client != "" {
		attributes = append(attributes, attributeClientID.String(client))
	}
	if status >= http.StatusInternalServerError {
		attributes = append(attributes, semconv.ErrorTypeKey.String(strconv.Itoa(status)))
		span.SetStatus(codes.Error, http.StatusText(status))
	}
	span.SetAttributes(attributes...)
}
