package list

import (
	"fmt"
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// MaxMarks is how many records a person can review before something is done with them.
const MaxMarks = 100

// Offers returns what a list can do. Those of the screen come first, while nothing is typed.
func (l *List[F, T]) Offers(own ...actions.Offer) []actions.Offer {
	if l.typing {
		mistake, _ := l.mistake()
		submit := actions.EnabledUnless(actions.Submit, mistake).WithHint("apply")
		if l.TypedID() != "" {
			submit = submit.WithHint("open " + l.One)
		}
		complete := actions.EnabledUnless(actions.NextField, "").WithHint("complete")
		if _, choices := l.completion(); len(choices) == 0 {
			complete.Why = "There is nothing to complete."
		}
		return []actions.Offer{submit, complete, actions.EnabledUnless(actions.Cancel, ""), actions.EnabledUnless(actions.PreviousField, "")}
	}
	row, marked := l.WhyNoRow(), ""
	if len(l.marked) == 0 {
		marked = "Nothing is marked."
	}
	back, next, last := l.pages().WhyNot()
	if !l.isWanted() {
		back, next, last = notLoaded, notLoaded, notLoaded
	}
	mark := row
	if current := l.Current(); mark == "" && len(l.marked) >= MaxMarks && !l.isMarked(l.ID(current)) {
		mark = fmt.Sprintf("At most %d can be marked.", MaxMarks)
	}
	sort := ""
	if len(l.Orders(l.want.filter)) < 2 {
		sort = oneOrder
	}
	reverse := ""
	if l.OneWay {
		reverse = oneOrder
	}
	open := row
	if l.TypedID() != "" {
		open = ""
	}
	offers := []actions.Offer{actions.EnabledUnless(actions.Open, open)}
	if l.Fields != nil {
		offers = append(offers, actions.EnabledUnless(actions.Filter, ""))
	}
	offers = append(offers, own...)
	if l.Fields != nil {
		offers = append(offers, actions.EnabledUnless(actions.ClearFilter, l.whyNotClear()))
	}
	if !l.NoMarks {
		offers = append(offers, actions.EnabledUnless(actions.Mark, mark), actions.EnabledUnless(actions.MarkRange, row), actions.EnabledUnless(actions.MarkAll, row), actions.EnabledUnless(actions.ClearMarks, marked))
	}
	if l.Facts != nil {
		offers = append(offers, actions.EnabledUnless(actions.Preview, l.whyNotPreview(false)), actions.EnabledUnless(actions.PreviewDown, l.whyNotPreview(true)), actions.EnabledUnless(actions.PreviewUp, l.whyNotPreview(true)))
	}
	offers = append(offers,
		actions.EnabledUnless(actions.Sort, sort), actions.EnabledUnless(actions.NextPage, next), actions.EnabledUnless(actions.CopyID, row), actions.EnabledUnless(actions.SortReverse, reverse),
		actions.EnabledUnless(actions.PreviousPage, back), actions.EnabledUnless(actions.FirstPage, back),
		actions.EnabledUnless(actions.LastPage, last), actions.EnabledUnless(actions.Columns, l.whyNoColumns()),
	)
	if l.Fields != nil {
		save := actions.EnabledUnless(actions.SaveView, l.whyNotSave()).WithHint("save view")
		if slices.Contains(l.views, l.want.text) {
			save = save.WithHint("remove view")
		}
		offers = append(offers, save, actions.EnabledUnless(actions.NextView, l.whyNoViews()), actions.EnabledUnless(actions.PreviousView, l.whyNoViews()))
	}
	return append(offers, widget.Moves()...)
}

const (
	oneOrder  = "This list has one order."
	notLoaded = "The list is not loaded yet."
)

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

// Do does what Offers has, but for opening a record, which is the screen's.
func (l *List[F, T]) Do(id actions.ID) tea.Cmd {
	switch id {
	case actions.Filter:
		return l.open()
	case actions.NextField:
		return l.complete()
	case actions.Submit:
		return l.leave(true)
	case actions.Cancel:
		return l.leave(false)
	case actions.ClearFilter:
		return l.show(query[F]{order: l.want.order})
	case actions.SaveView:
		return l.saveView()
	case actions.NextView:
		return l.showView(1)
	case actions.PreviousView:
		return l.showView(-1)
	case actions.Sort:
		return l.chooseOrder()
	case actions.SortReverse:
		return l.reverse()
	case actions.Columns:
		return l.chooseColumns(0)
	case actions.Mark:
		return l.mark()
	case actions.MarkRange:
		l.markRange()
	case actions.MarkAll:
		l.markAll(l.shown)
	case actions.ClearMarks:
		l.SetMarked(nil)
	case actions.Preview:
		l.preview = !l.preview
		l.arrange()
		return l.shell.Keep(screen.SettingPreview, screen.Switch(l.preview))
	case actions.PreviewDown:
		l.scrollPreview(1)
	case actions.PreviewUp:
		l.scrollPreview(-1)
	case actions.CopyID:
		if current := l.Current(); current != nil {
			return l.shell.Copy(l.ID(current), "")
		}
	default:
		return l.move(id)
	}
	return nil
}

func (l *List[F, T]) move(id actions.ID) tea.Cmd {
	cmd, _ := l.pages().Do(id)
	return cmd
}

// Marked returns the marked records, in the order in which they were marked.
func (l *List[F, T]) Marked() []T { return l.marked }

func (l *List[F, T]) isMarked(id string) bool {
	return slices.ContainsFunc(l.marked, func(record T) bool { return l.ID(&record) == id })
}

// SetMarked replaces the marks.
func (l *List[F, T]) SetMarked(records []T) {
	l.marked = records
	for i := range l.rows {
		l.rows[i].Marked = l.isMarked(l.ID(&l.shown[i]))
	}
	l.table.SetRows(l.rows)
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
func (l *List[F, T]) markRange() {
	from := slices.IndexFunc(l.shown, func(record T) bool { return l.ID(&record) == l.lastMark })
	to := l.table.Cursor()
	if from < 0 {
		from = to
	}
	l.markAll(l.shown[min(from, to) : max(from, to)+1])
}

func (l *List[F, T]) markAll(records []T) {
	marked := slices.Clone(l.marked)
	for _, record := range records {
		if !l.isMarked(l.ID(&record)) && len(marked) < MaxMarks {
			marked = append(marked, record)
		}
	}
	l.SetMarked(marked)
}

// Summary counts the marks: "3 marked, 1 not on this page"; "" without marks.
func (l *List[F, T]) Summary() string {
	hidden := 0
	for i := range l.marked {
		if !slices.ContainsFunc(l.shown, func(record T) bool { return l.ID(&record) == l.ID(&l.marked[i]) }) {
			hidden++
		}
	}
	return screen.MarkSummary(len(l.marked), hidden)
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
func (l *List[F, T]) scrollPreview(by int) {
	for range max(1, l.facts.Height()/2) {
		l.facts.Do(map[int]actions.ID{1: actions.Down, -1: actions.Up}[by])
	}
}

// mouse moves the cursor or scrolls the preview with the wheel. A click selects a row, and opens the selected one; on the name of a
// column it sorts by that.
func (l *List[F, T]) mouse(msg tea.MouseMsg) tea.Cmd {
	if msg.Action != tea.MouseActionPress {
		return nil
	}
	corner := widget.Corner(l.tableSize[0], l.tableSize[1])
	line := msg.Y - l.top - corner
	switch atPreview := l.showsPreview() && msg.X >= l.tableSize[0]; {
	case msg.Button == tea.MouseButtonLeft && msg.Y == 0 && l.showsViews():
		return l.clickView(msg.X)
	case msg.Button == tea.MouseButtonLeft && msg.Y < l.top && !l.typing:
		return l.open()
	case msg.Button == tea.MouseButtonLeft && atPreview:
	case msg.Button == tea.MouseButtonLeft && line == 0:
		if at, ok := l.table.ColumnAt(msg.X - corner); ok && l.Columns[at].Sort != "" && !l.typing {
			return l.sortByColumn(l.Columns[at].Sort)
		}
	case msg.Button == tea.MouseButtonLeft:
		row, ok := l.table.RowAt(line)
		if ok && row == l.table.Cursor() && !l.typing {
			return l.shell.Post(screen.Perform{ID: actions.Open})
		}
		if ok {
			l.table.SetCursor(row)
		}
	case atPreview && msg.Button == tea.MouseButtonWheelUp:
		l.facts.Do(actions.Up)
	case atPreview && msg.Button == tea.MouseButtonWheelDown:
		l.facts.Do(actions.Down)
	case msg.Button == tea.MouseButtonWheelUp && msg.Ctrl: // by a line, as a scrollbar needs it
		return l.move(actions.Up)
	case msg.Button == tea.MouseButtonWheelDown && msg.Ctrl:
		return l.move(actions.Down)
	case msg.Button == tea.MouseButtonWheelUp:
		return screen.ScrollWheel(l.move, actions.Up)
	case msg.Button == tea.MouseButtonWheelDown:
		return screen.ScrollWheel(l.move, actions.Down)
	}
	return nil
}

// sortByColumn sorts by a field, and the second time in reverse.
func (l *List[F, T]) sortByColumn(field string) tea.Cmd {
	switch {
	case l.effective(l.want).Field == field:
		return l.reverse()
	case slices.Contains(l.Orders(l.want.filter), field):
		return l.sortBy(screen.FirstOrder(field))
	}
	return nil
}
