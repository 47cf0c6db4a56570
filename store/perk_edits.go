package store

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"weak"

	"example.com/perks/api"
)

// perkEdit is a version of the catalog that differs from the one before by one perk.
type perkEdit struct{ before, after *PerkRecord } // before is nil of a new perk

// maxEdits is how many versions a total is taken forward. Counting again takes about as long as reading more of them.
const maxEdits = 256

// editsBetween returns the edits after a version up to another one, the oldest first; none if more was changed, or it
// is no longer known.
func editsBetween(q Querier, since, until int64) ([]perkEdit, error) {
	if until-since > maxEdits {
		return nil, nil
	}
	edits, err := All(q, func(r Scanner) (edit perkEdit, err error) {
		var before, after *string
		if err = r.Scan(&before, &after); err != nil || after == nil {
			return edit, err
		}
		if err = json.Unmarshal([]byte(*before), &edit.before); err == nil {
			err = json.Unmarshal([]byte(*after), &edit.after)
		}
		return edit, err
	}, `SELECT before, after FROM perk_edits WHERE version > $1 AND version <= $2 ORDER BY version`, since, until)
	if err != nil {
		return nil, fmt.Errorf("read the changes of perks: %w", err)
	}
	isForgotten := func(e perkEdit) bool { return e.after == nil }
	if int64(len(edits)) < until-since || slices.ContainsFunc(edits, isForgotten) {
		return nil, nil
	}
	return edits, nil
}

// matches tells whether the search finds a perk, as its conditions in SQL do. Databases may differ in the last bits of
// a sine, of which a position on the edge of the circle could tell.
func (s *Search) matches(p *PerkRecord) bool {
	q, at := s.Query, s.Query.At.Truncate(time.Microsecond)
	switch {
	case p == nil,
		q.OnlyValid() && p.ValidTo != nil && !p.ValidTo.After(at),
		q.OnlyStarted() && p.ValidFrom != nil && p.ValidFrom.After(at),
		q.City != "" && Fold(p.City) != Fold(q.City),
		q.Category != "" && (p.Category == nil || !slices.Contains(s.Categories, Fold(*p.Category))),
		q.Near != nil && (p.Lat == nil || !Circle(*q.Near).has(*p.Lat, *p.Lng)):
		return false
	}
	if !s.HasWords() {
		return true
	}
	words := KeysOf(*p).Words
	return !slices.ContainsFunc(s.Words, func(beginning string) bool {
		return !slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(word, beginning) })
	})
}

// has tells whether a point is in the circle, as haversine has it in SQL.
func (c Circle) has(lat, lng float64) bool {
	square := func(x float64) float64 { return x * x }
	return square(math.Sin(radians(lat-c.Lat)/2))+
		math.Cos(radians(c.Lat))*math.Cos(radians(lat))*square(math.Sin(radians(lng-c.Lng)/2)) <= c.Haversine()
}

// maxTrail is how many former counts a count knows.
const maxTrail = 64

// formerCount is a count before an edit of a perk that matched before and matches after it.
type formerCount struct {
	count weak.Pointer[Count] // for comparison alone, as it has a trail of its own
	moved []string            // fields by which the list may be in another order
}

// after returns the count after an edit: the same if the list has stayed the same too.
func (c *Count) after(s *Search, edit perkEdit) *Count {
	was, is := s.matches(edit.before), s.matches(edit.after)
	next := *c
	for _, perk := range []*PerkRecord{edit.before, edit.after} {
		if perk != nil {
			next.narrow(s.Query.At, perk.ValidFrom)
			next.narrow(s.Query.At, perk.ValidTo)
		}
	}
	switch {
	case was && is:
		former := formerCount{weak.Make(c), movedFields(edit.before, edit.after)}
		next.trail = append(slices.Clone(c.trail[max(0, len(c.trail)-maxTrail+1):]), former)
		return &next
	case is:
		next.Matching++
	case was:
		next.Matching--
	case equal(next.Since, c.Since) && equal(next.Till, c.Till):
		return c
	default:
		next.trail = append(slices.Clone(c.trail[max(0, len(c.trail)-maxTrail+1):]), formerCount{weak.Make(c), nil})
		return &next
	}
	next.trail = nil
	return &next
}

// narrow makes the count true only up to an instant at which a perk may start or expire. One that no perk has any more
// only makes somebody count again too early.
func (c *Count) narrow(at time.Time, instant *time.Time) {
	switch {
	case instant == nil:
	case !instant.After(at) && (c.Since == nil || instant.After(*c.Since)):
		c.Since = instant
	case instant.After(at) && (c.Till == nil || instant.Before(*c.Till)):
		c.Till = instant
	}
}

// movedFields are the fields by which perks sort that an edit changes.
func movedFields(before, after *PerkRecord) []string {
	moved := api.PerkChanges(*before, *after).Fields()
	if !before.UpdatedAt.Equal(after.UpdatedAt) {
		moved = append(moved, "updated_at")
	}
	if slices.Contains(moved, "title") {
		moved = append(moved, api.SortRelevance)
	}
	if slices.Contains(moved, "lat") || slices.Contains(moved, "lng") {
		moved = append(moved, api.SortDistance)
	}
	return moved
}

// keepsOrder tells whether a list is in the same order as at a former count.
func (c *Count) keepsOrder(of *Count, sort []api.SortKey) bool {
	if c == of {
		return true
	}
	for i := len(c.trail) - 1; i >= 0; i-- {
		former := c.trail[i]
		if slices.ContainsFunc(sort, func(key api.SortKey) bool { return slices.Contains(former.moved, key.Field) }) {
			return false
		}
		if former.count == weak.Make(of) {
			return true
		}
	}
	return false
}
