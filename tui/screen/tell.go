package screen

import (
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/tui/widget"
)

// Kind is how a message is meant. Each has a word or mark of its own besides its colour.
type Kind int

// The kinds of messages.
const (
	Note Kind = iota
	Done
	Warning
	Failure
)

// Toast shows a message for a while. It stays among the former messages.
type Toast struct {
	Kind Kind
	Text string
}

// Tell is the command that shows a message.
func Tell(kind Kind, format string, args ...any) tea.Cmd {
	return Send(Toast{kind, fmt.Sprintf(format, args...)})
}

// Confirm asks before something that cannot be taken back. Only the action Yes (y) does it, never Enter. With Words, the
// person has to type one of them instead.
type Confirm struct {
	Title string // "Delete property 42?"
	Text  string // what will happen, to which thing, in sentences
	Yes   string // what y does: "delete it"
	Words []string
	Then  func() tea.Cmd
}

// Pick lets a person choose one of several things, found by typing.
type Pick struct {
	Title   string
	Options []string
	Current int // the option under the cursor at first
	Then    func(index int) tea.Cmd
	Other   *Prompt        // takes what was typed and is none of the options; nil where there is nothing else
	OtherIs string         // a name for Other, as in "Open perk coffee", which then comes after the options that match instead of first
	Left    func() tea.Cmd // runs if nothing is chosen; may be nil
}

// Prompt asks for one line of text.
type Prompt struct {
	Title string
	Field widget.Field
	Then  func(value string) tea.Cmd
	Left  func() tea.Cmd // runs if nothing is given; may be nil
}
