package login

import (
	"context"
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"

	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
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
		mark := look.Live.Render(" LIVE ") + " " + look.Text.Render(live)
		if s.sandbox() {
			mark = look.Sandbox.Render(" SANDBOX ") + " " + look.Text.Render(inSandbox)
		}
		badge = []string{display.Cut(mark, width)}
		room--
	}
	fitting := func(style lipgloss.Style, text string, room int) []string {
		if text == "" {
			return nil
		}
		return widget.Capped(style, text, width, room)
	}
	style := look.Muted
	if s.status.failed {
		style = look.Bad
	}
	said, urgent := s.said()
	before := room
	if !urgent { // then why comes first
		before -= len(fitting(look.Warn, display.Line(s.why), room))
	}
	lastly := fitting(style, said, before)
	why := fitting(look.Warn, display.Line(s.why), room-len(lastly))
	room += kept - len(lastly) - len(why)

	const tall = 100 // more lines than the form can have
	form := strings.Split(strings.TrimRight(s.form.View(width, tall), "\n"), "\n")
	blanks := room-len(form) >= 3
	if len(form) > room {
		form = strings.Split(s.form.View(width, max(1, room)), "\n")
	}
	var lines []string
	for _, part := range [][]string{why, badge, form, lastly} {
		if blanks && len(lines) > 0 && len(part) > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, part...)
	}
	return display.Crop(strings.Join(lines, "\n"), s.width, s.height)
}

const (
	live      = "Redemptions are real."
	inSandbox = "Redemptions are only for trying out."
)

// said is the last message, which is urgent, or else what is good to know now.
func (s *Screen) said() (text string, urgent bool) {
	switch {
	case s.busy():
		return display.Line(fmt.Sprintf("Logging in at %s ... %s gives up.", s.entered().APIURL, s.shell.Key(actions.Cancel))), true
	case s.status.failed:
		return "! " + display.Line(s.status.text), true
	case s.status.text != "":
		return display.Line(s.status.text), true
	}
	entered := s.entered()
	if p, known := s.known(entered.Name); known && (p.APIURL != entered.APIURL || p.ClientID != entered.ClientID) {
		return display.Line(fmt.Sprintf("This replaces profile %s, which is %s at %s.", p.Name, p.ClientID, p.APIURL)), true
	}
	if key := s.shell.Keys.Key(actions.Profile); len(s.profiles) > 1 && key != "" {
		return fmt.Sprintf("%s chooses among %s.", key, display.Plural(len(s.profiles), "profile", "profiles")), false
	}
	return "", false
}

func (s *Screen) Linear() string {
	var lines []string
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

// read is what is known of profiles.
type read struct {
	screen   *Screen
	profiles []screen.Profile
	usual    screen.Profile // the one that flags, environment and configuration choose
	err      error
}

// know fills in what is usual, unless somebody was quicker or an account is there already. Who comes to switch the profile
// is asked for it at once, but not in the middle of typing: the rest of a secret would be seen in the question.
func (s *Screen) know(msg read) tea.Cmd {
	if msg.screen != s {
		return nil
	}
	if msg.err != nil {
		s.status = status{failed: true, text: screen.Sentence("", msg.err)}
		return nil
	}
	s.profiles = msg.profiles
	loggedIn := s.shell.Account.Client != nil
	if !loggedIn && !s.edited && s.shell.Account.Profile == (screen.Profile{}) {
		s.fill(msg.usual)
	}
	if loggedIn && !s.edited && s.why == "" && len(s.profiles) > 1 {
		return s.shell.Post(s.pick())
	}
	return nil
}

func (s *Screen) pick() screen.Pick {
	var options []string
	at := 0
	for i, p := range s.profiles {
		option := fmt.Sprintf("%s: %s at %s", p.Name, p.ClientID, p.APIURL)
		if p.Sandbox {
			option += " (sandbox)"
		}
		if p.Name == s.value(nameField) {
			at = i
		}
		options = append(options, option)
	}
	return screen.Pick{Title: "Log in with which profile?", Options: append(options, "A new profile ..."), Current: at, Then: s.choose}
}

// choose takes one of the profiles, or asks for the name of a new one.
func (s *Screen) choose(index int) tea.Cmd {
	switch {
	case s.busy():
		return nil
	case index < len(s.profiles):
		profile, accounts := s.profiles[index], s.shell.Accounts
		s.fill(profile)
		return s.begin(profile, true, func(context.Context) (screen.Account, string, error) {
			account, err := accounts.Connect(profile.Name)
			return account, "", err
		})
	}
	return s.shell.Post(screen.Prompt{
		Title: "A new profile", Field: widget.Field{Name: nameField, Label: "Its name", Check: func(name string) string {
			if _, known := s.known(name); known {
				return "There is a profile of this name already."
			}
			return CheckName(name)
		}},
		Then: func(name string) tea.Cmd {
			s.form.Set(nameField, name) // address and id stay: they are more often the same than not
			s.form.Set(secretField, "")
			s.edited, s.rejected, s.status = true, false, status{}
			if s.value(addressField) == "" {
				s.goToMissing()
			} else {
				s.form.FocusOnName(addressField)
			}
			return nil
		},
	})
}

func (s *Screen) known(name string) (screen.Profile, bool) {
	if i := slices.IndexFunc(s.profiles, func(p screen.Profile) bool { return p.Name == name }); i >= 0 {
		return s.profiles[i], true
	}
	return screen.Profile{}, false
}
