package server

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"

	"example.com/perks/api"
	"example.com/perks/store"
)

// Refused redemptions are kept to be found, off the path of requests: what was refused in the last moment is lost if
// the process dies. Somebody who sends nothing but requests to refuse must fill neither the memory nor the disk.
const (
	refusedInterval  = time.Second           // from a refusal to its transaction
	refusedTime      = 10 * time.Second      // how long that transaction may take
	maxRefused       = 1000                  // refusals that wait for it
	refusedPerClient = 2                     // refusals a second of each client that are kept in the long run
	refusedBurst     = 60 * refusedPerClient // those of an idle client that are kept at once
)

// refusedLog keeps the refused redemptions of one database.
type refusedLog struct {
	service *service
	store   store.Store
	sandbox bool
	lost    prometheus.Counter

	mu      sync.Mutex
	waiting []store.Refused
	writing sync.Mutex // held while they are written
}

func newRefusedLog(s *service, into store.Store, sandbox bool) *refusedLog {
	return &refusedLog{service: s, store: into, sandbox: sandbox,
		lost: s.metrics.refusedLost.WithLabelValues(databaseLabel(sandbox))}
}

// note keeps a refusal, if the error is one.
func (r *refusedLog) note(attempt store.RedeemAttempt, err error) {
	if err == nil || !slices.Contains(api.RefusalCodes(), api.CodeOf(err)) || api.PerkIDRule(attempt.PerkID) != "" {
		return
	}
	if !r.service.refusedRate.take(rateKey{attempt.ClientID, r.sandbox}) {
		r.lost.Inc()
		return
	}
	refusal, _ := errors.AsType[*api.Error](err)
	refused := store.Refused{ID: r.service.config.NewID(), RefusedRedemption: api.RefusedRedemption{
		PerkID: api.LowerUUID(attempt.PerkID), UserID: api.LowerUUID(attempt.UserID), Code: refusal.Code,
		Message: refusal.Message, ClientID: attempt.ClientID, At: attempt.At,
	}}
	if attempt.Actor != "" {
		refused.Actor = &attempt.Actor
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.waiting) == maxRefused {
		r.lost.Inc()
		return
	}
	if r.waiting = append(r.waiting, refused); len(r.waiting) == 1 {
		time.AfterFunc(refusedInterval, func() { r.write(context.Background()) })
	}
}

// write writes the refusals that wait, and returns when those are written that another goroutine writes.
func (r *refusedLog) write(ctx context.Context) {
	r.writing.Lock()
	defer r.writing.Unlock()
	r.mu.Lock()
	refused := r.waiting
	r.waiting = nil
	r.mu.Unlock()
	if len(refused) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, refusedTime)
	defer cancel()
	if err := r.store.RecordRefused(ctx, refused); err != nil {
		r.lost.Add(float64(len(refused)))
		r.service.config.Logger.Warn("cannot keep refused redemptions, which nobody will find",
			"database", databaseLabel(r.sandbox), "count", len(refused), "error", err)
	}
}

func (h perkHandlers) listRefused(c echo.Context) error {
	q := api.ParseParameters(c.Request().URL.RawQuery)
	query := store.RefusedQuery{RefusedFilter: q.RefusedFilter(), Window: windowOf(q),
		Sort: q.SortByOne("-at", api.RefusedSortFields())}
	query.PerkID, query.UserID = api.LowerUUID(query.PerkID), api.LowerUUID(query.UserID)
	query.ClientID = clientToRead(callerOf(c), query.Own)
	query.After = cursorOf(q, query.Sort)
	checkReach(q, query.Window, query.After, "refused redemptions", "filters")
	h.refusals.write(context.WithoutCancel(c.Request().Context())) // so that the caller finds what was refused just now
	read := func(ctx context.Context) (page store.List[api.RefusedRedemption], err error) {
		list, err := h.store.ListRefused(ctx, query)
		page = store.List[api.RefusedRedemption]{Items: []api.RefusedRedemption{}, Total: list.Total,
			IsMore: list.IsMore, Next: list.Next}
		for _, refused := range list.Items {
			page.Items = append(page.Items, refused.RefusedRedemption)
		}
		return page, err
	}
	return writeList(h.service, c, h.sandbox, q, query.Window, query.Sort, read)
}
