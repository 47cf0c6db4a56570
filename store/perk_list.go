package store

import (
	"context"

	"example.com/perks/api"
)

func (o Operations) ListPerks(ctx context.Context, query PerkQuery) (List[api.Perk], error) {
	return inSnapshot(ctx, o, "list perks", o.db.Snapshot,
		func(q Querier) (List[api.Perk], error) { return o.db.ListPerks(q, query) })
}

// PerkSearch is a search for perks that a driver runs in one snapshot of its database. IDs are ids of perks as the
// driver keeps them.
type PerkSearch[IDs Sized] interface {
	// Common is the part of the search that drivers share.
	Common() *Search
	// View is the snapshot.
	View() Querier
	// CountMatches counts the matches, at most this many unless that is 0, and CountUnavailable those of them that the
	// query's user cannot redeem.
	CountMatches(most int64) (Count, error)
	CountUnavailable(matching int64) (int64, error)
	// ReadPage reads the perks of the window, ReadAfter those after the query's cursor, and ReadByIDs those with some
	// ids.
	ReadPage(total int64) ([]api.Perk, error)
	ReadAfter(reach Fetch, matching int64) ([]api.Perk, error)
	ReadByIDs(ids IDs, from, until int64) ([]api.Perk, error)
	// EveryID returns the ids of every step-th match in the order of the list, and IsIDAt compares one of them.
	EveryID(step, matching int64) (IDs, error)
	IsIDAt(ids IDs, at int64, id string) (bool, error)
	// Distances returns those of perks from the query's position, in millimetres.
	Distances(ids []string) ([]int64, error)
	// Positions returns those that perks have.
	Positions(ids []string) ([]api.Point, error)
	// HasOrderedScan tells whether an index has the matches, and little else, in the order of the list.
	HasOrderedScan() bool
	// Cost is about how many perks ReadPage collects.
	Cost(reach Fetch, total int64) int64
}

// PerkLists lists perks, and keeps what the next list may need: totals, and the order of lists.
type PerkLists[IDs Sized] struct {
	totals *totals
	orders *pageIndexCache[IDs]
}

// NewPerkLists keeps that many ids of perks, and every one only of a list with at most perList.
func NewPerkLists[IDs Sized](perList, ids int) *PerkLists[IDs] {
	return &PerkLists[IDs]{newTotals(), newPageIndexCache[IDs](perList, ids)}
}

// Purge forgets everything, for a database that may have lost its last changes: it can reach the same version with
// others.
func (l *PerkLists[IDs]) Purge() {
	l.totals.purge()
	l.orders.purge()
}

// List returns the page of a search, and the total.
func (l *PerkLists[IDs]) List(ctx context.Context, search PerkSearch[IDs]) (list List[api.Perk], err error) {
	s := search.Common()
	if s.IsEmpty() {
		return List[api.Perk]{Items: []api.Perk{}}, nil
	}
	count, err := l.totals.get(ctx, s, func(version int64) ([]perkEdit, error) {
		return editsBetween(search.View(), version, s.Version)
	}, search.CountMatches)
	if err != nil {
		return list, err
	}
	// What is unavailable to the user is little, and changes with every redemption: it is counted separately and not
	// cached.
	total := count.Matching
	if s.Query.AvailableTo != "" {
		unavailable, err := search.CountUnavailable(count.Matching)
		if err != nil {
			return list, err
		}
		total -= unavailable
	}
	perks, err := l.keptPage(ctx, search, count, total)
	if err == nil && perks == nil {
		perks, err = search.ReadPage(total)
	}
	if err != nil {
		return list, err
	}
	return s.Query.Page(perks, total, search.Distances, search.Positions)
}

// keptPage reads the window by the kept order of the list; nil if that is not known, or a page takes no longer without.
// It fails with ErrCostly if the page collects more than its context allows, also without that order.
func (l *PerkLists[IDs]) keptPage(
	ctx context.Context, search PerkSearch[IDs], count *Count, total int64,
) ([]api.Perk, error) {
	s := search.Common()
	key := keptKey{cacheKey(s.Query, s.Categories), api.FormatSort(s.Query.Sort)}
	sort := s.Query.Sort
	helps, isDeep := l.orders.helps(s.Query, s.Order, count, search.HasOrderedScan())
	cost, err := search.Cost(s.Query.Reach(total), total), error(nil)
	if helps {
		cost, err = l.orders.cost(ctx, key, sort, count, isDeep, cost)
	}
	if err == nil {
		err = CheckCost(ctx, cost)
	}
	if err != nil || !helps {
		return nil, err
	}
	ids, step, err := l.orders.ids(ctx, key, sort, count, isDeep, func(step int64) (IDs, error) {
		return search.EveryID(step, count.Matching)
	})
	if err != nil || ids.Len() == 0 {
		return nil, err
	}
	reach, offset, after := s.Query.Reach(count.Matching), s.Query.Window.Offset(), s.Query.After
	n, isWhole := int64(ids.Len()), step == 1
	if isWhole && after != nil { // the page begins at its number only if nothing has come before it since the last one
		if isWhole = offset > 0 && offset <= n; isWhole {
			isWhole, err = search.IsIDAt(ids, offset-1, after.ID)
		}
	}
	switch {
	case err != nil:
		return nil, err
	case isWhole:
		return search.ReadByIDs(ids, min(offset, n), min(offset+reach.Take, n))
	case after != nil || offset < step:
		return nil, nil
	}
	before := offset / step // kept ones that the page comes after
	last, err := search.ReadByIDs(ids, before-1, before)
	if err != nil {
		return nil, err
	}
	distances, err := search.Distances([]string{last[0].ID})
	if err != nil {
		return nil, err
	}
	s.Query.After = s.Query.CursorOf(&last[0], distances[0])
	defer func() { s.Query.After = nil }()
	return search.ReadAfter(Fetch{Skip: offset - before*step, Take: reach.Take}, count.Matching)
}
