package login

import (
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

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
	return display.Crop(strings.Join(lines, "\n"), s.width, s.height)
}

// tall is more lines than the form can have.
const tall = 100

func asIs(parts ...string) string { return strings.Join(parts, "") }

// first returns the lines of a text that there is room for, with a mark where some are missing.
func first(text string, width, room int) []string {
	if text == "" || room <= 0 {
		return nil
	}
	lines := display.Wrap(text, width)
	if len(lines) > room {
		lines = lines[:room]
		lines[room-1] = display.Cut(lines[room-1]+" …", width)
	}
	return lines
}

// badge says by word and colour whether redemptions will be real.
func (s *Screen) badge(width int) string {
	look := s.shell.Theme
	if s.sandbox() {
		return display.Cut(look.Sandbox.Render(" SANDBOX ")+" "+look.Text.Render(inSandbox), width)
	}
	return display.Cut(look.Live.Render(" LIVE ")+" "+look.Text.Render(live), width)
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
		return fmt.Sprintf("%s chooses among %s.", key, display.Plural(len(s.profiles), "profile", "profiles")), false
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
