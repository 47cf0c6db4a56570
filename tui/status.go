package tui

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api/display"
	"example.com/perks/tui/screen"
)

// How long messages stay. Failures stay until the next action; why a key did nothing goes with it, if not before.
const (
	noteTime    = 5 * time.Second
	warningTime = 12 * time.Second
)

// maxFormer is how many messages are kept.
const maxFormer = 100

// status is what was told last.
type status struct {
	shown       *screen.Toast
	number      int // of the message that is shown
	past        []said
	passing     bool // what is shown says only why a key did nothing
	interrupted bool // ctrl+c was pressed, and a question stands
}

type said struct {
	at    time.Time
	toast screen.Toast
}

type faded struct{ number int }

type notice string

// tell shows a message for a while.
func (a *App) tell(toast screen.Toast) tea.Cmd {
	toast.Text = display.Line(toast.Text)
	s := &a.status
	s.number++
	s.shown, s.passing = &toast, false
	if s.past = append(s.past, said{a.shell.Now(), toast}); len(s.past) > maxFormer {
		s.past = s.past[1:]
	}
	switch toast.Kind {
	case screen.Failure:
		return nil
	case screen.Warning:
		return a.shell.After(warningTime, faded{s.number})
	}
	return a.shell.After(noteTime, faded{s.number})
}

// listen waits for the next notice from beside the screens.
func (a *App) listen() tea.Cmd {
	notices := a.options.Notices
	if notices == nil {
		return nil
	}
	return func() tea.Msg {
		text, ok := <-notices
		if !ok {
			return nil
		}
		return notice(text)
	}
}

func (s *status) fade(msg faded) {
	if msg.number == s.number {
		s.shown = nil
	}
}

// read takes a message away that a person has gone on from.
func (s *status) read() {
	if s.shown != nil && (s.passing || s.shown.Kind == screen.Failure) {
		s.shown = nil
	}
}

func (s *status) former() []screen.Styled {
	var lines []screen.Styled
	for i := len(s.past) - 1; i >= 0; i-- {
		lines = append(lines, screen.Styled{Word: s.past[i].at.Format("15:04:05"), Text: word(s.past[i].toast.Kind) + s.past[i].toast.Text})
	}
	if lines == nil {
		lines = []screen.Styled{{Text: "Nothing has been told yet."}}
	}
	return lines
}

// word says how a message is meant without colour.
func word(kind screen.Kind) string {
	switch kind {
	case screen.Done:
		return "Done: "
	case screen.Warning:
		return "Warning: "
	case screen.Failure:
		return "Error: "
	}
	return ""
}

// Told returns how many messages there have been, and those from number since on that are still known, each with a word for
// how it is meant.
func (a *App) Told(since int) (number int, texts []string) {
	s := &a.status
	for i, past := range s.past {
		if s.number-len(s.past)+i >= since {
			texts = append(texts, word(past.toast.Kind)+past.toast.Text)
		}
	}
	return s.number, texts
}
