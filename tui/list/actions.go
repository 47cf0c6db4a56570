package list

import (
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// MaxMarks is how many records a person can review before something is done with them.
const MaxMarks = 100

// Offers returns what a list can do. Those of the screen come first, while nothing is typed.
func (l *List[F, T]) Offers(own ...actions.Offer) []actions.Offer {
	if l.typing {
		return l.typingOffers()
	}
	const oneOrder = "This list has one order."
	row := l.WhyNoRow()
	mark := row
	if current := l.Current(); mark == "" && len(l.marked) >= MaxMarks && !l.isMarked(l.ID(current)) {
		mark = fmt.Sprintf("At most %d can be marked.", MaxMarks)
	}
	offers := []actions.Offer{{ID: actions.Open, Why: actions.WhyIf(l.TypedID() == "", row), Do: l.openRow}}
	if l.Fields != nil {
		offers = append(offers, actions.Offer{ID: actions.Filter, Do: l.Type})
	}
	offers = append(offers, own...)
	if l.Fields != nil {
		none := actions.WhyIf(l.want.text == "", "There is no filter.")
		offers = append(offers, actions.Offer{ID: actions.ClearFilter, Why: none, Do: l.clearFilter})
	}
	if !l.NoMarks {
		none := actions.WhyIf(len(l.marked) == 0, "Nothing is marked.")
		offers = append(offers, []actions.Offer{
			{ID: actions.Mark, Why: mark, Do: l.mark},
			{ID: actions.MarkRange, Why: row, Do: l.markRange},
			{ID: actions.MarkAll, Why: row, Do: l.markAll},
			{ID: actions.ClearMarks, Why: none, Do: func() tea.Cmd { return l.SetMarked(nil) }},
		}...)
	}
	if l.Facts != nil {
		offers = append(offers, []actions.Offer{
			{ID: actions.Preview, Why: l.whyNotPreview(false), Do: l.switchPreview},
			{ID: actions.PreviewDown, Why: l.whyNotPreview(true),
				Do: func() tea.Cmd { return l.scrollPreview(actions.Down) }},
			{ID: actions.PreviewUp, Why: l.whyNotPreview(true),
				Do: func() tea.Cmd { return l.scrollPreview(actions.Up) }},
		}...)
	}
	offers = append(offers, []actions.Offer{
		{ID: actions.Sort, Why: actions.WhyIf(len(l.Orders(l.want.filter)) < 2, oneOrder), Do: l.chooseOrder},
		{ID: actions.CopyID, Why: row, Do: l.copyID},
		{ID: actions.SortReverse, Why: actions.WhyIf(l.OneWay, oneOrder), Do: l.reverse},
		{ID: actions.Columns, Why: actions.WhyIf(len(l.all) < 2, "This list has one column."),
			Do: func() tea.Cmd { return l.chooseColumns(0) }},
	}...)
	offers = append(offers, l.offerExport(row)...)
	if l.Fields != nil {
		offers = append(offers, l.viewOffers()...)
	}
	return append(offers, widget.Moves(l.move)...)
}

// typingOffers returns what can be done while a query is typed.
func (l *List[F, T]) typingOffers() []actions.Offer {
	mistake, _ := l.mistake()
	_, choices := l.completion()
	submit := "apply"
	if l.TypedID() != "" {
		submit = "open " + l.One
	}
	return []actions.Offer{
		{ID: actions.Submit, Why: mistake, Hint: submit, Do: l.submit},
		{ID: actions.NextField, Why: actions.WhyIf(len(choices) == 0, "There is nothing to complete."),
			Hint: "complete", Do: l.complete},
		{ID: actions.Cancel, Do: func() tea.Cmd { return l.leave(false) }},
		{ID: actions.PreviousField},
	}
}

const notLoaded = "The list is not loaded yet."

// WhyNoRow says why there is no record under the cursor; "" if there is one.
func (l *List[F, T]) WhyNoRow() string {
	switch {
	case !l.isWanted():
		return notLoaded
	case l.Current() == nil:
		return "There is no " + l.One + " here."
	}
	return ""
}

// openRow opens the record whose id was typed, or else the one under the cursor.
func (l *List[F, T]) openRow() tea.Cmd {
	if id := l.TypedID(); id != "" {
		return l.Open(id, nil)
	}
	if current := l.Current(); current != nil {
		return l.Open(l.ID(current), current)
	}
	return nil
}

// submit applies the query that is typed, and may open a record.
func (l *List[F, T]) submit() tea.Cmd {
	text := strings.TrimSpace(l.text())
	cmd := l.leave(true)
	if l.Entered != nil {
		return tea.Batch(cmd, l.Entered(text))
	}
	if id := l.TypedID(); id != "" {
		cmd = tea.Batch(cmd, l.Open(id, nil))
	}
	return cmd
}

func (l *List[F, T]) clearFilter() tea.Cmd { return l.show(query[F]{order: l.want.order}) }

func (l *List[F, T]) copyID() tea.Cmd { return l.shell.Copy(l.ID(l.Current()), "") }

func (l *List[F, T]) switchPreview() tea.Cmd {
	l.preview = !l.preview
	l.arrange()
	return l.shell.Keep(screen.SettingPreview, screen.Switch(l.preview))
}

// Marked returns the marked records, in the order in which they were marked.
func (l *List[F, T]) Marked() []T { return l.marked }

func (l *List[F, T]) isMarked(id string) bool {
	return slices.ContainsFunc(l.marked, func(record T) bool { return l.ID(&record) == id })
}

// SetMarked replaces the marks.
func (l *List[F, T]) SetMarked(records []T) tea.Cmd {
	l.marked = records
	for i := range l.rows {
		l.rows[i].Marked = l.isMarked(l.ID(&l.shown[i]))
	}
	l.table.SetRows(l.rows)
	return nil
}

// Unmark clears the mark of a record.
func (l *List[F, T]) Unmark(id string) {
	l.SetMarked(slices.DeleteFunc(slices.Clone(l.marked), func(record T) bool { return l.ID(&record) == id }))
}

// mark marks the record under the cursor, or clears its mark, and goes on to the next.
func (l *List[F, T]) mark() tea.Cmd {
	current := l.Current()
	if current == nil {
		return nil
	}
	if l.lastMark = l.ID(current); l.isMarked(l.lastMark) {
		l.Unmark(l.lastMark)
	} else {
		l.SetMarked(append(slices.Clone(l.marked), *current))
	}
	return l.move(actions.Down)
}

// markRange marks what is between the last mark and the cursor.
func (l *List[F, T]) markRange() tea.Cmd {
	from := slices.IndexFunc(l.shown, func(record T) bool { return l.ID(&record) == l.lastMark })
	to := l.table.Cursor()
	if from < 0 {
		from = to
	}
	return l.markThese(l.shown[min(from, to) : max(from, to)+1])
}

// markAll marks what is loaded, the visible rows first, and says so if that is not the whole list.
func (l *List[F, T]) markAll() tea.Cmd {
	first, _ := l.table.Visible()
	first = min(first, len(l.shown))
	cmd := l.markThese(slices.Concat(l.shown[first:], l.shown[:first]))
	if len(l.marked) < l.length() {
		cmd = tea.Batch(cmd, screen.Tell(screen.Note, "%d of %s are marked: at most %d, and only rows that are loaded.",
			len(l.marked), total(l.loader.Value.meta()), MaxMarks))
	}
	return cmd
}

func (l *List[F, T]) markThese(records []T) tea.Cmd {
	marked := slices.Clone(l.marked)
	for _, record := range records {
		if !l.isMarked(l.ID(&record)) && len(marked) < MaxMarks {
			marked = append(marked, record)
		}
	}
	return l.SetMarked(marked)
}

// Summary counts the marks: "3 marked, 1 not among these rows"; "" without marks.
func (l *List[F, T]) Summary() string {
	marked, hidden := len(l.marked), l.hidden()
	text := display.Count(marked) + " marked"
	switch {
	case marked == 0:
		return ""
	case hidden == 0:
		return text
	case hidden == marked:
		return text + ", not among these rows"
	}
	return text + ", " + display.Count(hidden) + " not among these rows"
}

// hidden counts the marks that are not on rows that are loaded.
func (l *List[F, T]) hidden() (hidden int) {
	for i := range l.marked {
		if !slices.ContainsFunc(l.shown, func(record T) bool { return l.ID(&record) == l.ID(&l.marked[i]) }) {
			hidden++
		}
	}
	return hidden
}

// whyNotPreview says why the preview cannot be shown, or scrolled; "" if it can.
func (l *List[F, T]) whyNotPreview(scroll bool) string {
	switch {
	case l.width < previewFrom:
		return fmt.Sprintf("The window is too narrow: %d columns needed.", previewFrom)
	case scroll && !l.preview:
		return l.shell.Key(actions.Preview) + " shows the preview."
	case scroll:
		return l.WhyNoRow()
	}
	return ""
}

// scrollPreview scrolls half of what is visible, so that nothing is missed.
func (l *List[F, T]) scrollPreview(id actions.ID) tea.Cmd {
	for range max(1, l.facts.Bar().Shown/2) {
		l.facts.Do(id)
	}
	return nil
}

// mouse moves the cursor or scrolls the preview with the wheel. A click selects a row, and opens the selected one; on
// the name of a column it sorts by that.
func (l *List[F, T]) mouse(msg screen.Mouse) tea.Cmd {
	corner := widget.Corner(l.tableSize[0], l.tableSize[1])
	line := msg.Y - l.top - corner
	switch atPreview := l.showsPreview() && msg.X >= l.tableSize[0]; {
	case msg.Wheel != "" && atPreview:
		l.facts.Do(msg.Wheel)
	case msg.OnBar:
		_, height := widget.Inner(l.tableSize[0], l.tableSize[1])
		return l.scrollTo(l.bar().At(line, height))
	case msg.Wheel != "" && msg.ByLine:
		return l.move(msg.Wheel)
	case msg.Wheel != "":
		return screen.ScrollWheel(l.move, msg.Wheel)
	case msg.Y == 0 && l.showsViews():
		return l.clickView(msg.X)
	case msg.Y < l.top && !l.typing:
		return l.Type()
	case atPreview:
	case line == 0:
		if at, ok := l.table.ColumnAt(msg.X - corner); ok && l.Columns[at].Sort != "" && !l.typing {
			return l.sortByColumn(l.Columns[at].Sort)
		}
	default:
		row, ok := l.table.RowAt(line)
		if ok && row == l.table.Cursor() && !l.typing {
			return l.shell.Post(screen.Perform{ID: actions.Open})
		}
		if ok {
			l.table.SetCursor(row)
		}
	}
	return nil
}
