package perk

import (
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/picture"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// Offers is what can be done with the perk, and why some of it cannot.
func (s *Screen) Offers() []actions.Offer {
	return append([]actions.Offer{
		actions.If(actions.Redeem, s.whyNotRedeem()),
		actions.If(actions.CopyID, ""),
		actions.If(actions.Picture, s.whyNotDraw()),
		actions.If(actions.OpenImage, s.whyNotOpen()),
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
	return whyNotNow(perk, s.shell.Now())
}

// address is that of the image, "" if there is none.
func (s *Screen) address() string {
	if perk := s.perk(); perk != nil && perk.ImageURL != nil {
		return *perk.ImageURL
	}
	return ""
}

const noImage = "This perk has no image."

func (s *Screen) whyNotDraw() string {
	if s.address() == "" {
		return noImage
	}
	return screen.Sentence("", picture.Check(s.address()))
}

func (s *Screen) whyNotOpen() string {
	if s.address() == "" {
		return noImage
	}
	if problem := api.URLRule(s.address()); problem != "" {
		return "The address of the image " + problem + "."
	}
	return ""
}

// Do redeems, copies, opens, draws, or moves about.
func (s *Screen) Do(id actions.ID) tea.Cmd {
	switch id {
	case actions.Redeem:
		return s.shell.Open(screen.ToRedeem{Perks: []api.Perk{*s.perk()}, UserID: s.user})
	case actions.CopyID:
		return s.copyID()
	case actions.OpenImage:
		return s.openImage()
	case actions.Picture:
		return s.draw()
	}
	s.lay()
	s.scroll.Do(id)
	return nil
}

func (s *Screen) copyID() tea.Cmd {
	desktop, id := s.shell.Desktop, s.perkID()
	return outside(func() error { return desktop.Copy(id) }, "Copied the id "+id+".")
}

func (s *Screen) openImage() tea.Cmd {
	desktop, address := s.shell.Desktop, s.address()
	return outside(func() error { return desktop.Open(address) }, "Opened the image at "+picture.Host(address)+" in a browser.")
}

// outside does what may wait, and tells how it went.
func outside(do func() error, done string) tea.Cmd {
	return func() tea.Msg {
		if err := do(); err != nil {
			return screen.Toast{Kind: screen.Failure, Text: screen.Sentence("", err)}
		}
		return screen.Toast{Kind: screen.Done, Text: done}
	}
}

// draw fetches the image, or takes it away. Where the address leads into the local network it asks first: there, a mere
// request can set off something that whoever wrote the address could not reach.
func (s *Screen) draw() tea.Cmd {
	if s.image.isOn() {
		s.image.takeAway()
		return nil
	}
	address := s.address()
	if !picture.Local(address) {
		return s.image.fetch(address)
	}
	return s.shell.Post(screen.Confirm{
		Title: "Fetch an image from " + display.Line(picture.Host(address)) + "?",
		Text: fmt.Sprintf("The perk says that its image is at %s. That is this computer or one in your network. Fetch it only if you know what is there.",
			display.Line(address)),
		Yes:  "fetch it",
		Then: func() tea.Cmd { return s.image.fetch(address) },
	})
}
