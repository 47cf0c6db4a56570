package list

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

const (
	leastTable   = 90 // beside a preview: it has all columns that fit a narrow window, and one more
	leastPreview = 30
	// previewFrom is the least width with a preview.
	previewFrom = leastTable + leastPreview
	goodPreview = 46 // beside long cells
	// heightForLine is the least height with the line of the query while nothing is typed.
	heightForLine = 4
)

func (l *List[F, T]) showsPreview() bool {
	return l.preview && l.width >= previewFrom && len(l.shown) > 0 && l.Facts != nil
}

// arrange lays out the parts, before each frame.
func (l *List[F, T]) arrange() (above, below []string) {
	above, below = l.above(), l.below()
	if l.showsViews() {
		_, names, current := l.tabs()
		above = append([]string{" " + widget.Tabs(l.shell.Theme, l.width-1, names, current)}, above...)
	}
	l.top = len(above)
	height := max(0, l.height-len(above))
	width := l.width
	if l.showsPreview() {
		// three fifths of the width, or more if cells would be cut
		width = max(leastTable, l.width*3/5, min(l.table.Natural()+2, l.width-goodPreview))
		width = min(width, l.width-leastPreview)
	}
	l.tableSize = [2]int{width, height}
	innerWidth, innerHeight := widget.Inner(width, height)
	order := l.effective(l.loader.Value.query)
	l.table.Sort(l.Columns.Sorted(order.Field), order.Desc)
	l.table.Highlight(l.words())
	l.table.Resize(innerWidth, max(0, innerHeight-len(below)))
	return above, below
}

func (l *List[F, T]) View() string {
	if l.loader.Has && l.shell.Now().Sub(l.rowsAt) >= time.Minute {
		l.makeRows() // they hold how many days are left
	}
	above, below := l.arrange()
	width, height := l.tableSize[0], l.tableSize[1]
	if height <= 0 {
		return strings.Join(above, "\n")
	}
	look := l.shell.Theme
	innerWidth, innerHeight := widget.Inner(width, height)
	var inside string
	spinner := ""
	if l.IsBusy() {
		spinner = widget.Spinner(l.shell.Now().Sub(l.since))
	}
	l.table.SetTheme(look)
	l.table.Rest(l.unfocused)
	switch kind, title, advice, none := l.noRows(); {
	case none && kind == widget.Loading && innerHeight > 2:
		inside = l.table.Skeleton(widget.Joined(" ", spinner, title))
	case none:
		inside = widget.Notice(look, kind, title, advice, innerWidth, innerHeight-len(below))
	default:
		inside = l.dimmed(l.table.View())
	}
	if len(below) > 0 {
		inside = display.Crop(inside, innerWidth, innerHeight-len(below)) + "\n" + strings.Join(below, "\n")
	}
	panel := widget.Panel{
		Title: l.Heading(), Note: orderMark(l.effective(l.want)), Foot: l.position(width - 6),
		Focused: !l.unfocused, Bar: l.bar(),
	}
	if len(l.shown) > 0 && spinner != "" {
		panel.Foot = spinner + " " + l.position(width-8)
	}
	view := panel.View(look, inside, width, height)
	if l.showsPreview() {
		view = widget.Beside(view, width, l.previewPanel(l.width-width, height))
	}
	return strings.Join(append(above, view), "\n")
}

// length is how many rows the list has, as far as that is known.
func (l *List[F, T]) length() int {
	shown := l.loader.Value
	if shown.meta().MoreThan > 0 && shown.further() != 0 {
		return int(l.walked()) + PerPage
	}
	return max(int(l.walked()), int(shown.meta().Total))
}

// rowsBefore is how many rows the list has before one, as far as that is known.
func (l *List[F, T]) rowsBefore(row int) int {
	number := int(l.number(row))
	if number < 0 {
		return l.length() + number
	}
	return number - 1
}

// bar is which part of the list is shown, or will be as soon as it is loaded.
func (l *List[F, T]) bar() widget.Bar {
	first, rows := l.table.Visible()
	bar := widget.Bar{First: l.rowsBefore(first), Shown: rows, All: l.length(), Above: 1}
	if l.loading.landing == onRow && l.IsBusy() {
		if bar.First = l.loading.row; bar.First < 0 {
			bar.First += bar.All
		}
	}
	return bar
}

// Heading is what the list has: "Perks 18,040".
func (l *List[F, T]) Heading() string {
	name := display.Capital(l.Many)
	if l.Called != nil {
		name = l.Called(l.want.filter)
	}
	if l.isWanted() {
		name += " " + total(l.loader.Value.meta())
	}
	return name
}

// total is how many records a list has: "18,040", or "200+" if no more are counted.
func total(meta api.PageMeta) string {
	if meta.MoreThan > 0 {
		return display.Count(meta.MoreThan) + "+"
	}
	return display.Count(meta.Total)
}

// above is the line with the query, and while it is typed a line with completions or what is wrong with it.
func (l *List[F, T]) above() []string {
	look := l.shell.Theme
	if l.typing {
		l.line.SetTheme(look)
		lines := []string{look.Accent.Render(" / ") + l.line.Input("query", max(1, l.width-4))}
		mistake, isIncomplete := l.mistake()
		_, choices := l.completion()
		switch {
		case l.height < heightForLine:
		case mistake != "" && !isIncomplete:
			lines = append(lines, "   "+look.Bad.Render(display.Cut("! "+mistake, l.width-4)))
		case len(choices) > 0:
			key := actions.Spell("tab") + " "
			lines = append(lines, "   "+look.Key.Render(key)+look.Muted.Render(display.Cut(strings.Join(choices, "  "),
				l.width-4-len(key))))
		default:
			lines = append(lines, "   "+look.Muted.Render(display.Cut(mistake, l.width-4)))
		}
		return lines
	}
	if l.height < heightForLine || l.Fields == nil {
		return nil
	}
	key := " " + l.shell.Key(actions.Filter) + " "
	if l.want.text == "" {
		var names []string
		for _, field := range l.Fields {
			switch {
			case field.Key == "":
				names = append(names, "words")
			case field.IsSwitch:
				names = append(names, "+"+field.Key)
			case !slices.Contains(names, field.Key+":"):
				names = append(names, field.Key+":")
			}
		}
		return []string{look.Key.Render(key) + look.Muted.Render(display.Cut("find: "+strings.Join(names, " "),
			l.width-4))}
	}
	style, left := look.Input, l.width-len(key)-1
	if !look.Colours() {
		style = look.Cursor
	}
	var line strings.Builder
	for _, chip := range l.chips() {
		chip = display.Cut(" "+chip+" ", left)
		if left -= display.Width(chip) + 1; chip != "" {
			line.WriteString(style.Render(chip) + " ")
		}
	}
	return []string{look.Key.Render(key) + line.String()}
}

// below says inside the panel, under old rows, why there are no newer ones, or else why there are no others.
func (l *List[F, T]) below() []string {
	style, text := l.shell.Theme.Muted, l.onlyOwn()
	switch {
	case !l.IsBusy() && l.loader.Err != nil && !l.isNoPlace():
		what, next := l.problem()
		style, text = l.shell.Theme.Bad, "! "+what+" "+l.shell.Age(l.loader.At)+" "+next
	case l.mismatch != "":
		style, text = l.shell.Theme.Warn, widget.Joined(" ", "! "+l.mismatch, text)
	case text == "":
		text = l.aside()
	}
	if text == "" || len(l.shown) == 0 || l.height < 6 {
		return nil
	}
	return widget.Capped(style, text, max(1, l.tableSize[0]-2), max(1, min(3, (l.height-4)/2)))
}

// aside is what else is known.
func (l *List[F, T]) aside() string {
	if l.Note == nil {
		return ""
	}
	return l.Note()
}

// onlyOwn says that the client sees only a part of the list; "" if it sees all, or that is not known.
func (l *List[F, T]) onlyOwn() string {
	if l.ScopeOfAll == "" || !l.shell.Account.Client.Lacks(l.ScopeOfAll) {
		return ""
	}
	return fmt.Sprintf("Only what this client made. All of them need %s.", l.ScopeOfAll)
}

// misfits says how a page differs from what was asked for: other services may ignore a filter or an order.
func misfits[F, T any](fields []api.FilterField[F], filter F, order api.SortKey, page api.Page[T]) (said []string) {
	check := api.CheckFilter[F, T](fields, filter)
	check.Page(page.Data)
	for _, ignored := range check.Ignored() {
		said = append(said, fmt.Sprintf("This service ignored %s: %d of these %d do not fit.",
			cmp.Or(ignored.Key, "words"), ignored.Misfits, check.Records))
	}
	if api.Unsorted(api.FormatSort([]api.SortKey{order}), page.Data) {
		said = append(said, "This service has another order.")
	}
	if page.Incomplete != "" {
		said = append(said, page.Incomplete)
	}
	if others := len(page.LeftOut); others > 0 {
		said = append(said, fmt.Sprintf(
			"Left out %d of the other kind: this service lists perks and redemptions together.", others))
	}
	return said
}

// noRows says why there are no rows; none is false if there are some.
func (l *List[F, T]) noRows() (kind widget.NoticeKind, title, advice string, none bool) {
	switch {
	case len(l.shown) > 0:
		return widget.Empty, "", "", false
	case l.IsBusy():
		return widget.Loading, widget.LoadingTitle(l.Many, l.shell.Now().Sub(l.since)), "", true
	case l.isUnlisted():
		advice := l.shell.Key(actions.Filter) + " takes an id."
		if l.typing {
			advice = "Type an id, Enter."
		}
		return widget.Empty, "No " + l.One + " list here.", advice, true
	case l.isNoPlace():
		return widget.Empty, "", "", true
	case l.loader.Err != nil:
		what, next := l.problem()
		if l.loader.Has {
			what += " " + l.shell.Age(l.loader.At)
		}
		return widget.Failure, what, next, true
	case !l.loader.Has:
		return widget.Empty, "Nothing was loaded.", l.shell.Key(actions.Refresh) + " loads the list.", true
	case l.want.text != "":
		advice := l.clearedBy()
		if id := l.TypedID(); id != "" {
			key := l.shell.Key(actions.Open)
			if l.typing && l.shell.Command == nil {
				key = actions.Spell("enter")
			} else if l.typing {
				key = l.shell.Key(actions.Submit)
			}
			advice = fmt.Sprintf("%s opens the %s with the id %q. ", key, l.One, id) + advice
		}
		title = fmt.Sprintf("No %s matches %s.", l.One, display.Line(l.want.text))
		if l.Nothing != nil {
			title = cmp.Or(l.Nothing(l.want.filter), title)
		}
		return widget.Empty, title, widget.Joined(" ", l.mismatch, l.onlyOwn(), l.elsewhere(advice)), true
	case l.onlyOwn() != "":
		return widget.Empty, "No " + l.Many + " here.", l.onlyOwn(), true
	}
	advice = l.elsewhere(widget.Joined(" ", l.aside(), l.Empty))
	return widget.Empty, cmp.Or(l.None, "There are no "+l.Many+" yet."), advice, true
}

// place says which row of a list is meant by its number, also in figures only.
func place(number int64, of string) (long, short string) {
	switch {
	case number > 0:
		row := display.Count(number)
		return fmt.Sprintf("row %s of %s", row, of), row + "/" + of
	case number == -1:
		return "last row", "last"
	}
	before := -number - 1
	return display.Plural(before, "row", "rows") + " before the end", "last-" + display.Count(before)
}

// position says which row of the list the cursor is on, in a narrow window in figures only.
func (l *List[F, T]) position(width int) string {
	at, figures := place(l.number(l.table.Cursor()), total(l.loader.Value.meta()))
	activity, marks, age := "", l.Summary(), ""
	if l.IsBusy() && len(l.shown) > 0 {
		activity = "loading ..."
	}
	if old := l.shell.Now().Sub(l.loader.At); l.loader.Has && old >= oldAfter {
		age = "loaded " + display.Age(old)
	}
	if len(l.shown) == 0 {
		return display.Cut(widget.Joined(" - ", activity, marks), width)
	}
	long := widget.Joined(" - ", activity, at, marks, age)
	if display.Width(long) <= width {
		return long
	}
	if marks != "" {
		marks = fmt.Sprintf("%d*", len(l.marked))
	}
	return display.Cut(widget.Joined(" ", activity, figures, marks, strings.TrimPrefix(age, "loaded ")), width)
}

// dimmed draws rows of another query than the one that is wanted as what is behind a dialog: no key acts on them.
func (l *List[F, T]) dimmed(view string) string {
	if l.isWanted() {
		return view
	}
	return widget.Behind(l.shell.Theme, view)
}

// previewPanel shows all of the record under the cursor.
func (l *List[F, T]) previewPanel(width, height int) string {
	record, look := l.underCursor(), l.shell.Theme
	innerWidth, innerHeight := widget.Inner(width, height)
	if of := l.ID(record) + string(look.Name); l.factsOf != of || l.factsIn != innerWidth {
		l.factsOf, l.factsIn, l.facts = of, innerWidth, widget.Scroll{}
		l.facts.Set(widget.Pairs(look, innerWidth-2, l.Facts(record)))
	}
	l.facts.Resize(innerWidth-2, innerHeight)
	panel := widget.Panel{Title: l.Title(record), Bar: l.facts.Bar()}
	return panel.View(look, widget.Indented(l.dimmed(l.facts.View()), 1), width, height)
}

// AccessibleText returns the query, ten rows around the cursor, and the position.
func (l *List[F, T]) AccessibleText() string {
	lines := []string{l.Heading() + ", " + l.summary() + "."}
	if len(l.views) > 0 {
		_, names, current := l.tabs()
		lines = append(lines, widget.AccessibleTabs(names, current))
	}
	if l.typing {
		lines = append(lines, "The filter is open.", l.line.AccessibleText())
		if mistake, _ := l.mistake(); mistake != "" {
			lines = append(lines, "Problem: "+mistake)
		}
	}
	if !l.IsBusy() && l.loader.Err != nil && len(l.shown) > 0 && !l.isNoPlace() {
		what, next := l.problem()
		lines = append(lines, "Problem: "+widget.Joined(" ", what, l.shell.Age(l.loader.At), next))
	}
	if l.mismatch != "" {
		lines = append(lines, "Note: "+l.mismatch)
	}
	if only := cmp.Or(l.onlyOwn(), l.aside()); only != "" && len(l.shown) > 0 {
		lines = append(lines, only)
	}
	if kind, title, advice, none := l.noRows(); none {
		lines = append(lines, widget.AccessibleNotice(kind, title, advice))
	}
	first := l.table.Cursor() / screen.ReadAtOnce * screen.ReadAtOnce
	for i := first; i < min(len(l.rows), first+screen.ReadAtOnce); i++ {
		lines = append(lines, l.spoken(i))
	}
	if position := l.position(1000); position != "" {
		lines = append(lines, position+".")
	}
	return strings.Join(lines, "\n")
}

// spoken is a row with the name of each column. The first needs none if it has texts, which say what the row is; a
// column without a share of the space has ages or numbers. Ids are left out: the number of the row stands for its own,
// and a title for that of another record.
func (l *List[F, T]) spoken(i int) string {
	var line strings.Builder
	fmt.Fprintf(&line, "%d.", l.number(i))
	for c, column := range l.Columns {
		switch cell := strings.TrimSuffix(column.Cell(&l.shown[i]), "."); {
		case cell == "", c > 0 && strings.HasSuffix(" "+strings.ToLower(column.Name), " id"):
		case c == 0 && column.Share > 0:
			fmt.Fprintf(&line, " %s.", cell)
		default:
			fmt.Fprintf(&line, " %s: %s.", column.Name, cell)
		}
	}
	if l.rows[i].Marked {
		line.WriteString(" Marked.")
	}
	if i == l.table.Cursor() {
		line.WriteString(" Chosen.")
	}
	return line.String()
}
