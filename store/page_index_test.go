package store

import (
	"context"
	"errors"
	"slices"
	"testing"

	"example.com/perks/api"
)

type numbers []int64

func (n numbers) Len() int { return len(n) }

func keyOf(query PerkQuery) keptKey { return keptKey{cacheKey(query, nil), api.FormatSort(query.Sort)} }

// keeper keeps lists of the numbers from 1, and counts how often one is built.
type keeper struct {
	t     *testing.T
	kept  *pageIndexCache[numbers]
	built int
}

func (k *keeper) wants(what string, query PerkQuery, count *Count, isDeep bool, want []int64, built int) {
	k.t.Helper()
	build := func(step int64) (ids numbers, err error) {
		k.built++
		for id := step; id <= count.Matching; id += step {
			ids = append(ids, id)
		}
		return ids, nil
	}
	ids, _, err := k.kept.ids(k.t.Context(), keyOf(query), query.Sort, count, isDeep, build)
	if err != nil || !slices.Equal(ids, want) || k.built != built {
		k.t.Errorf("%s: the ids are %v (%v), and lists were built %d times; want %v and %d", what, ids, err, k.built,
			want, built)
	}
}

func TestAListIsKeptFromTheSecondTimeOnUntilItChanges(t *testing.T) {
	k := &keeper{t: t, kept: newPageIndexCache[numbers](10, 100)}
	three, thirty := &Count{Matching: 3}, &Count{Matching: 30}
	byTitle := PerkQuery{Sort: []api.SortKey{{Field: "title"}}}
	k.wants("the first time", byTitle, three, false, nil, 0)
	k.wants("the second time", byTitle, three, false, []int64{1, 2, 3}, 1)
	k.wants("the third time", byTitle, three, false, []int64{1, 2, 3}, 1)
	k.wants("another order", PerkQuery{}, three, false, nil, 1)
	k.wants("another filter", PerkQuery{PerkFilter: api.PerkFilter{City: "York"}, Sort: byTitle.Sort}, three,
		false, nil, 1)
	k.wants("after a change", byTitle, &Count{Matching: 3}, false, nil, 1)
	k.wants("a page far inside", byTitle, thirty, true, []int64{15, 30}, 2)
	k.wants("after a failover", byTitle, thirty, false, []int64{15, 30}, 2)
	k.kept.purge()
	k.wants("after the purge", byTitle, thirty, false, nil, 2)
}

func TestListsThatWereNotAskedForTheLongestAreForgotten(t *testing.T) {
	k := &keeper{t: t, kept: newPageIndexCache[numbers](10, 20)}
	ten := &Count{Matching: 10}
	ids := []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	in := func(city string) PerkQuery { return PerkQuery{PerkFilter: api.PerkFilter{City: city}} }
	k.wants("one", in("one"), ten, true, ids, 1)
	k.wants("two", in("two"), ten, true, ids, 2)
	k.wants("one again", in("one"), ten, true, ids, 2)
	k.wants("three, which takes the place of two", in("three"), ten, true, ids, 3)
	k.wants("one once more", in("one"), ten, true, ids, 3)
	k.wants("two again", in("two"), ten, true, ids, 4)
}

func TestAListThatCannotBeBuiltIsNotKept(t *testing.T) {
	k := &keeper{t: t, kept: newPageIndexCache[numbers](10, 20)}
	broken := errors.New("broken")
	count := &Count{Matching: 2}
	if _, _, err := k.kept.ids(t.Context(), keyOf(PerkQuery{}), nil, count, true,
		func(int64) (numbers, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("the error is %v, want %v", err, broken)
	}
	k.wants("after the failure", PerkQuery{}, count, false, []int64{1, 2}, 1)
}

func TestWaitingForAListEndsWithTheCaller(t *testing.T) {
	kept, began, end := newPageIndexCache[numbers](10, 20), make(chan struct{}), make(chan struct{})
	first := make(chan error, 1)
	build := func(int64) (numbers, error) {
		close(began)
		<-end
		return numbers{1}, nil
	}
	count := &Count{Matching: 1}
	go func() {
		_, _, err := kept.ids(context.Background(), keyOf(PerkQuery{}), nil, count, true, build)
		first <- err
	}()
	<-began
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := kept.ids(ctx, keyOf(PerkQuery{}), nil, count, true, build); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v, want %v", err, context.Canceled)
	}
	close(end)
	if err := <-first; err != nil {
		t.Error(err)
	}
}
