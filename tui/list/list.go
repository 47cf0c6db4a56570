// Package list is a list of records that is found by one line, sorted, marked and previewed, for screens to
// build upon.
package list

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

// Kind is what a list shows: records T that a filter F selects.
type Kind[F, T any] struct {
	One, Many string               // "perk", "perks"
	Called    func(F) string       // what the border calls those that are shown; nil for Many
	Fields    []api.FilterField[F] // nil if nothing is searched for
	// FieldsOf returns the fields of a service that says with a page what is searched for; nil for Fields.
	FieldsOf func(api.Page[T]) []api.FilterField[F]
	Orders   func(F) []string    // what such a list can be sorted by
	OneWay   bool                // it cannot be reversed
	Order    func(F) api.SortKey // of a list that nobody has sorted
	// Pages returns the pages of a list, from one on.
	Pages func(*client.Client, context.Context, F, client.ListOptions) client.Pages[T]
	// Whole returns all of a list, to be written to a file; nil for what Pages returns.
	Whole func(*client.Client, context.Context, F, client.ListOptions) Whole
	File  string // what such a file is called at first; "" for Many

	ID      func(*T) string
	Columns Columns[*T]
	Title   func(*T) string        // of the preview
	Facts   func(*T) []widget.Pair // in the preview; nil without any
	Muted   func(*T) bool

	// Values returns the values of a field that completion offers, as far as they are known; nil without any.
	Values func(field string) []string
	// Begun is the fields whose values may be cut short, as names may be and ids may not.
	Begun []string
	// IDRule says why a text is not an id; nil if no id can be typed.
	IDRule func(text string) string
	// Bare is the key of the field that a word without one is a value of; "" if fields have words, or none is meant.
	Bare string
	// None says that there are none at all, and Empty what to do then.
	None, Empty string
	// Nothing says what it means that a filter finds none; nil or "" if only that it finds none.
	Nothing func(F) string
	// Note says what else is known, where the list has nothing else to say; nil without any.
	Note func() string
	// Elsewhere says what else to try if there are no rows, by a key or in the query that is typed; nil without any.
	Elsewhere func(typing bool) string
	// ScopeOfAll is the scope without which the list has only what the client made; "" if all clients see the same.
	ScopeOfAll api.Scope
	// ScopeOfList says that the list needs a scope that opening a record by its id does not.
	ScopeOfList bool
	// Changes tells whether an event changes the list; nil if none does.
	Changes func(api.Event) bool
	// Settings names the settings of the list, such as its order; Many if empty. Lists with the same name share them.
	Settings string
	// NoMarks is for a list of which nothing is done with several records.
	NoMarks bool

	// Open opens a record; nil if only its id is known.
	Open func(id string, record *T) tea.Cmd
	// Entered does what Enter does besides applying the query; nil opens the record whose id it is, if it matches none.
	Entered func(query string) tea.Cmd
	// OnType loads what completion offers when a query is going to be typed; nil without any.
	OnType func() tea.Cmd
	// OnRows loads what rows lack, whenever others may be visible; nil without any.
	OnRows func() tea.Cmd
}

// List is the list.
type List[F, T any] struct {
	Kind[F, T]
	shell         *screen.Shell
	width, height int
	unfocused     bool // another list on the screen has the keyboard

	line   *widget.Form // to type the query in
	typing bool         // it is open
	before string       // the query when it was opened

	want      query[F] // what the list should show: the typed query, unless it is invalid
	loading   load
	loader    *screen.Loader[run[F, T]]
	since     time.Time                 // the load began
	prefetch  *screen.Loader[run[F, T]] // of the page ahead
	ahead     int64
	awaited   bool             // the cursor goes there as soon as it is loaded
	loadEnded bool             // what is wanted was loaded, or that failed
	firsts    map[int64]string // the first record of each page that was shown
	links     map[int64]string // the addresses of pages that have no number for the service
	oneWay    bool             // the service has no reversed order of what is wanted

	all       Columns[*T] // also those that are hidden
	kept      api.SortKey // how the list was sorted last; zero if it never was
	views     []string    // saved queries
	table     *widget.Table
	shown     []T                // the records in the rows
	distances map[string]float64 // of theirs by id; not a number where the service does not tell
	starts    []int              // where each page begins in them
	ends      [2]bool            // they begin where the list does, and end where it does
	added     []string           // the ids of those that others have just added
	addedAt   time.Time          // when they were shown first
	base      int64              // how many records of the list are before them; below zero, how many from the first on
	rows      []widget.Row
	rowsAt    time.Time // when the rows were made: they say how many days are left
	seen      map[string][]string
	export    *export // the last; nil without any
	marked    []T     // in the order in which they were marked
	lastMark  string
	mismatch  string // how the page differs from what was asked for
	preview   bool
	facts     widget.Scroll // of the preview
	factsOf   string        // its record
	factsIn   int           // its width
	tableSize [2]int        // of the panel with the table, and where it begins
	top       int
}

// query is what a list is asked for.
type query[F any] struct {
	_      [0]func() // forbids ==, which would compare pointers in the filter; use isSame
	text   string    // as it was typed
	filter F
	order  api.SortKey // zero for the usual one
}

const (
	// pause is how long nothing must be typed before the list is loaded.
	pause = 150 * time.Millisecond
	// oldAfter is the age from which on the list says when it was loaded.
	oldAfter = 5 * time.Minute
)

// New makes a list. It loads nothing before Init.
func New[F, T any](shell *screen.Shell, kind Kind[F, T]) *List[F, T] {
	kind.Settings = cmp.Or(kind.Settings, kind.Many)
	if kind.Whole == nil {
		kind.Whole = func(c *client.Client, ctx context.Context, filter F, options client.ListOptions) Whole {
			return WholeOf(kind.Pages(c, ctx, filter, options))
		}
	}
	l := &List[F, T]{
		Kind: kind, shell: shell, loading: firstPage, preview: shell.Settings[screen.SettingPreview] != screen.Off,
		seen: map[string][]string{}, firsts: map[int64]string{}, links: map[int64]string{},
		loader:   screen.NewLoader[run[F, T]](shell),
		prefetch: screen.NewBackgroundLoader[run[F, T]](shell),
		line:     widget.NewForm(shell.Theme, widget.Field{Name: "query", Label: "Find"}),
	}
	l.recall()
	return l
}

func (l *List[F, T]) Framed() {}

func (l *List[F, T]) Init() tea.Cmd { return l.Reload() }

// isUnlisted tells whether there is no list, although a record can be opened by its id.
func (l *List[F, T]) isUnlisted() bool {
	refused, ok := errors.AsType[*client.Error](l.loader.Err)
	lacksScope := ok && refused.Code == api.CodeInsufficientScope
	return l.IDRule != nil && (client.IsUnsupported(l.loader.Err) || l.ScopeOfList && lacksScope)
}

func (l *List[F, T]) Close() {
	l.loader.Cancel()
	l.prefetch.Cancel()
	l.cancelExport()
}

func (l *List[F, T]) Resize(width, height int) {
	l.width, l.height = width, height
	l.arrange()
}

// Form returns the line while a query is typed.
func (l *List[F, T]) Form() *widget.Form {
	if l.typing {
		return l.line
	}
	return nil
}

// Watches tells whether an event changes the list.
func (l *List[F, T]) Watches(event api.Event) bool { return l.Changes != nil && l.Changes(event) }

// WatchesWhileTyping is false: a list that moves under a query that is being typed would confuse.
func (l *List[F, T]) WatchesWhileTyping() bool { return false }

// Focus says whether the list has the keyboard, which it has at first.
func (l *List[F, T]) Focus(has bool) { l.unfocused = !has }

// Failure is why the last load failed; nil if it did not, or another one has begun.
func (l *List[F, T]) Failure() error {
	if l.IsBusy() {
		return nil
	}
	return l.loader.Err
}

// Has tells whether something was loaded, if only that there is nothing, and LoadedAt when that was.
func (l *List[F, T]) Has() bool { return l.loader.Has }

func (l *List[F, T]) LoadedAt() time.Time { return l.loader.At }

// Unsaved says that an export is not finished, or that records are marked, of which nobody has done anything yet.
func (l *List[F, T]) Unsaved() string {
	switch {
	case l.isExporting():
		return fmt.Sprintf("The export to %s is not finished. Nothing of it would stay.", l.export.name())
	case len(l.marked) == 0:
		return ""
	}
	return display.Plural(len(l.marked), l.One+" is", l.Many+" are") + " marked."
}

// Current is the record under the cursor; nil if there is none, or the rows are not those that are wanted now.
func (l *List[F, T]) Current() *T {
	if !l.isWanted() {
		return nil
	}
	return l.underCursor()
}

func (l *List[F, T]) underCursor() *T {
	if at := l.table.Cursor(); at < len(l.shown) {
		return &l.shown[at]
	}
	return nil
}

// Selected returns the record under the cursor, for commands of the user's own.
func (l *List[F, T]) Selected() (kind, id string) {
	if current := l.Current(); current != nil {
		return l.One, l.ID(current)
	}
	return "", ""
}

// Shown returns the records that are loaded.
func (l *List[F, T]) Shown() []T { return l.shown }

// Choose moves the cursor to the row with a number, if it is loaded.
func (l *List[F, T]) Choose(number int) bool {
	row := number - int(l.number(0))
	if row < 0 || row >= len(l.rows) {
		return false
	}
	l.table.SetCursor(row)
	return true
}

// ChooseID moves the cursor to the record with an id, if it is among the rows.
func (l *List[F, T]) ChooseID(id string) {
	if row := slices.IndexFunc(l.shown, func(record T) bool { return l.ID(&record) == id }); row >= 0 {
		l.table.SetCursor(row)
	}
}

func (l *List[F, T]) HasRows() bool { return true }

func (l *List[F, T]) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case screen.Edited:
		return l.typed()
	case screen.Changed:
		cmd := l.Reload()
		l.ExpectNews()
		return cmd
	case screen.Reconnected:
		return l.Reload()
	case newsEnded:
		l.endNews()
		return nil
	case screen.Mouse:
		return l.mouse(msg)
	}
	if cmd, handled := l.handleExport(msg); handled {
		return cmd
	}
	next, changed := l.loader.Handle(msg)
	if changed {
		return l.handleLoaded()
	}
	prefetch, changed := l.prefetch.Handle(msg)
	if changed {
		return l.handlePrefetched()
	}
	return tea.Batch(next, prefetch)
}

// isSame tells whether two queries ask for the same rows in the same order.
func (l *List[F, T]) isSame(a, b query[F]) bool {
	return l.effective(a) == l.effective(b) &&
		api.FormatQuery(l.Fields, a.filter) == api.FormatQuery(l.Fields, b.filter)
}

// effective is the order of a query that the service has: to sort by distance needs a position, say.
func (l *List[F, T]) effective(q query[F]) api.SortKey {
	if slices.Contains(l.Orders(q.filter), q.order.Field) {
		return q.order
	}
	if q.text == "" && slices.Contains(l.Orders(q.filter), l.kept.Field) {
		return l.kept
	}
	return l.Order(q.filter)
}

// show shows the first page of a query.
func (l *List[F, T]) show(q query[F]) tea.Cmd {
	l.want = q
	l.reset()
	return l.begin(q, firstPage)
}

// showAfter shows a query after a pause, unless another one comes first. It does not load again what is shown already.
func (l *List[F, T]) showAfter(d time.Duration, q query[F]) tea.Cmd {
	if l.isSame(q, l.want) && (l.IsBusy() || l.loadEnded) {
		l.want = q
		return nil
	}
	l.cancelLoads()
	l.want = q
	if l.isUnlisted() {
		l.loadEnded = true
		return nil
	}
	if l.loader.Has && l.loader.Err == nil && l.isSame(l.loader.Value.query, q) {
		l.loadEnded = true
		return l.follow()
	}
	l.reset()
	l.since = l.shell.Now()
	return l.loader.LoadAfter(d, l.fetch(q, firstPage))
}

func (l *List[F, T]) reset() {
	l.cancelLoads()
	clear(l.firsts)
	clear(l.links)
	l.loading, l.oneWay = firstPage, false
}

func (l *List[F, T]) cancelLoads() {
	l.loader.Cancel()
	l.prefetch.Reset()
	l.awaited, l.loadEnded = false, false
}

// IsBusy tells whether the wanted page is loading.
func (l *List[F, T]) IsBusy() bool { return l.loader.Busy() || l.awaited }

// isWanted tells whether the list that is shown is the one that is wanted.
func (l *List[F, T]) isWanted() bool { return l.loader.Has && l.isSame(l.loader.Value.query, l.want) }

// ifAny calls a function of the kind, which may be nil.
func ifAny(do func() tea.Cmd) tea.Cmd {
	if do == nil {
		return nil
	}
	return do()
}

// makeRows makes the rows once, not for each frame.
func (l *List[F, T]) makeRows() {
	l.gather()
	l.rows = make([]widget.Row, len(l.shown))
	for i := range l.shown {
		record := &l.shown[i]
		l.rows[i] = widget.Row{Cells: l.Columns.Cells(record), Tones: l.Columns.Tones(record),
			Muted: l.Muted != nil && l.Muted(record), Marked: l.isMarked(l.ID(record)),
			New: slices.Contains(l.added, l.ID(record))}
	}
	l.rowsAt = l.shell.Now()
	l.table.SetRows(l.rows)
	l.factsOf = ""
	l.note()
}

// Redraw makes the rows again, because something else is known of the records.
func (l *List[F, T]) Redraw() {
	if l.loader.Has {
		if first, _ := l.table.Visible(); first == 0 {
			l.table.Refit()
		}
		l.makeRows()
		l.arrange()
	}
}

// Visible returns the records that the window has room for.
func (l *List[F, T]) Visible() []T {
	first, rows := l.table.Visible()
	return l.shown[min(first, len(l.shown)):min(first+rows, len(l.shown))]
}

// Near returns the visible records, and as many of those after them.
func (l *List[F, T]) Near() []T {
	first, rows := l.table.Visible()
	return l.shown[min(first, len(l.shown)):min(first+2*rows, len(l.shown))]
}

// DistanceKM is how far a record of the list is from the position of the query, if the service tells.
func (l *List[F, T]) DistanceKM(record *T) (km float64, known bool) {
	km, known = l.distances[l.ID(record)]
	return km, known && !math.IsNaN(km)
}

// problem says why the last load failed, and what to do next.
func (l *List[F, T]) problem() (what, next string) {
	if refused, is := errors.AsType[*client.Error](l.loader.Err); is && len(refused.Fields) > 0 {
		what = "The service refuses this: " + screen.Sentence("", refused)
		switch {
		case l.want.text == "":
			return what, ""
		case l.typing:
			return what, l.clearedBy()
		}
		return what, l.shell.Key(actions.Filter) + " changes it, " + l.clearedBy()
	}
	if what, next = l.shell.Explain(l.loader.Err); l.typing {
		next = l.shell.Key(actions.Cancel) + ", then " + next
	}
	return what, next
}

// clearedBy says how to get rid of the query, or of what is typed of it.
func (l *List[F, T]) clearedBy() string {
	if l.typing {
		return l.shell.Key(actions.Cancel) + " cancels it."
	}
	return l.shell.Key(actions.ClearFilter) + " clears it."
}

// elsewhere says what else to try, before the advice.
func (l *List[F, T]) elsewhere(advice string) string {
	if l.Elsewhere == nil {
		return advice
	}
	return widget.Joined(" ", l.Elsewhere(l.typing), advice)
}
