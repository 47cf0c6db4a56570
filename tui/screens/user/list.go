package user

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// perPage is how many rows a page has: enough to seldom need the next, little enough to be listened to.
const perPage = 50

// list is one tab: a page of the service, and the cursor in it.
type list[T any] struct {
	loader        *screen.Loader[api.Page[T]]
	table         *widget.Table
	name          string // of the tab
	one           string // what a row is called
	many          string
	id            func(T) string
	columns       screen.Columns[T]
	marked, muted func(T) bool
	line          func(T) string // what a row says to those who listen
	fetch         func(page int64) screen.Fetch[api.Page[T]]

	now     func() time.Time
	asked   int64     // the page that was asked for last
	since   time.Time // when that was
	landing landing
}

// landing is where the cursor goes when a page has come.
type landing int

const (
	stay landing = iota // on what it was on
	onFirst
	onLast
)

func (l *list[T]) load(page int64, to landing) tea.Cmd {
	l.asked, l.landing, l.since = page, to, l.now()
	return l.loader.Load(l.fetch(page))
}

func (l *list[T]) start() tea.Cmd      { return l.load(1, onFirst) }
func (l *list[T]) rows() *widget.Table { return l.table }

// again loads the page that is shown, or the one that is on its way.
func (l *list[T]) again() tea.Cmd {
	if l.asked == 0 {
		return nil
	}
	return l.load(l.asked, l.landing)
}

func (l *list[T]) forget() {
	l.loader.Reset()
	l.asked = 0
	l.table.SetRows(nil)
}

// take takes the end of a load. A page behind the end, which there is when rows have gone since, leads to the last one.
func (l *list[T]) take(msg tea.Msg) tea.Cmd {
	chosen, had := l.chosen()
	cmd, changed := l.loader.Take(msg)
	if !changed || l.loader.Err != nil {
		return cmd
	}
	meta := l.loader.Value.Meta
	if len(l.loader.Value.Data) == 0 && meta.TotalPages > 0 && l.asked > meta.TotalPages {
		return l.load(meta.TotalPages, onLast)
	}
	l.setRows()
	switch {
	case l.landing == onFirst:
		l.table.SetCursor(0)
	case l.landing == onLast:
		l.table.SetCursor(l.table.Len() - 1)
	case had:
		for i, item := range l.loader.Value.Data {
			if l.id(item) == l.id(chosen) {
				l.table.SetCursor(i)
			}
		}
	}
	l.landing = stay
	return cmd
}

func (l *list[T]) setRows() {
	rows := make([]widget.Row, len(l.loader.Value.Data))
	for i, item := range l.loader.Value.Data {
		rows[i] = widget.Row{Cells: l.columns.Cells(item), Marked: l.marked(item), Muted: l.muted(item)}
	}
	l.table.SetRows(rows)
}

// chosen is what the cursor is on.
func (l *list[T]) chosen() (item T, ok bool) {
	if data := l.loader.Value.Data; l.loader.Has && l.table.Cursor() < len(data) {
		return data[l.table.Cursor()], true
	}
	return item, false
}

// page is the page that is shown, or the one that is on its way, of how many.
func (l *list[T]) page() (page, pages int64) {
	page, pages = l.loader.Value.Meta.Page, l.loader.Value.Meta.TotalPages
	if l.loader.Busy() {
		page = l.asked
	}
	return max(1, page), pages
}

// count is how many rows there are in all, once that is known.
func (l *list[T]) count() (total int64, known bool) {
	return max(l.loader.Value.Meta.Total, int64(len(l.loader.Value.Data))), l.loader.Has
}

// do moves about, over the ends of a page to the next and the one before.
func (l *list[T]) do(id actions.ID) (cmd tea.Cmd, done bool) {
	page, pages := l.page()
	switch id {
	case actions.NextPage:
		return l.turnTo(page+1, onFirst), true
	case actions.PreviousPage:
		return l.turnTo(page-1, onFirst), true
	case actions.FirstPage:
		return l.turnTo(1, onFirst), true
	case actions.LastPage:
		return l.turnTo(pages, onFirst), true
	}
	before := l.table.Cursor()
	if !l.table.Do(id) {
		return nil, false
	}
	if l.table.Cursor() != before || l.loader.Busy() { // a key that is held down must not leaf through all pages
		return nil, true
	}
	switch id {
	case actions.Down, actions.PageDown:
		return l.turnTo(page+1, onFirst), true
	case actions.Up, actions.PageUp:
		return l.turnTo(page-1, onLast), true
	}
	return nil, true
}

func (l *list[T]) turnTo(page int64, to landing) tea.Cmd {
	if _, pages := l.page(); page < 1 || page > pages {
		return nil
	}
	return l.load(page, to)
}

func (l *list[T]) pageOffers() []actions.Offer {
	page, pages := l.page()
	noNext, noPrevious := unless(page < pages, "This is the last page."), unless(page > 1, "This is the first page.")
	return []actions.Offer{
		actions.If(actions.NextPage, noNext), actions.If(actions.PreviousPage, noPrevious),
		actions.If(actions.FirstPage, noPrevious), actions.If(actions.LastPage, noNext),
	}
}

// place says which rows of how many are shown: "51 to 100 of 1,234, page 2 of 25"; named also of what.
func (l *list[T]) place(named bool) string {
	total, known := l.count()
	meta, rows := l.loader.Value.Meta, int64(len(l.loader.Value.Data))
	if !known || rows == 0 {
		return ""
	}
	first := (max(1, meta.Page)-1)*int64(meta.PerPage) + 1
	text := display.Count(first)
	if rows > 1 {
		text += " to " + display.Count(first+rows-1)
	}
	all := display.Count(total)
	if named {
		all = display.Plural(total, l.one, l.many)
	}
	text += " of " + all
	if meta.TotalPages > 1 {
		text += fmt.Sprintf(", page %s of %s", display.Count(max(1, meta.Page)), display.Count(meta.TotalPages))
	}
	return text
}

func (l *list[T]) label() string {
	if total, known := l.count(); known {
		return l.name + " " + display.Count(total)
	}
	return l.name
}

func (l *list[T]) lines() []string {
	lines := make([]string, len(l.loader.Value.Data))
	for i, item := range l.loader.Value.Data {
		lines[i] = fmt.Sprintf("%d. %s", i+1, l.line(item))
		if i == l.table.Cursor() {
			lines[i] += " Chosen."
		}
	}
	return lines
}

func (l *list[T]) state() state {
	return state{has: l.loader.Has, busy: l.loader.Busy(), err: l.loader.Err, at: l.loader.At, since: l.since, rows: len(l.loader.Value.Data)}
}

func (s *Screen) perkColumns() screen.Columns[api.Perk] {
	return screen.Columns[api.Perk]{
		{Column: widget.Column{Name: "Title", Min: 13, Share: 4}, Sort: "title", Cell: func(p api.Perk) string { return display.Line(p.Title) }},
		{Column: widget.Column{Name: "Discount", Min: 10, Share: 1, Drop: 2}, Sort: "discount_text", Cell: func(p api.Perk) string { return screen.Optional(p.DiscountText) }},
		{Column: widget.Column{Name: "Merchant", Min: 10, Share: 2, Drop: 3}, Sort: "merchant_name", Cell: func(p api.Perk) string { return screen.Optional(p.MerchantName) }},
		{Column: widget.Column{Name: "City", Min: 8, Share: 1, Drop: 4}, Sort: "city", Cell: func(p api.Perk) string { return display.Line(p.City) }},
		{Column: widget.Column{Name: "Valid", Min: 13, Drop: 1}, Sort: "valid_to", Cell: func(p api.Perk) string { return screen.Valid(&p, s.shell.Now()) }},
	}
}

func (s *Screen) redemptionColumns() screen.Columns[api.Redemption] {
	return screen.Columns[api.Redemption]{
		{Column: widget.Column{Name: "When", Min: 10, Share: 1}, Cell: s.when},
		{Column: widget.Column{Name: "Title", Min: 13, Share: 4, Drop: 1}, Cell: s.title},
		{Column: widget.Column{Name: "Perk", Min: 7, Share: 2}, Cell: func(r api.Redemption) string { return display.Line(r.PerkID) }},
		{Column: widget.Column{Name: "Status", Min: 8}, Cell: func(r api.Redemption) string { return display.Line(string(r.Status)) }},
		{Column: widget.Column{Name: "Id", Min: 8, Share: 2, Drop: 2}, Cell: func(r api.Redemption) string { return display.Line(r.ID) }},
		{Column: widget.Column{Name: "Metadata", Min: 12, Share: 3, Drop: 3}, Cell: func(r api.Redemption) string { return inShort(r.Metadata) }},
	}
}

func (s *Screen) perkLine(p api.Perk) string {
	cells := s.available.columns.Cells(p)
	line := strings.Join(slices.DeleteFunc(cells, func(cell string) bool { return cell == "" }), ", ") + "."
	if s.marked.Has(p.ID) {
		line += " Marked."
	}
	return line
}

func (s *Screen) redemptionLine(r api.Redemption) string {
	line := "Perk " + display.Line(r.PerkID) + ", "
	if title := s.title(r); title != "" {
		line += title + ", "
	}
	line += display.Line(string(r.Status)) + ", " + s.when(r) + ", id " + display.Line(r.ID)
	if metadata := inShort(r.Metadata); metadata != "" {
		line += ", metadata " + metadata
	}
	return line + "."
}

// title is what the perk of a redemption is called; "" if that is not known.
func (s *Screen) title(r api.Redemption) string { return display.Line(s.titles.known[r.PerkID]) }

func (s *Screen) when(r api.Redemption) string {
	if r.RedeemedAt.IsZero() {
		return "not known"
	}
	return display.Age(s.shell.Now().Sub(r.RedeemedAt))
}

// kind is what users are called among what is remembered.
const kind = "user"

// recent is the users that were looked at last.
type recent struct {
	asker *Screen
	ids   []string
}

// chosen is the user that a person has asked for.
type chosen struct {
	asker *Screen
	id    string
}

// ask asks which user to show: one of those that were looked at last, or another.
func (s *Screen) ask() tea.Cmd {
	memory, profile := s.shell.Memory, s.shell.Account.Profile
	return func() tea.Msg { return recent{s, memory.Recent(profile, kind)} }
}

func (s *Screen) askAmong(r recent) tea.Cmd {
	if r.asker != s {
		return nil
	}
	var ids, options []string
	for _, id := range r.ids {
		if id != s.id && api.UserIDRule(id) == "" {
			ids, options = append(ids, id), append(options, display.Line(id))
		}
	}
	if len(ids) == 0 {
		return s.shell.Post(s.prompt())
	}
	other := s.prompt()
	return s.shell.Post(screen.Pick{
		Title:   "Which user?",
		Other:   &other,
		Left:    s.leave,
		Options: append(options, "Another user ..."),
		Then: func(index int) tea.Cmd {
			if index >= len(ids) {
				return s.shell.Post(s.prompt())
			}
			return s.shell.Post(chosen{s, ids[index]})
		},
	})
}

func (s *Screen) prompt() screen.Prompt {
	return screen.Prompt{
		Title: "Which user?",
		Field: widget.Field{Name: "user_id", Label: "User id", Hint: "such as alice", Check: api.UserIDRule},
		Then:  func(id string) tea.Cmd { return s.shell.Post(chosen{s, id}) },
		Left:  s.leave,
	}
}

// leave goes back to the screen below, unless there is a user to go back to.
func (s *Screen) leave() tea.Cmd {
	if s.id != "" {
		return nil
	}
	return s.shell.Post(screen.Back{From: s})
}
