package login

import (
	"fmt"
	"strings"

	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/widget"
)

// status is what was said last that belongs to no field.
type status struct {
	failed bool
	text   string
}

// wide is how wide the form gets at most: longer lines are harder to read.
const wide = 76

// How many lines the form must have before anything else gets some: a field, what is wrong with it, and its neighbour's
// name. Where something failed that belongs to no field, that is what has to be read.
const (
	least       = 4
	leastFailed = 2
)

// View draws why somebody has to log in, where that leads, the form, and what was said last, as far as there is room. The
// form comes first, then where it leads.
func (s *Screen) View() string {
	look := s.shell.Theme
	s.form.SetTheme(look)
	width := min(s.width, wide)
	kept := least
	if s.status.failed {
		kept = leastFailed
	}
	room := s.height - kept

	var badge []string
	if room > 0 {
		badge = []string{s.badge(width)}
		room--
	}
	said, urgent := s.said()
	before := room
	if !urgent { // then why comes first
		before -= len(first(display.Line(s.why), width, room))
	}
	lastly := first(said, width, before)
	why := first(display.Line(s.why), width, room-len(lastly))
	room += kept - len(lastly) - len(why)

	form := strings.Split(strings.TrimRight(s.form.View(width, tall), "\n"), "\n")
	blanks := room-len(form) >= 3
	if len(form) > room {
		form = strings.Split(s.form.View(width, max(1, room)), "\n")
	}

	style := look.Muted
	if s.status.failed {
		style = look.Bad
	}
	var lines []string
	add := func(part []string, render func(...string) string) {
		if blanks && len(lines) > 0 && len(part) > 0 {
			lines = append(lines, "")
		}
		for _, line := range part {
			lines = append(lines, render(line))
		}
	}
	add(why, look.Warn.Render)
	add(badge, asIs)
	add(form, asIs)
	add(lastly, style.Render)
	return widget.Crop(strings.Join(lines, "\n"), s.width, s.height)
}

// tall is more lines than the form can have.
const tall = 100

func asIs(parts ...string) string { return strings.Join(parts, "") }

// first returns the lines of a text that there is room for, with a mark where some are missing.
func first(text string, width, room int) []string {
	if text == "" || room <= 0 {
		return nil
	}
	lines := widget.Wrap(text, width)
	if len(lines) > room {
		lines = lines[:room]
		lines[room-1] = widget.Cut(lines[room-1]+" …", width)
	}
	return lines
}

// badge says by word and colour whether redemptions will be real.
func (s *Screen) badge(width int) string {
	look := s.shell.Theme
	if s.sandbox() {
		return widget.Cut(look.Sandbox.Render(" SANDBOX ")+" "+look.Text.Render(inSandbox), width)
	}
	return widget.Cut(look.Live.Render(" LIVE ")+" "+look.Text.Render(live), width)
}

const (
	live      = "Redemptions are real."
	inSandbox = "Redemptions are only for trying out."
)

// said is the last message, which is urgent, or else what is good to know now.
func (s *Screen) said() (text string, urgent bool) {
	keys := s.shell.Keys
	switch {
	case s.busy():
		return display.Line(fmt.Sprintf("Logging in at %s ... %s gives up.", s.entered().APIURL, keys.Key(actions.Cancel))), true
	case s.status.failed:
		return "! " + display.Line(s.status.text), true
	case s.status.text != "":
		return display.Line(s.status.text), true
	}
	entered := s.entered()
	if p, known := s.known(entered.Name); known && (p.APIURL != entered.APIURL || p.ClientID != entered.ClientID) {
		return display.Line(fmt.Sprintf("This replaces profile %s, which is %s at %s.", p.Name, p.ClientID, p.APIURL)), true
	}
	if key := keys.Key(actions.Profile); len(s.profiles) > 1 && key != "" {
		return fmt.Sprintf("%s chooses among %s.", key, widget.Plural(int64(len(s.profiles)), "profile", "profiles")), false
	}
	return "", false
}

// Linear says the same in plain lines.
func (s *Screen) Linear() string {
	lines := []string{}
	if s.why != "" {
		lines = append(lines, display.Line(s.why))
	}
	if s.sandbox() {
		lines = append(lines, "Sandbox. "+inSandbox)
	} else {
		lines = append(lines, "Live. "+live)
	}
	lines = append(lines, s.form.Linear())
	if said, _ := s.said(); said != "" {
		if rest, failed := strings.CutPrefix(said, "! "); failed {
			said = "Error: " + rest
		}
		lines = append(lines, said)
	}
	return strings.Join(lines, "\n")
}
