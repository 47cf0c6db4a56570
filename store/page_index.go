package store

import (
	"context"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"example.com/perks/api"
)

// A list of few perks is sorted at once, and a page that is few perks from an end of its index is read there.
const (
	shortList = 100
	farInside = 2000
)

// pageIndexCache has the order of lists that were asked for more than once, or far inside: the ids of their perks. A
// page is then read by them, without searching and sorting again. The order is kept until the catalog changes, or a
// perk starts or expires.
type pageIndexCache[IDs Sized] struct {
	mu      sync.Mutex
	lists   *simplelru.LRU[keptKey, *keptList[IDs]]
	perList int
	free    int // how many more ids there is room for
}

// Sized is a list of ids, of which an empty one is as if there were none.
type Sized interface{ Len() int }

type keptKey struct {
	filter totalKey
	sort   string
}

// keptList is a list as of a count.
type keptList[IDs Sized] struct {
	busy  chan struct{} // a lock that a context can cancel
	count *Count
	asked int
	ids   IDs
	gone  bool // from the cache, while a caller may hold it
}

// sparseShare is how many times fewer ids are kept of a list that is longer than perList. An index leads on between
// them, past some fifty more perks in a million, so these lists leave the room to those whose ids must all be kept.
const sparseShare = 5

// newPageIndexCache returns an empty cache for that many ids. It keeps all ids of a list that has at most perList, and
// of a longer one those of every step-th perk.
func newPageIndexCache[IDs Sized](perList, ids int) *pageIndexCache[IDs] {
	k := &pageIndexCache[IDs]{perList: perList, free: ids}
	lists, err := simplelru.NewLRU(maxCachedTotals, func(_ keptKey, list *keptList[IDs]) {
		list.gone = true
		k.free += list.ids.Len()
	})
	if err != nil {
		panic(err) // the size is a constant above 0
	}
	k.lists = lists
	return k
}

// helps tells whether kept ids lead to the query's page faster than a search, and whether the page is far inside the
// list. isScanned says that an index has the list in its order. What one user can redeem changes with every redemption.
// Between kept ids an index must lead on.
func (k *pageIndexCache[IDs]) helps(query PerkQuery, order Order, count *Count, isScanned bool) (helps, isDeep bool) {
	isDeep = query.After == nil && query.Reach(count.Matching).Skip >= farInside
	switch {
	case query.AvailableTo != "", count.Matching <= shortList, query.Window.Offset() >= count.Matching:
		return false, isDeep
	case !order.Serves(query.Sort) && count.Matching > int64(k.perList):
		return false, isDeep
	}
	return isDeep || !isScanned, isDeep
}

// cost returns how many perks a page collects that would collect so many without the kept order: none if the order is
// kept, and all that match if ids would build it.
func (k *pageIndexCache[IDs]) cost(
	ctx context.Context, key keptKey, sort []api.SortKey, count *Count, isDeep bool, without int64,
) (int64, error) {
	list := k.list(key)
	if err := lockList(ctx, list.busy, rowLimit(ctx) > 0); err != nil {
		return 0, err
	}
	defer func() { <-list.busy }()
	isCurrent := count.keepsOrder(list.count, sort)
	switch {
	case isCurrent && list.ids.Len() > 0:
		return 0, nil
	case isDeep || isCurrent && list.asked > 0:
		return count.Matching, nil
	}
	return without, nil
}

// ids returns the ids of every step-th perk of a list as of a count: with 3, of the third, the sixth and so on. It
// returns none the first time that the list is asked for since it changed, unless isDeep: people look at many first
// pages just once. build reads the ids.
func (k *pageIndexCache[IDs]) ids(
	ctx context.Context, key keptKey, sort []api.SortKey, count *Count, isDeep bool,
	build func(step int64) (IDs, error),
) (ids IDs, step int64, err error) {
	step = k.step(count.Matching)
	list := k.list(key)
	if err := lockList(ctx, list.busy, false); err != nil {
		return ids, 0, err
	}
	defer func() { <-list.busy }()
	if !count.keepsOrder(list.count, sort) {
		k.keep(list, ids)
		list.asked = 0
	}
	list.count = count
	if list.asked++; list.ids.Len() > 0 || list.asked == 1 && !isDeep {
		return list.ids, step, nil
	}
	if ids, err = build(step); err == nil {
		k.keep(list, ids)
	}
	return ids, step, err
}

// step is 1 for a list of which all ids are kept, and otherwise every how manyth is.
func (k *pageIndexCache[IDs]) step(matching int64) int64 {
	perList := int64(k.perList)
	if matching <= perList {
		return 1
	}
	return (matching*sparseShare + perList - 1) / perList
}

func (k *pageIndexCache[IDs]) list(key keptKey) *keptList[IDs] {
	k.mu.Lock()
	defer k.mu.Unlock()
	list, ok := k.lists.Get(key)
	if !ok {
		list = &keptList[IDs]{busy: make(chan struct{}, 1)}
		k.lists.Add(key, list)
	}
	return list
}

// keep replaces the ids of a list, and forgets the lists that were not asked for the longest if there is no room.
func (k *pageIndexCache[IDs]) keep(list *keptList[IDs], ids IDs) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if list.gone {
		return
	}
	k.free += list.ids.Len() - ids.Len()
	list.ids = ids
	for k.free < 0 {
		k.lists.RemoveOldest()
	}
}

func (k *pageIndexCache[IDs]) purge() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lists.Purge()
}
