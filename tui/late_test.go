package tui_test

import (
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
)

// answer is what a screen has waited for.
type answer struct{}

// asking is a probe that asks once its answer has come.
func asking(ask tea.Msg) *probe {
	p := &probe{}
	p.answer = func(msg tea.Msg) tea.Cmd {
		if _, came := msg.(answer); came {
			return p.shell.Post(ask)
		}
		return nil
	}
	return p
}

func TestAQuestionThatComesLateTakesNoKeysFromWhatLiesAbove(t *testing.T) {
	for name, ask := range map[string]tea.Msg{
		"a confirmation": screen.Confirm{Title: "Late?", Yes: "do it"},
		"a choice":       screen.Pick{Title: "Late?", Options: []string{"one"}},
		"a line":         screen.Prompt{Title: "Late?"},
	} {
		t.Run(name, func(t *testing.T) {
			d := probed(t, asking(ask))
			d.Press(":")
			d.Type("ma")
			d.Send(answer{})
			d.Type("rk")
			d.See("Find: mark")
			d.Press("esc")
			d.Open(screen.ToUser{ID: "alice"})
			d.Send(answer{})
			d.Settle()
			if d.Shows("Late?") {
				t.Errorf("it is asked over another screen:\n%s", d.Screen())
			}
		})
	}
}

func TestTheChoiceOfAProfileDoesNotTakeTheRestOfASecret(t *testing.T) {
	d := probed(t, &probe{})
	d.Accounts.Add(screen.Profile{Name: "other", APIURL: "https://other.example/v2", ClientID: "acme"}, "a secret")
	d.Press("L")
	d.Type("hunter")
	d.Settle() // the profiles have been read
	d.Type("two")
	d.Settle()
	if d.Shows("Find:") || d.Shows("two") || d.App.Top().Form().Value("secret") != "huntertwo" {
		t.Errorf("the screen:\n%s", d.Screen())
	}
}

func TestAQuestionThatNoKeyHasRaisedIsNotAnsweredUnread(t *testing.T) {
	done := 0
	ask := screen.Confirm{Title: "Delete it all the same?", Yes: "delete it", Then: func() tea.Cmd { done++; return nil }}
	d := probed(t, asking(ask))
	d.Send(answer{})
	d.Press("y")
	d.See("Delete it all the same?")
	if done != 0 {
		t.Fatal("a key that was on its way when the question came has answered it")
	}
	d.Elapse(time.Second)
	d.Press("y")
	d.Gone("Delete it all the same?")
	if done != 1 {
		t.Errorf("done %d times", done)
	}
}

func TestTextForAScreenThatIsStillToAskForItIsNoCommand(t *testing.T) {
	d := probed(t, &probe{})
	d.Settle()
	d.Send(tuitest.Key("2quentin"))
	d.Settle()
	d.See("Which user?")
	if d.Quit() {
		t.Error("the first letter of the user has quit")
	}
}
