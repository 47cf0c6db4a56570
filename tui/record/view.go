package record

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/lipgloss"

	"example.com/perks/api/display"
	"example.com/perks/api/operation"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/theme"
	"example.com/perks/tui/widget"
)

// View draws a page other than Viewing.
func (s *Editor[I, R, P]) View() string {
	switch s.Page() {
	case editing:
		return s.ViewForm(s.edit.form, s.Height)
	case reviewing:
		return s.Scroll.Draw(s.Shell.Theme, s.layoutReview(), s.Width, s.Height)
	case merging:
		return s.viewMerging()
	}
	return ""
}

// layoutReview returns the lines of the review, and notes whether the last of them is visible.
func (s *Editor[I, R, P]) layoutReview() []Line {
	diffs := s.drawReview(s.unfolded)
	lines := append(introLines(s.Width, s.Notes, s.reviewIntro()), diffs...)
	s.Scroll.Layout(lines, s.Width, s.Height)
	if _, below := s.Scroll.More(); below == 0 {
		s.seen = true
	}
	return lines
}

// isFoldable tells whether some text of the review is long enough to be folded.
func (s *Editor[I, R, P]) isFoldable() bool {
	return !slices.Equal(s.drawReview(true), s.drawReview(false))
}

func (s *Editor[I, R, P]) drawReview(unfolded bool) []Line {
	lines := s.edit.drawReview(drawing{s.Shell.Theme, s.Width, unfolded})
	if unfolded {
		return lines
	}
	return fold(lines, s.Width, s.Shell.Key(actions.Open))
}

// whyUnseen says that all of the review has to be seen before it can be saved; "" if it was seen.
func (s *Editor[I, R, P]) whyUnseen() string {
	s.layoutReview()
	if s.seen {
		return ""
	}
	_, below := s.Scroll.More()
	return fmt.Sprintf("See all of it first: %s below. %s shows more.", display.Plural(below, "line", "lines"),
		s.Shell.Key(actions.PageDown))
}

func (s *Editor[I, R, P]) reviewIntro() []string {
	e := s.edit
	switch {
	case e.State() == operation.Sending:
		return []string{"Saving " + s.name() + " ..."}
	case s.IsInDoubt() && s.Record.Busy():
		return []string{"Checking whether " + s.name() + " was saved ..."}
	}
	var names []string
	for _, name := range e.Patch.Fields() {
		names = append(names, s.Kind.field(name).Label)
	}
	submit, back := s.Shell.Key(actions.Submit), s.Shell.Key(actions.Back)
	lines := []string{
		fmt.Sprintf("%s: %s", display.Plural(len(names), "field changes", "fields change"), strings.Join(names, ", ")),
		fmt.Sprintf("Save this in %s? %s saves, %s goes back to the form", s.name(), submit, back),
	}
	if e.form == nil {
		w := e.words()
		lines[1] = fmt.Sprintf("%s this in %s? %s %s, %s cancels", display.Capital(w.do), s.name(), submit, w.does,
			back)
	}
	if e.IsOfDeleted() {
		lines[0] = display.Capital(s.name()) + " is deleted. This brings it back."
	}
	if e.Base.ETag == "" && !e.IsOfDeleted() {
		lines = append(lines, noETagWarning)
	}
	return lines
}

// ViewForm draws the form of an edit, or the record in a form to read. Its last line says what is changed, or of what
// there is a draft.
func (s *Editor[I, R, P]) ViewForm(form *widget.Form, height int) (view string) {
	notes, status := s.Notes, func() string { return "" }
	switch typed := s.Kind.Typed(s.drafts.values); {
	case s.Page() == editing:
		status = s.formStatus
	case len(typed) > 0:
		status = func() string { return s.Shell.Theme.Warn.Render("Unsaved draft: " + s.Kind.Labels(typed)) }
		fallthrough
	default:
		notes = s.Banner()
	}
	view, s.formTop = viewForm(s.Shell.Theme, form, notes, status, s.Width, height)
	return view
}

// viewForm draws a form below the notes, which get a third of the height at most, and above the status, which may
// depend on how the form is drawn. It returns the line on which the form begins.
func viewForm(
	theme *theme.Theme, form *widget.Form, notes []string, status func() string, width, height int,
) (view string, top int) {
	var above []string
	for _, l := range introLines(width, notes, nil) {
		if l.text != "" {
			above = append(above, l.role.style(theme).Render(l.text))
		}
	}
	above = widget.AtMost(above, width, height/3)
	form.SetTheme(theme)
	left, hasStatus := height-len(above), height-len(above) >= minHeightForStatus
	if hasStatus {
		left--
	}
	drawn, below := display.Crop(form.View(width, left), width, left), ""
	if hasStatus {
		below = display.Cut(status(), width)
	}
	return display.Crop(strings.Join(append(above, drawn, below), "\n"), width, height), len(above)
}

// minHeightForStatus is the least height of a form with its status below.
const minHeightForStatus = 4

// formStatus says what is not valid, or else what is changed. It has a line of its own, so that the form never moves.
func (s *Editor[I, R, P]) formStatus() string {
	theme := s.Shell.Theme
	if text := s.fixFirst(); text != "" {
		return theme.Bad.Render("! " + text)
	}
	typed := s.edit.Typed()
	if len(typed) == 0 {
		return ""
	}
	begins, was := fmt.Sprintf("%d changed: ", len(typed)), make([]string, len(typed))
	for i, name := range typed {
		if was[i] = lowerLabel(s.Kind.field(name)); s.edit.form.Was(name) != "" {
			was[i] += " (was " + s.edit.form.Was(name) + ")"
		}
	}
	saved := ""
	if s.drafts.values != nil && !s.drafts.dirty {
		saved = " · draft saved"
	}
	text := begins + strings.Join(was, ", ") + saved
	if display.Width(text) > s.Width {
		text = begins + s.Kind.Labels(typed) + saved
	}
	return theme.Warn.Render(text)
}

// viewMerging draws both sides, and scrolls to the current conflict once it has changed.
func (s *Editor[I, R, P]) viewMerging() string {
	theme := s.Shell.Theme
	var status []string
	if s.Height > 2 {
		status = []string{theme.Strong.Render(display.Cut(s.mergeStatus(), s.Width))}
	}
	height := s.Height - len(status)
	intro := introLines(s.Width, s.Notes, s.mergeIntro())
	diffs, from, to := drawDiffs(s.edit.mergeDiffs(), drawing{theme, s.Width, true})
	lines := append(intro, diffs...)
	s.Scroll.Layout(lines, s.Width, height)
	if s.Reveal && to > 0 {
		s.Scroll.Reveal(len(intro) + to)
		s.Scroll.Reveal(len(intro) + from)
		if len(intro)+to < s.Scroll.Visible {
			s.Scroll.Reveal(0)
		}
	}
	s.Reveal = false
	return strings.Join(append(status, s.Scroll.Draw(theme, lines, s.Width, height)), "\n")
}

// Line is a line that fits the width. Most are styled when they are drawn: a review can have thousands.
type Line struct {
	role  role
	text  string
	drawn bool // it is styled already
}

// role decides the style of a line.
type role int

const (
	asText role = iota
	asWarning
	asHeading
	asCurrent
	asRemoved
	asAdded
	asKept
)

func (r role) style(theme *theme.Theme) lipgloss.Style {
	return [...]lipgloss.Style{
		asText: theme.Text, asWarning: theme.Warn, asHeading: theme.Heading, asCurrent: theme.Accent,
		asRemoved: theme.Bad, asAdded: theme.Good, asKept: theme.Strong,
	}[r]
}

// Scroll is the position in a text that is longer than the screen.
type Scroll struct {
	widget.Scroll
	Visible int  // how many lines of the text are visible
	marked  bool // the line below them says how many are not
}

// Layout fits the text into the size.
func (s *Scroll) Layout(lines []Line, width, height int) {
	s.Visible, s.marked = height, len(lines) > height && height >= minHeightForMore
	if s.marked {
		s.Visible--
	}
	s.Resize(width, s.Visible)
	s.Set(make([]string, len(lines))) // only their number matters: draw styles the visible ones
}

// minHeightForMore is the least height with a line that says how many lines are hidden.
const minHeightForMore = 3

// Draw draws the visible lines, after Layout.
func (s *Scroll) Draw(theme *theme.Theme, lines []Line, width, height int) string {
	above, below := s.More()
	var seen []string
	for _, l := range lines[above:min(len(lines), above+s.Visible)] {
		if l.drawn {
			seen = append(seen, l.text)
			continue
		}
		seen = append(seen, l.role.style(theme).Render(l.text))
	}
	if s.marked {
		seen = append(seen, theme.Accent.Render(display.Cut(widget.Hidden(above, below), width)))
	}
	return display.Crop(strings.Join(seen, "\n"), width, height)
}

// introLines is the notes and the introduction, and an empty line below them.
func introLines(width int, notes, intro []string) []Line {
	var lines []Line
	for _, note := range notes {
		lines = append(lines, marked(asWarning, "! ", display.Line(note), width)...)
	}
	for _, text := range intro {
		lines = append(lines, marked(asText, "", display.Line(text), width)...)
	}
	if len(lines) > 0 {
		lines = append(lines, Line{})
	}
	return lines
}

// marked wraps a text behind a mark. Further lines are indented.
func marked(as role, mark, text string, width int) []Line {
	mark = fitMark(mark, width)
	before := mark
	var lines []Line
	for _, wrapped := range display.Wrap(text, width-len(mark)) {
		lines = append(lines, Line{role: as, text: before + wrapped})
		before = strings.Repeat(" ", len(mark))
	}
	return lines
}

// fitMark shortens a mark in a very narrow window.
func fitMark(mark string, width int) string {
	if width <= 2*len(mark) {
		mark = strings.TrimSpace(mark)
	}
	if width <= len(mark) {
		mark = ""
	}
	return mark
}

// Texts of more than maxDiffLines lines are folded to foldedDiffLines, so that they do not push the other fields out of
// sight.
const (
	maxDiffLines    = 8
	foldedDiffLines = 5
)

// fold shortens long removed and added texts, and names the key that shows them whole.
func fold(lines []Line, width int, key string) []Line {
	var out []Line
	for i := 0; i < len(lines); {
		end := i + 1
		for end < len(lines) && lines[end].role == lines[i].role {
			end++
		}
		if as := lines[i].role; (as == asRemoved || as == asAdded) && end-i > maxDiffLines {
			more := display.Plural(end-i-foldedDiffLines, "more line", "more lines")
			out = append(out, lines[i:i+foldedDiffLines]...)
			out = append(out, marked(as, "  … ", more+" ("+key+" shows all)", width)...)
		} else {
			out = append(out, lines[i:end]...)
		}
		i = end
	}
	return out
}

// drawDiffs draws the fields of a review or a merge, and returns the lines of the current conflict.
func drawDiffs(fields []fieldDiff, d drawing) (lines []Line, from, to int) {
	width := d.width
	for i, p := range fields {
		if i > 0 {
			lines = append(lines, Line{})
		}
		first := len(lines)
		as, mark := asHeading, ""
		switch {
		case p.current:
			as, mark = asCurrent, "> "
		case p.conflict:
			mark = "  "
		}
		lines = append(lines, marked(as, mark, p.title, width)...)
		styled := d.words(p.diff)
		for i, l := range p.diff { // the mark is repeated on wrapped lines
			as, mark := roleOf(l), fitMark(string(l.Mark), width)
			text, drawn := styled[i]
			if drawn {
				mark = as.style(d.look).Render(mark)
			} else {
				text = l.Text
			}
			for _, wrapped := range display.Wrap(text, width-display.Width(mark)) {
				lines = append(lines, Line{as, mark + wrapped, drawn})
			}
		}
		if p.current {
			from, to = first, len(lines)-1
		}
	}
	return lines, from, to
}
