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

// status is the last message that belongs to no field.
type status struct {
	failed bool
	text   string
}

// maxWidth of the form: longer lines are harder to read.
const maxWidth = 76

// The least height of the form: a field, its error, and the next label. An error that belongs to no field needs more of
// the window.
const (
	minFormHeight       = 4
	minFormHeightFailed = 2
)

// View draws the reason, live or sandbox, the form, and the last message. In a low window the form stays longest.
func (s *Screen) View() string {
	theme := s.shell.Theme
	s.form.SetTheme(theme)
	width := min(s.width, maxWidth)
	minHeight := minFormHeight
	if s.status.failed {
		minHeight = minFormHeightFailed
	}
	space := s.height - minHeight

	var badge []string
	if space > 0 {
		mark := theme.Muted.Render(emptyText)
		switch {
		case s.sandbox():
			mark = theme.Sandbox.Render(" SANDBOX ") + " " + theme.Text.Render(sandboxText)
		case s.address() != "":
			mark = theme.Bad.Render("Live") + " " + theme.Text.Render(liveText)
		}
		badge = []string{display.Cut(mark, width)}
		space--
	}
	fitting := func(style lipgloss.Style, text string, space int) []string {
		if text == "" {
			return nil
		}
		return widget.Capped(style, text, width, space)
	}
	style := theme.Muted
	if s.status.failed {
		style = theme.Bad
	}
	message, urgent := s.message()
	before := space
	if !urgent { // then the reason comes first
		before -= len(fitting(theme.Warn, display.Line(s.reason), space))
	}
	lastly := fitting(style, message, before)
	reason := fitting(theme.Warn, display.Line(s.reason), space-len(lastly))
	space += minHeight - len(lastly) - len(reason)

	const unlimited = 100 // more lines than the form can have
	form := strings.Split(strings.TrimRight(s.form.View(width, unlimited), "\n"), "\n")
	blanks := space-len(form) >= 3
	if len(form) > space {
		form = strings.Split(s.form.View(width, max(1, space)), "\n")
	}
	var service []string
	const blank = 4 // lines between the parts
	if left := space - len(form) - blank; left > 0 {
		service = fitting(theme.Muted, s.service(), left)
	}
	var lines []string
	for _, part := range [][]string{reason, badge, form, lastly, service} {
		if blanks && len(lines) > 0 && len(part) > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, part...)
	}
	return display.Crop(strings.Join(lines, "\n"), s.width, s.height)
}

const (
	emptyText   = "Ask your operator for these."
	liveText    = "Redemptions are real."
	sandboxText = "Redemptions are only tests."
)

// message is the last message, or else a hint, which is not urgent.
func (s *Screen) message() (text string, urgent bool) {
	switch {
	case s.busy():
		return display.Line(fmt.Sprintf("Logging in at %s ... %s cancels.", s.entered().APIURL,
			s.shell.Key(actions.Cancel))), true
	case s.status.failed:
		return "! " + display.Line(s.status.text), true
	case s.status.text != "":
		return display.Line(s.status.text), true
	}
	entered := s.entered()
	if p, profileNamed := s.profileNamed(entered.Name); profileNamed &&
		(p.APIURL != entered.APIURL || p.ClientID != entered.ClientID) {
		return display.Line(fmt.Sprintf("This replaces profile %s, which is %s at %s.", p.Name, p.ClientID, p.APIURL)),
			true
	}
	if key := s.shell.Keys.Key(actions.Profile); len(s.profiles) > 1 && key != "" {
		return fmt.Sprintf("%s chooses among %s.", key, display.Plural(len(s.profiles), "profile", "profiles")), false
	}
	return "", false
}

// service says what the service that is logged in to does not do: here once, and not as an error on each screen.
func (s *Screen) service() string {
	if !s.promises.Has || s.entered().APIURL != s.shell.Account.Profile.APIURL {
		return ""
	}
	lacking, isAll := []string{}, true
	for _, p := range s.promises.Value {
		if isAll = isAll && p.Keeps; p.IsKnown && !p.Keeps {
			lacking = append(lacking, p.Found)
		}
	}
	if isAll {
		return "This service does all that perksctl can use."
	}
	return display.Line(strings.Join(lacking, " "))
}

func (s *Screen) AccessibleText() string {
	var lines []string
	if s.reason != "" {
		lines = append(lines, display.Line(s.reason))
	}
	switch {
	case s.sandbox():
		lines = append(lines, "Sandbox. "+sandboxText)
	case s.address() != "":
		lines = append(lines, "Live. "+liveText)
	}
	lines = append(lines, s.form.AccessibleText())
	if message, _ := s.message(); message != "" {
		if rest, failed := strings.CutPrefix(message, "! "); failed {
			message = "Error: " + rest
		}
		lines = append(lines, message)
	}
	if service := s.service(); service != "" {
		lines = append(lines, service)
	}
	return strings.Join(lines, "\n")
}

type profilesLoaded struct {
	screen    *Screen
	profiles  []screen.Profile
	preferred screen.Profile // chosen by flags, environment and configuration
	err       error
}

// handleProfiles fills in the preferred profile if nothing was typed. A user who is logged in wants to switch, and is
// asked for a profile, but not while typing: the rest of a secret would be visible in that dialog.
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
	return screen.Pick{Title: "Log in with which profile?", Options: append(options, "A new profile ..."), Current: at,
		Then: s.choose}
}

// choose uses one of the profiles, or asks for the name of a new one.
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
		Title: "A new profile", Field: widget.Field{Name: nameField, Label: "Its name",
			Check: func(name string) string {
				if _, profileNamed := s.profileNamed(name); profileNamed {
					return "This profile exists already."
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
