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

// page reads the perks of the window: their ids first, so that the perks before it are not read. A window past the middle
// is reached from the other end. There are three ways to the ids, and the total and the window choose between them, not
// what PostgreSQL guesses of either.
func (s *search) page(v view, total int64) ([]api.Perk, error) {
	reach := s.query.Window.Reach(total)
	if reach.Take == 0 {
		return []api.Perk{}, nil
	}
	order, err := orderBy(perkSortColumns, s.query.Sort, `p.id`, reach.FromEnd)
	if err != nil {
		return nil, err
	}
	if s.isInOrder() {
		return s.read(v, reach, s.walk(order, reach.Skip+reach.Take))
	}
	if most := total / stretchShare; s.mayStretch(total) && reach.Skip+reach.Take <= most {
		perks, err := s.read(v, reach, s.stretch(order, most))
		if err != nil || int64(len(perks)) == reach.Take {
			return perks, err
		}
	}
	return s.read(v, reach, s.gather(total))
}

// way is where the ids of a page are found in.
type way struct {
	source    string
	condition string
	passed    int64 // how many perks are looked at, about
}

// isInOrder holds when an index has the perks that match, and hardly others, in the order that is asked for.
func (s *search) isInOrder() bool {
	switch {
	case s.query.Near != nil || s.hasWords():
		return false
	case s.query.City == "" && s.query.Category == "":
		return true
	}
	return len(s.categories) <= 1 && len(s.query.Sort) > 0 && s.query.Sort[0].Field == "created_at"
}

// walk follows the order's index to the window.
func (s *search) walk(order string, passed int64) way {
	return way{s.inOrder(order), s.whereAnywhere(), passed}
}

// inOrder is all perks, to be walked in the order. Sorted by their end, those that are over lie together, up to all of
// them before the first that is not, and are left out by the index itself.
func (s *search) inOrder(order string) string {
	if !s.query.OnlyValid() || len(s.query.Sort) == 0 || s.query.Sort[0].Field != "valid_to" {
		return `perks AS p`
	}
	return `((SELECT * FROM perks AS p WHERE p.valid_to > @at ORDER BY ` + order + `)
		UNION ALL (SELECT * FROM perks AS p WHERE p.valid_to IS NULL ORDER BY ` + order + `)) AS p`
}

// gather collects all that match over the indexes of the filters, to be sorted. OFFSET 0 keeps PostgreSQL from walking the
// order's index instead, in the hope that matches come soon: when all of a city's perks are old, none of them does.
func (s *search) gather(total int64) way {
	return way{`(SELECT p.* FROM ` + s.from() + ` WHERE ` + s.where() + ` OFFSET 0) AS p`, `true`, total + s.taken}
}

// What matches half of a million perks is gathered and sorted in half a second, and its first page found among the first
// hundred on the order's index. A walk of at most an eighth of the perks that would be gathered costs little when it is in
// vain, and less than it takes to know beforehand.
const (
	stretchShare = 8
	manyMatches  = 10_000 // fewer are gathered at once
)

// mayStretch holds when there is an index for exactly the order, and so much matches that it is worth to try.
func (s *search) mayStretch(total int64) bool {
	byDistance := len(s.query.Sort) == 1 && s.query.Sort[0].Field == api.SortDistance
	return total >= manyMatches && len(s.query.Sort) <= 1 && !byDistance
}

// stretch walks the order's index over that many perks.
func (s *search) stretch(order string, most int64) way {
	s.args["stretch"] = most
	return way{`(SELECT * FROM ` + s.inOrder(order) + ` ORDER BY ` + order + ` LIMIT @stretch) AS p`, s.whereAnywhere(), most}
}

// read reads the perks whose ids are found that way, in the order that is asked for.
func (s *search) read(v view, reach store.Reach, w way) ([]api.Perk, error) {
	text, err := s.pageText(reach, w)
	if err != nil {
		return nil, err
	}
	return all(v, scanPerk, text, s.values()...)
}

func (s *search) pageText(reach store.Reach, w way) (string, error) {
	onTheWay, err := orderBy(perkSortColumns, s.query.Sort, `p.id`, reach.FromEnd)
	if err != nil {
		return "", err
	}
	inTheEnd, err := orderBy(perkSortColumns, s.query.Sort, `p.id`, false)
	if err != nil {
		return "", err
	}
	condition := w.condition
	if s.query.AvailableTo != "" {
		condition += ` AND ` + s.notTaken(w.passed)
	}
	s.args["skip"], s.args["take"] = reach.Skip, reach.Take
	return `SELECT ` + perkColumns + ` FROM (
		SELECT p.id FROM ` + w.source + ` WHERE ` + condition + ` ORDER BY ` + onTheWay + ` LIMIT @take OFFSET @skip
	) AS place JOIN perks AS p ON p.id = place.id ORDER BY ` + inTheEnd, nil
}
