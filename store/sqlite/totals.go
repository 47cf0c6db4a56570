package sqlite

import (
	"example.com/perks/store"
)

// total is how many perks match the search. What one user cannot have is counted apart, because that changes with every
// redemption, and there is little of it.
func (s *search) total(v view, totals *store.Totals) (int64, error) {
	version, err := store.One(v, store.ScanValue[int64], `SELECT version FROM catalog`)
	if err != nil {
		return 0, err
	}
	matching, err := totals.Of(v.ctx, s.query, s.categories, version, func() (store.Count, error) { return s.count(v) })
	if err != nil || s.query.AvailableTo == "" {
		return matching, err
	}
	unavailable, err := store.One(v, store.ScanValue[int64], `
		SELECT count(*) FROM perks AS p WHERE p.row IN `+taken+` AND `+s.whereAnywhere(), s.args...)
	return matching - unavailable, err
}

func (s *search) count(v view) (store.Count, error) {
	count, err := changesAround(v, s.query.At.UnixMicro())
	if err != nil {
		return count, err
	}
	count.Matching, err = store.One(v, store.ScanValue[int64], `SELECT count(*) FROM `+s.from(``)+` WHERE `+s.where(), s.args...)
	return count, err
}

// changesAround reads when a perk last began or expired, and when the next one will.
func changesAround(v view, at int64) (store.Count, error) {
	return store.One(v, func(r row) (c store.Count, err error) {
		var since, till *int64
		err = r.Scan(&since, &till)
		c.Since, c.Till = fromMicrosOrNil(since), fromMicrosOrNil(till)
		return c, err
	}, `SELECT
		(SELECT max(at) FROM (SELECT max(valid_to) AS at FROM perks WHERE valid_to <= ?1
			UNION ALL SELECT max(valid_from) FROM perks WHERE valid_from <= ?1)),
		(SELECT min(at) FROM (SELECT min(valid_to) AS at FROM perks WHERE valid_to > ?1
			UNION ALL SELECT min(valid_from) FROM perks WHERE valid_from > ?1))`, at)
}
