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
	// cacheFresh is how long a cached page is shown without loading it again.
	cacheFresh = time.Minute
	// cacheRadius is how many pages before and after the current one are cached.
	cacheRadius = 4
)

// loadedPage is a page and its query.
type loadedPage struct {
	query query
	page  api.Page[api.Perk]
}

type cachedPage struct {
	loadedPage loadedPage
	at         time.Time
}

func fetch(q query, number int64) screen.Fetch[loadedPage] {
	return func(ctx context.Context, c *client.Client) (loadedPage, error) {
		page, err := screen.ReadPage(number, func(number int64) (api.Page[api.Perk], error) {
			options := client.ListOptions{Page: number, PerPage: screen.PerPage, Sort: api.FormatSort([]api.SortKey{q.effective()})}
			return c.Perks(ctx, client.PerkListOptions{ListOptions: options, PerkFilter: q.PerkFilter})
		})
		return loadedPage{q, page}, err
	}
}

// showQuery shows the first page of a query, and writes the query into the form.
func (s *List) showQuery(q query) tea.Cmd {
	s.want = q
	s.fill(s.form.Names())
	s.reset()
	return s.list.Load(fetch(q, 1))
}

// showQueryAfter shows a query after a pause, unless another one comes first. It does not load again what is shown already.
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

// pages has no last page while another list is shown than the one that is wanted.
func (s *List) pages() screen.Pages {
	pages := screen.Pages{Table: s.table, At: s.list.Value.page.Meta.Page, Busy: s.isBusy(), Load: s.goTo}
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

// goTo shows a page of the wanted list, at once if it is cached.
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

// showCached shows a cached page, and reloads it if it is old.
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

// handleLoaded shows the loaded page, or why it was not loaded.
func (s *List) handleLoaded() tea.Cmd {
	s.loadEnded = true
	if s.list.Err != nil { // errors stand beside the fields of the filter, which keeps its focus
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

// handlePrefetched caches the prefetched page, or shows it if it is awaited. If that failed, it loads the page again, which shows the error.
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

// prefetchNext loads the next page unless it is cached. It waits until nothing is typed, to save the service needless requests.
func (s *List) prefetchNext() tea.Cmd {
	next := s.page + 1
	if _, ok := s.known[next]; ok || next > s.list.Value.page.Meta.TotalPages {
		return nil
	}
	s.prefetchPage = next
	return s.prefetch.LoadAfter(pause, fetch(s.want, next))
}

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

// columnsFor returns the columns. In a narrow window they disappear from the id on; title and validity stay longest.
func (s *List) columnsFor(titleMin int) screen.Columns[*api.Perk] {
	return screen.Columns[*api.Perk]{
		{Column: widget.Column{Name: "Title", Min: titleMin, Share: 6}, Sort: "title", Cell: func(p *api.Perk) string { return display.Line(p.Title) }},
		{Column: widget.Column{Name: "Discount", Min: 10, Share: 2, Drop: 2}, Sort: "discount_text", Cell: func(p *api.Perk) string { return screen.Optional(p.DiscountText) }},
		{Column: widget.Column{Name: "Merchant", Min: 14, Share: 3, Drop: 3}, Sort: "merchant_name", Cell: func(p *api.Perk) string { return screen.Optional(p.MerchantName) }},
		{Column: widget.Column{Name: "City", Min: 10, Share: 1, Drop: 4}, Sort: "city", Cell: func(p *api.Perk) string { return display.Line(p.City) }},
		{Column: widget.Column{Name: "Category", Min: 10, Share: 1, Drop: 5}, Sort: "category", Cell: func(p *api.Perk) string { return screen.Optional(p.Category) }},
		{Column: widget.Column{Name: "Valid", Min: 13, Share: 1, Drop: 1, Shorten: screen.ShortenValid}, Sort: "valid_to", Cell: func(p *api.Perk) string {
			if screen.PhaseOf(p, s.shell.Now()) == screen.NotStarted {
				return display.In(*p.ValidFrom, s.shell.Now()) // a date would be cut in a narrow column
			}
			return screen.Valid(p, s.shell.Now())
		}},
		{Column: widget.Column{Name: "Id", Min: 10, Share: 1, Drop: 6}, Cell: func(p *api.Perk) string { return display.Line(p.ID) }},
	}
}

// The least width of the title.
const (
	leastTitle  = 12
	normalTitle = 26
	wideTitle   = 40
	titleGutter = 17 // for the cursor and the validity
)

// usualWidth is the width that the most important columns need.
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

// buildRows builds the rows once, not for each frame.
func (s *List) buildRows() {
	now := s.shell.Now()
	s.shown = s.list.Value.page.Data
	s.rows = make([]widget.Row, len(s.shown))
	for i := range s.shown {
		p := &s.shown[i]
		s.rows[i] = widget.Row{Cells: s.columns.Cells(p), Marked: s.marks.Has(p.ID), Muted: screen.PhaseOf(p, now) == screen.Expired}
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
