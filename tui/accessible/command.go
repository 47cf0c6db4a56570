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

// question is what the user is asked. A question about the same thing is the same question.
type question struct {
	about  any    // a dialog, the field of a form with the number of its lines so far, a form's end, or a screen
	prompt string // the line before the answer
	secret bool
	answer func(text string) tea.Cmd
	leave  func() tea.Cmd // what an interrupt does
}

// question returns what to ask now.
func (s *session) question() question {
	switch o := s.app.Overlay().(type) {
	case *screen.ConfirmDialog:
		wanted, no, yes := "Type yes", actions.No, actions.Yes
		agrees := func(text string) bool { return strings.EqualFold(strings.TrimSpace(text), "yes") }
		if o.IsGrave() {
			wanted, no, yes, agrees = o.Wanted(), actions.Cancel, actions.Submit, o.Agrees
		}
		leave := func() tea.Cmd { return s.leave("No.", no) }
		return question{about: o, prompt: wanted + " to " + o.Yes() + ". Anything else cancels: ", leave: leave, answer: func(text string) tea.Cmd {
			if !agrees(text) {
				return leave()
			}
			if o.IsGrave() {
				o.Form().Set(o.Form().Focus(), text)
			}
			return s.app.Attempt(yes)
		}}
	case *screen.PickDialog:
		prompt := "Number, or part of the name; empty line cancels: "
		switch {
		case o.Searches():
			prompt = "Number, or what to find; empty line cancels: "
		case o.IsOpen():
			prompt = "One of these, or another; empty line cancels: "
		}
		leave := func() tea.Cmd { return s.leave("Cancelled.", actions.Cancel) }
		return question{about: o, prompt: prompt, leave: leave, answer: func(text string) tea.Cmd {
			if text = strings.TrimSpace(text); text == "" {
				return leave()
			}
			return s.handlePick(o, text)
		}}
	case *screen.TextDialog: // announce has read it out
		leave := func() tea.Cmd { return s.app.Attempt(actions.Back) }
		return question{about: o, prompt: "Empty line continues: ", leave: leave, answer: func(string) tea.Cmd { return leave() }}
	}
	if form := s.form(); form != nil {
		return s.formQuestion(form)
	}
	prompt := "Command, or ? for help: "
	if s.hasRows() {
		prompt = "Command, row number, or ? for help: "
	}
	if top := s.app.Top(); top != nil {
		prompt = display.Line(top.Title()) + ". " + prompt
	}
	return question{about: s.app.Top(), prompt: prompt, answer: s.handleCommand, leave: func() tea.Cmd {
		s.say("Nothing to cancel. Once more quits; so does q.")
		return nil
	}}
}

// leave says that a question is cancelled, and does the action for that.
func (s *session) leave(text string, id actions.ID) tea.Cmd {
	s.say(text)
	return s.app.Attempt(id)
}

// command is what a sentence calls an action: what to type for it.
func (s *session) command(id actions.ID) string {
	name := strings.ToLower(strings.TrimSuffix(s.app.Shell().Keys.Action(id).Name, "…"))
	if s.form() == nil {
		return strconv.Quote(name)
	}
	if word := map[actions.ID]string{actions.Submit: "send", actions.Cancel: "leave"}[id]; word != "" {
		name = word
	}
	return strconv.Quote(":" + name)
}

func (s *session) hasRows() bool {
	_, hasRows := s.app.Top().(screen.Chooser)
	return hasRows
}

func (s *session) handleCommand(text string) tea.Cmd {
	text = strings.TrimSpace(text)
	switch strings.ToLower(text) {
	case "":
		s.say(s.where())
		return nil
	case "?", "help":
		s.help()
		return nil
	case "again":
		s.again()
		return nil
	case "more":
		if s.hasRows() {
			return s.more()
		}
	}
	if text, finds := strings.CutPrefix(text, ":"); finds && text != "" {
		opened := s.app.Attempt(actions.Palette)
		if o, ok := s.app.Overlay().(*screen.PickDialog); ok {
			return tea.Batch(opened, o.Search(text))
		}
		return opened
	}
	keys, offers := s.app.Shell().Keys, s.offers()
	_, isKey := keys.Find(text, false, offers)
	if row, err := strconv.Atoi(text); err == nil && (s.hasRows() || !isKey) {
		if opens := slices.ContainsFunc(offers, func(o actions.Offer) bool { return o.ID == actions.Open }); s.choose(row) && opens {
			return s.app.Attempt(actions.Open)
		}
		return nil
	}
	found, chosen := find(keys, offers, text), true
	if at := strings.LastIndexByte(text, ' '); len(found) == 0 && at >= 0 { // "copy the id 3"
		if row, err := strconv.Atoi(text[at+1:]); err == nil {
			found = find(keys, offers, strings.TrimSpace(text[:at]))
			chosen = len(found) != 1 || s.choose(row)
		}
	}
	switch {
	case len(found) == 0:
		s.say(fmt.Sprintf("No command %q here; ? lists them.", text))
	case len(found) > 1:
		s.say("Several commands match:")
		s.sayCommands(found)
	case chosen:
		return s.app.Attempt(found[0].ID)
	}
	return nil
}

// rowsRead is how many rows a list reads out at once.
const rowsRead = 10

// more moves to the rows after those that were read out, and past the last row to the next page.
func (s *session) more() tea.Cmd {
	var cmds []tea.Cmd
	for range rowsRead {
		cmds = append(cmds, s.app.Attempt(actions.Down))
	}
	return tea.Batch(cmds...)
}

func (s *session) choose(row int) bool {
	chooser, hasRows := s.app.Top().(screen.Chooser)
	switch {
	case !hasRows:
		s.say("No rows here.")
		return false
	case !chooser.Choose(row):
		s.say(fmt.Sprintf("No row %d here.", row))
		return false
	}
	return true
}

// help lists the commands, those that move last: rows have numbers.
func (s *session) help() {
	var offers, moves []actions.Offer
	for _, offer := range s.offers() {
		if offer.ID.Group() == "list" && offer.ID != actions.Open {
			moves = append(moves, offer)
		} else {
			offers = append(offers, offer)
		}
	}
	s.sayCommands(append(offers, moves...))
	if s.hasRows() {
		s.say("A number opens that row. A command with a number, such as \"copy the id 3\", acts on that row.")
		s.say("\"more\" reads the next ten rows.")
	}
	s.say("A colon finds what follows: \":coffee\" perks, \":user alice\" a user.")
	s.say("Type a command's key, its name, or how that begins. \"again\" repeats the screen; an empty line says where you are.")
}

// handlePick handles the number of an option, a part of its name, or other text if the dialog takes that.
func (s *session) handlePick(o *screen.PickDialog, text string) tea.Cmd {
	choose := func(at int) tea.Cmd {
		o.Point(at)
		return s.app.Attempt(actions.Submit)
	}
	if o.Searches() {
		return s.search(o, text)
	}
	options := o.Options()
	found := matching(options, text)
	if o.IsOpen() { // then it is neither a number nor, where it can be meant itself, a part of a name
		takes, why := o.Takes(text)
		switch at := slices.Index(options, text); {
		case at >= 0:
			return choose(at)
		case takes:
			o.Type(text)
			return s.app.Attempt(actions.Submit)
		case len(found) == 1:
			return choose(found[0])
		}
		s.say(fmt.Sprintf("%q %s.", display.Line(text), why))
		return nil
	}
	n, err := strconv.Atoi(text)
	switch {
	case err == nil && n >= 1 && n <= len(options):
		return choose(n - 1)
	case err == nil:
		s.say(fmt.Sprintf("No %d here: the numbers go from 1 to %d.", n, len(options)))
	case len(found) == 0:
		s.say("Nothing here matches that.")
	case len(found) == 1:
		return choose(found[0])
	default:
		for _, at := range found {
			s.say(fmt.Sprintf("%d: %s", at+1, display.Line(options[at])))
		}
	}
	return nil
}

// search chooses what was read out by its number, or searches for more.
func (s *session) search(o *screen.PickDialog, text string) tea.Cmd {
	if n, err := strconv.Atoi(text); err == nil && o.ChooseRead(n) {
		return s.app.Attempt(actions.Submit)
	}
	s.announced.overlay = nil // what is found is read out as if the dialog had opened now
	return o.Search(text)
}

// matching returns the options with that name, or else those whose names contain it.
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
