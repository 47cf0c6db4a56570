package perk

import (
	"fmt"
	"strings"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// who is whom the perk is from, where and of what kind.
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

// perkID is the id as it is shown and copied.
func (s *Screen) perkID() string {
	if perk := s.perk(); perk != nil && perk.ID != "" {
		return display.Line(perk.ID)
	}
	return display.Line(s.id)
}

// given is an optional text.
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
		return widget.Failure, "Perk " + id + " could not be loaded.", screen.Sentence("", s.read.Err) + " " + s.press(actions.Refresh, "tries again.")
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
	return fmt.Sprintf("This is %s; in another one it may be there. %s %s",
		place, s.press(actions.Back, "goes back."), s.press(actions.Refresh, "looks again."))
}

// press says what the key of an action does.
func (s *Screen) press(id actions.ID, does string) string {
	if key := s.shell.Keys.Key(id); key != "" {
		return key + " " + does
	}
	return "\"" + s.shell.Keys.Action(id).Name + "\" " + does
}

// problem says what went wrong while old facts are shown, "" if nothing did.
func (s *Screen) problem() string {
	switch {
	case s.read.Err == nil:
		return ""
	case s.isGone():
		return s.goneSentence() + " Below is what it was. " + s.goneAdvice()
	}
	return screen.Sentence("It could not be read again: ", s.read.Err) + " " + s.press(actions.Refresh, "tries again.")
}

// banner is the problem in at most a third of the room.
func (s *Screen) banner() []string {
	problem := s.problem()
	if problem == "" {
		return nil
	}
	lines := widget.Wrap("! "+problem, s.width)
	if most := s.height / 3; len(lines) > most {
		lines = lines[:most]
		if most > 0 {
			lines[most-1] = widget.Cut(lines[most-1]+" ...", s.width)
		}
	}
	for i := range lines {
		lines[i] = s.shell.Theme.Bad.Render(lines[i])
	}
	return lines
}

// age says how old the facts are.
func (s *Screen) age() string {
	switch {
	case s.read.Has && s.read.Busy():
		return "Read " + widget.Age(s.shell.Now().Sub(s.read.At)) + ", reading again ..."
	case s.read.Has:
		return "Read " + widget.Age(s.shell.Now().Sub(s.read.At))
	case s.read.Busy():
		return "As in the list, reading it ..."
	}
	return "As in the list"
}

// hidden says how many lines are out of sight.
func hidden(above, below int) string {
	var parts []string
	if above > 0 {
		parts = append(parts, "↑ "+widget.Count(int64(above)))
	}
	if below > 0 {
		parts = append(parts, "↓ "+widget.Count(int64(below)))
	}
	return strings.Join(parts, " ")
}
