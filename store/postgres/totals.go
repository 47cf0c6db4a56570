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
	unavailable, err := one(v, func(r row) (unavailable int64, err error) {
		return unavailable, r.Scan(&unavailable, &s.taken)
	}, `SELECT
		(SELECT count(*) FROM perks AS p WHERE p.id IN `+taken+` AND `+s.whereAnywhere()+`),
		(SELECT count(*) FROM `+taken+` AS t)`, s.values()...)
	return matching - unavailable, err
}

func (s *search) count(v view) (store.Count, error) {
	return one(v, func(r row) (c store.Count, err error) {
		return c, r.Scan(&c.Matching, &c.Since, &c.Till)
	}, `SELECT
		(SELECT count(*) FROM `+s.from()+` WHERE `+s.where()+`),
		greatest((SELECT max(valid_to) FROM perks WHERE valid_to <= @at), (SELECT max(valid_from) FROM perks WHERE valid_from <= @at)),
		least((SELECT min(valid_to) FROM perks WHERE valid_to > @at), (SELECT min(valid_from) FROM perks WHERE valid_from > @at))`,
		s.values()...)
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

// notTaken leaves out what is taken, where that many perks are passed.
func (s *search) notTaken(passed int64) string {
	if passed < s.taken || s.taken > maxHashed {
		return notFound
	}
	return notHashed
}
