package screen

import (
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/widget"
)

// Overlay is one of them.
type Overlay interface {
	// Title and Linear say in plain lines what View shows.
	Title() string
	Linear() string
	// View draws the inside of the box, in at most that room.
	View(look *widget.Theme, width, height int) string
	// Hints is what the footer says, the most useful first.
	Hints() []Hint
	// Offers is what can be done, all of it from here.
	Offers() []actions.Offer
	// Do carries out an action. closed says that the overlay has had its answer.
	Do(id actions.ID) (cmd tea.Cmd, closed bool)
	// Form returns the form whose text is being typed; nil if none is.
	Form() *widget.Form
	// Edited tells that the text has changed.
	Edited()
}

// Hint is what an action does here, in a word or two.
type Hint struct {
	ID   actions.ID
	Text string
}

// textless is an Overlay's part without a form.
type textless struct{}

func (textless) Form() *widget.Form { return nil }
func (textless) Edited()            {}

// Confirm asks before something that cannot be taken back.
type ConfirmDialog struct {
	textless
	question
	keys *actions.Registry
}

func NewConfirm(ask Confirm, keys *actions.Registry) *ConfirmDialog {
	return &ConfirmDialog{question: question{ask: ask}, keys: keys}
}

// View draws the text, and always the two keys below it.
func (c *ConfirmDialog) View(look *widget.Theme, width, height int) string {
	answer := display.Cut(look.Key.Render(c.keys.Key(actions.Yes))+" "+look.Bad.Render(c.Yes())+"   "+
		look.Key.Render(c.keys.Key(actions.No))+" "+look.Text.Render("no"), width)
	lines := c.above(c.Linear(), width, height)
	if len(lines) > 0 && c.hasMore() {
		answer = display.Cut(answer+"   "+look.Key.Render(c.keys.Key(actions.Down))+" more", width)
	}
	return strings.Join(append(lines, answer), "\n")
}

// Hints is empty: the keys stand beside what they do.
func (c *ConfirmDialog) Hints() []Hint { return nil }

// Offers is yes and no, and to move about in a text that is longer than the screen.
func (c *ConfirmDialog) Offers() []actions.Offer {
	return append(actions.Able(actions.Yes, actions.No), widget.Moves()...)
}

func (c *ConfirmDialog) Do(id actions.ID) (tea.Cmd, bool) {
	switch id {
	case actions.Yes:
		return c.ask.Then(), true
	case actions.No:
		return nil, true
	}
	c.scroll.Do(id)
	return nil, false
}

// question is what Confirm and Typed share: a text that can be scrolled, with the way to answer it always below.
type question struct {
	ask    Confirm
	scroll widget.Scroll
}

func (q *question) Title() string { return display.Line(q.ask.Title) }

// Yes says what agreeing does.
func (q *question) Yes() string { return display.Line(q.ask.Yes) }

func (q *question) Linear() string { return display.Text(q.ask.Text) }

// above draws as much of a text as fits above a last line: nothing where there is room only for that line.
func (q *question) above(text string, width, height int) []string {
	lines := display.Wrap(text, width)
	room := max(0, height-1)
	if len(lines) < room {
		lines, room = append(lines, ""), len(lines)+1
	}
	q.scroll.Resize(width, room)
	q.scroll.Set(lines)
	if room == 0 {
		return nil
	}
	return strings.Split(q.scroll.View(), "\n")
}

func (q *question) hasMore() bool {
	_, below := q.scroll.More()
	return below > 0
}

// Typed asks before something so grave that a single key must not do it: the person has to type one of several words.
type Typed struct {
	question
	form *widget.Form
}

const agreeing = "agree"

// roomToType is the least width of the line to type in.
const roomToType = 8

func NewTyped(ask Confirm, look *widget.Theme) *Typed {
	t := &Typed{question: question{ask: ask}}
	t.form = widget.NewForm(look, widget.Field{Name: agreeing, Label: t.Wanted()})
	return t
}

// Wanted says what has to be typed: "Type 42 or delete".
func (t *Typed) Wanted() string { return "Type " + display.Line(strings.Join(t.ask.Words, " or ")) }

// Agrees tells whether a text is one of the words.
func (t *Typed) Agrees(text string) bool {
	return slices.ContainsFunc(t.ask.Words, func(word string) bool { return strings.EqualFold(word, strings.TrimSpace(text)) })
}

// IsGrave gives the box a border that no other box has.
func (t *Typed) IsGrave() bool { return true }

// View draws the text, and always the line to type in below it.
func (t *Typed) View(look *widget.Theme, width, height int) string {
	t.form.SetTheme(look)
	label, said := t.Wanted()+": ", t.Linear()
	if display.Width(label)+roomToType > width {
		label, said = "> ", t.Wanted()+".\n"+said
	}
	typed := display.Cut(look.Bad.Render(label)+t.form.Input(agreeing, max(1, width-display.Width(label))), width)
	return strings.Join(append(t.above(said, width, height), typed), "\n")
}

func (t *Typed) Hints() []Hint {
	hints := []Hint{{actions.Cancel, "cancel"}}
	if t.Agrees(t.form.Value(agreeing)) {
		hints = slices.Insert(hints, 0, Hint{actions.Submit, t.Yes()})
	}
	if t.hasMore() {
		hints = append(hints, Hint{actions.NextField, "more"})
	}
	return hints
}

// Offers is to agree, to leave, and to move about in the text by the keys of forms, because those of lists print letters.
func (t *Typed) Offers() []actions.Offer {
	why := ""
	if !t.Agrees(t.form.Value(agreeing)) {
		why = t.Wanted() + " first."
	}
	return append([]actions.Offer{actions.If(actions.Submit, why)}, actions.Able(actions.Cancel, actions.NextField, actions.PreviousField)...)
}

func (t *Typed) Form() *widget.Form { return t.form }
func (t *Typed) Edited()            {}

func (t *Typed) Do(id actions.ID) (tea.Cmd, bool) {
	switch id {
	case actions.Cancel:
		return nil, true
	case actions.NextField:
		t.scroll.Do(actions.Down)
	case actions.PreviousField:
		t.scroll.Do(actions.Up)
	case actions.Submit:
		if t.Agrees(t.form.Value(agreeing)) {
			return t.ask.Then(), true
		}
	}
	return nil, false
}

// Prompt asks for one line of text.
type PromptDialog struct {
	ask  Prompt
	form *widget.Form
}

func NewPrompt(ask Prompt, look *widget.Theme) *PromptDialog {
	return &PromptDialog{ask: ask, form: widget.NewForm(look, ask.Field)}
}

func (p *PromptDialog) Title() string  { return display.Line(p.ask.Title) }
func (p *PromptDialog) Linear() string { return p.form.Linear() }

func (p *PromptDialog) View(look *widget.Theme, width, height int) string {
	p.form.SetTheme(look)
	return strings.TrimRight(p.form.View(width, min(height, 4)), "\n ")
}

func (p *PromptDialog) Hints() []Hint {
	return []Hint{{actions.Submit, "go on"}, {actions.Cancel, "leave"}}
}
func (p *PromptDialog) Offers() []actions.Offer { return actions.Able(actions.Submit, actions.Cancel) }
func (p *PromptDialog) Form() *widget.Form      { return p.form }
func (p *PromptDialog) Edited()                 {}

// Do sends the line if it breaks no rule.
func (p *PromptDialog) Do(id actions.ID) (tea.Cmd, bool) {
	switch id {
	case actions.Cancel:
		if p.ask.Left == nil {
			return nil, true
		}
		return p.ask.Left(), true
	case actions.Submit:
		if p.form.Check() {
			return p.ask.Then(p.form.Value(p.ask.Field.Name)), true
		}
	}
	return nil, false
}

// Reading is a text to read, such as the help.
type Reading struct {
	textless
	title  string
	lines  []Styled
	scroll widget.Scroll
}

// Styled is a line with a word before it that stands out, such as a key.
type Styled struct{ Word, Text string }

func NewReading(title string, lines []Styled) *Reading { return &Reading{title: title, lines: lines} }

func (r *Reading) Title() string { return r.title }

func (r *Reading) Linear() string {
	lines := make([]string, len(r.lines))
	for i, line := range r.lines {
		lines[i] = strings.TrimSpace(line.Word + " " + line.Text)
	}
	return strings.Join(lines, "\n")
}

// View draws as many of the lines as there is room for, the words in a column of their own.
func (r *Reading) View(look *widget.Theme, width, height int) string {
	column := 0
	for _, line := range r.lines {
		column = max(column, display.Width(line.Word))
	}
	column = min(column, width/2)
	var lines []string
	for _, line := range r.lines {
		for i, part := range display.Wrap(line.Text, max(1, width-column-2)) {
			word := ""
			if i == 0 {
				word = line.Word
			}
			lines = append(lines, look.Key.Render(display.Pad(word, column))+"  "+look.Text.Render(part))
		}
	}
	r.scroll.Resize(width, min(height, len(lines)))
	r.scroll.Set(lines)
	return r.scroll.View()
}

func (r *Reading) Hints() []Hint {
	hints := []Hint{{actions.Back, "close"}}
	switch above, below := r.scroll.More(); {
	case below > 0:
		hints = append(hints, Hint{actions.Down, "down"}, Hint{actions.PageDown, "further down"})
	case above > 0:
		hints = append(hints, Hint{actions.Up, "up"}, Hint{actions.PageUp, "further up"})
	}
	return hints
}

func (r *Reading) Offers() []actions.Offer {
	return append(widget.Moves(), actions.Able(actions.Back, actions.Help, actions.Messages, actions.Quit)...)
}

// Do moves about; every other key leaves.
func (r *Reading) Do(id actions.ID) (tea.Cmd, bool) { return nil, !r.scroll.Do(id) }
