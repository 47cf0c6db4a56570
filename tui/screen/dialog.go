package screen

import (
	"cmp"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/theme"
	"example.com/perks/tui/widget"
)

// Overlay is a dialog above the screen. It has the focus.
type Overlay interface {
	// Title and AccessibleText return in plain lines what View shows.
	Title() string
	AccessibleText() string
	// Prompt is what the accessible mode writes before a line that Answer understands; "" if it asks for the fields of
	// the form instead.
	Prompt() string
	// Answer takes such a line. An empty one cancels, or goes on.
	Answer(text string) Reply
	// View draws the inside of the box, at most in that size, and Frame returns the box of what was drawn last.
	View(theme *theme.Theme, width, height int) string
	Frame() Frame
	// Offers returns all that can be done, the most useful first. The footer shows those with a Hint.
	Offers() []actions.Offer
	// Closed tells whether an action has ended the dialog.
	Closed() bool
	// Scroll does a step of the mouse wheel: Up or Down, three lines.
	Scroll(id actions.ID)
	// Click returns the action that View has drawn at a cell; "" for none.
	Click(x, y int) actions.ID
	// Update handles Opened, Edited, and the end of a load.
	Update(msg tea.Msg) tea.Cmd
	// Form returns the form that is being filled in; nil if there is none.
	Form() *widget.Form
}

const wheelStep = 3 // lines

// Opened tells a dialog that it was opened.
type Opened struct{}

// Reply is what an answer in the accessible mode means.
type Reply struct {
	Say   string     // may be ""
	Do    actions.ID // "" for nothing
	Cmd   tea.Cmd    // may be nil
	Again bool       // the text of the dialog is read out again
}

// Frame is how the box of a dialog is drawn.
type Frame struct {
	Grave   bool // it has a border that no other has
	Changes bool // the service is asked to change something
	Grows   bool // it must not move while it is typed in
	Bar     widget.Bar
}

// dialog is what all dialogs have in common.
type dialog struct {
	form   *widget.Form // nil without any
	scroll widget.Scroll
	closed bool
}

func (d *dialog) Form() *widget.Form     { return d.form }
func (d *dialog) Closed() bool           { return d.closed }
func (d *dialog) Update(tea.Msg) tea.Cmd { return nil }

func (d *dialog) Click(int, int) actions.ID { return "" }

func (d *dialog) Scroll(id actions.ID) {
	for range wheelStep {
		d.scroll.Do(id)
	}
}

// closing closes the dialog, and does then, which may be nil.
func (d *dialog) closing(then func() tea.Cmd) func() tea.Cmd {
	return func() tea.Cmd {
		if d.closed = true; then == nil {
			return nil
		}
		return then()
	}
}

// Question is a message that opens a dialog.
type Question interface {
	Overlay(shell *Shell) Overlay
}

// ConfirmDialog is a text that scrolls, above a line that always says how to confirm: by a key, or by typing a word.
type ConfirmDialog struct {
	dialog // its form is to type a word in
	ask    Confirm
	shell  *Shell
	name   string // of a protected profile, to be typed as it is written; "" if nothing is
	seen   bool   // the end of the text was shown
	answer int    // the line that offers yes and no
}

const wordField = "agree"

// typeName is before the name of a protected profile.
const typeName = "Protected: type "

// minInputWidth is the least width of the line to type in.
const minInputWidth = 8

func (c Confirm) Overlay(shell *Shell) Overlay {
	d := &ConfirmDialog{ask: c, shell: shell}
	if !c.Local {
		d.name = shell.toType()
	}
	if len(c.Words) > 0 || d.name != "" {
		d.form = widget.NewForm(shell.Theme, widget.Field{Name: wordField, Label: d.wanted()})
	}
	return d
}

func (c *ConfirmDialog) Title() string          { return display.Line(c.ask.Title) }
func (c *ConfirmDialog) AccessibleText() string { return display.Text(c.ask.Text) }

// IsOf tells whether a screen has asked the question, and may withdraw it.
func (c *ConfirmDialog) IsOf(s Screen) bool { return c.ask.By != nil && c.ask.By == s }

// Yes says what confirming does.
func (c *ConfirmDialog) Yes() string { return display.Line(c.ask.Yes) }

// No says what refusing does.
func (c *ConfirmDialog) No() string { return display.Line(cmp.Or(c.ask.No, "no")) }

// wanted says what to type: "Type 42 or delete"; "" if a key confirms.
func (c *ConfirmDialog) wanted() string {
	switch {
	case c.name != "":
		return typeName + display.Line(c.name)
	case len(c.ask.Words) == 0:
		return ""
	}
	return "Type " + display.Line(strings.Join(c.ask.Words, " or "))
}

// agrees tells whether a text is the profile's name if that has to be typed, or else one of the words.
func (c *ConfirmDialog) agrees(text string) bool {
	if c.name != "" {
		return strings.TrimSpace(text) == c.name
	}
	return slices.ContainsFunc(c.ask.Words, func(word string) bool {
		return strings.EqualFold(word, strings.TrimSpace(text))
	})
}

func (c *ConfirmDialog) Frame() Frame {
	return Frame{Grave: c.form != nil, Changes: !c.ask.Local, Bar: c.scroll.Bar()}
}

func (c *ConfirmDialog) Prompt() string {
	return cmp.Or(c.wanted(), "Type yes") + " to " + c.Yes() + ". Anything else cancels: "
}

func (c *ConfirmDialog) Answer(text string) Reply {
	switch {
	case c.form == nil && strings.EqualFold(text, "yes"):
		return Reply{Do: actions.Yes}
	case c.form == nil:
		return Reply{Say: "No.", Do: actions.No}
	case !c.agrees(text):
		return Reply{Say: "No.", Do: actions.Cancel}
	}
	c.form.Set(wordField, text)
	return Reply{Do: actions.Submit}
}

// View draws the text, and always below it the keys, or the line to type in.
func (c *ConfirmDialog) View(theme *theme.Theme, width, height int) string {
	if c.form == nil {
		answer := theme.Key.Render(c.shell.Keys.Key(actions.Yes)) + " " + theme.Strong.Render(c.Yes()) + "   " +
			theme.Key.Render(c.shell.Keys.Key(actions.No)) + " " + theme.Text.Render(c.No())
		lines := c.textAbove(c.AccessibleText(), width, height)
		c.answer = len(lines)
		if len(lines) > 0 && c.hasMore() {
			answer = display.Cut(answer, width) + "   " + theme.Key.Render(c.shell.Keys.Key(actions.Down)) + " more"
		}
		return strings.Join(append(lines, display.Cut(answer, width)), "\n")
	}
	c.form.SetTheme(theme)
	label, text := c.wanted()+": ", c.AccessibleText()
	if display.Width(label)+minInputWidth > width {
		label, text = "> ", c.wanted()+".\n"+text
	}
	typed := display.Cut(theme.Bad.Render(label)+c.form.Input(wordField, max(1, width-display.Width(label))), width)
	return strings.Join(append(c.textAbove(text, width, height), typed), "\n")
}

// Click is on yes or no. A word that has to be typed is confirmed by that alone.
func (c *ConfirmDialog) Click(x, y int) actions.ID {
	yes := display.Width(c.shell.Keys.Key(actions.Yes) + " " + c.Yes())
	no := yes + 3 // blanks between them
	switch {
	case c.form != nil || y != c.answer || x < 0:
		return ""
	case x < yes:
		return actions.Yes
	case x >= no && x < no+display.Width(c.shell.Keys.Key(actions.No)+" "+c.No()):
		return actions.No
	}
	return ""
}

// textAbove draws as much of a text as fits above a last line.
func (c *ConfirmDialog) textAbove(text string, width, height int) []string {
	lines := display.Wrap(text, width)
	space := max(0, height-1)
	if len(lines) < space {
		lines, space = append(lines, ""), len(lines)+1
	}
	c.scroll.Resize(width, space)
	c.scroll.Set(lines)
	c.seen = c.seen || space > 0 && !c.hasMore()
	if space == 0 {
		return nil
	}
	return strings.Split(c.scroll.View(), "\n")
}

func (c *ConfirmDialog) hasMore() bool {
	_, below := c.scroll.More()
	return below > 0
}

// Offers is to confirm or not, and to scroll: while a word is typed, by the keys of forms, because those of lists print
// letters. Yes and no have no hint, because the dialog shows their keys.
func (c *ConfirmDialog) Offers() []actions.Offer {
	why, further, down := "", "", actions.Down
	if c.form != nil {
		down = actions.NextField
	}
	if c.ask.Whole && !c.seen && c.hasMore() {
		why = "Read to the end first: " + c.shell.Keys.Key(down) + "."
	}
	if c.form == nil {
		return append([]actions.Offer{
			{ID: actions.Yes, Why: why, Do: c.closing(c.ask.Then)}, {ID: actions.No, Do: c.closing(nil)},
		}, widget.Moves(c.scroll.Scrolled)...)
	}
	if why == "" && !c.agrees(c.form.Value(wordField)) {
		why = c.wanted() + " first."
	}
	if c.hasMore() {
		further = "more"
	}
	agree := func() tea.Cmd { return c.shell.confirm(c.form.Value(wordField), c.ask.Then) }
	if c.name == "" {
		agree = c.ask.Then
	}
	scroll := func(id actions.ID) func() tea.Cmd { return func() tea.Cmd { return c.scroll.Scrolled(id) } }
	return []actions.Offer{
		{ID: actions.Submit, Why: why, Hint: c.Yes(), Do: c.closing(agree)},
		{ID: actions.Cancel, Hint: "cancel", Do: c.closing(nil)},
		{ID: actions.NextField, Hint: further, Do: scroll(actions.Down)},
		{ID: actions.PreviousField, Do: scroll(actions.Up)},
		{ID: actions.ScrollDown, Do: scroll(actions.PageDown)},
		{ID: actions.ScrollUp, Do: scroll(actions.PageUp)},
	}
}

// PromptDialog asks for one line of text, and before a change of a protected profile for its name.
type PromptDialog struct {
	dialog
	ask   Prompt
	shell *Shell
}

const profileField = "profile"

func (p Prompt) Overlay(shell *Shell) Overlay {
	fields := []widget.Field{p.Field}
	if name := shell.toType(); p.Changes && name != "" {
		wanted := typeName + display.Line(name)
		check := func(text string) string {
			if strings.TrimSpace(text) != name {
				return wanted + "."
			}
			return ""
		}
		fields = append(fields, widget.Field{Name: profileField, Label: "Profile", Hint: wanted, Check: check})
	}
	return &PromptDialog{ask: p, shell: shell, dialog: dialog{form: widget.NewForm(shell.Theme, fields...)}}
}

func (p *PromptDialog) Title() string       { return display.Line(p.ask.Title) }
func (p *PromptDialog) Frame() Frame        { return Frame{Changes: p.ask.Changes} }
func (p *PromptDialog) Prompt() string      { return "" }
func (p *PromptDialog) Answer(string) Reply { return Reply{} }

func (p *PromptDialog) AccessibleText() string {
	return strings.TrimLeft(display.Text(p.ask.Text)+"\n"+p.form.AccessibleText(), "\n")
}

// View draws the line, below as much of the text as fits.
func (p *PromptDialog) View(theme *theme.Theme, width, height int) string {
	p.form.SetTheme(theme)
	form := strings.TrimRight(p.form.View(width, min(height, 4*len(p.form.Names()))), "\n ")
	above := widget.Capped(theme.Text, display.Text(p.ask.Text), width, height-strings.Count(form, "\n")-2)
	if p.ask.Text == "" || len(above) == 0 {
		return form
	}
	return strings.Join(above, "\n") + "\n\n" + form
}

func (p *PromptDialog) Offers() []actions.Offer {
	return []actions.Offer{
		{ID: actions.Submit, Hint: cmp.Or(p.ask.Yes, "ok"), Do: p.submit},
		{ID: actions.Cancel, Hint: "cancel", Do: p.closing(p.ask.OnCancel)},
	}
}

// submit submits the line if it breaks no rule.
func (p *PromptDialog) submit() tea.Cmd {
	if !p.form.Check() {
		return nil
	}
	then := func() tea.Cmd { return p.ask.Then(p.form.Value(p.ask.Field.Name)) }
	if len(p.form.Names()) > 1 {
		return p.closing(func() tea.Cmd { return p.shell.confirm(p.form.Value(profileField), then) })()
	}
	return p.closing(then)()
}

// TextDialog is a text to read, such as the last messages.
type TextDialog struct {
	dialog
	title string
	lines []widget.Pair
}

func NewTextDialog(title string, lines []widget.Pair) *TextDialog {
	return &TextDialog{title: title, lines: lines}
}

func (r *TextDialog) Title() string       { return r.title }
func (r *TextDialog) Frame() Frame        { return Frame{Bar: r.scroll.Bar()} }
func (r *TextDialog) Prompt() string      { return "Empty line continues: " }
func (r *TextDialog) Answer(string) Reply { return Reply{Do: actions.Back} }

func (r *TextDialog) AccessibleText() string {
	lines := make([]string, len(r.lines))
	for i, line := range r.lines {
		lines[i] = strings.TrimSpace(line.Label + " " + line.Value)
	}
	return strings.Join(lines, "\n")
}

func (r *TextDialog) View(theme *theme.Theme, width, height int) string {
	lines := widget.Pairs(theme, width, r.lines)
	r.scroll.Resize(width, min(height, len(lines)))
	r.scroll.Set(lines)
	return r.scroll.View()
}

// Offers is to close, also by keys that do something elsewhere, and to scroll.
func (r *TextDialog) Offers() []actions.Offer {
	offers := actions.Enabled(actions.Back, actions.Help, actions.Messages, actions.Quit)
	for i := range offers {
		offers[i].Do = r.closing(nil)
	}
	offers[0].Hint = "close"
	return append(offers, r.scroll.Moves(r.scroll.Scrolled)...)
}
