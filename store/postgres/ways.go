package postgres

import (
	"iter"

	"example.com/perks/api"
	"example.com/perks/store"
)

// What matches half of a million perks takes half a second to gather and sort, and its first page may be among the first
// hundred of the order. A shorter way is tried if it takes at most a share of that time even when it is in vain.
const (
	shortShare  = 8
	manyMatches = 2000 // fewer are gathered at once, in a millisecond or two

	circleGrowth = 4 // of how many each narrower circle may hold
)

// ways gives the candidates for a page, as what follows FROM, from the shortest way to the surest: only the last is certain
// to have the whole page, but what a way finds begins as the page does. The total and the window choose the ways, which
// are exact, and not what PostgreSQL guesses of either.
func (s *search) ways(order string, reach store.Reach, total int64) iter.Seq[string] {
	need := reach.Skip + reach.Take
	return func(yield func(string) bool) {
		switch {
		case s.isInOrder():
			yield(s.inOrder(order) + ` WHERE ` + s.whereAnywhere() + s.andNotTaken(need))
			return
		case s.isNewest() && s.around.Cells()*need < total/shortShare:
			yield(s.fromEachCell(order, need))
			return
		case s.isNearest(reach.FromEnd) && total > manyMatches:
			for _, circle := range s.around.Narrower(need, total, circleGrowth) {
				s.look(circle)
				if !yield(s.gathered(total)) {
					return
				}
			}
			s.look(*s.query.Near)
		case s.isByOneIndex() && total > manyMatches && need < total/shortShare:
			if !yield(s.stretch(order, total/shortShare)) {
				return
			}
		}
		yield(s.gathered(total))
	}
}

// isInOrder holds when an index has what matches, and little else, in the order that is asked for.
func (s *search) isInOrder() bool {
	switch {
	case s.query.Near != nil || s.hasWords():
		return false
	case s.query.City == "" && s.query.Category == "":
		return true
	}
	return len(s.categories) <= 1 && len(s.query.Sort) > 0 && s.query.Sort[0].Field == "created_at"
}

// inOrder is all perks, to be walked in the order. Sorted by their end alone, those that are over lie together, up to all
// of them before the first that is not, and are left out by the index itself.
func (s *search) inOrder(order string) string {
	if !s.query.OnlyValid() || len(s.query.Sort) != 1 || s.query.Sort[0].Field != "valid_to" {
		return `perks AS p`
	}
	return `((SELECT * FROM perks AS p WHERE p.valid_to > @at ORDER BY ` + order + `)
		UNION ALL (SELECT * FROM perks AS p WHERE p.valid_to IS NULL ORDER BY ` + order + `)) AS p`
}

// isByOneIndex holds when there is an index in exactly the order.
func (s *search) isByOneIndex() bool {
	return len(s.query.Sort) == 0 || len(s.query.Sort) == 1 && perkSortColumns[s.query.Sort[0].Field].isIndexed
}

// stretch is what matches among the first perks of the order, of which most are looked at.
func (s *search) stretch(order string, most int64) string {
	s.args["most"] = most
	return `(SELECT * FROM perks AS p ORDER BY ` + order + ` LIMIT @most) AS p
		WHERE ` + s.whereAnywhere() + s.andNotTaken(most)
}

// isNewest holds when a circle's perks are asked for in the order in which each of its cells has them.
func (s *search) isNewest() bool {
	return s.isCircle() && len(s.query.Sort) == 1 && s.query.Sort[0].Field == "created_at"
}

// fromEachCell is the first of what matches in each cell, as many as the page may need of it.
func (s *search) fromEachCell(order string, need int64) string {
	s.args["most"] = need
	return `unnest(@first::integer[], @last::integer[]) AS run (first, last)
		CROSS JOIN generate_series(run.first, run.last) AS cell (number)
		CROSS JOIN LATERAL (SELECT * FROM perks AS p WHERE p.cell = cell.number AND ` + s.whereAnywhere() + s.andNotTaken(s.around.Cells()*need) + `
			ORDER BY ` + order + ` LIMIT @most) AS p`
}

// isNearest holds when the page is reached from the centre of the circle.
func (s *search) isNearest(fromEnd bool) bool {
	return len(s.query.Sort) > 0 && s.query.Sort[0].Field == api.SortDistance && s.query.Sort[0].Desc == fromEnd
}

// gathered is all that matches, to be sorted. OFFSET 0 keeps PostgreSQL from walking the order's index instead, in the hope
// that matches come soon: when all of a city's perks are old, none of them does.
func (s *search) gathered(total int64) string {
	return `(SELECT p.* FROM ` + s.from() + ` WHERE ` + s.where() + s.andNotTaken(total+s.taken) + ` OFFSET 0) AS p`
}
