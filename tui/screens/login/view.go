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

// maxWidth is how wide the form gets at most: longer lines are harder to read.
const maxWidth = 76

// How many lines the form must have before anything else gets some: a field, what is wrong with it, and its neighbour's
// name. Where something failed that belongs to no field, that is what has to be read.
const (
	minFormHeight       = 4
	minFormHeightFailed = 2
)

// View draws why somebody has to log in, where that leads, the form, and what was said last, as far as there is room. The
// form comes first, then where it leads.
func (s *Screen) View() string {
	theme := s.shell.Theme
	s.form.SetTheme(theme)
	width := min(s.width, maxWidth)
	minHeight := minFormHeight
	if s.status.failed {
		minHeight = minFormHeightFailed
	}
	room := s.height - minHeight

	var badge []string
	if room > 0 {
		mark := theme.Live.Render(" LIVE ") + " " + theme.Text.Render(liveText)
		if s.sandbox() {
			mark = theme.Sandbox.Render(" SANDBOX ") + " " + theme.Text.Render(sandboxText)
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
	style := theme.Muted
	if s.status.failed {
		style = theme.Bad
	}
	message, urgent := s.message()
	before := room
	if !urgent { // then why comes first
		before -= len(fitting(theme.Warn, display.Line(s.reason), room))
	}
	lastly := fitting(style, message, before)
	reason := fitting(theme.Warn, display.Line(s.reason), room-len(lastly))
	room += minHeight - len(lastly) - len(reason)

	const unlimited = 100 // more lines than the form can have
	form := strings.Split(strings.TrimRight(s.form.View(width, unlimited), "\n"), "\n")
	blanks := room-len(form) >= 3
	if len(form) > room {
		form = strings.Split(s.form.View(width, max(1, room)), "\n")
	}
	var lines []string
	for _, part := range [][]string{reason, badge, form, lastly} {
		if blanks && len(lines) > 0 && len(part) > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, part...)
	}
	return display.Crop(strings.Join(lines, "\n"), s.width, s.height)
}

const (
	liveText    = "Redemptions are real."
	sandboxText = "Redemptions are only for trying out."
)

// message is the last message, which is urgent, or else what is good to know now.
func (s *Screen) message() (text string, urgent bool) {
	switch {
	case s.busy():
		return display.Line(fmt.Sprintf("Logging in at %s ... %s gives up.", s.entered().APIURL, s.shell.Key(actions.Cancel))), true
	case s.status.failed:
		return "! " + display.Line(s.status.text), true
	case s.status.text != "":
		return display.Line(s.status.text), true
	}
	entered := s.entered()
	if p, profileNamed := s.profileNamed(entered.Name); profileNamed && (p.APIURL != entered.APIURL || p.ClientID != entered.ClientID) {
		return display.Line(fmt.Sprintf("This replaces profile %s, which is %s at %s.", p.Name, p.ClientID, p.APIURL)), true
	}
	if key := s.shell.Keys.Key(actions.Profile); len(s.profiles) > 1 && key != "" {
		return fmt.Sprintf("%s chooses among %s.", key, display.Plural(len(s.profiles), "profile", "profiles")), false
	}
	return "", false
}

func (s *Screen) Linear() string {
	var lines []string
	if s.reason != "" {
		lines = append(lines, display.Line(s.reason))
	}
	if s.sandbox() {
		lines = append(lines, "Sandbox. "+sandboxText)
	} else {
		lines = append(lines, "Live. "+liveText)
	}
	lines = append(lines, s.form.Linear())
	if message, _ := s.message(); message != "" {
		if rest, failed := strings.CutPrefix(message, "! "); failed {
			message = "Error: " + rest
		}
		lines = append(lines, message)
	}
	return strings.Join(lines, "\n")
}

// profilesLoaded is what is known of profiles.
type profilesLoaded struct {
	screen    *Screen
	profiles  []screen.Profile
	preferred screen.Profile // the one that flags, environment and configuration choose
	err       error
}

// handleProfiles fills in what is usual, unless somebody was quicker or an account is there already. Who comes to switch the profile
// is asked for it at once, but not in the middle of typing: the rest of a secret would be seen in the question.
func (s *Screen) handleProfiles(msg profilesLoaded) tea.Cmd {
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
		s.fill(msg.preferred)
	}
	if loggedIn && !s.edited && s.reason == "" && len(s.profiles) > 1 {
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
			if _, profileNamed := s.profileNamed(name); profileNamed {
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

func (s *Screen) profileNamed(name string) (screen.Profile, bool) {
	if i := slices.IndexFunc(s.profiles, func(p screen.Profile) bool { return p.Name == name }); i >= 0 {
		return s.profiles[i], true
	}
	return screen.Profile{}, false
}
