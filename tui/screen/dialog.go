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
	// View draws the inside of the box, at most in that size.
	View(theme *theme.Theme, width, height int) string
	// Offers returns all that can be done, the most useful first. The footer shows those with a Hint.
	Offers() []actions.Offer
	// Do does an action. closed says that the dialog is done.
	Do(id actions.ID) (cmd tea.Cmd, closed bool)
	// Form returns the form that is being filled in; nil if there is none.
	Form() *widget.Form
}

// Question is a message that opens a dialog.
type Question interface {
	Overlay(shell *Shell) Overlay
}

// ConfirmDialog is a text that scrolls, above a line that always says how to confirm: by a key, or by typing a word.
type ConfirmDialog struct {
	ask    Confirm
	shell  *Shell
	name   string       // of a protected profile, to be typed as it is written; "" if nothing is
	form   *widget.Form // to type a word in; nil without Words
	scroll widget.Scroll
	seen   bool // the end of the text was shown
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
		d.form = widget.NewForm(shell.Theme, widget.Field{Name: wordField, Label: d.Wanted()})
	}
	return d
}

func (c *ConfirmDialog) Title() string          { return display.Line(c.ask.Title) }
func (c *ConfirmDialog) AccessibleText() string { return display.Text(c.ask.Text) }
func (c *ConfirmDialog) Form() *widget.Form     { return c.form }

// IsOf tells whether a screen has asked the question, and may withdraw it.
func (c *ConfirmDialog) IsOf(s Screen) bool { return c.ask.By != nil && c.ask.By == s }

// Yes says what confirming does.
func (c *ConfirmDialog) Yes() string { return display.Line(c.ask.Yes) }

// No says what refusing does.
func (c *ConfirmDialog) No() string { return display.Line(cmp.Or(c.ask.No, "no")) }

// Wanted says what to type: "Type 42 or delete"; "" if a key confirms.
func (c *ConfirmDialog) Wanted() string {
	switch {
	case c.name != "":
		return typeName + display.Line(c.name)
	case len(c.ask.Words) == 0:
		return ""
	}
	return "Type " + display.Line(strings.Join(c.ask.Words, " or "))
}

// Agrees tells whether a text is the profile's name if that has to be typed, or else one of the words.
func (c *ConfirmDialog) Agrees(text string) bool {
	if c.name != "" {
		return strings.TrimSpace(text) == c.name
	}
	return slices.ContainsFunc(c.ask.Words, func(word string) bool { return strings.EqualFold(word, strings.TrimSpace(text)) })
}

// Changes tells whether the service is asked to change something.
func (c *ConfirmDialog) Changes() bool { return !c.ask.Local }

// IsGrave gives the box a border that no other has.
func (c *ConfirmDialog) IsGrave() bool { return c.form != nil }

// Bar is which part of the text View has drawn.
func (c *ConfirmDialog) Bar() widget.Bar { return c.scroll.Bar() }

// View draws the text, and always below it the keys, or the line to type in.
func (c *ConfirmDialog) View(theme *theme.Theme, width, height int) string {
	if c.form == nil {
		answer := theme.Key.Render(c.shell.Keys.Key(actions.Yes)) + " " + theme.Strong.Render(c.Yes()) + "   " +
			theme.Key.Render(c.shell.Keys.Key(actions.No)) + " " + theme.Text.Render(c.No())
		lines := c.textAbove(c.AccessibleText(), width, height)
		if len(lines) > 0 && c.hasMore() {
			answer = display.Cut(answer, width) + "   " + theme.Key.Render(c.shell.Keys.Key(actions.Down)) + " more"
		}
		return strings.Join(append(lines, display.Cut(answer, width)), "\n")
	}
	c.form.SetTheme(theme)
	label, text := c.Wanted()+": ", c.AccessibleText()
	if display.Width(label)+minInputWidth > width {
		label, text = "> ", c.Wanted()+".\n"+text
	}
	typed := display.Cut(theme.Bad.Render(label)+c.form.Input(wordField, max(1, width-display.Width(label))), width)
	return strings.Join(append(c.textAbove(text, width, height), typed), "\n")
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

// Offers is to confirm or not, and to scroll: while a word is typed, by the keys of forms, because those of lists print letters.
// Yes and no have no hint, because the dialog shows their keys.
func (c *ConfirmDialog) Offers() []actions.Offer {
	why, further, down := "", "", actions.Down
	if c.form != nil {
		down = actions.NextField
	}
	if c.ask.Whole && !c.seen && c.hasMore() {
		why = "Read to the end first: " + c.shell.Keys.Key(down) + "."
	}
	if c.form == nil {
		yes := []actions.Offer{actions.EnabledUnless(actions.Yes, why)}
		return slices.Concat(yes, actions.Enabled(actions.No), widget.Moves())
	}
	if why == "" && !c.Agrees(c.form.Value(wordField)) {
		why = c.Wanted() + " first."
	}
	if c.hasMore() {
		further = "more"
	}
	return []actions.Offer{
		actions.EnabledUnless(actions.Submit, why).WithHint(c.Yes()), actions.EnabledUnless(actions.Cancel, "").WithHint("cancel"),
		actions.EnabledUnless(actions.NextField, "").WithHint(further), actions.EnabledUnless(actions.PreviousField, ""),
		actions.EnabledUnless(actions.ScrollDown, ""), actions.EnabledUnless(actions.ScrollUp, ""),
	}
}

func (c *ConfirmDialog) Do(id actions.ID) (tea.Cmd, bool) {
	switch id {
	case actions.Yes:
		return c.ask.Then(), true
	case actions.No, actions.Cancel:
		return nil, true
	case actions.Submit:
		switch typed := c.form.Value(wordField); {
		case !c.Agrees(typed):
		case c.name != "":
			return c.shell.confirm(typed, c.ask.Then), true
		default:
			return c.ask.Then(), true
		}
	case actions.NextField:
		c.scroll.Do(actions.Down)
	case actions.PreviousField:
		c.scroll.Do(actions.Up)
	case actions.ScrollDown:
		c.scroll.Do(actions.PageDown)
	case actions.ScrollUp:
		c.scroll.Do(actions.PageUp)
	default:
		c.scroll.Do(id)
	}
	return nil, false
}

// PromptDialog asks for one line of text, and before a change of a protected profile for its name.
type PromptDialog struct {
	ask   Prompt
	shell *Shell
	form  *widget.Form
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
	return &PromptDialog{ask: p, shell: shell, form: widget.NewForm(shell.Theme, fields...)}
}

func (p *PromptDialog) Title() string      { return display.Line(p.ask.Title) }
func (p *PromptDialog) Form() *widget.Form { return p.form }

func (p *PromptDialog) AccessibleText() string {
	return strings.TrimLeft(display.Text(p.ask.Text)+"\n"+p.form.AccessibleText(), "\n")
}

// Changes tells whether the service is asked to change something.
func (p *PromptDialog) Changes() bool { return p.ask.Changes }

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
	submit := actions.EnabledUnless(actions.Submit, "").WithHint(cmp.Or(p.ask.Yes, "ok"))
	return []actions.Offer{submit, actions.EnabledUnless(actions.Cancel, "").WithHint("cancel")}
}

// Do submits the line if it breaks no rule.
func (p *PromptDialog) Do(id actions.ID) (tea.Cmd, bool) {
	switch id {
	case actions.Cancel:
		return cancelled(p.ask.OnCancel), true
	case actions.Submit:
		if !p.form.Check() {
			break
		}
		then := func() tea.Cmd { return p.ask.Then(p.form.Value(p.ask.Field.Name)) }
		if len(p.form.Names()) > 1 {
			return p.shell.confirm(p.form.Value(profileField), then), true
		}
		return then(), true
	}
	return nil, false
}

// cancelled runs what a cancelled dialog does, if anything.
func cancelled(then func() tea.Cmd) tea.Cmd {
	if then == nil {
		return nil
	}
	return then()
}

// TextDialog is a text to read, such as the help.
type TextDialog struct {
	title  string
	lines  []LabelledLine
	scroll widget.Scroll
}

// LabelledLine is a line after a word that stands out, such as a key.
type LabelledLine struct{ Word, Text string }

func NewTextDialog(title string, lines []LabelledLine) *TextDialog {
	return &TextDialog{title: title, lines: lines}
}

func (r *TextDialog) Title() string      { return r.title }
func (r *TextDialog) Form() *widget.Form { return nil }
func (r *TextDialog) Bar() widget.Bar    { return r.scroll.Bar() }

func (r *TextDialog) AccessibleText() string {
	lines := make([]string, len(r.lines))
	for i, line := range r.lines {
		lines[i] = strings.TrimSpace(line.Word + " " + line.Text)
	}
	return strings.Join(lines, "\n")
}

// View draws the lines that fit, the words in a column of their own.
func (r *TextDialog) View(theme *theme.Theme, width, height int) string {
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
			lines = append(lines, theme.Key.Render(display.Pad(word, column))+"  "+theme.Text.Render(part))
		}
	}
	r.scroll.Resize(width, min(height, len(lines)))
	r.scroll.Set(lines)
	return r.scroll.View()
}

// Offers is to close and to scroll. The footer has the keys to where there is more.
func (r *TextDialog) Offers() []actions.Offer {
	offers := append([]actions.Offer{actions.EnabledUnless(actions.Back, "").WithHint("close")}, widget.Moves()...)
	above, below := r.scroll.More()
	for i, offer := range offers {
		switch {
		case below > 0:
			offers[i].Hint += map[actions.ID]string{actions.Down: "down", actions.PageDown: "page down"}[offer.ID]
		case above > 0:
			offers[i].Hint += map[actions.ID]string{actions.Up: "up", actions.PageUp: "page up"}[offer.ID]
		}
	}
	return append(offers, actions.Enabled(actions.Help, actions.Messages, actions.Quit)...)
}

// Do scrolls; any other key closes.
func (r *TextDialog) Do(id actions.ID) (tea.Cmd, bool) { return nil, !r.scroll.Do(id) }
