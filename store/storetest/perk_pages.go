package storetest

import (
	"slices"
	"testing"

	"example.com/perks/api"
	"example.com/perks/store"
)

// PageAfter checks the page at an offset of a list, of which all ids are known, as the search finds it after the
// perk before.
func PageAfter[IDs store.Sized](
	t *testing.T, search store.PerkSearch[IDs], list []string, offset int, before api.Perk,
) {
	t.Helper()
	query := &search.Common().Query
	query.After = cursorAfter(t, search, before)
	defer func() { query.After = nil }()
	want := list[offset:min(offset+query.Window.PerPage+1, len(list))]
	if got := idsOf(Must(search.ReadPage(int64(len(list))))(t)); !slices.Equal(got, want) {
		t.Errorf("%+v, after %d: it is\n%q\nwant\n%q", *query, offset, got, want)
	}
}

// KeptPages checks the same page by every id of the list, and by some of them, as PerkLists keeps them.
func KeptPages[IDs store.Sized](
	t *testing.T, search store.PerkSearch[IDs], list []string, offset int, before api.Perk,
) {
	t.Helper()
	const farther = 100 // than the step between some of the ids
	query, cursor := &search.Common().Query, cursorAfter(t, search, before)
	page := int64(offset/query.Window.PerPage) + 1
	want := list[offset:min(offset+query.Window.PerPage, len(list))]
	for _, perList := range []int{len(list), len(list)/10 + 1} {
		lists, r := store.NewPerkLists[IDs](perList, len(list)), &recorder[IDs]{PerkSearch: search}
		read := func(what string, number int64, after *store.Cursor) (searched int) {
			t.Helper()
			query.Window.Page, query.After, r.searched = number, after, 0
			if got := idsOf(Must(lists.List(t.Context(), r))(t).Items); !slices.Equal(got, want) {
				t.Errorf("%+v, by %d kept ids, %s: it is\n%q\nwant\n%q", *query, perList, what, got, want)
			}
			return r.searched
		}
		read("the first time", page, nil)
		again := read("the second time", page, nil)
		after := read("after the page before", page, cursor)
		misnumbered := read("after the page before, with another number", page+1, cursor)
		isWhole := perList == len(list)
		if r.built > 0 && (again > 0 && (isWhole || offset >= farther) || (after == 0) != isWhole || misnumbered != 1) {
			t.Errorf("%+v, page %d by %d kept ids: it was searched %d times by its number, %d after a cursor, and %d "+
				"with another number", *query, page, perList, again, after, misnumbered)
		}
	}
	query.Window.Page, query.After = page, nil
}

func cursorAfter[IDs store.Sized](t *testing.T, search store.PerkSearch[IDs], perk api.Perk) *store.Cursor {
	t.Helper()
	distances := Must(search.Distances([]string{perk.ID}))(t)
	return search.Common().Query.CursorOf(&perk, distances[0])
}

func idsOf(perks []api.Perk) (ids []string) {
	for _, perk := range perks {
		ids = append(ids, perk.ID)
	}
	return ids
}

// recorder counts how often a page is searched, and the order of a list built.
type recorder[IDs store.Sized] struct {
	store.PerkSearch[IDs]
	searched, built int
}

func (r *recorder[IDs]) ReadPage(total int64) ([]api.Perk, error) {
	r.searched++
	return r.PerkSearch.ReadPage(total)
}

func (r *recorder[IDs]) EveryID(step, matching int64) (IDs, error) {
	r.built++
	return r.PerkSearch.EveryID(step, matching)
}
