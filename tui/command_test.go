package tui_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/server/servertest"
	"example.com/perks/tui"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/tuitest"
)

// selecting is a probe with a record.
type selecting struct {
	*probe
	kind, id string
}

func (s *selecting) Selected() (kind, id string) { return s.kind, s.id }

// withCommand configures a command, and records what runs.
func withCommand(t *testing.T, ran *[]string, err error, args ...string) func(*tui.Options) {
	t.Helper()
	read, problem := tui.NewCommand(args)
	keys, clashes, wrong := actions.Configure(nil, actions.Command(0, "ctrl+g", "Open ticket"))
	if problem != nil || wrong != nil || clashes != nil {
		t.Fatal(problem, wrong, clashes)
	}
	return func(o *tui.Options) {
		o.Keys, o.Commands = keys, []*tui.Command{read}
		o.Exec = func(words []string, then tea.ExecCallback) tea.Cmd {
			*ran = words
			return func() tea.Msg { return then(err) }
		}
	}
}

func TestCommandRunsForTheSelectedRecord(t *testing.T) {
	var ran []string
	p := &probe{}
	d := probed(t, p, withCommand(t, &ran, nil, "open", "https://tickets.example/{{.Kind}}/{{.ID}}", "{{.Profile}}"))
	d.Press("ctrl+g")
	d.See("Open ticket: not possible now. Nothing is selected here.")
	s := &selecting{p, "perk", "a; rm -rf $HOME"}
	d.Do(d.App.Push(s))
	d.Press("ctrl+g")
	d.See("Done: Open ticket.")
	if want := []string{"open", "https://tickets.example/perk/a; rm -rf $HOME", "staging"}; !slices.Equal(ran, want) {
		t.Errorf("ran %q, want %q", ran, want)
	}
	d.Press("ctrl+k")
	d.Type("ticket")
	d.See("> Open ticket (ctrl+g)")
}

func TestCommandsWorkOnTheRecordOfAPage(t *testing.T) {
	clock := servertest.NewClock(time.Date(2026, time.November, 23, 9, 30, 0, 0, time.UTC))
	server, owner := sampled(t, amounts{perks: 20, users: 20, properties: 5, redemptions: 40}, clock)
	var ran []string
	d := tuitest.StartAs(t, server, owner.id, owner.secret, withCommand(t, &ran, nil, "open", "{{.Kind}}/{{.ID}}"),
		func(o *tui.Options) { o.Now = clock.Now })
	d.Resize(120, 40)
	for _, c := range []struct{ opens, want string }{
		{`4 settle P settle => Perk`, "perk/"},
		{`tab settle => tab perk`, "redemption/"},
		{`3 "5\n" settle => Property 5:`, "property/5"},
	} {
		d.Play(c.opens)
		if d.Play(`ctrl+g settle => Done: Open ticket.`); len(ran) != 2 || !strings.HasPrefix(ran[1], c.want) {
			t.Errorf("after %s it ran %q, want %s", c.opens, ran, c.want)
		}
	}
}

func TestFailedCommandIsOneSentence(t *testing.T) {
	var ran []string
	d := probed(t, &probe{}, withCommand(t, &ran, errors.New("exit status 3"), "deploy"))
	d.Press("ctrl+g")
	d.See("Error: Open ticket: exit status 3.")
}

func TestMissingProgramIsReported(t *testing.T) {
	var ran []string
	d := probed(t, &probe{}, withCommand(t, &ran, nil, "no-such-program-anywhere"), func(o *tui.Options) {
		o.Exec = tui.RunQuietly
	})
	d.Press("ctrl+g")
	d.See(`Error: Open ticket: exec: "no-such-program-anywhere": executable file not found`)
}

func TestInvalidCommands(t *testing.T) {
	for _, args := range [][]string{nil, {""}, {" "}, {"open", "{{.Name}}"}, {"open", "{{"}} {
		if _, err := tui.NewCommand(args); err == nil {
			t.Errorf("%q is a command", args)
		}
	}
}
