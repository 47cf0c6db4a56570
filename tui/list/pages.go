package list

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
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
	// PerPage is how many rows are asked for at a time: more than most terminals are high, and half of what the service
	// allows.
	PerPage = 50
	// maxPages bounds the rows that are kept. Those that the cursor is far from are loaded again when it comes back.
	maxPages = 20
	// freshFor is how long a page is shown without loading it again when the cursor comes to it.
	freshFor = time.Minute
)

// page is a page of a list, when it was loaded, and how it differs from what was asked for.
type page[T any] struct {
	api.Page[T]
	misfits []string
	at      time.Time // zero until it is shown
}

// run is pages of a list that follow one another: what is shown, and somewhat more at both ends.
type run[F, T any] struct {
	query query[F]
	pages []page[T]
}

// from and to are the numbers of the first and the last page; 0 without any.
func (r run[F, T]) from() int64 {
	if len(r.pages) == 0 {
		return 0
	}
	return r.pages[0].Meta.Page
}

func (r run[F, T]) to() int64 { return r.meta().Page }

// meta is what the last page says of the list.
func (r run[F, T]) meta() api.PageMeta {
	if len(r.pages) == 0 {
		return api.PageMeta{}
	}
	return r.pages[len(r.pages)-1].Meta
}

// base is how many records are before the first.
func (r run[F, T]) base() int64 {
	if len(r.pages) == 0 {
		return 0
	}
	return (r.pages[0].Meta.Page - 1) * int64(r.pages[0].Meta.PerPage)
}

// follows tells whether there is, or may be, a page after the last.
func (r run[F, T]) follows() bool {
	return len(r.pages) > 0 && r.to() < lastPage(r.pages[len(r.pages)-1].Page)
}

// with is the run with a page at one of its ends. At the other end it loses those above maxPages.
func (r run[F, T]) with(p page[T]) run[F, T] {
	switch pages := slices.Clip(r.pages); p.Meta.Page {
	case r.to() + 1:
		r.pages = append(pages, p)
		r.pages = r.pages[max(0, len(r.pages)-maxPages):]
	case r.from() - 1:
		r.pages = append([]page[T]{p}, pages...)
		r.pages = r.pages[:min(len(r.pages), maxPages)]
	}
	return r
}

// load is what the list is loading, or has loaded last.
type load struct {
	first, last int64 // the pages
	extends     bool  // it is added to what is shown
	landing     landing
}

// firstPage begins every list.
var firstPage = load{first: 1, last: 1, landing: onFirst}

// landing is where the cursor goes when pages are loaded.
type landing int

const (
	onSame landing = iota // on the same row; at the same position if that row is gone
	onFirst
	onLast
	onNext // row, in the direction of the page
)

// readPage reads a page of a list, or the last page of one that has become shorter. The page has a number and a count,
// even if the service says neither: then there is at least what was seen, and more after a full page.
func readPage[T any](number int64, read func(page int64) (api.Page[T], error)) (api.Page[T], error) {
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

// lastPage is the last page of a list, or the one after the page while more of them are not counted.
func lastPage[T any](page api.Page[T]) int64 {
	switch {
	case page.Meta.MoreThan == 0:
		return page.Meta.TotalPages
	case page.Next != "" || page.Meta.MoreThan == page.Meta.Page*int64(page.Meta.PerPage):
		return page.Meta.Page + 1
	}
	return page.Meta.Page
}

// fetch reads pages of a list. If it extends a run, that is what there is before or after them.
func (l *List[F, T]) fetch(q query[F], wanted load) screen.Fetch[run[F, T]] {
	fields, order, read, links := l.Fields, l.effective(q), l.Pages, maps.Clone(l.links)
	got := run[F, T]{query: q}
	if wanted.extends {
		got.pages = slices.Clone(l.loader.Value.pages)
	}
	return func(ctx context.Context, c *client.Client) (run[F, T], error) {
		for number := wanted.first; number <= wanted.last; number++ {
			one, err := readPage(number, func(number int64) (api.Page[T], error) {
				options := client.ListOptions{Page: number, PerPage: PerPage,
					Sort: api.FormatSort([]api.SortKey{order}), Next: links[number]}
				for one, err := range read(c, ctx, q.filter, options) {
					return one, err
				}
				return api.Page[T]{}, nil // not reached
			})
			if err != nil {
				return got, err
			}
			if one.Meta.Page != number && lastPage(one) >= number { // it has only one page, whatever is asked for
				one.Meta.Page = number
			}
			p := page[T]{Page: one, misfits: misfits(fields, q.filter, order, one)}
			if got.pages == nil {
				got.pages = []page[T]{p}
			} else {
				got = got.with(p)
			}
			if number = max(number, one.Meta.Page); number >= lastPage(one) {
				break
			}
			links[number+1] = linkAfter(one)
		}
		return got, nil
	}
}

// linkAfter is the address of the page after one that has no number for the service; "" if it has one.
func linkAfter[T any](p api.Page[T]) string {
	if p.Meta.MoreThan > 0 {
		return p.Next
	}
	return ""
}

// begin loads pages, instead of whatever is loading.
func (l *List[F, T]) begin(q query[F], wanted load) tea.Cmd {
	l.cancelLoads()
	l.loading, l.since = wanted, l.shell.Now()
	return l.loader.Load(l.fetch(q, wanted))
}

// Reload loads again what is visible, or what could not be loaded.
func (l *List[F, T]) Reload() tea.Cmd {
	wanted := l.loading
	switch failed := l.loader.Err != nil || l.IsBusy(); {
	case !l.isWanted():
		wanted = firstPage
	case !failed:
		wanted = load{landing: onSame}
		wanted.first, wanted.last = l.visiblePages()
	}
	clear(l.firsts)
	return l.begin(l.want, wanted)
}

// visiblePages returns the numbers of the first and the last page of which a row is visible.
func (l *List[F, T]) visiblePages() (first, last int64) {
	at, rows := l.table.Visible()
	cursor := l.table.Cursor() // the window of the accessible mode has no end
	at, end := max(at, cursor-PerPage), min(at+max(1, rows), cursor+2*PerPage)
	first, last = 1, 1
	for i, p := range l.loader.Value.pages {
		if l.starts[i] <= at {
			first = p.Meta.Page
		}
		if l.starts[i] < end {
			last = p.Meta.Page
		}
	}
	return first, last
}

// extend goes to a row of the page before or after what is shown, as soon as it is loaded.
func (l *List[F, T]) extend(number int64, to landing) tea.Cmd {
	wanted := load{number, number, true, to}
	if number == l.ahead && l.prefetch.Busy() {
		l.awaited, l.loading, l.since = true, wanted, l.shell.Now()
		return nil
	}
	return l.begin(l.want, wanted)
}

// handleLoaded shows the loaded pages, or why they were not loaded.
func (l *List[F, T]) handleLoaded() tea.Cmd {
	if l.loadEnded = true; l.loader.Err != nil {
		l.arrange()
		return nil
	}
	l.showPages(l.loading)
	return tea.Batch(l.follow(), ifAny(l.OnRows))
}

// handlePrefetched adds the page ahead. If somebody waits for it and it failed, it is loaded again, which shows the
// error.
func (l *List[F, T]) handlePrefetched() tea.Cmd {
	awaited := l.awaited
	l.awaited = false
	got := l.prefetch.Value
	switch {
	case l.prefetch.Err != nil && awaited:
		return l.begin(l.want, l.loading)
	case l.prefetch.Err != nil || len(got.pages) == 0 || !l.isSame(got.query, l.loader.Value.query):
		return nil
	}
	shows := load{first: l.ahead, last: l.ahead, extends: true}
	if awaited {
		shows = l.loading
	}
	l.loader.Value = l.loader.Value.with(got.pages[0])
	l.showPages(shows)
	return tea.Batch(l.follow(), ifAny(l.OnRows))
}

// follow loads ahead what the cursor comes near to. It waits until nothing is typed, to save the service needless
// requests.
func (l *List[F, T]) follow() tea.Cmd {
	if !l.isWanted() || l.IsBusy() || l.loader.Err != nil || len(l.shown) == 0 {
		return nil
	}
	shown, number := l.loader.Value, int64(0)
	first, rows := l.table.Visible()
	rows = min(rows, 2*PerPage) // the window of the accessible mode has no end
	switch at := l.table.Cursor(); {
	case l.follows() && (len(l.shown)-at <= PerPage || len(l.shown) < first+rows):
		number = shown.to() + 1
		if link := linkAfter(shown.pages[len(shown.pages)-1].Page); link != "" {
			l.links[number] = link
		}
	case shown.from() > 1 && at < PerPage:
		number = shown.from() - 1
	}
	if number == 0 || number == l.ahead && (l.prefetch.Busy() || l.prefetch.Err != nil || l.prefetch.Has) {
		return nil
	}
	l.ahead = number
	l.prefetch.Reset()
	return l.prefetch.LoadAfter(pause, l.fetch(l.want, load{first: number, last: number}))
}

// showPages shows what was loaded.
func (l *List[F, T]) showPages(loaded load) {
	under, before, base := "", l.table.Cursor(), l.base
	if current := l.underCursor(); current != nil {
		under = l.ID(current)
	}
	top, _ := l.table.Visible()
	pages := l.loader.Value.pages
	for i := range pages {
		if p := &pages[i]; p.at.IsZero() {
			p.at = l.shell.Now()
		}
		if len(pages[i].Data) > 0 {
			l.firsts[pages[i].Meta.Page] = l.ID(&pages[i].Data[0])
		}
	}
	if l.FieldsOf != nil && len(pages) > 0 {
		l.Fields = l.FieldsOf(pages[len(pages)-1].Page)
	}
	if loaded.landing == onFirst {
		l.table.Forget()
	}
	l.makeRows()
	switch same := slices.IndexFunc(l.shown, func(record T) bool { return under != "" && l.ID(&record) == under }); {
	case loaded.landing == onFirst:
		l.table.SetCursor(0)
	case loaded.landing == onLast:
		l.table.SetCursor(l.table.Len() - 1)
	case same >= 0 && top == 0 && base == 0: // what is new at the top of the list is seen
		l.table.SetCursor(same)
	case same >= 0:
		l.table.Place(same, before-top)
	default:
		l.table.Place(before+int(base-l.base), before-top)
	}
	if loaded.landing == onNext {
		way := actions.Down
		if loaded.first < l.loader.Value.to() {
			way = actions.Up
		}
		l.table.Do(way)
	}
	l.arrange()
}

// gather collects the records of the pages, without those that an earlier page has: while others are added, a page
// begins with the end of the one before.
func (l *List[F, T]) gather() {
	l.shown, l.distances, l.starts, l.mismatch = nil, nil, nil, ""
	l.base = l.loader.Value.base()
	known := map[string]bool{}
	for i := range l.loader.Value.pages {
		p := &l.loader.Value.pages[i]
		again := l.repeated(p.Meta.Page)
		l.starts = append(l.starts, len(l.shown))
		l.mismatch = cmp.Or(l.mismatch, widget.Joined(" ", p.misfits...), again)
		if again != "" { // it says nothing of the end
			p.Meta.MoreThan = l.base + int64(len(l.shown))
		}
		for i := range p.Data {
			id := l.ID(&p.Data[i])
			if known[id] && id != "" {
				continue
			}
			l.shown = append(l.shown, p.Data[i])
			distance := math.NaN()
			if i < len(p.DistancesKM) {
				distance = p.DistancesKM[i]
			}
			l.distances = append(l.distances, distance)
		}
		for i := range p.Data {
			known[l.ID(&p.Data[i])] = true
		}
	}
}

// follows tells whether there is, or may be, more after the rows. A service that repeats a page has nothing to add.
func (l *List[F, T]) follows() bool {
	shown := l.loader.Value
	return shown.follows() && l.repeated(shown.to()) == ""
}

// pageAt is the index of the page of a row.
func (l *List[F, T]) pageAt(row int) int {
	at, isStart := slices.BinarySearch(l.starts, row)
	if isStart {
		return at
	}
	return max(0, at-1)
}

// isOld tells whether the cursor has come from a row to another page that was loaded long ago.
func (l *List[F, T]) isOld(before int) bool {
	at := l.pageAt(l.table.Cursor())
	return l.isWanted() && !l.IsBusy() && at != l.pageAt(before) &&
		l.shell.Now().Sub(l.loader.Value.pages[at].at) > freshFor
}

// repeated says that the page was sent before under another number.
func (l *List[F, T]) repeated(page int64) string {
	for number, first := range l.firsts {
		if number != page && first == l.firsts[page] {
			return "This service sent a page again: there may be more than it shows."
		}
	}
	return ""
}

// ends says that the list is not counted to its end, and how to get there; "" if it is.
func (l *List[F, T]) ends() string {
	more := l.loader.Value.meta().MoreThan
	switch {
	case more == 0:
		return ""
	case l.OneWay:
		return fmt.Sprintf("Only %s are counted. %s finds the others.", display.Count(more), l.shell.Key(actions.Filter))
	}
	return fmt.Sprintf("Only %s are counted. %s starts at the other end.", display.Count(more),
		l.shell.Key(actions.SortReverse))
}

// move moves the cursor in the whole list, of which only a part is loaded.
func (l *List[F, T]) move(id actions.ID) tea.Cmd {
	shown, before := l.loader.Value, l.table.Cursor()
	moves := l.isWanted() && !l.IsBusy() // keys that were meant for these rows do not skip those that are loading
	switch ends := l.ends(); {
	case moves && id == actions.Top && shown.from() > 1:
		return l.begin(l.want, firstPage)
	case moves && id == actions.Bottom && l.follows() && ends == "":
		last := lastPage(shown.pages[0].Page)
		if last == shown.to()+1 {
			return l.extend(last, onLast)
		}
		return l.begin(l.want, load{last - 1, last, false, onLast})
	case moves && id == actions.Bottom && l.follows() && before == l.table.Len()-1:
		return tea.Batch(screen.Tell(screen.Note, "%s", ends), l.extend(shown.to()+1, onLast))
	}
	l.table.Do(id)
	switch moved := l.table.Cursor() != before; {
	case moved && l.isOld(before):
		return l.Reload()
	case moved || !moves:
	case (id == actions.Down || id == actions.PageDown) && l.follows():
		return l.extend(shown.to()+1, onNext)
	case (id == actions.Up || id == actions.PageUp) && shown.from() > 1:
		return l.extend(shown.from()-1, onNext)
	}
	return tea.Batch(l.follow(), ifAny(l.OnRows))
}
