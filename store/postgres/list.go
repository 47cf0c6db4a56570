package postgres

import (
	"context"

	"example.com/perks/api"
	"example.com/perks/store"
)

// ListPerks returns one page of the perks that match, as of one moment.
func (db *DB) ListPerks(ctx context.Context, query store.PerkQuery) (store.List[api.Perk], error) {
	var list store.List[api.Perk]
	err := db.read(ctx, "list perks", func(v view) error {
		list = store.List[api.Perk]{Items: []api.Perk{}}
		s, err := newSearch(v, query)
		if err != nil || s.isEmpty() {
			return err
		}
		if list.Total, err = s.total(v, db.totals); err != nil {
			return err
		}
		list.Items, err = s.page(v, list.Total)
		return err
	})
	if err != nil {
		return store.List[api.Perk]{}, err
	}
	return list, nil
}

// page reads the perks of the window. A window past the middle is reached from the other end.
func (s *search) page(v view, total int64) ([]api.Perk, error) {
	perks := []api.Perk{}
	reach := s.query.Window.Reach(total)
	if reach.Take == 0 {
		return perks, nil
	}
	order, err := newPerkOrder(s.query.Sort, reach.FromEnd)
	if err != nil {
		return nil, err
	}
	for candidates := range s.ways(order.onTheWay, reach, total) {
		perks, err = all(v, scanPerk, pageOf(candidates, order), s.values(reach)...)
		if err != nil || int64(len(perks)) == reach.Take {
			return perks, err
		}
	}
	return perks, nil
}

// pageOf finds the ids first, so that the perks before the page are not read.
func pageOf(candidates string, order perkOrder) string {
	return `SELECT ` + perkColumns + ` FROM (
		SELECT p.id FROM ` + candidates + ` ORDER BY ` + order.onTheWay + ` LIMIT @take OFFSET @skip
	) AS place JOIN perks AS p ON p.id = place.id ORDER BY ` + order.inTheEnd
}

// perkOrder is the order in which a page is reached, which may be from the end, and that in which it is shown.
type perkOrder struct{ onTheWay, inTheEnd string }

func newPerkOrder(keys []api.SortKey, fromEnd bool) (o perkOrder, err error) {
	if o.onTheWay, err = orderBy(perkSortColumns, keys, `p.id`, fromEnd); err != nil {
		return o, err
	}
	o.inTheEnd, err = orderBy(perkSortColumns, keys, `p.id`, false)
	return o, err
}
