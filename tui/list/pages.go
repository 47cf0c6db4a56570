package list

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
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
	isAgain bool      // the service has sent it under another number, too
	at      time.Time // zero until it is shown
}

// run is pages of a list that follow one another: what is shown, and somewhat more at both ends. Numbers below zero
// count from the end: page -1 is the first of the reversed order, with its records in the order of the list.
type run[F, T any] struct {
	query  query[F]
	pages  []page[T]
	oneWay bool // the service has no reversed order
}

// from and to are the numbers of the first and the last page; 0 without any.
func (r run[F, T]) from() int64 {
	if len(r.pages) == 0 {
		return 0
	}
	return r.pages[0].Meta.Page
}

func (r run[F, T]) to() int64 {
	if len(r.pages) == 0 {
		return 0
	}
	return r.pages[len(r.pages)-1].Meta.Page
}

// farthest is the page that was read last on the way from an end of the list; an empty one without any.
func (r run[F, T]) farthest() page[T] {
	switch {
	case len(r.pages) == 0:
		return page[T]{}
	case r.from() < 0:
		return r.pages[0]
	}
	return r.pages[len(r.pages)-1]
}

// meta is what that page says of the list.
func (r run[F, T]) meta() api.PageMeta { return r.farthest().Meta }

// further is the number of the page after it on that way; 0 if there is none. A service that repeats a page has nothing
// to add.
func (r run[F, T]) further() int64 {
	if far := r.farthest(); far.Meta.Page != 0 && !far.isAgain && abs(far.Meta.Page) < lastPage(far.Page) {
		return beyond(far.Meta.Page)
	}
	return 0
}

// base is how many records are before the first, or after the last if pages count from the end.
func (r run[F, T]) base() int64 {
	nearest := max(r.from(), -r.to())
	return max(0, nearest-1) * int64(r.meta().PerPage)
}

func abs(number int64) int64 { return max(number, -number) }

// beyond is the number of the page that is read after another.
func beyond(number int64) int64 {
	if number < 0 {
		return number - 1
	}
	return number + 1
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
	isLive      bool  // others have changed the list
	landing     landing
	row         int // for onRow: how many rows of the list are above the window; below zero, how many are not
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
	onRow  // at the top of the window
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
	number := abs(page.Meta.Page)
	switch {
	case page.Meta.MoreThan == 0:
		return page.Meta.TotalPages
	case page.Next != "" || page.Meta.MoreThan == number*int64(page.Meta.PerPage):
		return number + 1
	}
	return number
}

// fetch reads pages of a list. If it extends a run, that is what there is before or after them.
func (l *List[F, T]) fetch(q query[F], wanted load) screen.Fetch[run[F, T]] {
	fields, order, read, links := l.Fields, l.effective(q), l.Pages, maps.Clone(l.links)
	got, before, firsts, id := run[F, T]{query: q}, l.loader.Value, maps.Clone(l.firsts), l.ID
	if wanted.extends {
		got.pages = slices.Clone(l.loader.Value.pages)
	}
	asked, way, first, last := order, int64(1), wanted.first, wanted.last
	if wanted.first < 0 {
		way, first, last, asked.Desc = -1, -wanted.last, -wanted.first, !order.Desc
	}
	return func(ctx context.Context, c *client.Client) (run[F, T], error) {
		readOne := func(number int64) (api.Page[T], error) {
			options := client.ListOptions{Page: number, PerPage: PerPage,
				Sort: api.FormatSort([]api.SortKey{asked}), Next: links[way*number]}
			for one, err := range read(c, ctx, q.filter, options) {
				if way < 0 {
					slices.Reverse(one.Data)
					slices.Reverse(one.DistancesKM)
				}
				return one, err
			}
			return api.Page[T]{}, nil // not reached
		}
		for number := first; number <= last; number++ {
			one, err := readPage(number, readOne)
			if refused, is := errors.AsType[*client.Error](err); is && way < 0 && len(refused.Fields["sort"]) > 0 {
				before.oneWay = true
				return before, nil
			}
			if err != nil {
				return got, err
			}
			if one.Meta.Page != number && lastPage(one) >= number { // it has only one page, whatever is asked for
				one.Meta.Page = number
			}
			if way < 0 && number == 1 && (api.Unsorted(api.FormatSort([]api.SortKey{order}), one.Data) ||
				len(one.Data) > 1 && id(&one.Data[len(one.Data)-1]) == firsts[1]) {
				before.oneWay = true // it ignores the order, or has many records that are equal in it
				return before, nil
			}
			number = max(number, one.Meta.Page)
			isLast := number >= lastPage(one)
			links[way*(number+1)] = linkAfter(one)
			p := page[T]{Page: one, misfits: misfits(fields, q.filter, order, one)}
			p.Meta.Page *= way
			if other := sameAs(p, firsts, id); other != 0 { // unless as many were added as a page has
				again, err := readOne(abs(other))
				if err != nil {
					return got, err
				}
				p.isAgain = len(again.Data) > 0 && id(&again.Data[0]) == id(&one.Data[0])
			}
			if len(p.Data) > 0 {
				firsts[p.Meta.Page] = id(&p.Data[0])
			}
			if got.pages == nil {
				got.pages = []page[T]{p}
			} else {
				got = got.with(p)
			}
			if isLast {
				break
			}
		}
		return got, nil
	}
}

// sameAs is the number of another page on the same way from an end of the list that began with the same record; 0 if
// none did.
func sameAs[T any](p page[T], firsts map[int64]string, id func(*T) string) int64 {
	for number, first := range firsts {
		if number != p.Meta.Page && (number < 0) == (p.Meta.Page < 0) && len(p.Data) > 0 && id(&p.Data[0]) == first {
			return number
		}
	}
	return 0
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

// ExpectNews says that the list is loaded again because others have changed it. What they added is marked for a moment.
func (l *List[F, T]) ExpectNews() { l.loading.isLive = l.loading.landing == onSame }

// visiblePages returns the numbers of the first and the last page of which a row is visible.
func (l *List[F, T]) visiblePages() (first, last int64) {
	at, rows := l.table.Visible()
	cursor := l.table.Cursor() // the window of the accessible mode has no end
	at, end := max(at, cursor-PerPage), min(at+max(1, rows), cursor+2*PerPage)
	first = cmp.Or(l.loader.Value.from(), 1)
	last = first
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
	wanted := load{first: number, last: number, extends: true, landing: to}
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
	before, ends := l.shown, l.ends
	l.showPages(l.loading)
	cmd := tea.Batch(l.follow(), ifAny(l.OnRows))
	if l.loading.isLive {
		cmd = tea.Batch(cmd, l.showNews(before, ends))
	}
	if l.loader.Value.oneWay && !l.oneWay {
		l.oneWay = true
		cmd = tea.Batch(cmd, screen.Tell(screen.Note, "%s", l.uncounted()))
	}
	return cmd
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
	number := int64(0)
	first, rows := l.table.Visible()
	rows = min(rows, 2*PerPage) // the window of the accessible mode has no end
	switch at := l.table.Cursor(); {
	case l.pageAfter() != 0 && (len(l.shown)-at <= PerPage || len(l.shown) < first+rows):
		number = l.pageAfter()
	case at < PerPage:
		number = l.pageBefore()
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
		if link := linkAfter(pages[i].Page); link != "" {
			l.links[beyond(pages[i].Meta.Page)] = link
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
	case loaded.landing == onRow:
		l.place(loaded.row)
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
	l.shown, l.distances, l.starts, l.mismatch = nil, map[string]float64{}, nil, ""
	known := map[string]bool{}
	for i := range l.loader.Value.pages {
		p := &l.loader.Value.pages[i]
		l.starts = append(l.starts, len(l.shown))
		again := ""
		if p.isAgain {
			again = "This service sent a page again: there may be more than it shows."
		}
		l.mismatch = cmp.Or(l.mismatch, widget.Joined(" ", p.misfits...), again)
		for i := range p.Data {
			id := l.ID(&p.Data[i])
			if known[id] && id != "" {
				continue
			}
			l.shown = append(l.shown, p.Data[i])
			if i < len(p.DistancesKM) {
				l.distances[id] = p.DistancesKM[i]
			}
		}
		for i := range p.Data {
			known[l.ID(&p.Data[i])] = true
		}
	}
	shown := l.loader.Value
	if l.base = shown.base(); shown.from() < 0 {
		l.base = -l.base - int64(len(l.shown))
	}
	l.ends = [2]bool{l.pageBefore() == 0, l.pageAfter() == 0}
	for i := range shown.pages {
		if shown.pages[i].isAgain { // it says nothing of the end
			shown.pages[i].Meta.MoreThan = l.walked()
		}
	}
}

// newsFor is how long a row is marked as new.
const newsFor = time.Second

// newsEnded ends the marks of new rows that are old enough.
type newsEnded struct{}

// showNews marks for a moment what others have added to the rows: what was not there before, between those that were,
// or at an end of the list.
func (l *List[F, T]) showNews(before []T, ends [2]bool) tea.Cmd {
	known := map[string]bool{}
	for i := range before {
		known[l.ID(&before[i])] = true
	}
	first, last := len(l.shown), -1
	for i := range l.shown {
		if known[l.ID(&l.shown[i])] {
			first, last = min(first, i), i
		}
	}
	l.added = nil
	for i := range l.shown {
		id := l.ID(&l.shown[i])
		if !known[id] && (i > first || ends[0] && l.ends[0]) && (i < last || ends[1] && l.ends[1]) {
			l.added = append(l.added, id)
		}
	}
	if len(l.added) == 0 {
		return nil
	}
	l.addedAt = l.shell.Now()
	l.makeRows()
	return l.shell.After(newsFor, newsEnded{})
}

// endNews takes the marks away, unless others were added since.
func (l *List[F, T]) endNews() {
	if len(l.added) > 0 && l.shell.Now().Sub(l.addedAt) >= newsFor {
		l.added = nil
		l.makeRows()
	}
}

// walked is how many rows were read on the way from an end of the list.
func (l *List[F, T]) walked() int64 { return max(l.base+int64(len(l.shown)), -l.base) }

// pageBefore and pageAfter are the numbers of the pages before and after the rows; 0 if there is none.
func (l *List[F, T]) pageBefore() int64 {
	if shown := l.loader.Value; shown.from() < 0 {
		return shown.further()
	}
	return max(0, l.loader.Value.from()-1)
}

func (l *List[F, T]) pageAfter() int64 {
	shown := l.loader.Value
	if shown.to() < 0 {
		return min(0, shown.to()+1)
	}
	return shown.further()
}

// number is that of a row, from 1 on; below zero if only the end is known: the last row is -1.
func (l *List[F, T]) number(row int) int64 {
	switch {
	case l.base >= 0:
		return l.base + int64(row) + 1
	case l.pageBefore() == 0:
		return int64(row) + 1
	case l.loader.Value.meta().MoreThan == 0:
		return l.loader.Value.meta().Total + l.base + int64(row) + 1
	}
	return l.base + int64(row)
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

// uncounted says why the end of the list cannot be reached at once: it is neither counted nor reversed.
func (l *List[F, T]) uncounted() string {
	next := l.shell.Key(actions.Filter) + " finds the others."
	if l.Fields == nil {
		next = l.shell.Key(actions.Bottom) + " again reads on."
	}
	return fmt.Sprintf("Only %s are counted, and the order can't be reversed to see the end. %s",
		display.Count(l.loader.Value.meta().MoreThan), next)
}

// goToEnd shows the end of a list that goes on after the rows: its last pages, or as far as is read if the list is
// neither counted nor reversed.
func (l *List[F, T]) goToEnd() tea.Cmd {
	shown := l.loader.Value
	switch last := lastPage(shown.farthest().Page); {
	case shown.from() < 0, shown.meta().MoreThan > 0 && !l.isOneWay():
		return l.begin(l.want, load{first: -1, last: -1, landing: onLast})
	case shown.meta().MoreThan == 0 && last == shown.to()+1:
		return l.extend(last, onLast)
	case shown.meta().MoreThan == 0:
		return l.begin(l.want, load{first: last - 1, last: last, landing: onLast})
	}
	said := screen.Tell(screen.Note, "%s", l.uncounted())
	if l.table.Cursor() == l.table.Len()-1 {
		return tea.Batch(said, l.extend(l.pageAfter(), onLast))
	}
	l.table.Do(actions.Bottom)
	return tea.Batch(said, l.follow(), ifAny(l.OnRows))
}

// scrollTo shows what is below a number of rows of the list, after a pause if it has to be loaded: a scrollbar is
// dragged past other rows.
func (l *List[F, T]) scrollTo(row int) tea.Cmd {
	before := l.table.Cursor()
	_, rows := l.table.Visible()
	at := row - l.rowsBefore(0)
	switch {
	case !l.isWanted():
		return nil
	case at < 0 && l.pageBefore() != 0, at+rows > len(l.shown) && l.pageAfter() != 0:
		per := max(1, l.loader.Value.meta().PerPage)
		wanted := load{first: int64(row/per) + 1, last: int64((row+rows-1)/per) + 1, landing: onRow, row: row}
		if behind := l.length() - row; l.loader.Value.from() < 0 {
			wanted.first, wanted.last, wanted.row = -int64((behind-1)/per)-1, -int64((behind-rows)/per)-1, -behind
		}
		l.cancelLoads()
		l.loading, l.since = wanted, l.shell.Now()
		return l.loader.LoadAfter(pause, l.fetch(l.want, wanted))
	case l.IsBusy() && l.loading.landing != onRow:
		return nil
	case l.IsBusy():
		l.cancelLoads()
	}
	l.place(row)
	if l.isOld(before) {
		return l.Reload()
	}
	return tea.Batch(l.follow(), ifAny(l.OnRows))
}

// place puts the row below a number of rows of the list, as load.row counts them, first into the window. The cursor
// stays on its line there, but goes to an end of the list with the window.
func (l *List[F, T]) place(row int) {
	top, rows := l.table.Visible()
	line := l.table.Cursor() - top
	if row < 0 {
		row += l.length()
	}
	switch {
	case row == 0:
		line = 0
	case row+rows >= l.length():
		line = rows - 1
	}
	l.table.Place(row-l.rowsBefore(0)+line, line)
}

// isOneWay tells whether the order of the list has no reverse.
func (l *List[F, T]) isOneWay() bool {
	return l.OneWay || l.oneWay || l.effective(l.want).Field == api.SortRelevance
}

// move moves the cursor in the whole list, of which only a part is loaded.
func (l *List[F, T]) move(id actions.ID) tea.Cmd {
	before := l.table.Cursor()
	moves := l.isWanted() && !l.IsBusy() // keys that were meant for these rows do not skip those that are loading
	switch {
	case moves && id == actions.Top && l.pageBefore() != 0:
		return l.begin(l.want, firstPage)
	case moves && id == actions.Bottom && l.pageAfter() != 0:
		return l.goToEnd()
	}
	l.table.Do(id)
	switch moved := l.table.Cursor() != before; {
	case moved && l.isOld(before):
		return l.Reload()
	case moved || !moves:
	case (id == actions.Down || id == actions.PageDown) && l.pageAfter() != 0:
		return l.extend(l.pageAfter(), onNext)
	case (id == actions.Up || id == actions.PageUp) && l.pageBefore() != 0:
		return l.extend(l.pageBefore(), onNext)
	}
	return tea.Batch(l.follow(), ifAny(l.OnRows))
}
