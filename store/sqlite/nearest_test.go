package sqlite

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"example.com/perks/api"
	"example.com/perks/store"
)

// aCounty holds all of the town and what is around it, enough not to be sorted whole.
var aCounty = &store.Circle{Lat: aTown.Lat, Lng: aTown.Lng, RadiusKM: 60}

func TestNarrowerCirclesLeadToTheSamePage(t *testing.T) {
	db := openTemporary(t)
	fillCircles(t, db)
	nearest, farthest := api.SortKey{Field: api.SortDistance}, api.SortKey{Field: api.SortDistance, Desc: true}
	byCity := api.SortKey{Field: "city", Desc: true}
	all := store.PerkQuery{Near: aCounty, IncludeExpired: true}
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
		{"what ann can have", store.PerkQuery{Near: aCounty, AvailableTo: "ann"}, []api.SortKey{nearest}, []int64{1, 2}, []int64{-1}},
		{"too few to be worth it", store.PerkQuery{Near: aTown}, []api.SortKey{nearest}, nil, []int64{1, -1}},
		{"words", store.PerkQuery{Near: aCounty, IncludeExpired: true, Text: "every"}, []api.SortKey{nearest}, nil, []int64{1, -1}},
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
			reach := test.query.Window.Reach(total)
			offset := test.query.Window.Offset()
			want := list[offset : offset+reach.Take]
			inSearch(t, db, test.query, reach, func(v view, s *search, _ string) {
				found, err := s.nearest(v, reach, total)
				if err != nil {
					t.Fatal(err)
				}
				if is := found != nil; is != isNear {
					t.Errorf("%s, page %d of %d: it is found in a narrower circle: %t, want %t", test.name, page, pages, is, isNear)
				}
				rows, err := s.page(v, total)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(rows, want) {
					t.Errorf("%s, page %d of %d: it is\n%v\nwant\n%v", test.name, page, pages, rows, want)
				}
			})
		}
	}
}

func TestNarrowerCirclesAreWithinTheCircle(t *testing.T) {
	for _, test := range []struct {
		need, total int64
		want        string // how many would be in each if all were spread evenly, rounded
	}{
		{need: 16, total: 100_000, want: "[1 8 64 512 4096]"},
		{need: 1600, total: 100_000, want: "[100 800 6400]"},
		{need: 50_000, total: 100_000, want: "[3125]"},
		{need: 16, total: 8, want: "[]"},
	} {
		held := []int64{}
		for _, circle := range narrower(*aCounty, test.need, test.total) {
			if circle.Lat != aCounty.Lat || circle.Lng != aCounty.Lng {
				t.Errorf("%+v has another centre than %+v", circle, *aCounty)
			}
			if _, part := math.Modf(circle.RadiusKM * 1e6); math.Abs(part-0.5) > 1e-3 {
				t.Errorf("the edge of %+v is not between two millimetres", circle)
			}
			held = append(held, int64(math.Round(float64(test.total)*math.Pow(circle.RadiusKM/aCounty.RadiusKM, 2))))
		}
		if got := fmt.Sprint(held); got != test.want {
			t.Errorf("for %d of %d perks the circles would hold %s, want %s", test.need, test.total, got, test.want)
		}
	}
}
