package perk

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/lipgloss"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// From this width on the image stands beside the facts.
const widthForBeside = 90

func (s *Screen) View() string {
	if s.perk() == nil {
		mood, title, advice := s.nothing()
		return widget.Notice(s.shell.Theme, mood, title, advice, s.width, s.height)
	}
	p := s.lay()
	lines := append([]string{}, p.banner...)
	body := strings.Split(s.scroll.View(), "\n")
	if p.beside {
		for i, line := range p.image {
			body[i] = display.Pad(body[i], p.width) + "  " + line
		}
		lines = append(lines, body...)
	} else {
		lines = append(append(lines, body...), p.image...)
	}
	if p.status {
		lines = append(lines, s.statusLine())
	}
	return display.Crop(strings.Join(lines, "\n"), s.width, s.height)
}

// parts is how the room is shared out.
type parts struct {
	banner []string // what went wrong, at the top
	image  []string
	beside bool // the image stands to the right of the facts
	width  int  // of the facts
	status bool // there is a line at the bottom
}

// lay shares out the room, of which the image gets half of the height at most, and fills in the facts.
func (s *Screen) lay() parts {
	perk := s.perk()
	if perk == nil {
		return parts{}
	}
	p := parts{width: s.width, status: s.height >= 4, beside: s.width >= widthForBeside}
	if problem := s.problem(); problem != "" {
		p.banner = widget.Capped(s.shell.Theme.Bad, "! "+problem, s.width, s.height/3)
	}
	height := max(1, s.height-len(p.banner))
	if p.status {
		height--
	}
	roomForImage := min(s.height, height) / 2
	if p.beside {
		p.image = s.image.View(s.shell.Theme, s.width*2/5, roomForImage)
		if len(p.image) > 0 {
			p.width = s.width - s.width*2/5 - 2
		}
	} else {
		p.image = s.image.View(s.shell.Theme, s.width, roomForImage)
		height -= len(p.image)
	}
	s.scroll.Resize(p.width, height)
	s.scroll.Set(s.facts(perk, p.width))
	return p
}

// facts is what was drawn of the facts last. Long texts take milliseconds to wrap, which is too much for every frame.
type facts struct {
	of    factsOf
	lines []string
}

// factsOf is all that facts depend on.
type factsOf struct {
	known    *api.Perk
	reads    int
	validity string // as time goes by it changes without the perk
	width    int
	look     *widget.Theme
}

func (s *Screen) facts(perk *api.Perk, width int) []string {
	of := factsOf{s.known, s.reads, validity(perk, s.shell.Now()), width, s.shell.Theme}
	if s.drawn.of != of {
		s.drawn = facts{of, s.drawFacts(perk, of)}
	}
	return s.drawn.lines
}

// drawFacts draws everything about the perk: first what it is and whether it can be used, then the small print.
func (s *Screen) drawFacts(perk *api.Perk, of factsOf) []string {
	look, width := of.look, of.width
	lines := widget.Wrapped(look.Strong, display.Line(perk.Title), width)
	if perk.DiscountText != nil {
		lines = append(lines, widget.Wrapped(look.Accent, display.Line(*perk.DiscountText), width)...)
	}
	style := [...]lipgloss.Style{screen.Running: look.Good, screen.NotStarted: look.Warn, screen.Ended: look.Bad}[screen.PhaseOf(perk, s.shell.Now())]
	lines = append(lines, widget.Wrapped(style, of.validity, width)...)
	lines = append(lines, "")
	lines = append(lines, widget.Pairs(look, width, s.who(perk))...)
	lines = append(lines, "")
	lines = append(lines, widget.Wrapped(look.Text, display.Text(perk.Description), width)...)
	lines = append(lines, "", look.Heading.Render(display.Cut("Terms", width)))
	lines = append(lines, widget.Wrapped(look.Text, display.Text(given(perk.Terms)), width)...)
	lines = append(lines, "")
	return append(lines, widget.Pairs(look, width, s.details(perk))...)
}

// statusLine says how old the facts are, and how much of them is out of sight.
func (s *Screen) statusLine() string {
	look := s.shell.Theme
	more := hidden(s.scroll.More())
	room := s.width - display.Width(more) - 2
	if more == "" {
		return look.Muted.Render(display.Cut(s.age(), s.width))
	}
	if room < 8 {
		return look.Muted.Render(display.Cut(more, s.width))
	}
	return look.Muted.Render(display.Pad(s.age(), room) + "  " + more)
}

func (s *Screen) who(perk *api.Perk) []widget.Pair {
	return []widget.Pair{
		{Label: "Merchant", Value: display.Line(given(perk.MerchantName))},
		{Label: "City", Value: display.Line(perk.City)},
		{Label: "Category", Value: display.Line(given(perk.Category))},
	}
}

// details is what is looked up rather than read.
func (s *Screen) details(perk *api.Perk) []widget.Pair {
	return []widget.Pair{
		{Label: "Valid from", Value: s.moment(perk.ValidFrom, "any time")},
		{Label: "Valid to", Value: s.moment(perk.ValidTo, "no end date")},
		{Label: "Id", Value: s.perkID()},
		{Label: "Image", Value: display.Line(given(perk.ImageURL))},
		{Label: "Created", Value: s.moment(&perk.CreatedAt, "")},
		{Label: "Updated", Value: s.moment(&perk.UpdatedAt, "")},
	}
}

func (s *Screen) perkID() string {
	if perk := s.perk(); perk != nil && perk.ID != "" {
		return display.Line(perk.ID)
	}
	return display.Line(s.id)
}

func given(text *string) string {
	if text == nil {
		return "none"
	}
	return *text
}

// moment is a time in the zone of the person, which it names.
func (s *Screen) moment(at *time.Time, none string) string {
	switch {
	case at == nil:
		return none
	case at.IsZero():
		return "not known"
	}
	return at.In(s.shell.Zone()).Format("2 Jan 2006 15:04 MST")
}

// nothing says why there are no facts.
func (s *Screen) nothing() (mood widget.Mood, title, advice string) {
	id := display.Line(s.id)
	switch {
	case s.isGone():
		return widget.Failure, s.goneSentence(), s.goneAdvice()
	case s.read.Err != nil && !s.read.Busy():
		return widget.Failure, "Perk " + id + " could not be loaded.", screen.Sentence("", s.read.Err) + " " + s.shell.Key(actions.Refresh) + " tries again."
	}
	return widget.Loading, "Loading perk " + id + " ...", ""
}

func (s *Screen) goneSentence() string {
	if s.perk() != nil {
		return "There is no perk " + display.Line(s.id) + " any more."
	}
	return "There is no perk " + display.Line(s.id) + "."
}

func (s *Screen) goneAdvice() string {
	place := "the live service"
	if s.shell.Account.Profile.Sandbox {
		place = "the sandbox"
	}
	return fmt.Sprintf("This is %s; in another one it may be there. %s goes back. %s looks again.",
		place, s.shell.Key(actions.Back), s.shell.Key(actions.Refresh))
}

// problem says what went wrong while old facts are shown, "" if nothing did.
func (s *Screen) problem() string {
	switch {
	case s.read.Err == nil:
		return ""
	case s.isGone():
		return s.goneSentence() + " Below is what it was. " + s.goneAdvice()
	}
	return screen.Sentence("It could not be read again: ", s.read.Err) + " " + s.shell.Key(actions.Refresh) + " tries again."
}

// age says how old the facts are.
func (s *Screen) age() string {
	switch {
	case s.read.Has && s.read.Busy():
		return "Read " + display.Age(s.shell.Now().Sub(s.read.At)) + ", reading again ..."
	case s.read.Has:
		return "Read " + display.Age(s.shell.Now().Sub(s.read.At))
	case s.read.Busy():
		return "As in the list, reading it ..."
	}
	return "As in the list"
}

// hidden says how many lines are out of sight.
func hidden(above, below int) (text string) {
	if above > 0 {
		text = "↑ " + display.Count(above) + " "
	}
	if below > 0 {
		text += "↓ " + display.Count(below)
	}
	return strings.TrimSuffix(text, " ")
}
