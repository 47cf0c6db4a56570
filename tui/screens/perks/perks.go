// Package perks is the list of perks: filtered while one types, sorted, page by page, with marks for what is to be redeemed.
//
// It knows no other screen. What the service can filter and sort by it has from the contract in api.
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

	want         query // what the list is to show: of the form, unless that holds something wrong
	page         int64 // likewise
	landing      screen.Landing
	list         *screen.Loader[loadedPage]
	prefetch     *screen.Loader[loadedPage] // loads the page behind the one that is shown
	prefetchPage int64                      // the page that ahead loads
	awaited      bool                       // that page is the one to show, as soon as it comes
	loadEnded    bool                       // what is wanted was loaded, or could not be
	known        map[int64]cachedPage       // pages of the same list that were loaded before

	table      *widget.Table
	columns    screen.Columns[*api.Perk] // its own
	shown      []api.Perk                // what the rows show
	rows       []widget.Row
	rowsAt     time.Time // when the rows were put into words, which hold how many days are left
	tableTop   int       // the line of the view that the table begins at
	tableWidth int
	titleMin   int

	marks screen.Marks

	categories     *screen.Loader[[]api.Category]
	categoriesWait bool // they are to be chosen from as soon as they come

	preview    bool   // shown where there is room
	previewOf  string // the perk that it shows
	previewTop int    // the first line of it that is seen
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

// Unsaved says nothing: marks are soon made again, and asking about them at each end would be a nuisance.
func (s *List) Unsaved() string { return "" }

func (s *List) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case screen.Edited:
		return s.applyFilter()
	case screen.Reconnected:
		return s.reconnect(msg)
	case screen.Redeemed:
		s.setMarks(s.marks.Without(msg.PerkID))
		return nil
	case tea.MouseMsg:
		return s.mouse(msg)
	}
	next, changed := s.list.Take(msg)
	if changed {
		return s.handleLoaded()
	}
	prefetch, changed := s.prefetch.Take(msg)
	if changed {
		return s.handlePrefetched()
	}
	categories, changed := s.categories.Take(msg)
	if changed {
		return s.handleCategories()
	}
	return tea.Batch(next, prefetch, categories)
}

func (s *List) reconnect(msg screen.Reconnected) tea.Cmd {
	if msg.Other {
		s.list.Reset()
		s.categories.Reset()
		s.marks, s.page = nil, 1
		s.show()
	}
	if s.categoriesWait = false; s.categories.Err != nil {
		s.categories.Reset()
	}
	return s.reload()
}

var (
	_ screen.Screen  = (*List)(nil)
	_ screen.Chooser = (*List)(nil)
)

// oldAfter is the age from which on the list says how old it is.
const oldAfter = 5 * time.Minute

// noRows says why there are no rows, if there are none.
func (s *List) noRows() (title, advice string, mood widget.Mood, none bool) {
	switch {
	case len(s.shown) > 0:
		return "", "", widget.Empty, false
	case s.isBusy():
		return "Loading perks ...", "", widget.Loading, true
	case s.list.Err != nil:
		problem, advice := s.failure("The perks could not be loaded.")
		return problem, advice, widget.Failure, true
	case !s.list.Has:
		return "Nothing was loaded.", s.shell.Key(actions.Refresh) + " loads the list.", widget.Empty, true
	case s.want.isFiltered():
		advice := s.clearedBy()
		if id := s.typedID(); id != "" {
			key := s.shell.Key(actions.Open)
			if s.typing {
				key = actions.Spell("enter") // in the filter, the one that leads to the list
			}
			advice = fmt.Sprintf("%s opens the perk with the id %q. ", key, id) + advice
		}
		return "No perk fits the filter: " + s.want.filter() + ".", advice, widget.Empty, true
	}
	return "There are no perks yet.", "", widget.Empty, true
}

// typedID is the words of the filter if they match no perk but can be the id of one: the search does not look at ids.
func (s *List) typedID() string {
	if len(s.shown) > 0 || !s.loadEnded || s.list.Err != nil {
		return ""
	}
	return s.want.asID()
}

// failure says what went wrong with the last load, after a few words on what that was, and what to do.
func (s *List) failure(what string) (problem, advice string) {
	var missing *screen.NotLoggedIn
	if errors.As(s.list.Err, &missing) {
		return display.Line(missing.Message), s.shell.Key(actions.Login) + " logs in."
	}
	if fields := s.refused(); len(fields) > 0 {
		return "The service refuses the filter: " + s.refusal(fields) + ".", s.shell.Key(actions.Filter) + " changes it, " + s.clearedBy()
	}
	return what + " " + screen.Sentence("", s.list.Err), s.shell.Key(actions.Refresh) + " tries again."
}

// refused is what the service said of the fields of the last query, by their names in the form.
func (s *List) refused() api.FieldErrors {
	var refused *client.Error
	if !errors.As(s.list.Err, &refused) {
		return nil
	}
	return inForm(refused.Fields)
}

// saysRefusal tells whether the open form shows why the service does not take the filter.
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

// problem says what is wrong while older rows are shown.
func (s *List) problem() string {
	if s.isBusy() || s.list.Err == nil || s.saysRefusal() {
		return ""
	}
	problem, advice := s.failure("Not loaded.")
	if s.typing {
		advice = ""
	}
	age := "These rows were loaded " + display.Age(s.shell.Now().Sub(s.list.At)) + "."
	return strings.TrimSpace(problem + " " + age + " " + advice)
}

// position says where one is: in words where there is room, and otherwise in figures.
func (s *List) position(width int) string {
	meta := s.list.Value.page.Meta
	row := display.Count((meta.Page-1)*int64(meta.PerPage) + int64(s.table.Cursor()) + 1)
	total, page, pages := display.Count(meta.Total), display.Count(meta.Page), display.Count(meta.TotalPages)
	marks, age := s.marks.Say(s.shown), ""
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

// activity says why the rows are not what the filter asks for.
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

func (s *List) Linear() string {
	lines := []string{s.want.summary() + "."}
	if s.typing {
		lines = append(lines, "The filter is being typed. Field "+s.form.Field(s.form.Focus()).Label+" has the keyboard.", s.form.Linear())
	}
	if problem := s.problem(); problem != "" && len(s.shown) > 0 {
		lines = append(lines, "Problem: "+problem)
	}
	if title, advice, mood, none := s.noRows(); none {
		lines = append(lines, widget.LinearNotice(mood, title, advice))
	}
	for i := range s.rows {
		lines = append(lines, s.linearRow(i))
	}
	if position := s.position(1000); position != "" {
		lines = append(lines, position+".")
	}
	return strings.Join(lines, "\n")
}

// linearRow says one row: what it is, and each cell by the name of its column.
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

// Choose puts the cursor on a row of the page, counted from 1.
func (s *List) Choose(row int) bool {
	if row < 1 || row > len(s.rows) {
		return false
	}
	s.table.SetCursor(row - 1)
	return true
}

// mouse takes the mouse: the wheel moves the cursor, or scrolls the preview where it points at that. A click puts the cursor on a
// row, and opens the row that has it already.
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
		return screen.Roll(s.move, actions.Up)
	case msg.Button == tea.MouseButtonWheelDown:
		return screen.Roll(s.move, actions.Down)
	}
	return nil
}
