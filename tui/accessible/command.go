package accessible

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"
	"golang.org/x/term"

	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
)

// command asks what to do on a screen.
type command struct {
	s   *session
	top screen.Screen
}

func (q command) prompt() string {
	if q.top == nil {
		return "Command, or ? for help: "
	}
	title := display.Line(q.top.Title())
	if q.hasRows() {
		return title + ". Command, row number, or ? for help: "
	}
	return title + ". Command, or ? for help: "
}

func (q command) hasRows() bool {
	_, hasRows := q.top.(screen.Chooser)
	return hasRows
}

func (q command) answer(text string) tea.Cmd {
	s := q.s
	text = strings.TrimSpace(text)
	switch strings.ToLower(text) {
	case "":
		s.say(s.where())
		return nil
	case "?", "help":
		q.help()
		return nil
	case "again":
		s.again()
		return nil
	}
	keys, offers := s.app.Shell().Keys, s.offers()
	_, isKey := keys.Find(text, false, offers)
	if row, err := strconv.Atoi(text); err == nil && (q.hasRows() || !isKey) {
		if opens := slices.ContainsFunc(offers, func(o actions.Offer) bool { return o.ID == actions.Open }); q.choose(row) && opens {
			return s.attempt(actions.Open)
		}
		return nil
	}
	found, chosen := find(keys, offers, text), true
	if at := strings.LastIndexByte(text, ' '); len(found) == 0 && at >= 0 { // "copy the id 3"
		if row, err := strconv.Atoi(text[at+1:]); err == nil {
			found = find(keys, offers, strings.TrimSpace(text[:at]))
			chosen = len(found) != 1 || q.choose(row)
		}
	}
	switch {
	case len(found) == 0:
		s.say(fmt.Sprintf("There is no command %q here; ? lists them.", text))
	case len(found) > 1:
		s.say("That can be several:")
		s.sayCommands(found, q.hasRows())
	case chosen:
		return s.attempt(found[0].ID)
	}
	return nil
}

func (q command) choose(row int) bool {
	chooser, hasRows := q.top.(screen.Chooser)
	switch {
	case !hasRows:
		q.s.say("There are no rows here.")
		return false
	case !chooser.Choose(row):
		q.s.say(fmt.Sprintf("There is no row %d here.", row))
		return false
	}
	return true
}

// help lists the commands. Those that move about come last: rows have numbers.
func (q command) help() {
	offers := q.s.offers()
	moves := func(o actions.Offer) bool { return o.ID.Group() == "list" && o.ID != actions.Open }
	offers = slices.Concat(slices.DeleteFunc(slices.Clone(offers), moves), slices.DeleteFunc(offers, func(o actions.Offer) bool { return !moves(o) }))
	q.s.sayCommands(offers, q.hasRows())
	if q.hasRows() {
		q.s.say("A number opens that row. A command with a number, such as \"copy the id 3\", is done with that row.")
	}
	q.s.say("A command is given by its key, its name, or the beginning of its name. \"again\" says the screen once more, an empty line where you are.")
}

// input reads lines, each only when it is asked for, so that a secret can be read without echo.
type input struct {
	lines chan line

	wanted   chan bool // whether it is a secret
	asked    bool      // a line is on its way
	reader   *bufio.Reader
	terminal *os.File // nil if there is none
	before   *term.State
	shown    chan bool // a secret is read that the terminal does show, because it was there already
}

// line is what came, or the end. An end without an error is that of the input.
type line struct {
	text  string
	ended bool
	err   error
}

func newInput(in io.Reader) *input {
	i := &input{lines: make(chan line, 1), wanted: make(chan bool, 1), shown: make(chan bool, 1), reader: bufio.NewReader(in)}
	if file, ok := in.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		i.terminal = file
	}
	go i.read()
	return i
}

// ask asks for a line. One that was asked for before, and has not come, answers this time. Of a secret, the terminal shows
// nothing any more when ask returns: a person may be quicker than the prompt.
func (i *input) ask(secret bool) {
	if i.asked {
		return
	}
	i.asked = true
	if secret && i.terminal != nil {
		i.before, _ = term.GetState(int(i.terminal.Fd()))
	}
	i.wanted <- secret
	if i.before != nil {
		i.awaitSilence()
	}
}

// silenceTime is how long a terminal may take to stop showing what is typed; one that does not is not waited for.
const silenceTime = time.Second

// awaitSilence waits until the reader has switched the terminal over, of which nothing else tells.
func (i *input) awaitSilence() {
	over := time.After(silenceTime)
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for {
		now, err := term.GetState(int(i.terminal.Fd()))
		if err != nil || !reflect.DeepEqual(now, i.before) {
			return
		}
		select {
		case <-look.C:
		case <-i.shown:
			return
		case <-over:
			return
		}
	}
}

// leave shows again what is typed: the reader that goes on waiting has switched that off.
func (i *input) leave() {
	if i.before != nil {
		_ = term.Restore(int(i.terminal.Fd()), i.before)
		i.before = nil
	}
}

// read runs in a goroutine of its own, which ends with the input.
func (i *input) read() {
	for secret := range i.wanted {
		text, err := i.next(secret)
		if err != nil && text == "" {
			if errors.Is(err, io.EOF) || errors.Is(err, os.ErrClosed) {
				err = nil
			}
			i.lines <- line{ended: true, err: err}
			return
		}
		i.lines <- line{text: strings.ToValidUTF8(strings.TrimRight(text, "\r\n"), string(utf8.RuneError))}
	}
}

func (i *input) next(secret bool) (string, error) {
	if secret && i.terminal != nil && i.reader.Buffered() == 0 {
		text, err := term.ReadPassword(int(i.terminal.Fd()))
		if err == nil {
			_, _ = io.WriteString(i.terminal, "\n") // the one that was typed is not shown either
		}
		return string(text) + "\n", err
	}
	if secret {
		select {
		case i.shown <- true:
		default:
		}
	}
	return i.reader.ReadString('\n')
}

// question is what a person is asked. It is still the same question as long as it is about the same.
type question struct {
	about  any    // a dialog, the field of a form with the number of its lines so far, a form's end, or a screen
	prompt string // the line before the answer
	secret bool
	answer func(text string) tea.Cmd
	leave  func() tea.Cmd // what an interrupt does
}

// question returns what is to be asked now.
func (s *session) question() question {
	switch o := s.app.Overlay().(type) {
	case *screen.ConfirmDialog:
		wanted, leave, agree := "Type yes", actions.No, actions.Yes
		agrees := func(text string) bool { return strings.EqualFold(strings.TrimSpace(text), "yes") }
		if o.IsGrave() {
			wanted, leave, agree, agrees = o.Wanted(), actions.Cancel, actions.Submit, o.Agrees
		}
		no := s.leaving("No.", leave)
		return question{about: o, prompt: wanted + " to " + o.Yes() + ". Anything else cancels: ", leave: no, answer: func(text string) tea.Cmd {
			if !agrees(text) {
				return no()
			}
			if o.IsGrave() {
				o.Form().Set(o.Form().Focus(), text)
			}
			return s.attempt(agree)
		}}
	case *screen.PickDialog:
		prompt := "Number, or a part of the name; an empty line leaves: "
		if o.IsOpen() {
			prompt = "One of these, or another; an empty line leaves: "
		}
		return question{about: o, prompt: prompt, leave: s.leaving("Left.", actions.Cancel), answer: pick{s, o}.answer}
	case *screen.Reading: // it has been said already
		leave := func() tea.Cmd { return s.attempt(actions.Back) }
		return question{about: o, prompt: "An empty line goes on: ", leave: leave, answer: func(string) tea.Cmd { return leave() }}
	}
	if form := s.form(); form != nil {
		return s.fill(form)
	}
	q := command{s, s.app.Top()}
	return question{about: q.top, prompt: q.prompt(), answer: q.answer, leave: func() tea.Cmd {
		s.say("There is no question to leave. Once more quits; so does q.")
		return nil
	}}
}

// leaving says that a question was left, and carries out the action that leaves it.
func (s *session) leaving(said string, id actions.ID) func() tea.Cmd {
	return func() tea.Cmd {
		s.say(said)
		return s.attempt(id)
	}
}

// attempt carries out an action, if it is offered.
func (s *session) attempt(id actions.ID) tea.Cmd { return s.app.Attempt(id) }

// pick asks for one of several things.
type pick struct {
	s *session
	o *screen.PickDialog
}

func (q pick) answer(text string) tea.Cmd {
	text = strings.TrimSpace(text)
	if text == "" {
		return q.s.leaving("Left.", actions.Cancel)()
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
