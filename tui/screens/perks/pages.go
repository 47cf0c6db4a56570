package perks

import (
	"context"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

const (
	// cacheFresh is how long a page that was loaded before is shown again without asking.
	cacheFresh = time.Minute
	// cacheRadius is how far from the page that is shown pages are kept.
	cacheRadius = 4
)

// loadedPage is one page as the service gave it, and what it was asked for.
type loadedPage struct {
	query query
	page  api.Page[api.Perk]
}

type cachedPage struct {
	loadedPage loadedPage
	at         time.Time
}

// fetch asks for a page.
func fetch(q query, number int64) screen.Fetch[loadedPage] {
	return func(ctx context.Context, c *client.Client) (loadedPage, error) {
		page, err := screen.ReadPage(number, func(number int64) (api.Page[api.Perk], error) {
			options := client.ListOptions{Page: number, PerPage: screen.PerPage, Sort: api.FormatSort([]api.SortKey{q.effective()})}
			return c.Perks(ctx, client.PerkListOptions{ListOptions: options, PerkFilter: q.PerkFilter})
		})
		return loadedPage{q, page}, err
	}
}

// showQuery makes the list show what a query asks for, from its first page on, and writes it into the form.
func (s *List) showQuery(q query) tea.Cmd {
	s.want = q
	s.fill(s.form.Names())
	s.reset()
	return s.list.Load(fetch(q, 1))
}

// showQueryAfter does so after a pause, in which it can be taken back. What is shown already is not asked for again.
func (s *List) showQueryAfter(d time.Duration, q query) tea.Cmd {
	if q.isSame(s.want) && (s.isBusy() || s.loadEnded) {
		return nil
	}
	s.cancelLoads()
	s.want = q
	if s.list.Has && s.list.Err == nil && s.list.Value.query.isSame(q) {
		s.page, s.loadEnded = s.list.Value.page.Meta.Page, true
		s.keep(s.list.Value, s.list.At)
		return s.prefetchNext()
	}
	s.reset()
	return s.list.LoadAfter(d, fetch(q, 1))
}

func (s *List) reset() {
	s.cancelLoads()
	clear(s.known)
	s.page, s.landing = 1, screen.OnFirst
}

func (s *List) reload() tea.Cmd {
	s.cancelLoads()
	clear(s.known)
	if s.landing = screen.OnSame; !s.list.Has {
		s.landing = screen.OnFirst
	}
	return s.list.Load(fetch(s.want, s.page))
}

func (s *List) cancelLoads() {
	s.list.Cancel()
	s.prefetch.Cancel()
	s.awaited, s.loadEnded = false, false
}

func (s *List) isBusy() bool { return s.list.Busy() || s.awaited }

// pages is where the list stands among its pages; there are none of another list than the one that is wanted.
func (s *List) pages() screen.Pages {
	pages := screen.Pages{Table: s.table, At: s.list.Value.page.Meta.Page, Busy: s.isBusy(), Turn: s.goTo}
	if pages.Busy {
		pages.At = s.page
	}
	if s.isWanted() {
		pages.Last = s.list.Value.page.Meta.TotalPages
	}
	return pages
}

// isWanted tells whether the list that is shown is the one that is wanted.
func (s *List) isWanted() bool { return s.list.Has && s.list.Value.query.isSame(s.want) }

func (s *List) move(id actions.ID) tea.Cmd {
	cmd, _ := s.pages().Do(id)
	return cmd
}

// goTo shows a page of the list that is wanted: at once if it was loaded before or ahead.
func (s *List) goTo(page int64, land screen.Landing) tea.Cmd {
	s.page, s.landing = page, land
	if known, ok := s.known[page]; ok {
		return s.showCached(page, known)
	}
	if s.prefetch.Busy() && s.prefetchPage == page {
		s.list.Cancel()
		s.awaited = true
		return nil
	}
	s.cancelLoads()
	return s.list.Load(fetch(s.want, page))
}

// showCached shows a page as it was when it was loaded. If that is long ago it is loaded again meanwhile.
func (s *List) showCached(page int64, known cachedPage) tea.Cmd {
	s.cancelLoads()
	s.list.Put(known.loadedPage)
	s.list.At = known.at
	cmd := s.handleLoaded()
	if s.shell.Now().Sub(known.at) < cacheFresh {
		return cmd
	}
	return tea.Batch(cmd, s.list.Load(fetch(s.want, page)))
}

// handleLoaded shows what was loaded, or what became of it.
func (s *List) handleLoaded() tea.Cmd {
	s.loadEnded = true
	if s.list.Err != nil { // what the service said of the filter stands beside its fields; the keyboard stays where it is
		focus := s.form.Focus()
		s.form.Refuse(s.refused())
		s.form.FocusOnName(focus)
		s.layout()
		return nil
	}
	s.show()
	s.keep(s.list.Value, s.list.At)
	return s.prefetchNext()
}

// handlePrefetched keeps the page that was loaded ahead, or shows it if it is waited for. Its failure is told only then, by the
// load that it takes to make sure.
func (s *List) handlePrefetched() tea.Cmd {
	awaited := s.awaited
	s.awaited = false
	if s.prefetch.Err == nil {
		s.keep(s.prefetch.Value, s.prefetch.At)
	}
	if awaited {
		return s.goTo(s.page, s.landing)
	}
	return nil
}

func (s *List) keep(b loadedPage, at time.Time) {
	s.known[b.page.Meta.Page] = cachedPage{b, at}
	for number := range s.known {
		if number < s.page-cacheRadius || number > s.page+cacheRadius {
			delete(s.known, number)
		}
	}
}

// prefetchNext loads the next page, if there is one that is not there yet. It waits a little, so that somebody who is still
// typing a filter does not make the service look for second pages.
func (s *List) prefetchNext() tea.Cmd {
	next := s.page + 1
	if _, ok := s.known[next]; ok || next > s.list.Value.page.Meta.TotalPages {
		return nil
	}
	s.prefetchPage = next
	return s.prefetch.LoadAfter(pause, fetch(s.want, next))
}

// show puts the loaded page into the table.
func (s *List) show() {
	under := s.current()
	if s.list.Has {
		s.page = s.list.Value.page.Meta.Page
	}
	s.buildRows()
	s.landing.Land(s.table, slices.IndexFunc(s.shown, func(p api.Perk) bool { return under != nil && p.ID == under.ID }))
	s.landing = screen.OnSame
	s.layout()
}

// columnsFor are those of the list. As it gets narrower they leave from the id on; the title stays, and until the very end how
// long the perk is valid. A title is cut short only where it is alone with that.
func (s *List) columnsFor(titleMin int) screen.Columns[*api.Perk] {
	return screen.Columns[*api.Perk]{
		{Column: widget.Column{Name: "Title", Min: titleMin, Share: 6}, Sort: "title", Cell: func(p *api.Perk) string { return display.Line(p.Title) }},
		{Column: widget.Column{Name: "Discount", Min: 10, Share: 2, Drop: 2}, Sort: "discount_text", Cell: func(p *api.Perk) string { return screen.Optional(p.DiscountText) }},
		{Column: widget.Column{Name: "Merchant", Min: 14, Share: 3, Drop: 3}, Sort: "merchant_name", Cell: func(p *api.Perk) string { return screen.Optional(p.MerchantName) }},
		{Column: widget.Column{Name: "City", Min: 10, Share: 1, Drop: 4}, Sort: "city", Cell: func(p *api.Perk) string { return display.Line(p.City) }},
		{Column: widget.Column{Name: "Category", Min: 10, Share: 1, Drop: 5}, Sort: "category", Cell: func(p *api.Perk) string { return screen.Optional(p.Category) }},
		{Column: widget.Column{Name: "Valid", Min: 13, Share: 1, Drop: 1}, Sort: "valid_to", Cell: func(p *api.Perk) string {
			if screen.PhaseOf(p, s.shell.Now()) == screen.NotStarted {
				return display.In(*p.ValidFrom, s.shell.Now()) // a date is cut in a narrow column
			}
			return screen.Valid(p, s.shell.Now())
		}},
		{Column: widget.Column{Name: "Id", Min: 10, Share: 1, Drop: 6}, Cell: func(p *api.Perk) string { return display.Line(p.ID) }},
	}
}

// The least width of a title: in a narrow window, normally, and in a wide one.
const (
	leastTitle  = 12
	normalTitle = 26
	wideTitle   = 40
	titleGutter = 17 // what the cursor and the days that are left take
)

// usualWidth is the width that the list needs to show the most important columns.
const usualWidth = 80

func (s *List) fitTable(width, height int) {
	titleMin := max(leastTitle, min(width-titleGutter, normalTitle)) + max(0, min(width-usualWidth, wideTitle-normalTitle))
	if titleMin != s.titleMin {
		cursor := s.table.Cursor()
		s.titleMin = titleMin
		s.columns = s.columnsFor(titleMin)
		s.table = widget.NewTable(s.shell.Theme, s.columns.Drawn()...)
		s.table.SetRows(s.rows)
		s.table.SetCursor(cursor)
	}
	order := s.list.Value.query.effective()
	s.table.Sort(s.columns.Sorted(order.Field), order.Desc)
	s.table.Resize(width, height)
}

// buildRows puts what was loaded into words. It is done when that changes, not for each frame.
func (s *List) buildRows() {
	now := s.shell.Now()
	s.shown = s.list.Value.page.Data
	s.rows = make([]widget.Row, len(s.shown))
	for i := range s.shown {
		p := &s.shown[i]
		s.rows[i] = widget.Row{Cells: s.columns.Cells(p), Marked: s.marks.Has(p.ID), Muted: screen.PhaseOf(p, now) == screen.Ended}
	}
	s.rowsAt = now
	s.table.SetRows(s.rows)
}

// current is the perk under the cursor; nil if there is none.
func (s *List) current() *api.Perk {
	if i := s.table.Cursor(); i < len(s.shown) {
		return &s.shown[i]
	}
	return nil
}
