// Package perks has two screens: the list of perks, which filters while the user types, and one perk.
package perks

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// List is the screen of the list.
type List struct {
	shell         *screen.Shell
	width, height int

	form   *widget.Form
	typing bool // the form is open

	want         query // what the list should show: the form, unless it is not valid
	page         int64 // the page that it should show
	landing      screen.Landing
	list         *screen.Loader[loadedPage]
	prefetch     *screen.Loader[loadedPage] // loads the next page
	prefetchPage int64                      // the page that prefetch loads
	awaited      bool                       // that page is shown as soon as it is loaded
	loadEnded    bool                       // what is wanted was loaded, or that failed
	known        map[int64]cachedPage       // cached pages of the wanted list

	table      *widget.Table
	columns    screen.Columns[*api.Perk]
	shown      []api.Perk // the perks in the rows
	rows       []widget.Row
	rowsAt     time.Time // when the rows were built: they say how many days are left
	tableTop   int       // the line on which the table begins
	tableWidth int
	titleMin   int

	marks screen.Marks

	categories     *screen.Loader[[]api.Category]
	categoriesWait bool // choose a category as soon as they are loaded

	preview    bool   // shown if the window is wide enough
	previewOf  string // the perk in the preview
	previewTop int    // its first visible line
}

func NewList(shell *screen.Shell) *List {
	s := &List{
		shell:      shell,
		want:       query{order: screen.DefaultOrder()},
		page:       1,
		list:       screen.NewLoader[loadedPage](shell),
		prefetch:   screen.NewLoader[loadedPage](shell),
		known:      map[int64]cachedPage{},
		categories: screen.NewLoader[[]api.Category](shell),
		preview:    true,
		titleMin:   normalTitle,
	}
	s.columns = s.columnsFor(normalTitle)
	s.table = widget.NewTable(shell.Theme, s.columns.Drawn()...)
	s.form = s.newForm()
	return s
}

func (s *List) Title() string { return "Perks" }

func (s *List) Init() tea.Cmd { return s.reload() }

func (s *List) Close() {
	s.list.Cancel()
	s.prefetch.Cancel()
	s.categories.Cancel()
}

func (s *List) Resize(width, height int) {
	s.width, s.height = width, height
	s.layout()
}

func (s *List) Form() *widget.Form {
	if s.typing {
		return s.form
	}
	return nil
}

// Unsaved ignores marks: they are quickly made again.
func (s *List) Unsaved() string { return "" }

func (s *List) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case screen.Edited:
		return s.applyFilter()
	case screen.Reconnected:
		return s.reconnect()
	case screen.Redeemed:
		s.setMarks(s.marks.Without(msg.PerkID))
		return nil
	case tea.MouseMsg:
		return s.mouse(msg)
	}
	next, changed := s.list.Handle(msg)
	if changed {
		return s.handleLoaded()
	}
	prefetch, changed := s.prefetch.Handle(msg)
	if changed {
		return s.handlePrefetched()
	}
	categories, changed := s.categories.Handle(msg)
	if changed {
		return s.handleCategories()
	}
	return tea.Batch(next, prefetch, categories)
}

func (s *List) reconnect() tea.Cmd {
	if s.categoriesWait = false; s.categories.Err != nil {
		s.categories.Reset()
	}
	return s.reload()
}

// oldAfter is the age from which on the list says when it was loaded.
const oldAfter = 5 * time.Minute

// noRows says why there are no rows; none is false if there are some.
func (s *List) noRows() (title, advice string, kind widget.NoticeKind, none bool) {
	switch {
	case len(s.shown) > 0:
		return "", "", widget.Empty, false
	case s.isBusy():
		return "Loading perks ...", "", widget.Loading, true
	case s.list.Err != nil:
		problem, advice := s.failure()
		return problem, advice, widget.Failure, true
	case !s.list.Has:
		return "Nothing was loaded.", s.shell.Key(actions.Refresh) + " loads the list.", widget.Empty, true
	case s.want.isFiltered():
		advice := s.clearedBy()
		if id := s.typedID(); id != "" {
			key := s.shell.Key(actions.Open)
			if s.typing {
				key = actions.Spell("enter")
			}
			advice = fmt.Sprintf("%s opens the perk with the id %q. ", key, id) + advice
		}
		return "No perk matches the filter: " + s.want.filter() + ".", advice, widget.Empty, true
	}
	return "There are no perks yet.", "", widget.Empty, true
}

// typedID is the words of the filter if no perk matches and they can be an id, which the search ignores; "" otherwise.
func (s *List) typedID() string {
	if len(s.shown) > 0 || !s.loadEnded || s.list.Err != nil {
		return ""
	}
	return s.want.asID()
}

// failure says why the last load failed, and what to do next.
func (s *List) failure() (problem, advice string) {
	if fields := s.refused(); len(fields) > 0 {
		return "The service refuses the filter: " + s.refusal(fields) + ".", s.shell.Key(actions.Filter) + " changes it, " + s.clearedBy()
	}
	return s.shell.Explain(s.list.Err)
}

// refused is the errors of the service for the last query, by the names of the fields in the form.
func (s *List) refused() api.FieldErrors {
	var refused *client.Error
	if !errors.As(s.list.Err, &refused) {
		return nil
	}
	return inForm(refused.Fields)
}

// saysRefusal tells whether the open form shows all errors of the service.
func (s *List) saysRefusal() bool {
	fields := s.refused()
	for name := range fields {
		if s.form.Field(name).Name == "" {
			return false
		}
	}
	return s.typing && len(fields) > 0
}

func (s *List) refusal(fields api.FieldErrors) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		label := s.form.Field(name).Label
		if label == "" {
			label = name
		}
		parts = append(parts, display.Line(label+" "+strings.Join(fields[name], ", ")))
	}
	return strings.Join(parts, "; ")
}

// problem says above old rows why there are no newer ones.
func (s *List) problem() string {
	if s.isBusy() || s.list.Err == nil || s.saysRefusal() {
		return ""
	}
	problem, advice := s.failure()
	if problem += " " + s.shell.Age(s.list.At); s.typing {
		return problem
	}
	return problem + " " + advice
}

// position says which row and page is shown, in a narrow window in figures only.
func (s *List) position(width int) string {
	meta := s.list.Value.page.Meta
	row := display.Count((meta.Page-1)*int64(meta.PerPage) + int64(s.table.Cursor()) + 1)
	total, page, pages := display.Count(meta.Total), display.Count(meta.Page), display.Count(meta.TotalPages)
	marks, age := s.marks.Summary(s.shown), ""
	if old := s.shell.Now().Sub(s.list.At); s.list.Has && old >= oldAfter {
		age = "loaded " + display.Age(old)
	}
	if len(s.shown) == 0 {
		return display.Cut(joined(" - ", s.activity(), marks), width)
	}
	long := joined(" - ", s.activity(), fmt.Sprintf("row %s of %s, page %s of %s", row, total, page, pages), marks, age)
	if display.Width(long) <= width {
		return long
	}
	if marks != "" {
		marks = fmt.Sprintf("%d*", len(s.marks))
	}
	return display.Cut(joined(" ", s.activity(), fmt.Sprintf("%s/%s p%s/%s", row, total, page, pages), marks, strings.TrimPrefix(age, "loaded ")), width)
}

// activity says why the rows are not those of the filter.
func (s *List) activity() string {
	if s.isBusy() && len(s.shown) > 0 {
		return "loading ..."
	}
	if _, wrong := s.read(); s.typing && len(wrong) > 0 {
		return "filter incomplete"
	}
	if s.list.Err != nil && s.saysRefusal() {
		return "filter refused"
	}
	if s.categoriesWait {
		return "loading the categories ..."
	}
	return ""
}

func joined(between string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), between)
}

func (s *List) AccessibleText() string {
	lines := []string{s.want.summary() + "."}
	if s.typing {
		lines = append(lines, "The filter is open. Field "+s.form.Field(s.form.Focus()).Label+" has the focus.", s.form.AccessibleText())
	}
	if problem := s.problem(); problem != "" && len(s.shown) > 0 {
		lines = append(lines, "Problem: "+problem)
	}
	if title, advice, kind, none := s.noRows(); none {
		lines = append(lines, widget.AccessibleNotice(kind, title, advice))
	}
	for i := range s.rows {
		lines = append(lines, s.linearRow(i))
	}
	if position := s.position(1000); position != "" {
		lines = append(lines, position+".")
	}
	return strings.Join(lines, "\n")
}

// linearRow is a row with the name of each column.
func (s *List) linearRow(i int) string {
	var line strings.Builder
	fmt.Fprintf(&line, "%d. %s.", i+1, s.rows[i].Cells[0])
	for c, column := range s.columns {
		if cell := s.rows[i].Cells[c]; c > 0 && cell != "" {
			fmt.Fprintf(&line, " %s: %s.", column.Name, cell)
		}
	}
	if s.rows[i].Marked {
		line.WriteString(" Marked.")
	}
	if i == s.table.Cursor() {
		line.WriteString(" Chosen.")
	}
	return line.String()
}

func (s *List) Choose(row int) bool {
	if row < 1 || row > len(s.rows) {
		return false
	}
	s.table.SetCursor(row - 1)
	return true
}

// mouse moves the cursor or scrolls the preview with the wheel. A click selects a row; a click on the selected row opens it.
func (s *List) mouse(msg tea.MouseMsg) tea.Cmd {
	if msg.Action != tea.MouseActionPress {
		return nil
	}
	atPreview := s.showsPreview() && msg.X >= s.tableWidth
	switch {
	case msg.Button == tea.MouseButtonLeft:
		row, ok := s.table.RowAt(msg.Y - s.tableTop)
		if !ok || msg.X >= s.tableWidth {
			return nil
		}
		if row == s.table.Cursor() && !s.typing {
			return s.open()
		}
		s.table.SetCursor(row)
	case atPreview && msg.Button == tea.MouseButtonWheelUp:
		s.scrollPreview(-1)
	case atPreview && msg.Button == tea.MouseButtonWheelDown:
		s.scrollPreview(1)
	case msg.Button == tea.MouseButtonWheelUp:
		return screen.ScrollWheel(s.move, actions.Up)
	case msg.Button == tea.MouseButtonWheelDown:
		return screen.ScrollWheel(s.move, actions.Down)
	}
	return nil
}
