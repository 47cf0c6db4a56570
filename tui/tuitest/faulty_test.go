package tuitest

import (
	"context"
	"errors"
	"os"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/tui"
	"example.com/perks/tui/screen"
)

// faultyEnv makes the test binary run a terminal UI that panics on certain keys.
const faultyEnv = "PERKS_TEST_FAULTY"

func faulty() int {
	s := command.SystemStreams()
	options := tui.Options{Accounts: noAccounts{}, Memory: &Memory{}, Desktop: tui.NewDesktop(os.Stdout, os.Getenv),
		Mouse: true}
	keep := func(report string) (string, error) {
		return "report.txt", os.WriteFile("report.txt", []byte(report), 0o600)
	}
	err := tui.RunModel(context.Background(), os.Stdin, os.Stdout, &faults{Model: tui.New(options)}, keep)
	if err != nil {
		output.WriteError(s, err, false)
	}
	return output.ExitCode(err)
}

// faults is the terminal UI with keys that make it panic.
type faults struct {
	tea.Model
	inView bool
}

// The keys that make it fail, each in another method.
const (
	failInUpdate  = "f5"
	failInView    = "f6"
	failInCommand = "f7"
)

func (f *faults) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if key, ok := msg.(tea.KeyMsg); ok {
		switch key.String() {
		case failInUpdate:
			panic("a fault in Update")
		case failInView:
			f.inView = true
		case failInCommand:
			return f, func() tea.Msg { panic("a fault in a command") }
		}
	}
	_, cmd := f.Model.Update(msg)
	return f, cmd
}

func (f *faults) View() string {
	if f.inView {
		panic("a fault in View")
	}
	return f.Model.View()
}

// noAccounts is Accounts without profiles.
type noAccounts struct{}

func (noAccounts) Profiles() ([]screen.Profile, string, error) { return nil, "", nil }

func (noAccounts) Connect(string) (screen.Account, error) {
	return screen.Account{}, &screen.NotLoggedIn{Message: "Not logged in."}
}

func (noAccounts) Login(context.Context, screen.Profile, string, screen.AskName) (screen.Account, string, error) {
	return screen.Account{}, "", errors.New("no login in this test")
}
