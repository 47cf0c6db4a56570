package sqlite

import (
	"math"

	"example.com/perks/api"
	"example.com/perks/store"
)

const (
	manyMatches = 2000 // fewer are gathered and sorted in two milliseconds
	circleShare = 8    // a circle with more of what matches spares too little
	circleStep  = 8    // as many more the next circle may hold
)

// nearest finds a page that is reached from the centre of a circle in narrower circles around it, so that what is far from
// there is not sorted. It is nil if the page is not such, or is in none of them: only then the whole circle is searched.
func (s *search) nearest(v view, reach store.Reach, total int64) ([]int64, error) {
	if !s.isNearest(reach.FromEnd) || total <= manyMatches {
		return nil, nil
	}
	for _, circle := range narrower(*s.query.Near, reach.Skip+reach.Take, total) {
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

// narrower are circles within the circle that may hold as many perks as are needed, the narrowest first: around a town
// there are far more of them at the centre than if all were spread evenly, and a circle with too few costs little. Their
// edges lie between two whole millimetres, so that none of several perks at one distance is left out.
func narrower(circle store.Circle, need, total int64) (circles []store.Circle) {
	for most := float64(need) / 16; most < float64(total)/circleShare; most *= circleStep {
		millimetres := circle.RadiusKM * 1e6 * math.Sqrt(most/float64(total))
		circles = append(circles, store.Circle{Lat: circle.Lat, Lng: circle.Lng, RadiusKM: (math.Floor(millimetres) + 0.5) / 1e6})
	}
	return circles
}
