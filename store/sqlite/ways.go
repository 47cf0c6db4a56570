package sqlite

import "example.com/perks/store"

// A perk that is found in its cell and looked up there once more takes five times as long as one that is gathered. So the
// cells are worth it if they give at most this share of what matches.
const cellShare = 5

// candidates are the perks that a page is found among, as what follows FROM: all that match, or few of them that surely
// hold the page. The total and the window decide, which are exact.
func (s *search) candidates(order string, reach store.Reach, total int64) string {
	if s.isByTime() && s.query.Near.Cells()*(reach.Skip+reach.Take) < total/cellShare {
		return s.fromEachCell(order)
	}
	return s.gathered()
}

// isByTime holds when a circle's perks are asked for in the order in which each of its cells has them.
func (s *search) isByTime() bool {
	return s.query.Near != nil && len(s.query.Sort) == 1 && s.query.Sort[0].Field == "created_at"
}

// fromEachCell is the first of what matches in each cell, as many as the page may need of it. They are named by all that
// the index is ordered by, so that they are found again where they were just read: by their rows they would be read from
// the table, in a million perks each from another page. The bare time would do as well, but one import can give every
// perk the same.
func (s *search) fromEachCell(order string) string {
	var numbers []int
	for _, run := range s.query.Near.Cover() {
		for number := run.First; number <= run.Last; number++ {
			numbers = append(numbers, number)
		}
	}
	s.name("numbers", asJSON(numbers))
	return `json_each(:numbers) AS cell CROSS JOIN perks AS p INDEXED BY perks_in_cell
		ON p.cell = cell.value AND (p.created_at, p.id) IN (
			SELECT p.created_at, p.id FROM perks AS p INDEXED BY perks_in_cell
			WHERE p.cell = cell.value AND ` + s.whereAvailable() + ` ORDER BY ` + order + ` LIMIT :limit + :offset)`
}

// gathered is all that matches, to be walked on an index in the order or to be sorted.
func (s *search) gathered() string {
	return s.from(indexFor(s.query.Sort)) + ` WHERE ` + s.whereAvailable()
}
