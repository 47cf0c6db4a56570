package main

import (
	"slices"
	"testing"

	"example.com/perks/api"
	"example.com/perks/store"
)

func TestPathRequestsTheSameListAsTheQuery(t *testing.T) {
	q := store.PerkQuery{PerkFilter: api.PerkFilter{Query: "red fox", City: "São Paulo",
		Near: &api.Circle{Lat: -23.5505, Lng: 46, RadiusKM: 10}},
		Sort:   []api.SortKey{{Field: "created_at", Desc: true}, {Field: "title"}},
		Window: store.Window{Page: 40_000, PerPage: 25}}
	const want = "/partners/perks?city=S%C3%A3o+Paulo&lat=-23.5505&lng=46&page=40000" +
		"&per_page=25&q=red+fox&radius=10&sort=-created_at%2Ctitle"
	if got := path(q); got != want {
		t.Errorf("the path is\n%s, want\n%s", got, want)
	}
	if got := path(page(1)); got != "/partners/perks?page=1&per_page=25&sort=-created_at" {
		t.Errorf("the first page is at %s", got)
	}
}

func TestListCasesDiffer(t *testing.T) {
	var paths []string
	for _, c := range listCases {
		for n := range 8 {
			paths = append(paths, path(c.query(n, 7)))
		}
	}
	slices.Sort(paths)
	if different := len(slices.Compact(paths)); different != 3+3*8 {
		t.Errorf("there are %d different lists, want the first page, the last, the one by title, and 8 of each filter",
			different)
	}
}
