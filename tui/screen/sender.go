package screen

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"
)

// Sender sends a change. Unlike a load it is never given up, a second one is ignored while the first is under way, and it is
// never shown as done before the service has said so.
type Sender[T any] struct {
	shell  *Shell
	number int
	busy   bool
}

// NewSender makes a sender.
func NewSender[T any](shell *Shell) *Sender[T] { return &Sender[T]{shell: shell} }

// Send sends the change, or does nothing if one is under way.
func (s *Sender[T]) Send(change Fetch[T]) tea.Cmd {
	if s.busy {
		return nil
	}
	s.busy = true
	s.number++
	number, c := s.number, s.shell.Account.Client
	return func() tea.Msg {
		value, err := fetchWith(context.Background(), c, change)
		return Sent[T]{value, err, s, number}
	}
}

// Busy tells whether a change is under way.
func (s *Sender[T]) Busy() bool { return s.busy }

// Take returns how the change has ended if the message tells of it.
func (s *Sender[T]) Take(msg tea.Msg) (Sent[T], bool) {
	sent, ok := msg.(Sent[T])
	if !ok || sent.sender != s || sent.number != s.number || !s.busy {
		return Sent[T]{}, false
	}
	s.busy = false
	return sent, true
}

// Sent is how a change has ended.
type Sent[T any] struct {
	Value T
	Err   error

	sender *Sender[T]
	number int
}

// Outcome tells the shell how the change ended.
func (s Sent[T]) Outcome() (known bool, err error) { return true, s.Err }
