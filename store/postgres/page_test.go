package postgres

import (
	"slices"
	"testing"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

// everyPlanFindsTheSamePage compares the page that each plan finds with the same part of the whole list.
func everyPlanFindsTheSamePage(t *testing.T, db *DB) {
	for number, filter := range manyFilters {
		for i, sort := range []string{"-created_at", "valid_to", "-valid_to", "-merchant_name", "-distance",
			"distance,title", "relevance,-created_at", "-relevance"} {
			if !storetest.OneIn(3, number+i) {
				continue
			}
			query := filter.query
			query.Sort = sortedBy(t, sort)
			if !query.CanSortBy(query.Sort[0].Field) {
				continue
			}
			inSearch(t, db, query, func(v view, s *search, total int64) {
				list := wholeList(t, v, s)
				storetest.Equal(t, filter.name+": the total", total, int64(len(list)))
				pages := (total + perPage - 1) / perPage
				for _, page := range slices.Compact([]int64{1, min(20, pages), pages/2 + 1, max(pages-20, 1), pages}) {
					requireSamePage(t, v, s, page, list)
					offset := int(s.Query.Window.Offset())
					if offset == 0 {
						continue
					}
					before := must(db.Perk(t.Context(), list[offset-1]))(t)
					storetest.PageAfter(t, s, list, offset, before)
					if sort == "-valid_to" && query.AvailableTo == "" && page == pages/2+1 {
						storetest.KeptPages(t, s, list, offset, before)
					}
				}
			})
		}
	}
}

// wholeList returns the ids of all matches in order, without an index on the filter.
func wholeList(t *testing.T, v view, s *search) []string {
	t.Helper()
	order := must(s.pageOrder(s.Query.Sort, false))(t)
	return must(store.All(v, store.ScanValue[string], `
		SELECT p.id FROM (SELECT * FROM perks OFFSET 0) AS p
			WHERE `+s.Where()+s.andAvailable(manyMatches)+` ORDER BY `+order.show,
		customPlan, s.Args))(t)
}

func requireSamePage(t *testing.T, v view, s *search, page int64, list []string) {
	t.Helper()
	s.Query.Window.Page = page
	reach := s.Query.Window.Fetch(int64(len(list)))
	order := must(s.pageOrder(s.Query.Sort, reach.FromEnd))(t)
	offset := s.Query.Window.Offset()
	want := list[offset : offset+reach.Take]
	plan, found := 0, 0
	for candidates := range s.plans(order.fetch, reach, int64(len(list))) {
		plan++
		perks := must(store.All(v, store.ScanPerk, pageOf(candidates, order), s.values(reach)...))(t)
		var ids []string
		for _, perk := range perks {
			ids = append(ids, perk.ID)
		}
		// A plan that finds fewer perks than the page holds must find those it reaches first.
		begin := want[:min(len(ids), len(want))]
		if reach.FromEnd {
			begin = want[len(want)-len(begin):]
		}
		found = len(ids)
		if !slices.Equal(ids, begin) {
			t.Errorf("%+v, sorted by %q, page %d, plan %d: it is\n%q\nwant\n%q", s.Query, api.FormatSort(s.Query.Sort),
				page, plan, ids, begin)
		}
	}
	if found != len(want) {
		t.Errorf("%+v, sorted by %q, page %d: the last plan finds %d perks, want %d", s.Query,
			api.FormatSort(s.Query.Sort), page, found, len(want))
	}
}
