package screen

import (
	"cmp"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/widget"
)

// PerPage is how many rows are asked for at a time: more than most terminals are high, and half of what the service allows.
const PerPage = 50

// ReadPage reads a page of a list, or the last page of one that has become shorter. The page has a number and a count,
// even if the service says neither: then there is at least what was seen, and more after a full page.
func ReadPage[T any](number int64, read func(page int64) (api.Page[T], error)) (api.Page[T], error) {
	page, err := read(number)
	if pages := page.Meta.TotalPages; err == nil && len(page.Data) == 0 && 0 < pages && pages < number {
		number = pages
		page, err = read(number)
	}
	isEnd := false
	for err == nil && len(page.Data) == 0 && number > 1 && (page.Meta.MoreThan > 0 || page.Meta == (api.PageMeta{})) {
		isEnd = page.Meta.MoreThan == 0
		number--
		page, err = read(number)
	}
	meta := &page.Meta
	meta.Page, meta.PerPage = cmp.Or(meta.Page, number), cmp.Or(meta.PerPage, PerPage)
	items := len(page.Data) + len(page.LeftOut)
	switch seen := (meta.Page-1)*int64(meta.PerPage) + int64(items); {
	case err != nil || meta.MoreThan > 0 || meta.TotalPages > 0:
	case meta.Total > 0:
		*meta = api.NewPageMeta(meta.Page, meta.PerPage, meta.Total)
	case page.Next != "", items >= meta.PerPage && !isEnd:
		meta.MoreThan = seen
	default:
		*meta = api.NewPageMeta(meta.Page, meta.PerPage, seen)
	}
	return page, err
}

// MayFollow tells whether there is, or may be, a page after one of a list that is not counted to its end.
func MayFollow[T any](page api.Page[T]) bool {
	return page.Next != "" || page.Meta.MoreThan == page.Meta.Page*int64(page.Meta.PerPage)
}

// Landing is where the cursor goes when a page is loaded.
type Landing int

// The landings.
const (
	OnSame Landing = iota // on the same row; at the same position if that row is gone
	OnFirst
	OnLast
)

// Land moves the cursor of a table that has got the rows of another page. same is the row that it was on; -1 if that is gone.
func (l Landing) Land(table *widget.Table, same int) {
	switch {
	case l == OnFirst:
		table.SetCursor(0)
	case l == OnLast:
		table.SetCursor(table.Len() - 1)
	case same >= 0:
		table.SetCursor(same)
	}
}

// Pages is the pages of a list, of which a table shows one.
type Pages struct {
	Table *widget.Table
	At    int64  // the page that is shown or loading
	Last  int64  // the last page, or the last that can be read so far
	Ends  string // why the last page of the list is not known; "" if it is
	Busy  bool   // a page is loading
	Load  func(page int64, to Landing) tea.Cmd
}

// WhyNot says why there is no previous, next or last page; "" if there is.
func (p Pages) WhyNot() (previous, next, last string) {
	if p.At <= 1 {
		previous = "This is the first page."
	}
	switch {
	case p.At >= p.Last && p.Busy && p.Ends != "":
		next = "The page before it is loading."
	case p.At >= p.Last:
		next = "This is the last page."
	}
	return previous, next, cmp.Or(next, p.Ends)
}

// Do moves the cursor, past the ends of a page to the next or previous page, and tells whether the action is a move.
func (p Pages) Do(id actions.ID) (cmd tea.Cmd, moves bool) {
	page, to := p.At, OnFirst
	switch id {
	case actions.NextPage:
		page++
	case actions.PreviousPage:
		page--
	case actions.FirstPage:
		page = 1
	case actions.LastPage: // and to its end: the last row is what people want to see there
		page, to = p.Last, OnLast
	default:
		if p.Ends != "" && id == actions.Bottom && p.Table.Cursor() == p.Table.Len()-1 && p.At < p.Last {
			return Tell(Note, "%s", p.Ends), true
		}
		before := p.Table.Cursor()
		if !p.Table.Do(id) {
			return nil, false
		}
		switch {
		case p.Busy || p.Table.Cursor() != before: // keys meant for this page do not skip the page that is loading
		case id == actions.Down || id == actions.PageDown:
			page++
		case id == actions.Up || id == actions.PageUp:
			page, to = page-1, OnLast
		case id == actions.Top:
			page = 1
		case id == actions.Bottom:
			page, to = p.Last, OnLast
		}
	}
	if page == p.At || page < 1 || page > p.Last {
		return nil, true
	}
	return p.Load(page, to), true
}

// Recent tells a screen the ids that were opened last.
type Recent struct {
	Of  Screen // that has asked
	IDs []string
}

// Recent reads which ids of a kind were opened last.
func (s *Shell) Recent(of Screen, profile Profile, kind string) tea.Cmd {
	memory := s.Memory
	return func() tea.Msg { return Recent{of, memory.Recent(profile, kind)} }
}

// PickID asks for one of the ids or, as the last option has it, for another one; without ids for any.
func (s *Shell) PickID(title string, ids []string, another string, other Prompt) tea.Cmd {
	if len(ids) == 0 {
		return s.Post(other)
	}
	var options []string
	for _, id := range ids {
		options = append(options, display.Line(id))
	}
	return s.Post(Pick{Title: title, Options: append(options, another), Other: &other, OnCancel: other.OnCancel, Then: func(index int) tea.Cmd {
		if index < len(ids) {
			return other.Then(ids[index])
		}
		return s.Post(other)
	}})
}
