package tui

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"text/template"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
)

// Command is a program of the user's own. It runs without a shell, so that no id can be more than an argument.
type Command struct {
	args        []*template.Template
	needsRecord bool
}

// record is what the templates of a command can name.
type record struct{ ID, Kind, Profile string }

// NewCommand reads a program and its arguments, each a template over .ID, .Kind and .Profile.
func NewCommand(args []string) (*Command, error) {
	c := &Command{}
	for _, arg := range args {
		t, err := template.New("command").Parse(arg)
		if err == nil {
			_, err = expand(t, record{"1", "perk", "default"})
		}
		if err != nil {
			return nil, fmt.Errorf("%q is not a template of .ID, .Kind and .Profile", arg)
		}
		c.args = append(c.args, t)
		c.needsRecord = c.needsRecord || strings.Contains(arg, ".ID") || strings.Contains(arg, ".Kind")
	}
	if len(args) == 0 || strings.TrimSpace(args[0]) == "" {
		return nil, errors.New("it has no command")
	}
	return c, nil
}

func expand(t *template.Template, of record) (string, error) {
	var text strings.Builder
	err := t.Execute(&text, of)
	return text.String(), err
}

// selected returns the record that commands work on.
func (a *App) selected() record {
	of := record{Profile: a.shell.Account.Profile.Name}
	if s, ok := a.Top().(screen.Selected); ok {
		of.Kind, of.ID = s.Selected()
	}
	return of
}

// commandOffers returns the user's own commands.
func (a *App) commandOffers() (offers []actions.Offer) {
	for n, c := range a.options.Commands {
		why := actions.WhyIf(c.needsRecord && a.selected().ID == "", "Nothing is selected here.")
		id := actions.Command(n, "", "").ID
		offers = append(offers, actions.Offer{ID: id, Why: why, Do: func() tea.Cmd { return a.runCommand(id, c) }})
	}
	return offers
}

type commandEnded struct {
	name string
	err  error
}

// runCommand runs one of the user's own commands in the terminal.
func (a *App) runCommand(id actions.ID, c *Command) tea.Cmd {
	ended := func(err error) tea.Msg { return commandEnded{a.shell.Keys.Action(id).Name, err} }
	var words []string
	for _, arg := range c.args {
		word, err := expand(arg, a.selected())
		if err != nil {
			return screen.Send(ended(err))
		}
		words = append(words, word)
	}
	return a.options.Exec(words, ended)
}

// runInTerminal leaves the terminal to a program until it ends.
func (a *App) runInTerminal(words []string, ended tea.ExecCallback) tea.Cmd {
	run := func() error { return a.shell.RunInTerminal(words[0], words[1:]...) }
	return tea.Exec(screen.TerminalTask(run), ended)
}

// RunQuietly runs a program without a terminal, and drops what it prints.
func RunQuietly(words []string, ended tea.ExecCallback) tea.Cmd {
	cmd := exec.Command(words[0], words[1:]...) // #nosec G204 -- the user's own configuration names it
	return func() tea.Msg { return ended(cmd.Run()) }
}

func (a *App) endCommand(msg commandEnded) tea.Cmd {
	result := screen.Toast{Kind: screen.Done, Text: display.Line(msg.name) + "."}
	if msg.err != nil {
		result = screen.Toast{Kind: screen.Failure, Text: screen.Sentence(display.Line(msg.name)+": ", msg.err)}
	}
	return tea.Batch(a.captureMouse(), a.toast(result))
}
