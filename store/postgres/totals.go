package postgres

import (
	"example.com/perks/store"
)

// taken is the perks that a user cannot have, whatever their dates: those that are sold out and those that the user has.
const taken = `(SELECT perk_id FROM perk_stock WHERE sold_out
	UNION ALL SELECT perk_id FROM redemptions WHERE user_id = @user AND status <> 'rejected')`

// total is how many perks match the search. What one user cannot have is counted apart, because that changes with every
// redemption, and there is little of it.
func (s *search) total(v view, totals *store.Totals) (int64, error) {
	matching, err := totals.Of(v.ctx, s.query, s.categories, s.version, func() (store.Count, error) { return s.count(v) })
	if err != nil || s.query.AvailableTo == "" {
		return matching, err
	}
	unavailable, err := store.One(v, store.ScanValue[int64], s.countTaken(matching), forTheseValues, s.args)
	return matching - unavailable, err
}

func (s *search) count(v view) (store.Count, error) {
	return store.One(v, func(r row) (c store.Count, err error) {
		return c, r.Scan(&c.Matching, &c.Since, &c.Till)
	}, s.countMatching(), forTheseValues, s.args)
}

func (s *search) countMatching() string {
	return `SELECT (SELECT count(*) FROM ` + s.from() + ` WHERE ` + s.where() + `),
		greatest((SELECT max(valid_to) FROM perks WHERE valid_to <= @at), (SELECT max(valid_from) FROM perks WHERE valid_from <= @at)),
		least((SELECT min(valid_to) FROM perks WHERE valid_to > @at), (SELECT min(valid_from) FROM perks WHERE valid_from > @at))`
}

// countTaken looks up what is taken among all perks, or among those in the circle if they are fewer.
func (s *search) countTaken(matching int64) string {
	from, where := `perks AS p`, s.whereAnywhere()
	if s.isCircle() && matching < s.taken {
		from, where = s.from(), s.where()
	}
	return `SELECT count(*) FROM ` + from + ` WHERE ` + where + ` AND p.id IN ` + taken
}

// A perk that is passed is looked up among what is taken in some microseconds, in two indexes; hashing all that is taken
// takes less for each of them. PostgreSQL hashes no more than fits into twice its work_mem, and what it does not hash it
// searches from the beginning for each perk, so beyond maxHashed perks are looked up, however many.
const maxHashed = 1_000_000

const (
	notHashed = `p.id NOT IN ` + taken
	notFound  = `(SELECT s.perk_id FROM perk_stock AS s WHERE s.perk_id = p.id AND s.sold_out LIMIT 1) IS NULL
		AND (SELECT r.perk_id FROM redemptions AS r WHERE r.perk_id = p.id AND r.user_id = @user AND r.status <> 'rejected' LIMIT 1) IS NULL`
)

// andNotTaken leaves out what the user of the search cannot have, where that many perks are passed.
func (s *search) andNotTaken(passed int64) string {
	switch {
	case s.query.AvailableTo == "":
		return ``
	case passed < s.taken || s.taken > maxHashed:
		return ` AND ` + notFound
	}
	return ` AND ` + notHashed
}
