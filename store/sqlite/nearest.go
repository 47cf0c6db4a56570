package sqlite

import (
	"example.com/perks/api"
	"example.com/perks/store"
)

const (
	manyMatches  = 2000 // fewer are gathered and sorted in two milliseconds
	circleGrowth = 8    // of how many each narrower circle may hold
)

// nearest finds a page that is reached from the centre of a circle in narrower circles around it, so that what is far from
// there is not sorted. It is nil if the page is not such, or is in none of them: only then the whole circle is searched.
func (s *search) nearest(v view, reach store.Reach, total int64) ([]int64, error) {
	if !s.isNearest(reach.FromEnd) || total <= manyMatches {
		return nil, nil
	}
	for _, circle := range s.query.Near.Narrower(reach.Skip+reach.Take, total, circleGrowth) {
		query := s.query
		query.Near = &circle
		narrow, err := newSearch(v, query)
		if err != nil {
			return nil, err
		}
		rows, err := narrow.find(v, reach, total)
		if err != nil || int64(len(rows)) == reach.Take {
			return rows, err
		}
	}
	return nil, nil
}

// isNearest holds when the page is reached from the centre of the circle. Words are not looked up for one circle after the
// other.
func (s *search) isNearest(fromEnd bool) bool {
	return s.query.Near != nil && !s.hasWords() && len(s.query.Sort) > 0 &&
		s.query.Sort[0].Field == api.SortDistance && s.query.Sort[0].Desc == fromEnd
}
