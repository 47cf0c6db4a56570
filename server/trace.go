package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"example.com/perks/api"
	"example.com/perks/store"
)

// trace returns a tracer, and adds spans to the databases and trace ids to the log. Without a provider it returns nil.
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

// trace makes a span of every request except probes. It contains neither the query nor headers or the body.
func (s *service) trace(next echo.HandlerFunc) echo.HandlerFunc {
	if s.tracer == nil {
		return next
	}
	return func(c echo.Context) error {
		if route := c.Path(); route == "/livez" || route == "/readyz" {
			return next(c)
		}
		name, method := s.spanName(c)
		ctx, span := s.startSpan(c.Request(), name)
		defer span.End()
		c.SetRequest(c.Request().WithContext(ctx))
		if span.IsRecording() {
			defer s.describeSpan(c, span, method)
		}
		return next(c)
	}
}

// startSpan starts a new trace that links to the caller's. It continues the caller's trace only if callers are trusted,
// because they then decide whether requests are recorded.
func (s *service) startSpan(r *http.Request, name string) (context.Context, trace.Span) {
	ctx := r.Context()
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer)}
	given := propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(r.Header))
	if caller := trace.SpanContextFromContext(given); s.config.TrustTraceparent {
		ctx = given
	} else if caller.IsValid() {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: caller.WithTraceState(trace.TraceState{})}))
	}
	return s.tracer.Start(ctx, name, options...)
}

// spanName has few values, whatever callers send. An unknown method is named as the semantic conventions require.
func (s *service) spanName(c echo.Context) (name, method string) {
	method = methodLabel(c.Request().Method)
	name = method
	if method == otherMethod {
		name, method = "HTTP", "_OTHER"
	}
	if route := s.metrics.routeOf(c); route != otherRoute {
		name += " " + route
	}
	return name, method
}

func (s *service) describeSpan(c echo.Context, span trace.Span, method string) {
	status := c.Response().Status
	attributes := []attribute.KeyValue{
		semconv.HTTPRequestMethodKey.String(method),
		semconv.HTTPResponseStatusCode(status),
		semconv.URLPath(sanitize(c.Request().URL.Path)),
		semconv.URLScheme(c.Scheme()),
		semconv.NetworkProtocolVersion(strings.TrimPrefix(c.Request().Proto, "HTTP/")),
		attribute.String("perks.request_id", requestID(c)),
	}
	if route := s.metrics.routeOf(c); route != otherRoute {
		attributes = append(attributes, semconv.HTTPRoute(route))
	}
	if client := callerOf(c).ClientID; client != "" {
		attributes = append(attributes, attribute.String("perks.client_id", client))
	}
	if status >= http.StatusInternalServerError {
		attributes = append(attributes, semconv.ErrorTypeKey.String(strconv.Itoa(status)))
		span.SetStatus(codes.Error, http.StatusText(status))
	}
	span.SetAttributes(attributes...)
}

// tracedLog adds the trace id to the log lines of a recorded request.
type tracedLog struct{ slog.Handler }

func (l tracedLog) Handle(ctx context.Context, record slog.Record) error {
	if span := trace.SpanContextFromContext(ctx); span.IsSampled() {
		record.AddAttrs(slog.String("trace_id", span.TraceID().String()))
	}
	return l.Handler.Handle(ctx, record)
}

func (l tracedLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return tracedLog{l.Handler.WithAttrs(attrs)}
}

func (l tracedLog) WithGroup(name string) slog.Handler { return tracedLog{l.Handler.WithGroup(name)} }

// tracedStore makes a span of each call to the database, so that a trace shows where a slow request waited.
type tracedStore struct {
	store.Store
	tracer   trace.Tracer
	database string
}

// span calls the store in a span. Its event "dequeued" marks when a write leaves the queue.
func span[A, T any](
	ctx context.Context, s tracedStore, name string, call func(context.Context, A) (T, error), argument A,
) (T, error) {
	ctx, span := s.tracer.Start(ctx, "store."+name,
		trace.WithAttributes(attribute.String("perks.database", s.database)))
	defer span.End()
	if span.IsRecording() {
		ctx = store.OnDequeued(ctx, func() { span.AddEvent("dequeued") })
	}
	result, err := call(ctx, argument)
	if err != nil {
		code := spanCode(err)
		span.SetAttributes(attribute.String("perks.code", string(code)))
		if waited := new(store.WaitError); errors.As(err, &waited) {
			span.SetAttributes(attribute.String("perks.waited_table", waited.Table),
				attribute.String("perks.waited_statement", waited.Statement),
				attribute.String("perks.blocked_by", waited.BlockedBy))
		}
		if problemTypes[code].status >= 500 {
			span.SetStatus(codes.Error, string(code)) // the log has the details
		}
	}
	return result, err
}

// spanCode is the code that the caller gets, or "costly" of a list that is read again, in the lane of costly ones.
func spanCode(err error) api.Code {
	switch {
	case errors.Is(err, store.ErrCostly):
		return "costly"
	case errors.Is(err, store.ErrTimeLimit):
		return api.CodeTooExpensive
	}
	return responseTo(err).err.Code
}

func (s tracedStore) ListPerks(ctx context.Context, query store.PerkQuery) (store.List[api.Perk], error) {
	return span(ctx, s, "ListPerks", s.Store.ListPerks, query)
}

func (s tracedStore) Perk(ctx context.Context, id string) (api.Perk, error) {
	return span(ctx, s, "Perk", s.Store.Perk, id)
}

func (s tracedStore) CreatePerk(ctx context.Context, creation store.PerkCreation) (store.CreatedPerk, error) {
	return span(ctx, s, "CreatePerk", s.Store.CreatePerk, creation)
}

func (s tracedStore) PerkRecord(ctx context.Context, id string) (store.PerkRecord, error) {
	return span(ctx, s, "PerkRecord", s.Store.PerkRecord, id)
}

func (s tracedStore) UpdatePerk(
	ctx context.Context, id string, by store.Actor, at time.Time, change func(*store.PerkRecord) error,
) (store.PerkRecord, error) {
	update := func(ctx context.Context, id string) (store.PerkRecord, error) {
		return s.Store.UpdatePerk(ctx, id, by, at, change)
	}
	return span(ctx, s, "UpdatePerk", update, id)
}

func (s tracedStore) PerkStock(ctx context.Context, id string) (api.PerkStock, error) {
	return span(ctx, s, "PerkStock", s.Store.PerkStock, id)
}

func (s tracedStore) ChangePerkStock(ctx context.Context, restock store.PerkRestock) (store.ChangedStock, error) {
	return span(ctx, s, "ChangePerkStock", s.Store.ChangePerkStock, restock)
}

func (s tracedStore) PerkHistory(
	ctx context.Context, query store.PerkHistoryQuery,
) (store.List[store.PerkVersion], error) {
	return span(ctx, s, "PerkHistory", s.Store.PerkHistory, query)
}

func (s tracedStore) PerkAsOf(ctx context.Context, id string, at time.Time) (store.PerkRecord, error) {
	asOf := func(ctx context.Context, id string) (store.PerkRecord, error) { return s.Store.PerkAsOf(ctx, id, at) }
	return span(ctx, s, "PerkAsOf", asOf, id)
}

func (s tracedStore) ListUsers(ctx context.Context, query store.UserQuery) (store.List[store.User], error) {
	return span(ctx, s, "ListUsers", s.Store.ListUsers, query)
}

func (s tracedStore) Categories(ctx context.Context) ([]api.Category, error) {
	list := func(ctx context.Context, _ any) ([]api.Category, error) { return s.Store.Categories(ctx) }
	return span(ctx, s, "Categories", list, nil)
}

func (s tracedStore) Redeem(ctx context.Context, attempt store.RedeemAttempt) (store.RedeemResult, error) {
	redeem := func(ctx context.Context, attempt store.RedeemAttempt) (store.RedeemResult, error) {
		result, err := s.Store.Redeem(ctx, attempt)
		if err == nil {
			trace.SpanFromContext(ctx).SetAttributes(attribute.Bool("perks.replayed", result.Replayed))
		}
		return result, err
	}
	return span(ctx, s, "Redeem", redeem, attempt)
}

func (s tracedStore) Eligibility(ctx context.Context, pairs []api.Pair) (map[api.Pair]store.Eligibility, error) {
	return span(ctx, s, "Eligibility", s.Store.Eligibility, pairs)
}

func (s tracedStore) Redemption(ctx context.Context, id string) (api.RedemptionRecord, error) {
	return span(ctx, s, "Redemption", s.Store.Redemption, id)
}

func (s tracedStore) ListRedemptions(
	ctx context.Context, q store.RedemptionQuery,
) (store.List[api.RedemptionRecord], error) {
	return span(ctx, s, "ListRedemptions", s.Store.ListRedemptions, q)
}

func (s tracedStore) ReportRedemptions(ctx context.Context, query store.ReportQuery) (api.Report, error) {
	return span(ctx, s, "ReportRedemptions", s.Store.ReportRedemptions, query)
}

func (s tracedStore) DecideRedemption(
	ctx context.Context, id string, decision store.Decision, by store.Actor, at time.Time,
) (api.RedemptionRecord, error) {
	decide := func(ctx context.Context, id string) (api.RedemptionRecord, error) {
		return s.Store.DecideRedemption(ctx, id, decision, by, at)
	}
	return span(ctx, s, "DecideRedemption", decide, id)
}

func (s tracedStore) ListProperties(
	ctx context.Context, query store.PropertyQuery,
) (store.List[api.Property], error) {
	return span(ctx, s, "ListProperties", s.Store.ListProperties, query)
}

func (s tracedStore) CreateProperty(
	ctx context.Context, creation store.PropertyCreation,
) (store.CreatedProperty, error) {
	return span(ctx, s, "CreateProperty", s.Store.CreateProperty, creation)
}

func (s tracedStore) Property(ctx context.Context, id int64) (store.PropertyRecord, error) {
	return span(ctx, s, "Property", s.Store.Property, id)
}

func (s tracedStore) UpdateProperty(
	ctx context.Context, id int64, by store.Actor, at time.Time, change func(*store.PropertyRecord) error,
) error {
	update := func(ctx context.Context, id int64) (any, error) {
		return nil, s.Store.UpdateProperty(ctx, id, by, at, change)
	}
	_, err := span(ctx, s, "UpdateProperty", update, id)
	return err
}

func (s tracedStore) DeleteProperty(
	ctx context.Context, id int64, by store.Actor, at time.Time, check func(store.PropertyRecord) error,
) error {
	remove := func(ctx context.Context, id int64) (any, error) {
		return nil, s.Store.DeleteProperty(ctx, id, by, at, check)
	}
	_, err := span(ctx, s, "DeleteProperty", remove, id)
	return err
}

func (s tracedStore) Client(ctx context.Context, id string) (store.Client, error) {
	return span(ctx, s, "Client", s.Store.Client, id)
}

func (s tracedStore) SigningKeys(ctx context.Context, at time.Time) ([]store.SigningKey, error) {
	return span(ctx, s, "SigningKeys", s.Store.SigningKeys, at)
}
