package storetest_test

import (
	"errors"
	"fmt"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

var costTests = []test{{"only lists that collect many records are costly", func(f *fixture) {
	const many, cheap = 300, 200
	perks := make([]store.PerkRecord, many)
	for i := range perks {
		perks[i] = perk(fmt.Sprint("perk-", i), title("All"), city("Berlin"), position(52+float64(i)/many, 13))
		if i%50 == 0 {
			perks[i].Title, perks[i].City = "All rare", "Bath"
		}
	}
	f.addPerks(perks...)
	asked := func(words string, sort string) store.PerkQuery {
		keys, _ := api.ParseSort(sort, api.PerkSortFields())
		return store.PerkQuery{
			PerkFilter: api.PerkFilter{Query: words}, Sort: keys, At: now, Window: store.Window{Page: 1, PerPage: 10},
		}
	}
	late := asked("", "title")
	late.Window.Page = many / 20 // after 140 perks, which are skipped on an index
	user := asked("", "-created_at")
	user.AvailableTo, user.AnyUser = "alice", true
	bath := asked("", "description")
	bath.City = "bath"
	near := asked("", "distance")
	near.Near = &api.Circle{Lat: 52.5, Lng: 13, RadiusKM: 100}
	few := asked("", "-created_at")
	few.Near = &api.Circle{Lat: 52.5, Lng: 13, RadiusKM: 1}
	onlyCheap := store.LimitList(f.ctx, time.Minute, cheap)
	for _, list := range []struct {
		name     string
		query    store.PerkQuery
		isCostly bool
	}{
		{"the newest", asked("", "-created_at"), false},
		{"by title", asked("", "title"), false},
		{"few by words", asked("rare", "title"), false},
		{"few of a city, by description", bath, false},
		{"a user's", user, false},
		{"few in a circle", few, false},
		{"all by words", asked("all", "title"), true},
		{"all by description", asked("", "description"), true},
		{"all by two unindexed fields", asked("", "terms,-image_url"), true},
		{"a late page", late, false},
		{"all in a circle", near, true},
	} {
		_, err := f.ListPerks(onlyCheap, list.query)
		if (err != nil) != list.isCostly || err != nil && !errors.Is(err, store.ErrCostly) {
			f.Errorf("%s: %v, want it to be costly: %t", list.name, err, list.isCostly)
		}
		whole, err := f.ListPerks(store.LimitList(f.ctx, time.Minute, 0), list.query)
		if err != nil || len(whole.Items) != min(10, int(whole.Total)) {
			f.Errorf("%s: where it may be costly it has %d of %d perks, %v", list.name, len(whole.Items), whole.Total,
				err)
		}
	}
	// Of what was collected twice the order is kept, and it leads to other pages.
	sorted := asked("all", "title")
	_, err := f.ListPerks(f.ctx, sorted)
	sorted.Window.Page = 2
	if _, again := f.ListPerks(onlyCheap, sorted); err != nil || again != nil {
		f.Errorf("the next page of what was sorted before: %v, %v", err, again)
	}
}}}
