// Package perk is everything about one perk.
//
// It knows no other screen.
package perk

import (
	"context"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// Screen is the screen.
type Screen struct {
	shell         *screen.Shell
	width, height int

	id     string
	known  *api.Perk // as a list has shown it
	user   string    // for whom it is looked at; "" for nobody
	read   *screen.Loader[api.Perk]
	reads  int // how often it has ended, or was forgotten
	image  screen.Image
	scroll widget.Scroll
	drawn  facts
}

// New makes the screen. What the route knows of the perk is shown until it has been read.
func New(shell *screen.Shell, route screen.ToPerk) *Screen {
	return &Screen{shell: shell, id: route.ID, known: route.Known, user: route.UserID, read: screen.NewLoader[api.Perk](shell)}
}

// perk returns what is known of the perk; nil if nothing is.
func (s *Screen) perk() *api.Perk {
	if s.read.Has {
		return &s.read.Value
	}
	return s.known
}

func (s *Screen) Title() string {
	if perk := s.perk(); perk != nil {
		return "Perk " + display.Line(perk.Title)
	}
	return "Perk " + display.Line(s.id)
}

// Init reads the perk, even if it is known: a list may be old.
func (s *Screen) Init() tea.Cmd {
	id := s.id
	return s.read.Load(func(ctx context.Context, c *client.Client) (api.Perk, error) { return c.Perk(ctx, id) })
}

func (s *Screen) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case screen.Reconnected:
		if msg.Other {
			s.known = nil
			s.read.Reset()
			s.reads++
			s.image.TakeAway()
		}
		return s.Init()
	case screen.Revealed:
		return s.Init()
	case tea.MouseMsg:
		s.lay()
		switch msg.Button {
		case tea.MouseButtonWheelUp:
			s.scroll.Do(actions.Up)
		case tea.MouseButtonWheelDown:
			s.scroll.Do(actions.Down)
		}
	default:
		if cmd, mine := s.image.Take(msg); mine {
			return cmd
		}
		cmd, changed := s.read.Take(msg)
		if changed {
			s.reads++
			if s.image.Address() != s.address() {
				s.image.TakeAway() // it is not this perk's any more, and nobody has asked for the other one
			}
		}
		return cmd
	}
	return nil
}

// isGone tells whether the service itself says that there is no such perk.
func (s *Screen) isGone() bool { return client.Missing(s.read.Err) }

func (s *Screen) Resize(width, height int) { s.width, s.height = width, height }

func (s *Screen) Form() *widget.Form { return nil }
func (s *Screen) Unsaved() string    { return "" }

func (s *Screen) Offers() []actions.Offer {
	draw, open := "This perk has no image.", "This perk has no image."
	if address := s.address(); address != "" {
		draw, open = screen.Sentence("", screen.CheckImage(address)), ""
		if problem := api.URLRule(address); problem != "" {
			open = "The address of the image " + problem + "."
		}
	}
	return append([]actions.Offer{
		actions.If(actions.Redeem, s.whyNotRedeem()), actions.If(actions.CopyID, ""),
		actions.If(actions.Picture, draw), actions.If(actions.OpenImage, open),
	}, widget.Moves()...)
}

// whyNotRedeem spares a person a form that the service would refuse. The last word is the service's, whose clock decides.
func (s *Screen) whyNotRedeem() string {
	perk := s.perk()
	switch {
	case s.isGone():
		return s.goneSentence()
	case perk == nil && s.read.Busy():
		return "It is still being loaded."
	case perk == nil:
		return "It could not be loaded."
	}
	return screen.WhyNotNow(perk, s.shell.Now())
}

// address is that of the image, "" if there is none.
func (s *Screen) address() string {
	if perk := s.perk(); perk != nil && perk.ImageURL != nil {
		return *perk.ImageURL
	}
	return ""
}

func (s *Screen) Do(id actions.ID) tea.Cmd {
	switch id {
	case actions.Redeem:
		return s.shell.Open(screen.ToRedeem{Perks: []api.Perk{*s.perk()}, UserID: s.user})
	case actions.CopyID:
		return s.shell.Copy(s.perkID(), "")
	case actions.OpenImage:
		return s.shell.Browse(s.address())
	case actions.Picture:
		return s.image.Toggle(s.shell, "The perk", s.address())
	}
	s.lay()
	s.scroll.Do(id)
	return nil
}

func (s *Screen) Linear() string {
	perk := s.perk()
	if perk == nil {
		return widget.LinearNotice(s.nothing())
	}
	var lines []string
	if problem := s.problem(); problem != "" {
		lines = append(lines, "Problem: "+problem)
	}
	lines = append(lines, "Title: "+display.Line(perk.Title), "Discount: "+display.Line(given(perk.DiscountText)), "Validity: "+validity(perk, s.shell.Now()))
	lines = append(lines, widget.LinearPairs(s.who(perk))...)
	lines = append(lines, "Description: "+display.Text(perk.Description), "Terms: "+display.Text(given(perk.Terms)))
	lines = append(lines, widget.LinearPairs(s.details(perk))...)
	if s.image.Address() != "" {
		lines = append(lines, "Drawn image: "+s.image.Linear())
	}
	return strings.Join(append(lines, "State: "+s.age()), "\n")
}

// validity says when the perk can be redeemed, seen from now: "Valid until 3 Dec 2026, 12 days left".
func validity(perk *api.Perk, now time.Time) string {
	switch screen.PhaseOf(perk, now) {
	case screen.Ended:
		return "Was valid until " + lastDay(*perk.ValidTo, now) + ", " + display.Until(*perk.ValidTo, now)
	case screen.NotStarted:
		from := "Valid from " + display.Day(*perk.ValidFrom, now)
		if perk.ValidTo != nil {
			from += " until " + lastDay(*perk.ValidTo, now)
		}
		return from + ", starts " + display.In(*perk.ValidFrom, now)
	}
	if perk.ValidTo == nil {
		return "Valid, no end date"
	}
	return "Valid until " + lastDay(*perk.ValidTo, now) + ", " + display.Until(*perk.ValidTo, now)
}

// lastDay is the last day on which there is still a moment before the end: what ends at midnight is over on the day that
// begins then.
func lastDay(end, now time.Time) string { return display.Day(end.Add(-time.Nanosecond), now) }
