package redeem

import (
	"cmp"
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/api/operation"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/theme"
	"example.com/perks/tui/widget"
)

// line is a line before it is wrapped. What its colours say, its words say too.
type line struct {
	indent  int
	text    string // with styles
	cut     bool   // it is cut at the edge, so that a long title takes one line
	spinner string // before the text, for the eye only
}

func (s *Screen) Resize(width, height int) { s.width, s.height = width, height }

// Lines returns how many lines the screen fills at a width.
func (s *Screen) Lines(width int) int {
	if s.Form() == nil {
		return len(s.resultLines(width, unbounded))
	}
	above, below := s.around(width)
	return len(above) + s.formHeight(width) + len(below)
}

// View draws the form between what it is about and more of that, or the results.
func (s *Screen) View() string {
	if s.Form() == nil {
		s.scroll.Resize(s.width, s.height)
		s.scroll.Set(s.resultLines(s.width, s.height))
		return s.scroll.View()
	}
	s.fields.SetTheme(s.shell.Theme)
	above, below := s.around(s.width)
	form := min(s.formHeight(s.width), s.height)
	if len(above)+form+min(len(below), leastBelow) > s.height {
		above = nil
	}
	s.formTop = len(above)
	if s.height-len(above)-form < min(len(below), leastBelow) {
		below, form = nil, s.height-len(above)
	}
	lines := append(above, s.fields.View(s.width, form))
	if len(below) > 0 {
		s.aside.Resize(s.width, s.height-len(above)-form)
		s.aside.Set(below)
		lines = append(lines, s.aside.View())
	}
	return strings.Join(lines, "\n")
}

// unbounded is a height in which everything fits.
const unbounded = 1000

// leastBelow is how many lines there must be to draw what is below the form.
const leastBelow = 2

// around is what is above and below the form: the perk and all that a user may ask about it, or all perks, or the
// outcomes so far.
func (s *Screen) around(width int) (above, below []string) {
	if s.sub != nil || len(s.perks) != 1 {
		return nil, append([]string{""}, s.draw(s.lines(), width)...)
	}
	perk, look := s.perks[0], s.shell.Theme
	lines := append([]line{{}}, s.summary()...)
	if perk.Terms != nil {
		lines = append(lines, styled(look.Text, 0, "Terms: "+*perk.Terms))
	}
	if perk.Description != "" {
		lines = append(lines, styled(look.Text, 0, perk.Description))
	}
	lines = append(lines, s.destined())
	return append(s.draw(s.about(perk)[1:], width), ""), s.draw(lines, width) // the title is in the border
}

// destined says where what is redeemed is sent.
func (s *Screen) destined() line { return styled(s.shell.Theme.Muted, 0, "At "+destination(s.profile)) }

// formHeight returns how many lines the form has, with one for the verdict.
func (s *Screen) formHeight(width int) int {
	s.fields.SetNote(userField, cmp.Or(s.advice(), " "))
	return s.fields.Lines(width, unbounded)
}

// mouse scrolls with the wheel, and chooses the field or the result that is clicked.
func (s *Screen) mouse(msg screen.Mouse) {
	form := s.Form()
	switch {
	case form != nil && msg.Wheel != "":
		s.aside.Do(msg.Wheel)
	case form != nil:
		if field, ok := form.FieldAt(msg.X, msg.Y-s.formTop); ok {
			form.FocusIndex(field)
		}
	case msg.Wheel != "":
		s.move(msg.Wheel)
	case s.table != nil:
		above, _ := s.scroll.More()
		if row, ok := s.table.RowAt(msg.Y + above - s.tableTop); ok {
			s.cursor = row
		}
	}
}

func (s *Screen) draw(lines []line, width int) []string {
	var drawn []string
	for _, l := range lines {
		indent := strings.Repeat(" ", min(l.indent, width/8))
		text, space := l.text, width-len(indent)
		if l.spinner != "" {
			text = s.shell.Theme.Info.Render(l.spinner) + " " + text
		}
		parts := []string{display.Cut(text, space)}
		if !l.cut {
			parts = display.Wrap(text, space)
		}
		for _, part := range parts {
			drawn = append(drawn, indent+part)
		}
	}
	return drawn
}

// styled makes a line in a style.
func styled(style lipgloss.Style, indent int, text string) line {
	return line{indent: indent, text: style.Render(display.Line(text))}
}

// titled makes a line of a perk's title, with a mark before it if there is one.
func (s *Screen) titled(mark string, tone theme.Tone, title string) line {
	look := s.shell.Theme
	text := look.Strong.Render(display.Line(title))
	if mark != "" {
		text = look.In(tone).Render("["+mark+"]") + " " + text
	}
	return line{text: text, cut: true}
}

// lines is everything but the fields.
func (s *Screen) lines() []line {
	look, lines := s.shell.Theme, s.summary()
	if s.sub == nil {
		answers := s.answers()
		for i, perk := range s.perks {
			about := s.about(perk)
			if i < len(answers) && len(s.perks) > 1 {
				mark := whyNotEligible(answers[i])
				if answers[i].NeedsApproval() {
					mark = needsApproval
				}
				about[0] = s.titled(mark, theme.Warning, perk.Title)
			}
			lines = append(lines, about...)
		}
		return append(lines, s.destined())
	}
	for _, i := range s.sub.items {
		lines = append(lines, s.detail(i)...)
	}
	return append(lines, styled(look.Muted, 0, "For "+s.sub.request.UserID+", at "+destination(s.profile)))
}

// detail is all that is known of the outcome of an item.
func (s *Screen) detail(i *item) []line {
	look, o := s.shell.Theme, s.outcome(i)
	text := styled(*look.In(o.tone), 2, o.text)
	text.spinner = o.spinner
	lines := []line{s.titled(o.mark, o.tone, i.perk.Title), text}
	if o.id != "" {
		lines = append(lines, styled(look.Text, 2, "Id "+o.id))
	}
	if o.next != "" {
		lines = append(lines, styled(look.Text, 2, o.next))
	}
	return lines
}

// resultLines draws the results: several in a table, with the details of the one under the cursor below it.
func (s *Screen) resultLines(width, height int) []string {
	lines := s.draw(s.summary(), width)
	detail := append(s.detail(s.chosen()), styled(s.shell.Theme.Muted, 0,
		"For "+s.sub.request.UserID+", at "+destination(s.profile)))
	below := s.draw(append(detail, s.locked()...), width)
	s.table = nil
	if all := len(s.sub.items); all > 1 {
		s.tableTop = len(lines)
		space := max(height-len(lines)-len(below)-1, 3, height/2)
		lines = append(append(lines, s.resultTable(width, min(all+1, space))...), "")
	}
	return append(lines, below...)
}

// resultTable draws a row for each result. Each outcome has its colour, but for the row under the cursor.
func (s *Screen) resultTable(width, height int) []string {
	look := s.shell.Theme
	rows, widest := make([]widget.Row, len(s.sub.items)), 0
	for n, i := range s.sub.items {
		o := s.outcome(i)
		detail := o.text
		if i.State == operation.Made {
			detail = cmp.Or(o.id, o.text)
		}
		widest = max(widest, len(o.mark)+2)
		rows[n].Cells = []string{"[" + o.mark + "]", display.Line(i.perk.Title), display.Line(detail)}
		rows[n].Tones = []theme.Tone{o.tone}
	}
	widest = min(widest, width/2)
	s.table = widget.NewTable(look, widget.Column{Name: "Outcome", Min: widest},
		widget.Column{Name: "Perk", Min: 12, Share: 1}, widget.Column{Name: "Detail", Min: 16, Share: 1, Drop: 1})
	s.table.SetRows(rows)
	s.table.Resize(width, height)
	s.table.SetCursor(s.cursor)
	return strings.Split(s.table.View(), "\n")
}

// summary is the outcome of everything in a line or two.
func (s *Screen) summary() []line {
	if why := s.whyOtherAccount(); why != "" {
		return []line{styled(s.shell.Theme.Bad, 0, why)}
	}
	if len(s.perks) == 0 {
		return []line{styled(s.shell.Theme.Bad, 0, s.whyNot())}
	}
	if len(s.items()) < 2 {
		return nil
	}
	text := s.counts()
	if waiting := s.sub.waiting(); s.Form() != nil && len(waiting) > 0 && s.sub.agreed &&
		s.outcome(waiting[0]).mark != noSuchUser {
		text += fmt.Sprintf(" %s continues.", s.shell.Key(actions.Submit))
	}
	total := styled(s.shell.Theme.Strong, 0, text)
	if s.sender.Busy() {
		total.spinner = s.outcome(s.current).spinner
	}
	return []line{total}
}

// about describes a perk.
func (s *Screen) about(perk api.Perk) []line {
	look, now := s.shell.Theme, s.shell.Now()
	facts := []string{perk.ID}
	for _, text := range []*string{perk.DiscountText, perk.MerchantName, &perk.City} {
		if text != nil {
			facts = append(facts, *text)
		}
	}
	l := styled(look.Muted, 2, strings.Join(facts, ", "))
	if perk.ValidTo != nil || screen.PhaseOf(&perk, now) == screen.NotStarted {
		l.text += look.Muted.Render(", ") + look.In(screen.ValidTone(&perk, now)).Render(screen.Valid(&perk, now))
	}
	return []line{s.titled("", theme.Plain, perk.Title), l}
}

// locked shows the metadata while the form is locked, and what can be done next.
func (s *Screen) locked() []line {
	if s.sub == nil {
		return nil
	}
	look := s.shell.Theme
	var lines []line
	if metadata := string(s.sub.request.Metadata); metadata != "" {
		lines = append(lines, styled(look.Muted, 0, "Metadata: "+metadata))
	}
	if s.sub.unresolved() == nil && !s.sender.Busy() {
		next := s.shell.Key(actions.Redeem) + " redeems for another user."
		if len(s.sub.open()) > 0 {
			next = s.shell.Key(actions.Redeem) + " opens the form."
		}
		if len(s.failed()) > 0 {
			next = s.shell.Key(actions.Retry) + " retries what failed, " + next
		}
		lines = append(lines, styled(look.Text, 0, next))
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
		parts = append(parts, strings.TrimSpace(ansi.Strip(l.text)))
	}
	if form := s.Form(); form != nil {
		parts = append(parts, form.AccessibleText())
		var users []string
		for _, id := range s.toChoose() {
			words, _ := s.known(id)
			users = append(users, widget.Joined(", ", display.Line(id), strings.TrimPrefix(words, mark)))
		}
		if users != nil {
			parts = append(parts, "Users to choose from: "+strings.Join(users, "; "))
		}
		if words, tone := s.verdict(); tone != theme.Good && words != "" {
			parts = append(parts, display.Line(s.eligibility.Value.userID)+": "+
				strings.TrimPrefix(words, mark))
		}
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

// move moves the cursor from result to result, and scrolls where the results or the perk do not fit.
func (s *Screen) move(id actions.ID) tea.Cmd {
	last := len(s.items()) - 1
	above, below := s.scroll.More()
	to := s.cursor
	switch {
	case id == actions.Up && above == 0:
		to--
	case id == actions.Down:
		to++
	case id == actions.Top:
		to = 0
	case id == actions.Bottom:
		to = last
	case above+below == 0 && s.table != nil:
		s.table.Do(id)
		to = s.table.Cursor()
	}
	switch to = max(0, min(to, last)); {
	case to != s.cursor:
		s.cursor = to
		s.scroll.Do(actions.Top)
	default:
		s.scroll.Do(id)
	}
	return nil
}
