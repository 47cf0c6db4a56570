package server

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"example.com/perks/api"
	"example.com/perks/store"
)

// tracedStore makes a span of each call that answers a request, so that a slow request shows where it waited.
type tracedStore struct {
	store.Store
	tracer   trace.Tracer
	database string
}

// span carries out a call of the store in a span. Its event "turn" divides the time that a write waited for others from the
// time that it took.
func span[T any](ctx context.Context, s tracedStore, name string, call func(context.Context) (T, error)) (T, error) {
	ctx, span := s.tracer.Start(ctx, "store."+name, trace.WithAttributes(attributeDatabase.String(s.database)))
	defer span.End()
	if span.IsRecording() {
		ctx = store.WithTurn(ctx, func() { span.AddEvent("turn") })
	}
	result, err := call(ctx)
	if err != nil {
		code := api.CodeOf(err)
		span.SetAttributes(attributeOutcome.String(string(code)))
		if kinds[code].status >= 500 {
			span.SetStatus(codes.Error, string(code)) // the log says more
		}
	}
	return result, err
}

// spanOf is span for a call that returns nothing but an error.
func spanOf(ctx context.Context, s tracedStore, name string, call func(context.Context) error) error {
	_, err := span(ctx, s, name, func(ctx context.Context) (struct{}, error) { return struct{}{}, call(ctx) })
	return err
}

func (s tracedStore) ListPerks(ctx context.Context, query store.PerkQuery) (store.List[api.Perk], error) {
	return span(ctx, s, "ListPerks", func(ctx context.Context) (store.List[api.Perk], error) { return s.Store.ListPerks(ctx, query) })
}

func (s tracedStore) Perk(ctx context.Context, id string) (api.Perk, error) {
	return span(ctx, s, "Perk", func(ctx context.Context) (api.Perk, error) { return s.Store.Perk(ctx, id) })
}

func (s tracedStore) Categories(ctx context.Context) ([]api.Category, error) {
	return span(ctx, s, "Categories", s.Store.Categories)
}

func (s tracedStore) Redeem(ctx context.Context, attempt store.RedeemAttempt) (store.RedeemResult, error) {
	return span(ctx, s, "Redeem", func(ctx context.Context) (store.RedeemResult, error) {
		result, err := s.Store.Redeem(ctx, attempt)
		if err == nil {
			trace.SpanFromContext(ctx).SetAttributes(attribute.Bool("perks.replayed", result.Replayed))
		}
		return result, err
	})
}

func (s tracedStore) ListRedemptions(ctx context.Context, query store.RedemptionQuery) (store.List[api.Redemption], error) {
	return span(ctx, s, "ListRedemptions", func(ctx context.Context) (store.List[api.Redemption], error) {
		return s.Store.ListRedemptions(ctx, query)
	})
}

func (s tracedStore) Property(ctx context.Context, id int64) (store.PropertyRecord, error) {
	return span(ctx, s, "Property", func(ctx context.Context) (store.PropertyRecord, error) { return s.Store.Property(ctx, id) })
}

func (s tracedStore) UpdateProperty(ctx context.Context, id int64, by store.Actor, at time.Time, change func(*store.PropertyRecord) error) error {
	return spanOf(ctx, s, "UpdateProperty", func(ctx context.Context) error { return s.Store.UpdateProperty(ctx, id, by, at, change) })
}

func (s tracedStore) DeleteProperty(ctx context.Context, id int64, by store.Actor, at time.Time, check func(store.PropertyRecord) error) error {
	return spanOf(ctx, s, "DeleteProperty", func(ctx context.Context) error { return s.Store.DeleteProperty(ctx, id, by, at, check) })
}

func (s tracedStore) Client(ctx context.Context, id string) (store.Client, error) {
	return span(ctx, s, "Client", func(ctx context.Context) (store.Client, error) { return s.Store.Client(ctx, id) })
}

func (s tracedStore) SigningKeys(ctx context.Context, at time.Time) ([]store.SigningKey, error) {
	return span(ctx, s, "SigningKeys", func(ctx context.Context) ([]store.SigningKey, error) { return s.Store.SigningKeys(ctx, at) })
}
