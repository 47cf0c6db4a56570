package widget

import (
	"cmp"
	"fmt"
	"strings"

	"example.com/perks/api/display"
	"example.com/perks/tui/theme"
)

// minBesideWidth is the least width for labels beside the values.
const minBesideWidth = 60

// View draws the fields that fit, the focused one among them. Labels are beside the values if there is space, else
// above.
func (f *Form) View(width, height int) string {
	if width <= 0 || height <= 0 {
		return ""
	}
	l := f.layout(width, height)
	var lines []string
	f.lineFields = f.lineFields[:0]
	first, last := 0, 0 // lines of the field that has the keyboard
	for i, block := range f.blocks(l) {
		if i == f.focus {
			first, last = len(lines), len(lines)+len(block)-1
		}
		lines = append(lines, block...)
		for range block {
			f.lineFields = append(f.lineFields, i)
		}
	}
	scroll := Scroll{}
	scroll.Resize(width, height)
	scroll.Set(lines)
	scroll.Reveal(min(last+1, len(lines)-1))
	scroll.Reveal(last)
	scroll.Reveal(first)
	above, _ := scroll.More()
	f.lineFields = f.lineFields[min(above, len(f.lineFields)):]
	return scroll.View()
}

// Lines returns how many lines the fields fill at a width, with a window's height for long texts to grow into.
func (f *Form) Lines(width int) (lines int) {
	for _, block := range f.blocks(f.layout(width, 24)) {
		lines += len(block)
	}
	return lines
}

// blocks draws the fields. Long texts grow into the lines that are left, first the one that has the keyboard.
func (f *Form) blocks(l formLayout) [][]string {
	all := make([][]string, len(f.entries))
	free, order := l.height, []int{f.focus}
	for i, e := range f.entries {
		all[i] = f.block(l, e, i == f.focus, 0)
		free -= len(all[i])
		order = append(order, i)
	}
	for _, i := range order {
		if i >= len(all) || f.entries[i].Kind != Text {
			continue
		}
		e := f.entries[i]
		if more := min(free, max(4, len(e.editor.rows)+min(e.Limit, 1))-e.rows); more > 0 {
			all[i] = f.block(l, e, i == f.focus, more)
			free -= more
		}
	}
	return all
}

// FieldAt returns the index of the field that View drew on a line, for a click.
func (f *Form) FieldAt(line int) (index int, ok bool) {
	if line < 0 || line >= len(f.lineFields) {
		return 0, false
	}
	return f.lineFields[line], true
}

type formLayout struct {
	width, height int
	label         int // the width of the column of labels; 0 if they are above
	indent        int // of what is typed
}

func (f *Form) layout(width, height int) formLayout {
	l := formLayout{width: width, height: height, indent: 2}
	if width < 8 {
		l.indent = 0
	}
	for _, e := range f.entries {
		if w := display.Width(e.Label); width >= minBesideWidth && w <= width/3 && w > l.label {
			l.label, l.indent = w, 2+w+2
		}
	}
	return l
}

// block draws a field: label, value and errors, with more rows for a long text. The focused field leaves space for its
// label and its first error; in a single line there is no label.
func (f *Form) block(l formLayout, e *entry, focused bool, more int) []string {
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
	if e.Kind == Text { // its rows grow with it
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
	if e.Width > 0 {
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
	if space := width - display.Width(counter); space >= minValueWidth {
		return []string{shown.viewLine(f.theme, space, focused) + counter}
	}
	return []string{shown.viewLine(f.theme, width, focused)}
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
		says = append(says, fmt.Sprintf("lines %d to %d of %d", e.editor.top+1, e.editor.top+len(lines), all))
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
			label += " (changed)"
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
	IsText       bool // it is long, and can be beside the others
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
		lines[i] = p.Label + ": " + strings.ReplaceAll(p.Value, "\n", " ")
	}
	return lines
}
