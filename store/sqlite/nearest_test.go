package sqlite

import (
	"slices"
	"testing"

	"example.com/perks/api"
	"example.com/perks/store"
)

// aCounty holds the town and its surroundings, too many perks to sort them all.
var aCounty = &api.Circle{Lat: aTown.Lat, Lng: aTown.Lng, RadiusKM: 60}

func TestNarrowerCirclesFindTheSamePage(t *testing.T) {
	db := openTemporary(t)
	fillCircles(t, db)
	nearest, farthest := api.SortKey{Field: api.SortDistance}, api.SortKey{Field: api.SortDistance, Desc: true}
	byCity := api.SortKey{Field: "city", Desc: true}
	all := by(api.PerkFilter{Near: aCounty, IncludeExpired: true})
	for _, test := range []struct {
		name  string
		query store.PerkQuery
		sort  []api.SortKey
		near  []int64 // pages that are in narrower circles, counted from 1, or from -1 at the end
		far   []int64
	}{
		{"nearest first", all, []api.SortKey{nearest}, []int64{1, 2, 9}, []int64{-200, -1}},
		{"nearest first, then by city", all, []api.SortKey{nearest, byCity}, []int64{1, 2, 9}, []int64{-200, -1}},
		{"farthest first", all, []api.SortKey{farthest}, []int64{-9, -2, -1}, []int64{1, 200}},
		{"what ann can have", store.PerkQuery{PerkFilter: api.PerkFilter{Near: aCounty}, AvailableTo: "ann"},
			[]api.SortKey{nearest}, []int64{1, 2}, []int64{-1}},
		{"too few perks for it", by(api.PerkFilter{Near: aTown}), []api.SortKey{nearest}, nil, []int64{1, -1}},
		{"words", by(api.PerkFilter{Near: aCounty, IncludeExpired: true, Query: "every"}),
			[]api.SortKey{nearest}, nil, []int64{1, -1}},
		{"another order", all, []api.SortKey{byCity, nearest}, nil, []int64{1, -1}},
	} {
		test.query.Sort = test.sort
		list := wholeList(t, db, test.query)
		total := int64(len(list))
		pages := (total + perPage - 1) / perPage
		for _, page := range slices.Concat(test.near, test.far) {
			isNear := slices.Contains(test.near, page)
			if page < 0 {
				page += pages + 1
			}
			test.query.Window = store.Window{Page: page, PerPage: perPage}
			reach := test.query.Window.Fetch(total)
			offset := test.query.Window.Offset()
			want := list[offset : offset+reach.Take]
			inSearch(t, db, test.query, reach, func(_ view, s *search, _ string) {
				found := must(s.nearest(reach, total))(t)
				if is := found != nil; is != isNear {
					t.Errorf("%s, page %d of %d: it is found in a narrower circle: %t, want %t", test.name, page, pages,
						is, isNear)
				}
				rows := must(s.page(total))(t)
				if !slices.Equal(rows, want) {
					t.Errorf("%s, page %d of %d: it is\n%v\nwant\n%v", test.name, page, pages, rows, want)
				}
			})
		}
	}
}
