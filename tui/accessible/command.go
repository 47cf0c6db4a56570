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

func (q command) secret() bool { return false }

func (q command) leave() tea.Cmd {
	q.s.say("There is no question to leave. Once more quits; so does q.")
	return nil
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
	if row, err := strconv.Atoi(text); err == nil && !q.isKey(text) {
		return q.open(row)
	}
	offers := q.s.offers()
	if found := find(s.app.Shell().Keys, offers, text); len(found) > 0 {
		return q.do(found)
	}
	if name, row, ok := cutRow(text); ok {
		if found := find(s.app.Shell().Keys, offers, name); len(found) > 0 {
			if len(found) > 1 || q.choose(row) {
				return q.do(found)
			}
			return nil
		}
	}
	s.say(fmt.Sprintf("There is no command %q here; ? lists them.", text))
	return nil
}

// isKey tells whether a number is the key of a command rather than that of a row: it is where there are no rows.
func (q command) isKey(text string) bool {
	if q.hasRows() {
		return false
	}
	_, found := q.s.app.Shell().Keys.Find(text, false, q.s.offers())
	return found
}

func (q command) do(found []actions.Offer) tea.Cmd {
	if len(found) == 1 {
		return q.s.attempt(found[0].ID)
	}
	q.s.say("That can be several:")
	q.s.sayCommands(found, q.hasRows())
	return nil
}

func (q command) open(row int) tea.Cmd {
	if !q.choose(row) {
		return nil
	}
	if slices.ContainsFunc(q.s.offers(), func(o actions.Offer) bool { return o.ID == actions.Open }) {
		return q.s.attempt(actions.Open)
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

func cutRow(text string) (name string, row int, ok bool) {
	at := strings.LastIndexByte(text, ' ')
	if at < 0 {
		return "", 0, false
	}
	row, err := strconv.Atoi(text[at+1:])
	return strings.TrimSpace(text[:at]), row, err == nil
}

// help lists the commands. Those that move about come last: rows have numbers.
func (q command) help() {
	offers := q.s.offers()
	slices.SortStableFunc(offers, func(a, b actions.Offer) int { return last(a.ID) - last(b.ID) })
	q.s.sayCommands(offers, q.hasRows())
	if q.hasRows() {
		q.s.say("A number opens that row. A command with a number, such as \"copy the id 3\", is done with that row.")
	}
	q.s.say("A command is given by its key, its name, or the beginning of its name. \"again\" says the screen once more, an empty line where you are.")
}

func last(id actions.ID) int {
	if id.Group() == "list" && id != actions.Open {
		return 1
	}
	return 0
}
