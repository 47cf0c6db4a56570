package login

import (
	"fmt"
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// read is what is known of profiles.
type read struct {
	screen   *Screen
	profiles []screen.Profile
	usual    screen.Profile // the one that flags, environment and configuration choose
	err      error
}

func (s *Screen) read() tea.Cmd {
	accounts := s.shell.Accounts
	return func() tea.Msg {
		profiles, current, err := accounts.Profiles()
		done := read{screen: s, profiles: profiles, err: err}
		if i := slices.IndexFunc(profiles, func(p screen.Profile) bool { return p.Name == current }); i >= 0 {
			done.usual = profiles[i]
		}
		return done
	}
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

type (
	// chosen tells which profile was picked; one behind the last is a new one.
	chosen struct {
		screen *Screen
		index  int
	}
	// named tells the name of a new profile.
	named struct {
		screen *Screen
		name   string
	}
)

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
	return screen.Pick{
		Title: "Log in with which profile?", Options: append(options, "A new profile ..."), Current: at,
		Then: func(index int) tea.Cmd { return s.shell.Post(chosen{s, index}) },
	}
}

func (s *Screen) choose(msg chosen) tea.Cmd {
	switch {
	case msg.screen != s || s.busy():
		return nil
	case msg.index < len(s.profiles):
		return s.connect(s.profiles[msg.index])
	}
	return s.shell.Post(screen.Prompt{
		Title: "A new profile", Field: widget.Field{Name: nameField, Label: "Its name", Check: s.checkNewName},
		Then: func(name string) tea.Cmd { return s.shell.Post(named{s, name}) },
	})
}

func (s *Screen) checkNewName(name string) string {
	if _, known := s.known(name); known {
		return "There is a profile of this name already."
	}
	return CheckName(name)
}

// name begins a new profile. Address and id stay: they are more often the same than not.
func (s *Screen) name(msg named) {
	if msg.screen != s {
		return
	}
	s.form.Set(nameField, msg.name)
	s.form.Set(secretField, "")
	s.edited, s.rejected, s.status = true, false, status{}
	if s.value(addressField) == "" {
		s.goToMissing()
		return
	}
	s.form.FocusOnName(addressField)
}

func (s *Screen) known(name string) (screen.Profile, bool) {
	for _, p := range s.profiles {
		if p.Name == name {
			return p, true
		}
	}
	return screen.Profile{}, false
}
