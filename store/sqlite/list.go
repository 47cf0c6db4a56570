package sqlite

import (
	"context"
	"database/sql"
	"slices"

	"example.com/perks/api"
	"example.com/perks/store"
)

// ListPerks returns one page of the perks that match, as of one moment.
func (db *DB) ListPerks(ctx context.Context, query store.PerkQuery) (store.List[api.Perk], error) {
	list := store.List[api.Perk]{Items: []api.Perk{}}
	err := db.read(ctx, "list perks", func(v view) error {
		s, err := newSearch(v, query)
		if err != nil || s.isEmpty() {
			return err
		}
		if list.Total, err = s.total(v, db.totals); err != nil {
			return err
		}
		rows, err := s.page(v, list.Total)
		if err != nil {
			return err
		}
		list.Items, err = perksAt(v, rows)
		return err
	})
	if err != nil {
		return store.List[api.Perk]{}, err
	}
	return list, nil
}

// page finds the rows of the window over indexes, without reading the perks before it. A window past the middle is
// reached from the other end.
func (s *search) page(v view, total int64) ([]int64, error) {
	reach := s.query.Window.Reach(total)
	if reach.Take == 0 {
		return nil, nil
	}
	rows, err := s.nearest(v, reach, total)
	if err == nil && rows == nil {
		rows, err = s.find(v, reach, total)
	}
	if reach.FromEnd {
		slices.Reverse(rows)
	}
	return rows, err
}

// find returns rows in the order in which they are reached.
func (s *search) find(v view, reach store.Reach, total int64) ([]int64, error) {
	order, err := orderBy(perkSortColumns, s.query.Sort, `p.id`, reach.FromEnd)
	if err != nil {
		return nil, err
	}
	text := pageOf(s.candidates(order, reach, total), order)
	return all(v, scanValue[int64], text, append(slices.Clone(s.args), sql.Named("limit", reach.Take), sql.Named("offset", reach.Skip))...)
}

func pageOf(candidates, order string) string {
	return `SELECT p.row FROM ` + candidates + ` ORDER BY ` + order + ` LIMIT :limit OFFSET :offset`
}

// perksAt reads perks by their rows, in the order of the rows.
func perksAt(v view, rows []int64) ([]api.Perk, error) {
	return all(v, scanPerk, `
		SELECT `+perkColumns+` FROM json_each(?) AS place CROSS JOIN perks AS p ON p.row = place.value
		ORDER BY place.key`, asJSON(rows))
}
