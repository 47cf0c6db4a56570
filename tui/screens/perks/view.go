package perks

import (
	"strings"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// The least heights for the line with the position, and for the one with the query.
const (
	heightForPosition = 3
	heightForSummary  = 4
	// leastRows is how many rows the form leaves to the list.
	leastRows = 3
)

// layout is called before each frame, because errors beside the filter take lines too.
func (s *List) layout() (top, bottom []string) {
	top, bottom = s.topLines(), s.bottomLines()
	s.tableTop = len(top)
	s.tableWidth = s.width
	if s.showsPreview() {
		// three fifths of the width, or more if cells would be cut
		space := s.width - display.Width(previewEdge)
		s.tableWidth = max(s.width*3/5, min(usualWidth, space-leastPreview), min(s.table.Natural(), space-goodPreview))
	}
	s.fitTable(s.tableWidth, max(0, s.height-len(top)-len(bottom)))
	return top, bottom
}

// The least width of the preview in a narrow window, and beside long titles.
const (
	leastPreview = 37
	goodPreview  = 46
)

const previewEdge = " │ "

func (s *List) showsPreview() bool { return s.preview && s.width >= previewFrom && len(s.shown) > 0 }

func (s *List) View() string {
	if s.list.Has && s.shell.Now().Sub(s.rowsAt) >= time.Minute {
		s.buildRows() // they hold how many days are left
	}
	top, bottom := s.layout()
	height := s.height - len(top) - len(bottom)
	lines := append(top, s.middle(height)...)
	return strings.Join(append(lines, bottom...), "\n")
}

func (s *List) middle(height int) []string {
	if height <= 0 {
		return nil
	}
	if title, advice, kind, none := s.noRows(); none {
		return strings.Split(widget.Notice(s.shell.Theme, kind, title, advice, s.width, height), "\n")
	}
	s.table.SetTheme(s.shell.Theme)
	rows := strings.Split(s.table.View(), "\n")
	if !s.showsPreview() {
		return rows
	}
	border := s.shell.Theme.Border.Render(previewEdge)
	beside := s.previewLines(s.width-s.tableWidth-display.Width(previewEdge), height)
	for i := range rows {
		rows[i] = display.Pad(rows[i], s.tableWidth) + border
		if i < len(beside) {
			rows[i] += beside[i]
		}
	}
	return rows
}

// topLines is the form of the filter while it is open, otherwise the query.
func (s *List) topLines() []string {
	if s.typing {
		return s.formLines()
	}
	if s.height < heightForSummary {
		return nil
	}
	style := s.shell.Theme.Muted
	if s.want.isFiltered() {
		style = s.shell.Theme.Accent
	}
	return []string{style.Render(display.Cut(s.want.summary(), s.width))}
}

// bottomLines is the problem and the position.
func (s *List) bottomLines() []string {
	var lines []string
	if problem := s.problem(); problem != "" && len(s.shown) > 0 {
		lines = widget.Capped(s.shell.Theme.Bad, "! "+problem, s.width, max(1, min(3, (s.height-4)/2)))
	}
	if s.height < heightForPosition {
		return nil
	}
	return append(lines, s.shell.Theme.Muted.Render(s.position(s.width)))
}

// formLines draws the filter in one or two lines, in a narrow window in a line for each field.
func (s *List) formLines() []string {
	s.form.SetTheme(s.shell.Theme)
	names := s.form.Names()
	groups := [][]string{names[:3], names[3:]}
	switch {
	case s.width >= 130:
		groups = [][]string{names}
	case s.width < 60:
		groups = nil
		for i := range names {
			groups = append(groups, names[i:i+1])
		}
	}
	var lines []string
	focus := 0
	for _, group := range groups {
		for _, name := range group {
			if name == s.form.Focus() {
				focus = len(lines)
			}
		}
		lines = append(lines, s.fieldsLine(group))
		for _, name := range group {
			lines = append(lines, s.problemLines(name)...)
		}
	}
	least := 1 + len(s.problemLines(s.form.Focus()))
	height := max(1, min(least, s.height-2), s.height-leastRows-2)
	if len(lines) <= height {
		return lines
	}
	from := max(0, min(focus, len(lines)-height))
	return lines[from : from+height]
}

func (s *List) fieldsLine(names []string) string {
	taken := 0
	for _, name := range names {
		taken += 4 + display.Width(s.form.Field(name).Label)
	}
	space := s.width - taken - 2*(len(names)-1)
	var line strings.Builder
	for i, name := range names {
		if i > 0 {
			line.WriteString("  ")
		}
		width := max(1, space/len(names))
		if i == 0 {
			width = max(1, space-width*(len(names)-1))
		}
		label := "  " + s.form.Field(name).Label
		style := s.shell.Theme.Heading
		if name == s.form.Focus() {
			label, style = "> "+s.form.Field(name).Label, s.shell.Theme.Accent
		}
		line.WriteString(style.Render(label+":") + " " + s.form.Input(name, width))
	}
	return display.Cut(line.String(), s.width)
}

func (s *List) problemLines(name string) []string {
	var lines []string
	for _, problem := range s.form.Problems(name) {
		text := "! " + s.form.Field(name).Label + " " + display.Line(problem)
		for _, line := range display.Wrap(text, max(1, s.width-2)) {
			lines = append(lines, "  "+s.shell.Theme.Bad.Render(line))
		}
	}
	return lines
}

// previewFrom is the least width with a preview.
const previewFrom = 96

// facts is labels and values, the most important first. The title has no label.
func (s *List) facts(p *api.Perk) [][2]string {
	now := s.shell.Now()
	valid := screen.Valid(p, now)
	if p.ValidTo != nil {
		valid += ", until " + display.Instant(*p.ValidTo, now)
	}
	facts := [][2]string{
		{"", display.Line(p.Title)},
		{"Discount", screen.Optional(p.DiscountText)},
		{"Valid", valid},
		{"Merchant", screen.Optional(p.MerchantName)},
		{"City", display.Line(p.City)},
		{"Category", screen.Optional(p.Category)},
		{"Id", display.Line(p.ID)},
		{"About", display.Text(p.Description)},
	}
	if p.Terms != nil {
		facts = append(facts, [2]string{"Terms", display.Text(*p.Terms)})
	}
	return facts
}

// previewLines draws the perk under the cursor, scrolled. If it does not fit, the last line names the keys.
func (s *List) previewLines(width, height int) []string {
	perk := s.current()
	if perk == nil || height <= 0 {
		return nil
	}
	facts := s.facts(perk)
	if s.previewOf != perk.ID {
		s.previewOf, s.previewTop = perk.ID, 0
	}
	lines := s.factLines(facts, width, s.previewTop+height+1)
	if len(lines) <= height {
		s.previewTop = 0
		return lines
	}
	space := height - 1
	s.previewTop = min(s.previewTop, len(lines)-space)
	mark := "↑ " + s.shell.Key(actions.PreviewUp) + " back"
	if len(lines) > s.previewTop+space {
		mark = "↓ " + s.shell.Key(actions.PreviewDown) + " more  " + mark
	}
	if s.previewTop > 0 {
		lines = lines[s.previewTop : s.previewTop+space]
	} else { // the facts shortened, but always with the terms
		mark = "↓ " + s.shell.Key(actions.PreviewDown) + " more"
		var terms []string
		if last := len(facts) - 1; facts[last][0] == "Terms" {
			terms = s.cutFacts(facts[last:], width, space/3)
			facts = facts[:last]
		}
		lines = append(s.cutFacts(facts, width, space-len(terms)), terms...)
	}
	return append(lines, s.shell.Theme.Accent.Render(display.Cut(mark, width)))
}

// cutFacts draws the lines that fit. If some do not, the last line is an ellipsis.
func (s *List) cutFacts(facts [][2]string, width, height int) []string {
	lines := s.factLines(facts, width, height+1)
	if len(lines) <= height || height <= 0 {
		return lines[:min(len(lines), max(0, height))]
	}
	lines = lines[:height]
	lines[height-1] = s.shell.Theme.Muted.Render("…")
	return lines
}

// scrollPreview scrolls in small steps, so that it skips none of the lines that the terms covered.
func (s *List) scrollPreview(by int) {
	s.previewTop = max(0, s.previewTop+by*max(1, s.height/4))
}

// whyNotPreview says why the preview cannot be scrolled; "" if it can.
func (s *List) whyNotPreview() string {
	switch {
	case s.width < previewFrom:
		return needsWindow
	case !s.preview:
		return s.shell.Key(actions.Preview) + " shows the preview."
	case len(s.shown) == 0:
		return noPerk
	}
	return ""
}

// factLines draws facts, at most height lines of them.
func (s *List) factLines(facts [][2]string, width, height int) []string {
	theme := s.shell.Theme
	var lines []string
	for _, fact := range facts {
		name, value := fact[0], fact[1]
		if value == "" || len(lines) >= height {
			continue
		}
		value = prefix(value, width*(height-len(lines)))
		switch {
		case name == "":
			lines = append(lines, widget.Wrapped(theme.Strong, value, width)...)
		case len(name)+2+display.Width(value) <= width && !strings.Contains(value, "\n"):
			lines = append(lines, theme.Heading.Render(name+":")+" "+theme.Text.Render(value))
		default:
			lines = append(lines, theme.Heading.Render(name+":"))
			lines = append(lines, widget.Wrapped(theme.Text, value, width)...)
		}
	}
	return lines[:min(len(lines), max(0, height))]
}

// prefix is the first characters of a text. Wrapping more than is visible for each frame would be slow.
func prefix(text string, characters int) string {
	for i := range text {
		if characters--; characters < 0 {
			return text[:i]
		}
	}
	return text
}
