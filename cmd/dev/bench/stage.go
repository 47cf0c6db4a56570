package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/termenv"

	"example.com/perks/tui"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// stage runs the terminal UI without a terminal and times every frame: an Update and the View after it.
type stage struct {
	app    *tui.App
	msgs   chan tea.Msg
	frames []time.Duration
}

// newStage begins at 200x60, in colour.
func newStage(account screen.Account) *stage {
	s := &stage{msgs: make(chan tea.Msg, 1000)}
	s.app = tui.New(tui.Options{Accounts: one{account}, Memory: forgetful{}, Theme: widget.DarkTheme, Colours: termenv.TrueColor})
	s.send(tea.WindowSizeMsg{Width: 200, Height: 60})
	s.run(s.app.Init())
	return s
}

func (s *stage) run(cmd tea.Cmd) {
	if cmd != nil {
		go func() { s.msgs <- cmd() }()
	}
}

func (s *stage) send(msg tea.Msg) {
	if batch, ok := msg.(tea.BatchMsg); ok {
		for _, cmd := range batch {
			s.run(cmd)
		}
		return
	}
	begun := time.Now()
	_, cmd := s.app.Update(msg)
	s.app.View()
	s.frames = append(s.frames, time.Since(begun))
	s.run(cmd)
}

// press presses keys one by one.
func (s *stage) press(keys string) {
	for _, key := range keys {
		if key == ' ' {
			s.send(tea.KeyMsg{Type: tea.KeySpace, Runes: []rune{' '}})
			continue
		}
		s.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{key}})
	}
}

// until takes what the commands end with until the condition holds.
func (s *stage) until(ctx context.Context, what string, holds func() bool) error {
	timeout := time.After(time.Minute)
	for !holds() {
		select {
		case msg := <-s.msgs:
			s.send(msg)
		case <-ctx.Done():
			return ctx.Err()
		case <-timeout:
			return fmt.Errorf("%s did not come within a minute; the screen:\n%s", what, s.app.View())
		}
	}
	return nil
}

// pass lets time pass.
func (s *stage) pass(ctx context.Context, d time.Duration) error {
	over := time.After(d)
	for {
		select {
		case msg := <-s.msgs:
			s.send(msg)
		case <-ctx.Done():
			return ctx.Err()
		case <-over:
			return nil
		}
	}
}

func (s *stage) shows(text string) bool { return strings.Contains(s.app.View(), text) }

// sumUp adds a row for the frames since the last one.
func (s *stage) sumUp(t *table, what string) {
	worst := percentile(s.frames, 100)
	t.add(worst.Seconds()*1e3, frameTarget, what, grouped(int64(len(s.frames))),
		milliseconds(percentile(s.frames, 50)), milliseconds(percentile(s.frames, 99)))
	s.frames = nil
}

// one is the only account that there is.
type one struct{ account screen.Account }

func (o one) Profiles() ([]screen.Profile, string, error) {
	return []screen.Profile{o.account.Profile}, o.account.Profile.Name, nil
}

func (o one) Connect(string) (screen.Account, error) { return o.account, nil }

func (o one) Login(context.Context, screen.Profile, string) (screen.Account, string, error) {
	return screen.Account{}, "", errors.New("nobody logs in here")
}

// forgetful remembers nothing.
type forgetful struct{}

func (forgetful) Recent(screen.Profile, string) []string                    { return nil }
func (forgetful) Remember(screen.Profile, string, string) error             { return nil }
func (forgetful) Draft(screen.Profile, string) map[string]string            { return nil }
func (forgetful) KeepDraft(screen.Profile, string, map[string]string) error { return nil }
