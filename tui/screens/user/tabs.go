package user

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/tui/actions"
	"example.com/perks/tui/widget"
)

// tab is what both lists have in common.
type tab interface {
	start() tea.Cmd
	again() tea.Cmd
	forget()
	take(msg tea.Msg) (cmd tea.Cmd, changed bool)
	do(id actions.ID) (cmd tea.Cmd, done bool)
	pageOffers() []actions.Offer
	place(named bool) string
	label() string
	lines() []string
	state() state
	setRows()
	rows() *widget.Table
}

// state is how a tab stands with the service.
type state struct {
	has, busy bool
	err       error
	at        time.Time // when the rows were loaded
	since     time.Time // when the load began that is under way
	rows      int
}

func (s *Screen) tabs() []tab { return []tab{s.available, s.redeemed} }

func (s *Screen) tab() tab { return s.tabs()[s.at] }

func (s *Screen) labels() []string { return []string{s.available.label(), s.redeemed.label()} }

func (s *Screen) eachTab(do func(tab) tea.Cmd) tea.Cmd {
	var cmds []tea.Cmd
	for _, t := range s.tabs() {
		cmds = append(cmds, do(t))
	}
	return tea.Batch(cmds...)
}
