package postgres

import (
	"slices"
	"testing"

	"example.com/perks/api"
	"example.com/perks/store"
)

// everyPlanFindsTheSamePage compares the page that each plan finds with the same part of the whole list.
func everyPlanFindsTheSamePage(t *testing.T, db *DB) {
	for _, filter := range manyFilters {
		for _, sort := range []string{"-created_at", "valid_to", "-valid_to", "-merchant_name", "-distance",
			"distance,title", "relevance,-created_at", "-relevance"} {
			query := filter.query
			query.Sort = sortedBy(t, sort)
			if !query.CanSortBy(query.Sort[0].Field) {
				continue
			}
			inSearch(t, db, query, func(v view, s *search, total int64) {
				list := wholeList(t, v, s)
				if int64(len(list)) != total {
					t.Errorf("%s: the total is %d, want %d", filter.name, total, len(list))
				}
				pages := (total + perPage - 1) / perPage
				if sort == "-valid_to" && query.AvailableTo == "" {
					requireKeptPage(t, s, pages/2+1, list)
				}
				for _, page := range slices.Compact([]int64{1, min(20, pages), pages/2 + 1, max(pages-20, 1), pages}) {
					requireSamePage(t, v, s, page, list)
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
		customPlan, s.args))(t)
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
	if offset > 0 {
		requireSameAfter(t, v, s, offset, list)
	}
	if found != len(want) {
		t.Errorf("%+v, sorted by %q, page %d: the last plan finds %d perks, want %d", s.Query,
			api.FormatSort(s.Query.Sort), page, found, len(want))
	}
}

// requireKeptPage checks a page as it is read by every id of the list, and by some of them.
func requireKeptPage(t *testing.T, s *search, page int64, list []string) {
	t.Helper()
	s.Query.Window.Page = page
	offset := s.Query.Window.Offset()
	want := list[offset:min(offset+perPage, int64(len(list)))]
	matching := must(s.CountMatches(0))(t).Matching
	if matching <= 100 || offset < 100 {
		return
	}
	for _, perList := range []int{len(list), len(list)/10 + 1} {
		lists, r := store.NewPerkLists[perkIDs](perList, len(list)), &recorder{search: s}
		read := func(what string) {
			t.Helper()
			var ids []string
			for _, perk := range must(lists.List(t.Context(), r))(t).Items {
				ids = append(ids, perk.ID)
			}
			if !slices.Equal(ids, want) {
				t.Errorf("%+v, page %d by %d kept ids, %s: it is\n%q\nwant\n%q", s.Query, page, perList, what, ids,
					want)
			}
		}
		read("the first time")
		read("the second time")
		if r.searched > 1 {
			t.Errorf("%+v, page %d by %d kept ids: it was searched %d times", s.Query, page, perList, r.searched)
		}
		last := must(s.ReadByIDs(must(s.EveryID(1, matching))(t), offset-1, offset))(t)
		s.Query.After = s.Query.CursorOf(&last[0], 0)
		r.searched = 0
		read("after the page before")
		if isKept := perList == len(list); isKept != (r.searched == 0) {
			t.Errorf("%+v, page %d by %d kept ids: after a cursor it was searched %d times", s.Query, page, perList,
				r.searched)
		}
		s.Query.Window.Page, r.searched = page+1, 0
		read("after the page before, with another number")
		if r.searched != 1 {
			t.Errorf("%+v: with another number it was searched %d times", s.Query, r.searched)
		}
		s.Query.Window.Page, s.Query.After = page, nil
	}
}

// recorder counts how often a page is searched.
type recorder struct {
	*search
	searched int
}

func (r *recorder) ReadPage(total int64) ([]api.Perk, error) {
	r.searched++
	return r.search.ReadPage(total)
}

// requireSameAfter checks the page that follows the perk before the offset.
func requireSameAfter(t *testing.T, v view, s *search, offset int64, list []string) {
	t.Helper()
	s.args["id"] = list[offset-1]
	last, err := store.One(v, store.ScanPerk, `SELECT `+store.PerkColumns+` FROM perks AS p WHERE p.id = @id`,
		customPlan, s.args)
	distance := int64(0)
	if err == nil && s.Query.Near != nil {
		distance, err = store.One(v, store.ScanValue[int64],
			`SELECT `+perkOrder.Columns[api.SortDistance].Text+` FROM perks AS p WHERE p.id = @id`, customPlan, s.args)
	}
	noError(t, err)
	s.Query.After = s.Query.CursorOf(&last, distance)
	defer func() { s.Query.After = nil }()
	perks := must(s.ReadPage(int64(len(list))))(t)
	want := list[offset:min(offset+perPage+1, int64(len(list)))]
	for i, perk := range perks {
		if i >= len(want) || perk.ID != want[i] {
			t.Errorf("%+v, sorted by %q, after %d: perk %d is %s, want %q", s.Query, api.FormatSort(s.Query.Sort),
				offset, i, perk.ID, want)
			return
		}
	}
	if len(perks) != len(want) {
		t.Errorf("%+v, sorted by %q, after %d: there are %d perks, want %d", s.Query, api.FormatSort(s.Query.Sort),
			offset, len(perks), len(want))
	}
}
