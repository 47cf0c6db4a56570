package redeem

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
)

// role decides the style of a line. What its colour says, the words of the line say too.
type role int

const (
	text role = iota
	strong
	muted
	good
	warn
	bad
)

// line is a line before it is wrapped.
type line struct {
	role   role
	indent int
	text   string
	cut    bool // it is cut at the edge, so that a long title leaves space for the outcome
	begins bool // it is the first line of a result
}

func newLine(role role, indent int, text string) line {
	return line{role: role, indent: indent, text: text}
}

func titleLine(text string) line { return line{role: strong, text: text, cut: true} }

func (s *Screen) Resize(width, height int) { s.width, s.height = width, height }

func (s *Screen) View() string {
	form := s.Form()
	if form == nil {
		s.scroll.Resize(s.width, s.height)
		s.scroll.Set(s.draw(append(s.lines(), s.locked()...)))
		return s.scroll.View()
	}
	form.SetTheme(s.shell.Theme)
	head, wanted := s.draw(s.lines()), 0 // lines that the form would like
	for _, name := range form.Names() {
		wanted += 2 + len(form.Problems(name))
	}
	space := max(0, s.height-max(4, min(wanted, (s.height+1)/2)))
	if len(head) > space && space > 0 {
		more := fmt.Sprintf("... and %s", display.Plural(len(head)-space+1, "more line", "more lines"))
		head = append(head[:space-1:space-1], s.shell.Theme.Muted.Render(display.Cut(more, s.width)))
	}
	head = head[:min(len(head), space)]
	s.formTop = len(head)
	below := form.View(s.width, s.height-len(head))
	return display.Crop(strings.Join(append(head, below), "\n"), s.width, s.height)
}

// mouse scrolls with the wheel, and focuses the field that is clicked.
func (s *Screen) mouse(msg tea.MouseMsg) {
	form := s.Form()
	switch {
	case msg.Action != tea.MouseActionPress:
	case form != nil && msg.Button == tea.MouseButtonLeft:
		if field, ok := form.FieldAt(msg.Y - s.formTop); ok {
			form.FocusIndex(field)
		}
	case form == nil && msg.Button == tea.MouseButtonWheelUp:
		s.move(actions.Up)
	case form == nil && msg.Button == tea.MouseButtonWheelDown:
		s.move(actions.Down)
	}
}

func (s *Screen) draw(lines []line) []string {
	theme := s.shell.Theme
	styles := [...]lipgloss.Style{text: theme.Text, strong: theme.Strong, muted: theme.Muted, good: theme.Good, warn: theme.Warn, bad: theme.Bad}
	var drawn []string
	s.resultLines = s.resultLines[:0]
	for _, l := range lines {
		if l.begins {
			s.resultLines = append(s.resultLines, len(drawn))
		}
		indent := strings.Repeat(" ", min(l.indent, s.width/8))
		style, space := styles[l.role], s.width-len(indent)
		parts := []string{display.Cut(display.Line(l.text), space)}
		if !l.cut {
			parts = display.Wrap(display.Line(l.text), space)
		}
		for _, part := range parts {
			drawn = append(drawn, indent+style.Render(part))
		}
	}
	return drawn
}

// lines is everything but the fields.
func (s *Screen) lines() []line {
	lines := s.summary()
	if s.sub == nil {
		for _, perk := range s.perks {
			lines = append(lines, titleLine(perk.Title), newLine(muted, 2, s.about(perk)))
		}
		return append(lines, newLine(muted, 0, "At "+destination(s.profile)))
	}
	for _, i := range s.sub.items {
		o, marker := s.outcome(i), ""
		switch { // of several results one is chosen, unless a form has the keyboard
		case len(s.sub.items) < 2 || s.Form() != nil:
		case i == s.chosen():
			marker = "> "
		default:
			marker = "  "
		}
		title := titleLine(marker + "[" + o.mark + "] " + i.perk.Title)
		title.begins = true
		lines = append(lines, title, newLine(o.role, 2, o.text))
		if o.id != "" {
			lines = append(lines, newLine(text, 2, "Id "+o.id))
		}
		if o.next != "" {
			lines = append(lines, newLine(text, 2, o.next))
		}
	}
	return append(lines, newLine(muted, 0, "For "+s.sub.request.UserID+", at "+destination(s.profile)))
}

// summary is the outcome of everything in a line or two.
func (s *Screen) summary() []line {
	if why := s.whyOtherAccount(); why != "" {
		return []line{newLine(bad, 0, why)}
	}
	if len(s.perks) == 0 {
		return []line{newLine(bad, 0, s.whyNot())}
	}
	if len(s.items()) < 2 {
		return nil
	}
	text := s.sub.counts()
	if waiting := s.sub.waiting(); s.Form() != nil && len(waiting) > 0 && s.sub.agreed {
		text += fmt.Sprintf(" %s continues.", s.shell.Key(actions.Submit))
	}
	return []line{newLine(strong, 0, text)}
}

func (s *Screen) about(perk api.Perk) string {
	now := s.shell.Now()
	parts := []string{perk.ID}
	for _, text := range []*string{perk.DiscountText, perk.MerchantName, &perk.City} {
		if text != nil {
			parts = append(parts, *text)
		}
	}
	if perk.ValidFrom != nil && perk.ValidFrom.After(now) {
		parts = append(parts, "not before "+display.Instant(*perk.ValidFrom, now))
	}
	if perk.ValidTo != nil {
		parts = append(parts, display.Until(*perk.ValidTo, now))
	}
	return strings.Join(parts, ", ")
}

// locked shows the metadata while the form is locked.
func (s *Screen) locked() []line {
	if s.sub == nil {
		return nil
	}
	var lines []line
	if metadata := string(s.sub.request.Metadata); metadata != "" {
		lines = append(lines, newLine(muted, 0, "Metadata: "+metadata))
	}
	if s.sub.unresolved() == nil && !s.sender.Busy() {
		reopenForm := s.shell.Key(actions.Redeem) + " redeems for another user."
		if len(s.sub.open()) > 0 {
			reopenForm = s.shell.Key(actions.Redeem) + " opens the form."
		}
		lines = append(lines, newLine(text, 0, reopenForm))
	}
	return lines
}

func (s *Screen) AccessibleText() string {
	lines := s.lines()
	if s.Form() == nil {
		lines = append(lines, s.locked()...)
	}
	var parts []string
	for _, l := range lines {
		parts = append(parts, display.Line(strings.TrimSpace(l.text)))
	}
	if form := s.Form(); form != nil {
		parts = append(parts, form.AccessibleText())
	}
	return strings.Join(parts, "\n")
}

func (s *Screen) Reopens() bool { return len(s.items()) > 0 }

// chosen is the result under the cursor; nil before there are any.
func (s *Screen) chosen() *item {
	items := s.items()
	if len(items) == 0 {
		return nil
	}
	return items[min(s.cursor, len(items)-1)]
}

// move moves the cursor from result to result, and scrolls through one that does not fit.
func (s *Screen) move(id actions.ID) {
	if len(s.resultLines) == 0 {
		s.scroll.Do(id)
		return
	}
	top, below := s.scroll.More()
	last := len(s.resultLines) - 1
	s.cursor = min(s.cursor, last)
	switch {
	case id == actions.Down && s.cursor < last && (below == 0 || s.resultLines[s.cursor+1] <= top+s.height):
		s.cursor++
		s.scroll.Reveal(s.resultLines[s.cursor])
	case id == actions.Up && s.cursor > 0 && s.resultLines[s.cursor] >= top:
		s.cursor--
		s.scroll.Reveal(s.resultLines[s.cursor])
	case s.scroll.Do(id):
		switch id {
		case actions.Top:
			s.cursor = 0
		case actions.Bottom:
			s.cursor = last
		}
		s.cursor = s.keepVisible(s.cursor)
	}
}

// keepVisible returns the visible result that is nearest to the cursor, so that no action is about a hidden one.
func (s *Screen) keepVisible(cursor int) int {
	top, _ := s.scroll.More()
	first, last := 0, 0
	for n, start := range s.resultLines {
		if start <= top {
			first = n
		}
		if start < top+s.height {
			last = n
		}
	}
	return max(first, min(cursor, last))
}
