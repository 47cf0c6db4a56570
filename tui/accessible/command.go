package accessible

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

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
	if o := s.app.Overlay(); o != nil && o.Prompt() != "" {
		answer := func(text string) tea.Cmd { return s.reply(o.Answer(strings.TrimSpace(text))) }
		return question{about: o, prompt: o.Prompt(), answer: answer, leave: func() tea.Cmd { return answer("") }}
	}
	if form := s.form(); form != nil {
		return s.formQuestion(form)
	}
	prompt := "Command, or ? for help: "
	if s.hasRows() {
		prompt = "Command, row number, or ? for help: "
	}
	if top := s.app.Top(); top != nil {
		prompt = uuid().ReplaceAllString(display.Line(top.Title()), "") + ". " + prompt
	}
	return question{about: s.app.Top(), prompt: prompt, answer: s.handleCommand, leave: func() tea.Cmd {
		s.say("Nothing to cancel. Once more quits; so does q.")
		return nil
	}}
}

// uuid is what a prompt leaves out of a title: it takes long to hear, and was read out with the screen.
var uuid = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(` ?\b[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\b`)
})

// reply does what a dialog makes of an answer.
func (s *session) reply(r screen.Reply) tea.Cmd {
	if r.Say != "" {
		s.say(r.Say)
	}
	if r.Again {
		s.announced.overlay = nil
	}
	if r.Do == "" {
		return r.Cmd
	}
	return tea.Batch(r.Cmd, s.app.Attempt(r.Do))
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
	chooser, isList := s.app.Top().(screen.Chooser)
	return isList && chooser.HasRows()
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
	keys, offers := s.app.Shell().Keys, s.offers()
	if name, found := strings.CutPrefix(text, ":"); found && name != "" {
		named := find(keys, offers, name)
		if len(named) != 1 || !slices.Contains(names(keys, named[0].ID), strings.ToLower(name)) {
			opened := s.app.Attempt(actions.Palette)
			if o, ok := s.app.Overlay().(*screen.PickDialog); ok {
				return tea.Batch(opened, o.Search(name))
			}
			return opened
		}
		text = name // a command's whole name, with the colon that it has in forms
	}
	_, isKey := keys.Find(text, false, offers)
	if row, err := strconv.Atoi(text); err == nil && (s.hasRows() || !isKey) {
		if opens := slices.ContainsFunc(offers,
			func(o actions.Offer) bool { return o.ID == actions.Open }); s.choose(row) && opens {
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

// more moves to the rows after those that were read out, and past the last row to the next page.
func (s *session) more() tea.Cmd {
	var cmds []tea.Cmd
	for range screen.ReadAtOnce {
		cmds = append(cmds, s.app.Attempt(actions.Down))
	}
	return tea.Batch(cmds...)
}

func (s *session) choose(row int) bool {
	switch {
	case !s.hasRows():
		s.say("No rows here.")
		return false
	case !s.app.Top().(screen.Chooser).Choose(row):
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
	s.say("Type a command's key, its name, or how that begins. " +
		"\"again\" repeats the screen; an empty line says where you are.")
}
