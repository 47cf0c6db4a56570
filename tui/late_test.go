package tui_test

import (
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
)

// reply is a message that a screen waits for.
type reply struct{}

// asking returns a probe that posts ask when it receives a reply.
func asking(ask tea.Msg) *probe {
	p := &probe{}
	p.onMessage = func(msg tea.Msg) tea.Cmd {
		if _, ok := msg.(reply); ok {
			return p.shell.Post(ask)
		}
		return nil
	}
	return p
}

func TestLateDialogTakesNoKeys(t *testing.T) {
	for name, ask := range map[string]tea.Msg{
		"confirm": screen.Confirm{Title: "Late?", Yes: "do it"},
		"pick":    screen.Pick{Title: "Late?", Options: []string{"one"}},
		"prompt":  screen.Prompt{Title: "Late?"},
	} {
		t.Run(name, func(t *testing.T) {
			d := probed(t, asking(ask))
			d.Play(`: "ma"`)
			d.Send(reply{})
			d.Play(`
				"rk" => Find: mark
				esc`)
			d.Open(screen.ToUser{ID: "alice"})
			d.Send(reply{})
			if d.Settle(); d.Shows("Late?") {
				t.Errorf("the dialog covers another screen:\n%s", d.Screen())
			}
		})
	}
}

func TestProfilePickerTakesNoPartOfASecret(t *testing.T) {
	d := probed(t, &probe{})
	d.Accounts.Add(screen.Profile{Name: "other", APIURL: "https://other.example/v2", ClientID: "acme"}, "a secret")
	d.Play(`L "hunter" settle "two" settle`) // in between, the profiles are loaded
	if d.Shows("Find:") || d.Shows("two") || d.App.Top().Form().Value("secret") != "huntertwo" {
		t.Errorf("the screen:\n%s", d.Screen())
	}
}

func TestUnpromptedConfirmIgnoresTheFirstKey(t *testing.T) {
	done := 0
	ask := screen.Confirm{Title: "Delete it anyway?", Yes: "delete it", Then: func() tea.Cmd { done++; return nil }}
	d := probed(t, asking(ask))
	d.Send(reply{})
	if d.Play(`y => Delete it anyway?`); done != 0 {
		t.Fatal("a key typed before the dialog appeared confirmed it")
	}
	d.Elapse(time.Second)
	if d.Play(`y => ≠ Delete it anyway?`); done != 1 {
		t.Errorf("confirmed %d times", done)
	}
}

func TestTextTypedAheadRunsNoActions(t *testing.T) {
	d := probed(t, &probe{})
	d.Settle()
	d.Send(tuitest.Key("2quentin"))
	d.Settle()
	d.See("Users")
	if d.Quit() {
		t.Error("the first letter of the user id quit the program")
	}
}
