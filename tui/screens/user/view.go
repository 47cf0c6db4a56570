package user

import (
	"strings"

	"example.com/perks/tui/widget"
)

// layout is how many lines each part has, from the top.
type layout struct {
	tabs      int
	complaint int
	body      int // where the body begins
	room      int // the body's lines
	foot      int
}

// widthForNouns is from where on the place of the rows is said in full.
const widthForNouns = 40

// Resize sets the room. Who draws next arranges what is in it.
func (s *Screen) Resize(width, height int) { s.width, s.height = width, height }

// arrange lays out the parts, and fills what scrolls. The rows come last, and lose their room last.
func (s *Screen) arrange() {
	if s.detail != nil {
		s.detail.scroll.Resize(s.width, s.height)
		s.detail.scroll.Set(widget.Pairs(s.shell.Theme, s.width, s.pairs()))
		return
	}
	l := layout{}
	if s.height >= 2 && s.id != "" {
		l.tabs = 1
	}
	if s.height >= 4 && s.foot(false) != "" {
		l.foot = 1
	}
	if complaint := s.complaint(); complaint != "" {
		l.complaint = min(len(widget.Wrap("! "+complaint, s.width)), max(1, s.height/3), max(0, s.height-l.tabs-l.foot-1))
	}
	l.body = l.tabs + l.complaint
	l.room = max(1, s.height-l.body-l.foot)
	s.layout = l
	s.available.table.Sort(sortedColumn(s.order.Field), s.order.Desc)
	for _, t := range s.tabs() {
		t.setRows()
		t.rows().Resize(s.width, l.room)
	}
}

// View draws the tabs, and the rows of the one that is shown.
func (s *Screen) View() string {
	s.arrange()
	if s.detail != nil {
		return s.detail.scroll.View()
	}
	look, l := s.shell.Theme, s.layout
	var parts []string
	if l.tabs > 0 {
		parts = append(parts, widget.Tabs(look, s.width, s.labels(), s.at))
	}
	if l.complaint > 0 {
		lines := widget.Wrap("! "+s.complaint(), s.width)
		if len(lines) > l.complaint {
			lines = append(lines[:l.complaint-1], widget.Cut(lines[l.complaint-1]+" …", s.width))
		}
		for _, line := range lines {
			parts = append(parts, look.Bad.Render(line))
		}
	}
	parts = append(parts, s.body())
	if l.foot > 0 {
		parts = append(parts, look.Muted.Render(widget.Cut(s.foot(s.width >= widthForNouns), s.width)))
	}
	return widget.Crop(strings.Join(parts, "\n"), s.width, s.height)
}

func (s *Screen) body() string {
	look := s.shell.Theme
	if n := s.notice(); n.title != "" {
		return widget.Notice(look, n.mood, n.title, n.advice, s.width, s.layout.room)
	}
	s.tab().rows().SetTheme(look)
	return s.tab().rows().View()
}

// Linear says the same in plain lines.
func (s *Screen) Linear() string {
	if s.detail != nil {
		return strings.Join(widget.LinearPairs(s.pairs()), "\n")
	}
	var lines []string
	if s.id != "" {
		lines = append(lines, widget.LinearTabs(s.labels(), s.at))
	}
	if complaint := s.complaint(); complaint != "" {
		lines = append(lines, "Problem: "+complaint)
	}
	if n := s.notice(); n.title != "" {
		return strings.Join(append(lines, widget.LinearNotice(n.mood, n.title, n.advice)), "\n")
	}
	lines = append(lines, s.tab().lines()...)
	return strings.Join(append(lines, s.foot(true)), "\n")
}
