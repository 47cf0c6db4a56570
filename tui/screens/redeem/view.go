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

const (
	minWidthBeside = 100 // for two panels side by side
	minWidthMargin = 60  // for a blank between border and text
	minAside       = 4   // the least height of the panel below another
)

// margin is how far the inside of a panel is from its corner.
func (s *Screen) margin() (left, top int) {
	top = widget.Corner(s.width, s.height)
	if s.width >= minWidthMargin {
		left = top
	}
	return left + top, top
}

// View draws the form or the results, and beside or below it what they are about.
func (s *Screen) View() string {
	s.fields.SetTheme(s.shell.Theme)
	left, top := s.margin()
	if s.width >= minWidthBeside {
		width := s.width * 3 / 5
		return widget.Beside(s.mainPanel(width, s.height), width, s.asidePanel(s.width-width, s.height))
	}
	inside, borders := s.width-2*left, 2*top
	aside := len(s.draw(s.asideLines(), inside)) + borders
	var height int
	if form := s.Form(); form != nil {
		height = s.height - min(aside, s.height-max(4+top, min(s.formHeight(inside)+borders, (s.height+1)/2)))
	} else {
		height = s.height - min(aside, s.height-len(s.resultLines(inside, s.height))-borders)
	}
	if least := 1 + top*(minAside-1); s.height-height < least || height < 1 {
		return s.mainPanel(s.width, s.height)
	}
	return s.mainPanel(s.width, height) + "\n" + s.asidePanel(s.width, s.height-height)
}

// panel draws a panel around lines, which the scroll may cut, or the lines alone where there is no space for borders.
func (s *Screen) panel(p widget.Panel, width, height int, inside func(width, height int) (view string,
	bar widget.Bar)) string {
	left, top := s.margin()
	view, bar := inside(max(1, width-2*left), max(1, height-2*top))
	if top == 0 {
		return display.Crop(view, width, height)
	}
	p.Bar = bar
	return p.Box(s.shell.Theme, widget.Indented(view, left-top), width, height)
}

func (s *Screen) mainPanel(width, height int) string {
	p := widget.Panel{Title: s.Title(), Focused: true}
	if s.Form() != nil {
		return s.panel(p, width, height, s.drawForm)
	}
	p.Title = "Results for " + s.sub.request.UserID
	if all := len(s.sub.items); all > 1 {
		p.Foot = fmt.Sprintf("%d of %d", min(s.cursor, all-1)+1, all)
	}
	return s.panel(p, width, height, func(width, height int) (string, widget.Bar) {
		s.scroll.Resize(width, height)
		s.scroll.Set(s.resultLines(width, height))
		return s.scroll.View(), s.scroll.Bar()
	})
}

func (s *Screen) asidePanel(width, height int) string {
	p := widget.Panel{Title: display.Plural(len(s.perks), "perk", "perks")}
	switch {
	case s.Form() != nil && s.sub != nil:
		p.Title = "Results for " + s.sub.request.UserID
	case s.Form() == nil:
		p.Title = "Perk " + s.chosen().perk.ID
	}
	return s.panel(p, width, height, func(width, height int) (string, widget.Bar) {
		lines := s.draw(s.asideLines(), width)
		s.aside.Resize(width, height)
		s.aside.Set(lines)
		return s.aside.View(), s.aside.Bar()
	})
}

// asideLines is the outcomes so far, or the perks; of a single one all that a user may ask.
func (s *Screen) asideLines() []line {
	var lines []line
	var perk api.Perk
	switch {
	case s.Form() == nil:
		perk = s.chosen().perk
		lines = s.about(perk)
	case s.sub == nil && len(s.perks) == 1:
		perk, lines = s.perks[0], s.lines()
	default:
		return s.lines()
	}
	if perk.Terms != nil {
		lines = append(lines, styled(s.shell.Theme.Text, 0, "Terms: "+*perk.Terms))
	}
	if perk.Description != "" {
		lines = append(lines, styled(s.shell.Theme.Text, 0, perk.Description))
	}
	return lines
}

func (s *Screen) formHeight(width int) int {
	s.fields.SetNote(userField, "")
	s.fields.View(width, 1000)
	lines := 0
	for known := true; known; lines++ {
		_, known = s.fields.FieldAt(lines)
	}
	return lines // one more, for the verdict
}

func (s *Screen) drawForm(width, height int) (string, widget.Bar) {
	s.fields.SetNote(userField, s.advice())
	return s.fields.View(width, height), widget.Bar{}
}

// mouse scrolls with the wheel, and chooses the field or the result that is clicked.
func (s *Screen) mouse(msg screen.Mouse) {
	_, top := s.margin()
	form, y := s.Form(), msg.Y-top
	switch {
	case form != nil && msg.Wheel != "":
		s.aside.Do(msg.Wheel)
	case form != nil:
		if field, ok := form.FieldAt(y); ok {
			form.FocusIndex(field)
		}
	case msg.Wheel != "":
		s.move(msg.Wheel)
	case s.table != nil:
		above, _ := s.scroll.More()
		if row, ok := s.table.RowAt(y + above - s.tableTop); ok {
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
				about[0] = s.titled(whyNotEligible(answers[i]), theme.Warning, perk.Title)
			}
			lines = append(lines, about...)
		}
		return append(lines, styled(look.Muted, 0, "At "+destination(s.profile)))
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
		if words, tone := s.verdict(); tone != theme.Good && words != "" {
			parts = append(parts, display.Line(s.eligibility.Value.userID)+": "+words)
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
		s.aside.Do(actions.Top)
	case above+below > 0:
		s.scroll.Do(id)
	default:
		s.aside.Do(id)
	}
	return nil
}
