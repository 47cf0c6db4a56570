package widget

import (
	"cmp"
	"fmt"
	"strings"

	"example.com/perks/api/display"
	"example.com/perks/tui/theme"
)

const (
	minBesideWidth = 60 // the least width for labels beside the values
	minCellValue   = 14 // the least width of a value in a field beside another
	hintCut        = 3  // how much of a hint may be cut in a field beside another
	minTextWidth   = 40 // the least width of a long text beside another
	minTextBeside  = 60 // the least width of a long text beside its label
)

// View draws the fields that fit, the focused one among them. Labels are beside the values if there is space, else
// above.
func (f *Form) View(width, height int) string {
	if width <= 0 || height <= 0 {
		return ""
	}
	var lines []string
	f.lines = f.lines[:0]
	first, last := 0, 0 // lines of the field that has the keyboard
	for _, row := range f.rows(width, height) {
		top := len(lines)
		for i := range heightOf(row) {
			lines = append(lines, lineOf(row, i))
			f.lines = append(f.lines, row)
		}
		for _, c := range row {
			if c.index == f.focus {
				first, last = top, top+len(c.lines)-1
			}
		}
	}
	scroll := Scroll{}
	scroll.Resize(width, height)
	scroll.Set(lines)
	scroll.Reveal(min(last+1, len(lines)-1))
	scroll.Reveal(last)
	scroll.Reveal(first)
	above, _ := scroll.More()
	f.lines = f.lines[min(above, len(f.lines)):]
	return scroll.View()
}

// Lines returns how many lines the fields fill at a width, with so many for long texts to grow into.
func (f *Form) Lines(width, within int) (lines int) {
	tops := make([]int, len(f.entries)) // what is seen of long texts is not as in the window
	for i, e := range f.entries {
		tops[i] = e.editor.top
	}
	for _, row := range f.rows(width, within) {
		lines += heightOf(row)
	}
	for i, e := range f.entries {
		e.editor.top = tops[i]
	}
	return lines
}

// FieldAt returns the index of the field that View drew there, for a click.
func (f *Form) FieldAt(x, y int) (index int, ok bool) {
	if y < 0 || y >= len(f.lines) {
		return 0, false
	}
	row := f.lines[y]
	for _, c := range row {
		if x -= c.span; x < 0 {
			return c.index, true
		}
	}
	return row[len(row)-1].index, true
}

// cell is the space of a field in a row of fields.
type cell struct {
	index, span int // span is its width with the gap behind it
	lines       []string
	formLayout
}

func heightOf(row []cell) (height int) {
	for _, c := range row {
		height = max(height, len(c.lines))
	}
	return height
}

// lineOf joins a line of the cells of a row.
func lineOf(row []cell, at int) string {
	var line strings.Builder
	for i, c := range row {
		text := ""
		if at < len(c.lines) {
			text = c.lines[at]
		}
		if i < len(row)-1 {
			text = display.Pad(text, c.span)
		}
		line.WriteString(text)
	}
	return line.String()
}

// rows draws the fields. Long texts grow into the lines that are left, first the one that has the keyboard.
func (f *Form) rows(width, height int) [][]cell {
	rows, free := f.layout(width, height), height
	for _, row := range rows {
		for i := range row {
			row[i].lines = f.block(row[i].formLayout, row[i].index, 0)
		}
		free -= heightOf(row)
	}
	for _, isFocused := range []bool{true, false} {
		for _, row := range rows {
			for i := range row {
				c, e, least := &row[i], f.entries[row[i].index], heightOf(row)
				if e.Kind != Text || (c.index == f.focus) != isFocused {
					continue
				}
				wanted := max(4, len(e.editor.rows)+min(e.Limit, 1)) - e.rows
				if more := min(free+least-len(c.lines), wanted); more > 0 {
					c.lines = f.block(c.formLayout, c.index, more)
					free -= heightOf(row) - least
				}
			}
		}
	}
	return rows
}

type formLayout struct {
	width, height int
	label         int // the width of the column of labels; 0 if they are above
	indent        int // of what is typed
}

// layout decides which fields are beside each other. All columns of a row are as wide as each other, but for the first
// of two texts, which is twice as wide as the other.
func (f *Form) layout(width, height int) (rows [][]cell) {
	l := formLayout{width: width, height: height, indent: 2}
	if width < 8 {
		l.indent = 0
	}
	for _, e := range f.entries {
		if w := display.Width(e.Label); width >= minBesideWidth && w <= width/3 && w > l.label {
			l.label, l.indent = w, 2+w+2
		}
	}
	for first := 0; first < len(f.entries); {
		end, least := first+1, f.entries[first].leastWidth(l)
		for ; end < len(f.entries) && f.entries[end].Beside; end++ {
			least = max(least, f.entries[end].leastWidth(l))
		}
		columns := end - first
		if most := max(1, width/least); width < minBesideWidth {
			columns = 1
		} else if columns > most {
			columns = ceil(columns, ceil(columns, most))
		}
		for ; first < end; first += columns {
			var row []cell
			for i := first; i < min(first+columns, end); i++ {
				c := cell{index: i, span: width / columns, formLayout: l}
				if columns == 2 && f.entries[first].Kind == Text && end == first+2 {
					c.span = width * (2 + first - i) / 3
				}
				if columns > 1 {
					c.width = c.span - 2
				}
				if f.entries[i].Kind == Text && (columns > 1 || c.width-l.indent < minTextBeside) {
					c.label, c.indent = 0, min(2, l.indent)
				}
				row = append(row, c)
			}
			rows = append(rows, row)
		}
		first = end
	}
	return rows
}

func ceil(n, by int) int { return (n + by - 1) / by }

// leastWidth is the least width of the field beside another: what it has at first does not count, as the form does not
// move while somebody types.
func (e *entry) leastWidth(l formLayout) int {
	if e.Kind == Text {
		return minTextWidth
	}
	return l.indent + max(minCellValue, display.Width(bracketed(e.Hint))-hintCut) + 2
}

// block draws a field: label, value and errors, with more rows for a long text. The focused field leaves space for its
// label and its first error; in a single line there is no label.
func (f *Form) block(l formLayout, index, more int) []string {
	e, focused := f.entries[index], index == f.focus
	style, mark, label := f.theme.Muted, " ", " "+e.Label
	if focused {
		style, mark = f.theme.Accent, ">"
	}
	if label = style.Render(mark + label); f.marksChanges && e.isChanged() {
		label = style.Render(mark) + f.theme.Warn.Render("*") + style.Render(e.Label)
	}
	beside := l.label > 0 && display.Width(e.Label) <= l.label
	indent, space := display.Pad("", l.indent), l.width-l.indent
	var wrong []string
	for _, problem := range e.problems() {
		wrong = append(wrong, Wrapped(f.theme.Bad, "! "+display.Line(problem), space)...)
	}
	if e.editor.overflow > 0 {
		wrong = append(wrong, Wrapped(f.theme.Warn, "! "+e.editor.tooMany(), space)...)
	}
	if len(wrong) == 0 && e.note != "" {
		for line := range strings.SplitSeq(e.note, "\n") {
			wrong = append(wrong, display.Cut(line, space))
		}
	}
	for i := range wrong {
		wrong[i] = indent + wrong[i]
	}
	rows := 1
	switch {
	case e.Kind != Text && f.isReadOnly:
		rows = max(1, min(len(display.Wrap(display.Line(e.value()), space)), l.height/3))
	case e.Kind == Text: // its rows grow with it
		e.editor.layOut(space)
		rows = max(2, min(len(e.editor.rows), l.height/3, 10)) + more
	}
	if focused {
		least := min(1, len(wrong))
		if !beside {
			least++
		}
		rows = max(1, min(rows, l.height-least))
	}
	e.rows = rows
	var block []string
	if !beside && (!focused || l.height > 1) {
		block = append(block, display.Cut(label, l.width))
	}
	for i, line := range f.draw(e, space, rows, focused) {
		lead := indent
		if beside && i == 0 {
			lead = display.Pad(label, l.indent)
		}
		block = append(block, display.Cut(lead+line, l.width))
	}
	return append(block, wrong...)
}

// draw draws the value of a field in exactly that many rows.
func (f *Form) draw(e *entry, width, rows int, focused bool) []string {
	whole := width
	e.saysWas = false
	switch {
	case f.isReadOnly:
		return f.drawValue(e, width, rows)
	case e.Width > 0:
		width = min(width, max(e.Width, display.Width(cmp.Or(display.Line(e.value()), bracketed(e.Hint)))+2))
	}
	if e.Kind != Switch && e.value() == "" && e.Hint != "" {
		style := field(f.theme, focused)
		line := style.Foreground(f.theme.Muted.GetForeground()).Render(bracketed(e.Hint))
		if focused {
			line = drawRow(f.theme, style, nil, 0) + line
		}
		lines := make([]string, rows)
		lines[0] = display.Cut(line, width)
		for i, line := range lines {
			lines[i] = inField(f.theme, style, line, width)
		}
		return lines
	}
	shown := &e.editor
	if shown.rest = ""; focused {
		shown.rest = f.Completion()
	}
	switch e.Kind {
	case Text:
		return f.drawText(e, width, rows, focused)
	case Switch:
		return []string{f.drawSwitch(e, width, focused)}
	case Secret:
		shown = &editor{}
		if e.value() != "" {
			shown.set(mask)
		}
	}
	counter := ""
	if count := e.count(); focused && e.Limit > 0 && count <= e.Limit {
		counter = f.theme.Muted.Render(" (" + display.Count(count) + " of " + display.Count(e.Limit) + ")")
	}
	if width-display.Width(counter) < minValueWidth {
		counter = ""
	}
	was := f.was(e, whole-display.Width(counter)-max(minValueWidth, cells(e.editor.characters)+1))
	width = min(width, whole-display.Width(was)) - display.Width(counter)
	return []string{shown.viewLine(f.theme, width, focused) + counter + was}
}

// minWas is the least space to show in what a field was.
const minWas = 12

// was says what a changed line was, beside it, if there is space.
func (f *Form) was(e *entry, width int) string {
	if e.saysWas = f.hasWas(e) && width >= minWas; !e.saysWas {
		return ""
	}
	return f.theme.Muted.Render(display.Cut("  was: "+display.Line(e.first), width))
}

// hasWas tells whether a field is a changed line of which it can be said what it was.
func (f *Form) hasWas(e *entry) bool {
	return f.marksChanges && e.isChanged() && e.first != "" && e.Kind == Line
}

// Was returns what a changed line was, unless the last View says it beside the line; "" otherwise.
func (f *Form) Was(name string) string {
	if e := f.entry(name); f.hasWas(e) && !e.saysWas {
		return display.Line(e.first)
	}
	return ""
}

// drawValue draws a value to read.
func (f *Form) drawValue(e *entry, width, rows int) []string {
	lines := make([]string, rows)
	switch {
	case e.value() == "":
		lines[0] = f.theme.Muted.Render(display.Cut(bracketed(e.Hint), width))
	case e.Kind != Text:
		value := display.Line(e.value())
		if wrapped := display.Wrap(value, width); len(wrapped) <= rows {
			for i, line := range wrapped {
				lines[i] = f.theme.Text.Render(line)
			}
			break
		}
		lines[0] = f.theme.Text.Render(display.Cut(value, width))
	default:
		e.editor.layOut(width)
		all, shows := e.editor.rows, min(rows, len(e.editor.rows))
		if e.rows = rows; len(all) > rows {
			shows = max(1, rows-1)
		}
		e.editor.top = max(0, min(e.editor.top, len(all)-shows))
		for i, r := range all[e.editor.top : e.editor.top+shows] {
			lines[i] = f.theme.Text.Render(display.Cut(shown(e.editor.characters[r.from:r.to]), width))
		}
		if shows < min(rows, len(all)) {
			lines[shows] = f.theme.Muted.Render(display.Cut(bracketed(e.editor.position(shows)), width))
		}
	}
	return lines
}

// position says which rows of a text are shown.
func (e *editor) position(shown int) string {
	return fmt.Sprintf("lines %d to %d of %d", e.top+1, e.top+shown, len(e.rows))
}

// bracketed puts a hint into brackets, which tell it from a value without colours.
func bracketed(hint string) string {
	hint = display.Line(hint)
	if strings.HasPrefix(hint, "(") && strings.HasSuffix(hint, ")") {
		return hint
	}
	return "(" + hint + ")"
}

func (f *Form) drawText(e *entry, width, rows int, focused bool) []string {
	e.editor.layOut(width)
	all, count := len(e.editor.rows), e.count()
	counts := focused && e.Limit > 0 && count <= e.Limit
	if all <= rows && !counts || rows < 3 {
		return e.editor.viewRows(f.theme, width, rows, focused)
	}
	lines := e.editor.viewRows(f.theme, width, rows-1, focused)
	var says []string
	if all >= rows {
		says = append(says, e.editor.position(len(lines)))
	}
	if counts {
		says = append(says, e.counter(count))
	}
	return append(lines, f.theme.Muted.Render(display.Cut("("+strings.Join(says, ", ")+")", width)))
}

func (f *Form) drawSwitch(e *entry, width int, focused bool) string {
	line := f.theme.Text.Render("[ " + display.Line(e.Value) + " ]")
	hint := e.Hint
	if focused {
		hint = "space changes it"
	}
	if hint != "" {
		line += f.theme.Muted.Render(" " + bracketed(hint))
	}
	return display.Cut(line, width)
}

// mask replaces every secret: it must not show how long that is.
const mask = "********"

// tooMany is shown for a field that is full. The form can be sent anyway.
func (e *editor) tooMany() string {
	return fmt.Sprintf("%s too many: only %s characters fit", display.Count(e.overflow), display.Count(maxTyped))
}

// AccessibleText returns the fields and their errors, a line each.
func (f *Form) AccessibleText() string {
	var lines []string
	for _, e := range f.entries {
		value, refusedValue := display.Line(e.value()), e.problems()
		switch {
		case value == "" && e.Hint != "":
			value = bracketed(e.Hint)
		case e.Kind == Secret && value != "":
			value = "(hidden)"
		}
		if e.editor.overflow > 0 {
			refusedValue = append(refusedValue, e.editor.tooMany())
		}
		label := e.Label
		if f.marksChanges && e.isChanged() {
			label += " (changed"
			if e.first != "" && e.Kind != Text {
				label += ", was " + display.Line(e.first)
			}
			label += ")"
		}
		lines = append(lines, label+": "+value)
		for _, text := range refusedValue {
			lines = append(lines, "  "+e.Label+" "+display.Line(text))
		}
	}
	return strings.Join(lines, "\n")
}

// Pair is a fact with its name, without control characters. The value may have styles and line feeds.
type Pair struct {
	Label, Value string
	IsText       bool   // it is long, and can be beside the others
	Spoken       string // is read instead of the value, if it is not empty
}

// minValueWidth is the least width for values beside their labels.
const minValueWidth = 24

// Pairs draws facts for Scroll.Set: values in a column beside their labels, or below if there is little space.
func Pairs(theme *theme.Theme, width int, pairs []Pair) []string {
	widest := 0
	for _, p := range pairs {
		widest = max(widest, display.Width(p.Label))
	}
	var lines []string
	if widest+2+minValueWidth > width {
		indent := "  "
		if width < 4 {
			indent = ""
		}
		for _, p := range pairs {
			lines = append(lines, Wrapped(theme.Muted, p.Label, width)...)
			for _, line := range display.Wrap(p.Value, width-len(indent)) {
				lines = append(lines, indent+line)
			}
		}
		return lines
	}
	for _, p := range pairs {
		label := theme.Muted.Render(display.Pad(p.Label, widest))
		for i, line := range display.Wrap(p.Value, width-widest-2) {
			if i > 0 {
				label = display.Pad("", widest)
			}
			lines = append(lines, label+"  "+line)
		}
	}
	return lines
}

// AccessiblePairs returns the same facts, a line each: "Label: value".
func AccessiblePairs(pairs []Pair) []string {
	lines := make([]string, len(pairs))
	for i, p := range pairs {
		lines[i] = p.Label + ": " + strings.ReplaceAll(cmp.Or(p.Spoken, p.Value), "\n", " ")
	}
	return lines
}
