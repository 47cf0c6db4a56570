package store

import (
	"context"
	"errors"
	"time"

	"example.com/perks/api"
)

// ErrCostly means that a list would collect more records than its context allows. Cheap lists read few, which an index
// or a kept order leads to. Others collect many first, and sort them.
var ErrCostly = errors.New("the list collects many records")

// ErrTimeLimit says that a read took longer than it may.
var ErrTimeLimit = errors.New("the read took longer than it may")

// SortsSlowly tells whether lists of perks can be sorted by the field, but no index has that order.
func SortsSlowly(field string) bool {
	column, isKnown := PerkOrder(func(field string) string { return field }, "", false).Columns[field]
	return isKnown && !column.Indexed && field != api.SortDistance
}

type listKey struct{}

// listLimits is what a list may cost.
type listLimits struct {
	within time.Duration
	rows   int64 // 0 is any number
}

// LimitList returns a context under which each statement of a list takes at most within, and then fails with
// ErrTimeLimit. If a list would collect more than that many rows, it fails with ErrCostly, before it costs much; 0 rows
// is no limit.
func LimitList(ctx context.Context, within time.Duration, rows int64) context.Context {
	return context.WithValue(ctx, listKey{}, listLimits{within, rows})
}

// ListTime returns how long a statement under the context may take.
func ListTime(ctx context.Context) (within time.Duration, isLimited bool) {
	limits, isLimited := ctx.Value(listKey{}).(listLimits)
	return limits.within, isLimited
}

// rowLimit is how many rows a list may collect, or 0 without a limit.
func rowLimit(ctx context.Context) int64 {
	limits, _ := ctx.Value(listKey{}).(listLimits)
	return limits.rows
}

// lockList takes a lock that another list holds while it counts or sorts. Whoever has a connection of the lists that
// are cheap must not keep it for as long: then it returns ErrCostly.
func lockList(ctx context.Context, busy chan struct{}, isCostly bool) error {
	select {
	case busy <- struct{}{}:
		return nil
	default:
	}
	if isCostly {
		return ErrCostly
	}
	select {
	case busy <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// CheckCost returns ErrCostly if the context does not allow collecting that many records.
func CheckCost(ctx context.Context, rows int64) error {
	if limit := rowLimit(ctx); limit > 0 && rows > limit {
		return ErrCostly
	}
	return nil
}
