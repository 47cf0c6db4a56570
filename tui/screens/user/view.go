package user

import (
	"fmt"
	"strings"

	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/widget"
)

// facts is all of the redemption that is shown.
func (s *Screen) facts() []widget.Pair {
	return s.shell.RedemptionFacts(s.detail, s.redeemed.Titles.Of(s.detail.PerkID))
}

// layout is where the panels are.
type layout struct {
	tabs   int // lines above the only panel, in a low window
	below  int // where the perks begin, under the redemptions; 0 if they are not there
	beside int // where they begin, or a redemption, right of the redemptions; 0 if nothing is beside these
}

const (
	// heightForTwo is the least height with both panels.
	heightForTwo = 16
	// leastRedeemed is the least height of the redemptions with a border.
	leastRedeemed = 7
)

func (s *Screen) Resize(width, height int) {
	s.width, s.height = width, height
	s.arrange()
}

// arrange lays out the parts. In a wide window the lists are beside each other, or a redemption beside the list where
// it is under the cursor. In a low one only that is shown which has the keyboard.
func (s *Screen) arrange() {
	s.layout = layout{}
	left := widget.LeftOfTwo(s.width)
	isWide := left > 0 && s.height >= leastRedeemed && (s.detail == nil || !s.isElsewhere())
	s.redeemed.isTall = isWide && s.detail == nil // what is beside has all of it
	if isWide {
		s.layout.beside = left
		s.redeemed.Resize(s.layout.beside, s.height)
		s.available.Resize(s.width-s.layout.beside, s.height)
	}
	if s.detail != nil {
		s.redeemed.Focus(false)
		width, height := widget.Inner(s.width-s.layout.beside, s.height)
		width = max(1, width-1)
		s.scroll.Resize(width, height)
		s.scroll.Set(widget.Pairs(s.shell.Theme, width, s.facts()))
	}
	if s.detail != nil || isWide {
		return
	}
	if s.height < heightForTwo {
		if s.height > 1 {
			s.layout.tabs = 1
		}
		s.redeemed.Resize(s.width, s.height-s.layout.tabs)
		s.available.Resize(s.width, s.height-s.layout.tabs)
		return
	}
	s.layout.below = min(max(leastRedeemed, len(s.redeemed.Shown())+3), max(leastRedeemed, s.height/3))
	s.redeemed.Resize(s.width, s.layout.below)
	s.available.Resize(s.width, s.height-s.layout.below)
}

// isElsewhere tells whether the redemption that is shown is older than the rows that were read, so that the cursor of
// the list is on another.
func (s *Screen) isElsewhere() bool {
	current := s.redeemed.Current()
	return current != nil && current.ID != s.detail.ID
}

func (s *Screen) View() string {
	s.arrange()
	look := s.shell.Theme
	panel := widget.Panel{Title: s.Title(), Focused: true}
	if s.detail != nil {
		panel.Bar = s.scroll.Bar()
		view := panel.View(look, widget.Indented(s.scroll.View(), 1), s.width-s.layout.beside, s.height)
		if s.layout.beside > 0 {
			view = widget.Beside(s.redeemed.View(), s.layout.beside, view)
		}
		return view
	}
	if kind, title, advice := s.notice(); title != "" {
		width, height := widget.Inner(s.width, s.height)
		return panel.View(look, widget.Notice(look, kind, title, advice, width, height), s.width, s.height)
	}
	var parts []string
	if s.layout.tabs > 0 {
		parts = append(parts, widget.Tabs(look, s.width, s.labels(), s.at()))
	}
	switch {
	case s.layout.beside > 0:
		parts = append(parts, widget.Beside(s.redeemed.View(), s.layout.beside, s.available.View()))
	case s.layout.below > 0:
		parts = append(parts, s.redeemed.View(), s.available.View())
	default:
		parts = append(parts, s.focused().View())
	}
	return display.Crop(strings.Join(parts, "\n"), s.width, s.height)
}

// AccessibleText reads the list that has the keyboard, and how many the other one has.
func (s *Screen) AccessibleText() string {
	if s.detail != nil {
		return strings.Join(widget.AccessiblePairs(s.facts()), "\n")
	}
	if kind, title, advice := s.notice(); title != "" {
		return widget.AccessibleNotice(kind, title, advice)
	}
	return fmt.Sprintf("%s\n%s shows: %s.", s.focused().AccessibleText(), s.shell.Key(actions.NextTab),
		s.labels()[1-s.at()])
}

func (s *Screen) labels() []string { return []string{s.available.Heading(), s.redeemed.Heading()} }

// at is the label of the list that has the keyboard.
func (s *Screen) at() int {
	if s.isAbove {
		return 1
	}
	return 0
}

// notice is shown instead of both lists; the title is empty if they are shown.
func (s *Screen) notice() (kind widget.NoticeKind, title, advice string) {
	user, redemption := display.Line(s.id), display.Line(s.sought)
	kind = widget.Failure
	switch err := s.record.Err; {
	case redemption != "" && err == nil:
		return widget.Loading, widget.LoadingTitle("redemption "+redemption, 0), ""
	case redemption != "" && client.IsNotFound(err) && !client.IsUnsupported(err):
		return kind, "There is no redemption " + redemption + ".",
			"Check the id, and whether it is live or in the sandbox."
	case redemption != "":
		title, advice = s.shell.Explain(err)
	case s.id == "":
		return widget.Empty, "No user is chosen.", s.shell.Key(actions.ForUser) + " chooses one."
	case s.isUnknown() && s.shell.Account.Profile.Sandbox:
		title = "There is no user " + user + " in the sandbox."
	case s.isUnknown():
		title = "There is no live user " + user + "."
	}
	if title != "" && advice == "" {
		advice = "Check the id; capitals count. " + s.shell.Key(actions.ForUser) + " opens another user."
	}
	return kind, title, advice
}
