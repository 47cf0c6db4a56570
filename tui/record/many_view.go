package record

import (
	"fmt"
	"strings"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/theme"
	"example.com/perks/tui/widget"
)

// examples is how many records the review shows at first.
const examples = 5

func (s *Many[I, R, P]) View() string {
	switch look := s.shell.Theme; {
	case s.reader.Busy():
		return widget.Notice(look, widget.Loading, "Reading "+s.Kind.count(len(s.Marked))+" ...", "", s.width, s.height)
	case s.plan == nil:
		status := look.Muted.Render(manyAdvice)
		if changed := withoutRound(s.form.Changed()); len(changed) > 0 {
			status = look.Warn.Render(fmt.Sprintf("%d change: %s", len(changed), s.Kind.Labels(changed)))
		}
		view, _ := viewForm(look, s.form, s.notes, func() string { return status }, s.width, s.height)
		return view
	case s.isDone():
		return s.viewResults()
	}
	lines := introLines(s.width, s.notes, s.intro())
	for _, text := range s.reviewLines() {
		as, indent := asText, "  "
		if strings.HasPrefix(text, headingMark) {
			as, indent, text = asHeading, "", strings.TrimPrefix(text, headingMark)
		}
		lines = append(lines, marked(as, indent, text, s.width)...)
	}
	s.scroll.Layout(lines, s.width, s.height)
	return s.scroll.Draw(s.shell.Theme, lines, s.width, s.height)
}

const manyAdvice = "What stays empty is left as it is."

// withoutRound leaves out what is not a field of a record.
func withoutRound(names []string) (fields []string) {
	for _, name := range names {
		if name != roundField {
			fields = append(fields, name)
		}
	}
	return fields
}

// intro says how many records change, what the totals are, and how to go on.
func (s *Many[I, R, P]) intro() []string {
	p := s.plan
	changing := p.changing()
	if p.isSent {
		return []string{display.Capital(p.progress(p.done)) + " ..."}
	}
	if changing == 0 {
		return []string{"Nothing would change. " + s.shell.Key(actions.Back) + " goes back to the form"}
	}
	lines := []string{display.Plural(changing, s.Kind.Name+" changes", s.Kind.Many+" change") + ": " + p.names()}
	if rest := len(p.targets) - changing; rest > 0 {
		lines[0] += fmt.Sprintf(". %s", display.Plural(rest, "stays as it is", "stay as they are"))
	}
	for _, name := range p.fields {
		if total := p.total(name); total != "" {
			lines = append(lines, total)
		}
	}
	verb, back := "saves", "goes back to the form"
	if p.undoes {
		verb, back = "undoes", "cancels"
	}
	lines = append(lines, fmt.Sprintf("%s %s this, %s %s", s.shell.Key(actions.Submit), verb,
		s.shell.Key(actions.Back), back))
	for _, t := range p.targets {
		if t.whyNot == "" && t.ETag == "" {
			return append(lines, noETagWarning)
		}
	}
	return lines
}

// total says what a number comes to in all records that change: "Price per week in all: 501.00 → 526.05 (+25.05)";
// "" of another field.
func (p *plan[I, R, P]) total(name string) string {
	if !p.kind.Amounts.IsAmount(name) {
		return ""
	}
	var before, after api.Decimal
	for _, t := range p.targets {
		if t.whyNot == "" {
			old, _ := p.kind.Amounts.NumberOf(*t.Base, name)
			new, _ := p.kind.Amounts.NumberOf(p.kind.with(*t.Base, t.Patch), name)
			before, after = before.Plus(old), after.Plus(new)
		}
	}
	difference := after.Minus(before)
	sign := ""
	if difference.Sign() >= 0 {
		sign = "+"
	}
	return fmt.Sprintf("%s in all: %s → %s (%s%s)", p.kind.field(name).Label, before, after, sign, difference)
}

// headingMark is before a line that is a heading.
const headingMark = "\x00"

// reviewLines says what changes in each record, or in a few, and why others stay as they are.
func (s *Many[I, R, P]) reviewLines() (lines []string) {
	p, shown, odd := s.plan, 0, []string(nil)
	all := p.changing()
	for _, t := range p.targets {
		if t.whyNot != "" {
			odd = append(odd, headingMark+t.name(), t.whyNot)
			continue
		}
		if shown++; s.folded && shown > examples {
			continue
		}
		lines = append(lines, headingMark+t.name())
		after := s.Kind.with(*t.Base, t.Patch)
		for _, name := range t.Patch.Fields() {
			f := s.Kind.field(name)
			was, is := s.Kind.short(f, *t.Base), s.Kind.short(f, after)
			lines = append(lines, fmt.Sprintf("%s: %s → %s", f.Label, was, is))
		}
	}
	if s.folded && all > examples {
		lines = append(lines, headingMark+fmt.Sprintf("… %d more (%s shows all)", all-examples,
			s.shell.Key(actions.Open)))
	}
	return append(odd, lines...)
}

// widestShort is how much of a text a review of many records shows.
const widestShort = 60

func (k *Kind[I, R, P]) short(f api.Field, of R) string {
	return display.Cut(display.Line(Displayed(f, k.Text(f.Name, of))), widestShort)
}

// name names the record: "42 Bright flat".
func (t *target[I, R, P]) name() string {
	return strings.TrimSpace(display.Line(string(t.ID)) + " " + t.title)
}

// results is the table of what became of each record, those that need attention first.
func (s *Many[I, R, P]) results() *widget.Table {
	s.plan.oddFirst()
	rows := make([]widget.Row, len(s.plan.targets))
	for i, t := range s.plan.targets {
		word, reason := t.outcome(s.plan.undoes)
		tone := theme.Good
		if t.isOdd() {
			tone = theme.Warning
		}
		rows[i] = widget.Row{Cells: []string{"[" + word + "]", t.name(), reason}, Tones: []theme.Tone{tone}}
	}
	table := widget.NewTable(s.shell.Theme, widget.Column{Name: "Outcome", Min: 15},
		widget.Column{Name: display.Capital(s.Kind.Name), Min: 12, Share: 1},
		widget.Column{Name: "Reason", Min: 20, Share: 2, Drop: 1})
	table.SetRows(rows)
	return table
}

// viewResults draws the table below the counts, and above why the one under the cursor was not changed.
func (s *Many[I, R, P]) viewResults() string {
	look := s.shell.Theme
	above := []string{look.Strong.Render(display.Cut(s.plan.summary(), s.width))}
	var below []string
	if _, reason := s.plan.targets[s.table.Cursor()].outcome(s.plan.undoes); reason != "" {
		below = widget.Capped(look.Warn, reason, s.width, max(1, s.height/3))
	}
	s.table.SetTheme(look)
	s.table.Resize(s.width, max(1, s.height-len(above)-len(below)))
	table := display.Crop(s.table.View(), s.width, max(1, s.height-len(above)-len(below)))
	return display.Crop(strings.Join(append(append(above, table), below...), "\n"), s.width, s.height)
}

func (s *Many[I, R, P]) AccessibleText() string {
	lines := LinearNotes(s.notes)
	switch {
	case s.reader.Busy():
		return "Reading " + s.Kind.count(len(s.Marked)) + " ..."
	case s.plan == nil:
		lines = append(lines, manyAdvice, s.form.AccessibleText())
	case s.isDone():
		lines = append(lines, s.plan.summary())
		first := s.table.Cursor() / screen.ReadAtOnce * screen.ReadAtOnce
		for i := first; i < min(len(s.plan.targets), first+screen.ReadAtOnce); i++ {
			word, reason := s.plan.targets[i].outcome(s.plan.undoes)
			lines = append(lines, fmt.Sprintf("%d. %s: %s.", i+1, s.plan.targets[i].name(), word)+" "+reason)
		}
	default:
		lines = append(lines, s.intro()...)
		for _, text := range s.reviewLines() {
			lines = append(lines, strings.TrimPrefix(text, headingMark))
		}
	}
	return strings.Join(lines, "\n")
}
