package accessible

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
)

// question is what a person is asked. Two questions are the same if they are equal.
type question interface {
	prompt() string // the line before the answer
	secret() bool
	answer(text string) tea.Cmd
	leave() tea.Cmd // what an interrupt does
}

// question returns what is to be asked now.
func (s *session) question() question {
	switch o := s.app.Overlay().(type) {
	case *screen.ConfirmDialog:
		return sure{s, o}
	case *screen.Typed:
		return typed{s, o}
	case *screen.PickDialog:
		return pick{s, o}
	case *screen.Reading:
		return reading{s, o}
	}
	if form := s.form(); form != nil {
		return s.fill(form)
	}
	return command{s, s.app.Top()}
}

// attempt carries out an action, if it is offered.
func (s *session) attempt(id actions.ID) tea.Cmd { return s.app.Attempt(id) }

// sure asks before what cannot be taken back.
type sure struct {
	s *session
	o *screen.ConfirmDialog
}

func (q sure) prompt() string {
	return "Type yes to " + q.o.Yes() + ". Anything else cancels: "
}

func (q sure) secret() bool { return false }

func (q sure) answer(text string) tea.Cmd {
	if strings.EqualFold(strings.TrimSpace(text), "yes") {
		return q.s.attempt(actions.Yes)
	}
	return q.leave()
}

func (q sure) leave() tea.Cmd {
	q.s.say("No.")
	return q.s.attempt(actions.No)
}

// typed asks before something so grave that the person has to type a certain word.
type typed struct {
	s *session
	o *screen.Typed
}

func (q typed) prompt() string {
	return q.o.Wanted() + " to " + q.o.Yes() + ". Anything else cancels: "
}

func (q typed) secret() bool { return false }

func (q typed) answer(text string) tea.Cmd {
	if !q.o.Agrees(text) {
		return q.leave()
	}
	form := q.o.Form()
	form.Set(form.Focus(), text)
	return q.s.attempt(actions.Submit)
}

func (q typed) leave() tea.Cmd {
	q.s.say("No.")
	return q.s.attempt(actions.Cancel)
}

// pick asks for one of several things.
type pick struct {
	s *session
	o *screen.PickDialog
}

func (q pick) prompt() string {
	if q.o.IsOpen() {
		return "One of these, or another; an empty line leaves: "
	}
	return "Number, or a part of the name; an empty line leaves: "
}

func (q pick) secret() bool { return false }

func (q pick) answer(text string) tea.Cmd {
	text = strings.TrimSpace(text)
	if text == "" {
		return q.leave()
	}
	options := q.o.Options()
	if q.o.IsOpen() {
		return q.answerOpen(options, text)
	}
	if n, err := strconv.Atoi(text); err == nil {
		if n < 1 || n > len(options) {
			q.s.say(fmt.Sprintf("There is no %d here: the numbers go from 1 to %d.", n, len(options)))
			return nil
		}
		return q.choose(n - 1)
	}
	found := matching(options, text)
	switch len(found) {
	case 0:
		q.s.say("Nothing here matches that.")
	case 1:
		return q.choose(found[0])
	default:
		for _, at := range found {
			q.s.say(fmt.Sprintf("%d: %s", at+1, display.Line(options[at])))
		}
	}
	return nil
}

// answerOpen takes a text for what it says: neither for the number of an option, nor for a part of its name.
func (q pick) answerOpen(options []string, text string) tea.Cmd {
	if at := slices.Index(options, text); at >= 0 {
		return q.choose(at)
	}
	takes, why := q.o.Takes(text)
	if found := matching(options, text); !takes && len(found) == 1 {
		return q.choose(found[0])
	}
	if !takes {
		q.s.say(fmt.Sprintf("%q %s.", display.Line(text), why))
		return nil
	}
	q.o.Type(text)
	return q.s.attempt(actions.Submit)
}

func (q pick) choose(at int) tea.Cmd {
	q.o.Point(at)
	return q.s.attempt(actions.Submit)
}

func (q pick) leave() tea.Cmd {
	q.s.say("Left.")
	return q.s.attempt(actions.Cancel)
}

// matching returns the options that are called so, or else those in whose names it occurs.
func matching(options []string, text string) []int {
	var found []int
	for i, option := range options {
		if strings.EqualFold(display.Line(option), text) {
			return []int{i}
		}
		if strings.Contains(strings.ToLower(display.Line(option)), strings.ToLower(text)) {
			found = append(found, i)
		}
	}
	return found
}

// reading is a text that has been said already.
type reading struct {
	s *session
	o *screen.Reading
}

func (q reading) prompt() string             { return "An empty line goes on: " }
func (q reading) secret() bool               { return false }
func (q reading) answer(text string) tea.Cmd { return q.leave() }
func (q reading) leave() tea.Cmd             { return q.s.attempt(actions.Back) }
