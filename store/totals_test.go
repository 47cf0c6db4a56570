package store

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"example.com/perks/api"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// counter is a catalog that changes at every full hour. It counts its own calls.
type counter struct {
	t       *testing.T
	totals  *totals
	version int64
	counted int64
	edits   map[int64][]perkEdit // since a version
}

func (c *counter) editsSince(version int64) ([]perkEdit, error) { return c.edits[version], nil }

func searchAtNoon() *Search { return &Search{Query: PerkQuery{At: noon}, Version: 1} }

func noEdits(int64) ([]perkEdit, error) { return nil, nil }

func newCounter(t *testing.T) *counter { return &counter{t: t, totals: newTotals(), version: 1} }

// count returns as many perks as the number of its calls.
func (c *counter) count(at time.Time) func(int64) (Count, error) {
	return func(int64) (Count, error) {
		c.counted++
		since := at.Truncate(time.Hour)
		till := since.Add(time.Hour)
		return Count{Matching: c.counted, Since: &since, Till: &till}, nil
	}
}

// wants checks the total of a query; a new count returns the number of counts so far.
func (c *counter) wants(what string, query PerkQuery, want int64) {
	c.t.Helper()
	if query.At.IsZero() {
		query.At = noon
	}
	got, err := c.totals.get(c.t.Context(), &Search{Query: query, Version: c.version}, c.editsSince, c.count(query.At))
	if err != nil || got.Matching != want {
		c.t.Errorf("%s: the total is that of count %+v (%v), want %d", what, got, err, want)
	}
}

func TestATotalIsCountedOnceWhileNothingChanges(t *testing.T) {
	c := newCounter(t)
	at := func(d time.Duration) PerkQuery { return PerkQuery{At: noon.Add(d)} }
	c.wants("at first", at(10*time.Minute), 1)
	c.wants("again", at(10*time.Minute), 1)
	c.wants("later in the hour", at(time.Hour-time.Microsecond), 1)
	c.wants("earlier in the hour", at(0), 1)
	c.wants("in the next hour", at(time.Hour), 2)
	c.wants("in the hour before", at(-time.Nanosecond), 3) // times are stored to the microsecond
	c.version++
	c.wants("after an import", at(-time.Minute), 4)
	c.wants("again after it", at(-time.Minute), 4)
}

func TestAnOlderSnapshotDoesNotReplaceANewerTotal(t *testing.T) {
	c := newCounter(t)
	c.version = 2
	c.wants("version 2", PerkQuery{}, 1)
	c.version = 1
	c.wants("version 1, by someone who began to read before", PerkQuery{}, 2)
	c.version = 2
	c.wants("version 2 again", PerkQuery{}, 1)
}

func TestAChangeOfAPerkTakesATotalForward(t *testing.T) {
	c := newCounter(t)
	of := func(city string, end *time.Time) *PerkRecord {
		return &PerkRecord{Perk: api.Perk{ID: "a", City: city, ValidTo: end}}
	}
	leeds, soon := PerkQuery{PerkFilter: api.PerkFilter{City: "Leeds"}}, noon.Add(10*time.Minute)
	c.wants("at first", leeds, 1)
	for i, edit := range []struct {
		perkEdit
		want int64
	}{
		{perkEdit{nil, of("LEEDS", nil)}, 2}, {perkEdit{of("LEEDS", nil), of("Leeds", nil)}, 2},
		{perkEdit{of("Leeds", nil), of("York", nil)}, 1}, {perkEdit{of("York", nil), of("Bath", nil)}, 1},
		{perkEdit{of("Bath", nil), of("Leeds", &soon)}, 2},
	} {
		c.edits = map[int64][]perkEdit{c.version: {edit.perkEdit}}
		c.version++
		c.wants(fmt.Sprint("after edit ", i), leeds, edit.want)
	}
	if c.counted != 1 {
		t.Errorf("it was counted %d times", c.counted)
	}
	leeds.At = soon
	c.wants("when the perk has expired it is counted again", leeds, 2)
	c.edits, c.version = nil, c.version+1
	c.wants("after an import", leeds, 3)
}

func TestAListIsKeptWhileChangesLeaveItsOrder(t *testing.T) {
	k := &keeper{t: t, kept: newPageIndexCache[numbers](10, 100)}
	s := searchAtNoon()
	change := func(count *Count, title string) *Count {
		was, is := PerkRecord{Perk: api.Perk{ID: "a", City: "x"}}, PerkRecord{Perk: api.Perk{ID: "a", City: "y"}}
		is.Title = title
		return count.after(s, perkEdit{&was, &is})
	}
	count, byTitle := &Count{Matching: 2}, PerkQuery{Sort: []api.SortKey{{Field: "title"}}}
	k.wants("at first", byTitle, count, true, []int64{1, 2}, 1)
	for range maxTrail {
		count = change(count, "")
	}
	k.wants("after changes of the city", byTitle, count, true, []int64{1, 2}, 1)
	count = change(count, "New")
	k.wants("after one of the title", byTitle, count, true, []int64{1, 2}, 2)
}

func TestEachFilterHasItsOwnTotal(t *testing.T) {
	c := newCounter(t)
	queries := []PerkQuery{{}, {AvailableTo: "ann"}, {PerkFilter: api.PerkFilter{City: "Leeds"}},
		{PerkFilter: api.PerkFilter{Query: "Leeds"}}}
	all := api.PerkFilter{Query: "tea leeds", City: "York", Near: &api.Circle{Lat: 1, Lng: 2, RadiusKM: 3},
		IncludeExpired: true}
	queries = append(queries, PerkQuery{PerkFilter: all})
	for i := range reflect.TypeFor[api.PerkFilter]().NumField() { // a category counts by the names that it stands for
		if field := reflect.TypeFor[api.PerkFilter]().Field(i); field.Name != "Category" {
			without := all
			if value := reflect.ValueOf(&without).Elem().Field(i); value.IsZero() {
				t.Fatalf("%s is not set here", field.Name)
			} else {
				value.SetZero()
			}
			queries = append(queries, PerkQuery{PerkFilter: without})
		}
	}
	for _, near := range []api.Circle{{Lng: 2, RadiusKM: 3}, {Lat: 1, RadiusKM: 3}, {Lat: 1, Lng: 2, RadiusKM: 4}} {
		other := all
		other.Near = &near
		queries = append(queries, PerkQuery{PerkFilter: other})
	}
	for i, query := range queries {
		c.wants("a query of its own", query, int64(i+1))
		c.wants("the query again", query, int64(i+1))
	}
	c.wants("for another user", PerkQuery{AvailableTo: "bob"}, 2)
	c.wants("the city in another case", PerkQuery{PerkFilter: api.PerkFilter{City: "LEEDS"}}, 3)
	c.wants("the text in another case", PerkQuery{PerkFilter: api.PerkFilter{Query: "-LEEDS-"}}, 4)
	c.wants("in whichever order, on whichever page", PerkQuery{Window: Window{Page: 3, PerPage: 10}}, 1)
}

func TestCategoriesHaveTheirOwnTotals(t *testing.T) {
	c := newCounter(t)
	for i, categories := range [][]string{nil, {"food"}, {"fun"}, {"food", "fun"}} {
		got, err := c.totals.get(t.Context(), &Search{Query: PerkQuery{At: noon}, Categories: categories, Version: 1},
			c.editsSince, c.count(noon))
		if err != nil || got.Matching != int64(i+1) {
			t.Errorf("categories %q: the total is that of count %+v (%v), want %d", categories, got, err, i+1)
		}
	}
}

func TestAFailedCountIsNotCached(t *testing.T) {
	c := newCounter(t)
	broken := errors.New("broken")
	fails := func(int64) (Count, error) { return Count{}, broken }
	_, err := c.totals.get(t.Context(), searchAtNoon(), noEdits, fails)
	if !errors.Is(err, broken) {
		t.Errorf("the error is %v, want %v", err, broken)
	}
	c.wants("after the failure", PerkQuery{}, 1)
}

func TestConcurrentCallersShareOneCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		totals, counting, counted := newTotals(), make(chan struct{}), 0
		results := make(chan int64, 8)
		for range cap(results) {
			go func() {
				total, err := totals.get(t.Context(), searchAtNoon(), noEdits,
					func(int64) (Count, error) {
						<-counting
						counted++
						return Count{Matching: 7}, nil
					})
				if err != nil {
					t.Error(err)
					total = &Count{}
				}
				results <- total.Matching
			}()
		}
		synctest.Wait() // until all of them wait, one for the count and the others for that one
		close(counting)
		for range cap(results) {
			if total := <-results; total != 7 {
				t.Errorf("the total is %d, want 7", total)
			}
		}
		if counted != 1 {
			t.Errorf("it was counted %d times, want once", counted)
		}
	})
}

func TestWaitingForACountEndsWithTheCaller(t *testing.T) {
	totals, began, end := newTotals(), make(chan struct{}), make(chan struct{})
	first := make(chan error, 1)
	go func() {
		_, err := totals.get(t.Context(), searchAtNoon(), noEdits, func(int64) (Count, error) {
			close(began)
			<-end
			return Count{}, nil
		})
		first <- err
	}()
	<-began
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := totals.get(ctx, searchAtNoon(), noEdits, func(int64) (Count, error) {
		t.Error("two callers count at once")
		return Count{}, nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v, want %v", err, context.Canceled)
	}
	close(end)
	if err := <-first; err != nil {
		t.Error(err)
	}
}
