package screen

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/sahilm/fuzzy"

	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/theme"
	"example.com/perks/tui/widget"
)

// PickDialog asks to choose one of several options. Typing narrows them down.
type PickDialog struct {
	ask    Pick
	form   *widget.Form
	recent []Choice
	search *Loader[[]Choice]
	shell  *Shell
	waits  bool    // for the search, to choose the first that it finds
	found  []entry // the best first
	cursor int     // into found

	rows []int // what each line shows, into found; noEntry for a heading and the like
	bar  widget.Bar
}

// entry is something to choose: an option, or else a Choice.
type entry struct {
	Choice
	option int // noEntry if it is none
}

// is tells whether two entries lead to the same.
func (e entry) is(other entry) bool {
	return e.option == other.option && (e.Name == other.Name || e.Of != "" && e.Of == other.Of)
}

const (
	findField   = "find"
	noEntry     = -1
	searching   = "Searching ..."
	searchPause = 200 * time.Millisecond
)

func (p Pick) Overlay(shell *Shell) Overlay {
	form := widget.NewForm(shell.Theme, widget.Field{Name: findField, Label: "Find"})
	d := &PickDialog{ask: p, form: form, shell: shell, search: NewLoader[[]Choice](shell)}
	d.find()
	d.cursor = max(0, min(p.Current, len(d.found)-1))
	return d
}

// recentRead is no Outcome: it says nothing about the service.
type recentRead struct {
	by      *PickDialog
	choices []Choice
}

// Init reads what comes first.
func (p *PickDialog) Init() tea.Cmd {
	if p.ask.More == nil {
		return nil
	}
	return func() tea.Msg { return recentRead{p, p.ask.More.Recent()} }
}

// Update adds what was read or found. A cursor that was moved stays on the same option.
func (p *PickDialog) Update(msg tea.Msg) tea.Cmd {
	cmd, changed := p.search.Handle(msg)
	var under entry
	if p.cursor > 0 {
		under = p.found[p.cursor]
	}
	if changed && p.waits {
		p.waits, cmd = false, p.shell.Post(Perform{ID: actions.Submit})
	}
	if read, ok := msg.(recentRead); ok && read.by == p {
		p.recent, changed = read.choices, true
	}
	if changed {
		p.find()
		if at := slices.IndexFunc(p.found, under.is); p.cursor > 0 {
			p.cursor = max(0, at)
		}
	}
	return cmd
}

func (p *PickDialog) Title() string { return display.Line(p.ask.Title) }

func (p *PickDialog) Options() []string { return p.ask.Options }

// Point puts the cursor on an option.
func (p *PickDialog) Point(index int) {
	p.Type("")
	p.cursor = max(0, slices.IndexFunc(p.found, func(e entry) bool { return e.option == index }))
}

// PointAt puts the cursor on what a line of the view shows, if that can be chosen.
func (p *PickDialog) PointAt(line int) bool {
	if line < 0 || line >= len(p.rows) || p.rows[line] == noEntry {
		return false
	}
	p.cursor = p.rows[line]
	return true
}

// Type types a text. If the dialog Takes it, the cursor is on it.
func (p *PickDialog) Type(text string) {
	p.form.Set(findField, text)
	p.Edited()
}

// IsOpen tells whether other text than the options can be chosen.
func (p *PickDialog) IsOpen() bool { return p.ask.Other != nil }

// Takes tells whether a text that is no option can be chosen, and why not.
func (p *PickDialog) Takes(text string) (takes bool, why string) {
	if !p.IsOpen() || text == "" {
		return false, ""
	}
	if check := p.ask.Other.Field.Check; check != nil {
		why = check(text)
	}
	return why == "", why
}

// Searches tells whether there are choices beside the options, so that only what was found is read out.
func (p *PickDialog) Searches() bool { return p.ask.More != nil }

// Search types a text, and searches for it.
func (p *PickDialog) Search(text string) tea.Cmd {
	p.form.Set(findField, text)
	return p.Edited()
}

// mostRead is how many choices are read out at once.
const mostRead = 10

// ChooseRead puts the cursor on one of the choices that were read out, from 1, and tells whether there is such a one.
func (p *PickDialog) ChooseRead(number int) bool {
	if number < 1 || number > min(len(p.found), mostRead) {
		return false
	}
	p.cursor = number - 1
	return true
}

// accessibleFound lists what was found.
func (p *PickDialog) accessibleFound() string {
	if len(p.found) == 0 {
		return "Nothing here matches that."
	}
	var lines []string
	for i, e := range p.found[:min(len(p.found), mostRead)] {
		lines = append(lines, fmt.Sprintf("%d: %s", i+1, e.Name))
	}
	if more := len(p.found) - mostRead; more > 0 {
		lines = append(lines, fmt.Sprintf("%d more.", more))
	}
	return strings.Join(lines, "\n")
}

// AccessibleText lists the options. They are numbered unless the typed text can be chosen, such as the id 1.
func (p *PickDialog) AccessibleText() string {
	if p.Searches() {
		return p.accessibleFound()
	}
	lines := make([]string, len(p.ask.Options))
	for i, option := range p.ask.Options {
		lines[i] = display.Line(option)
		if !p.IsOpen() {
			lines[i] = fmt.Sprintf("%d: %s", i+1, lines[i])
		}
	}
	return strings.Join(lines, "\n")
}

// View draws the line to type in, and the options that fit, with the one under the cursor.
func (p *PickDialog) View(look *theme.Theme, width, height int) string {
	p.form.SetTheme(look)
	lines, rows := p.lines(look, width)
	space := max(1, height-1)
	top := max(0, min(slices.Index(rows, p.cursor)-space/2, len(lines)-space))
	end := min(len(lines), top+space)
	p.rows = append([]int{noEntry}, rows[top:end]...)
	p.bar = widget.Bar{First: top, Shown: end - top, All: len(lines), Above: 1}
	find, wait := look.Heading.Render("Find: "), ""
	if p.waits {
		wait = look.Muted.Render(" " + searching)
	}
	p.form.SetTheme(look)
	find = display.Cut(find+p.form.Input(findField, width-display.Width(find)-display.Width(wait))+wait, width)
	return display.Crop(strings.Join(append([]string{find}, lines[top:end]...), "\n"), width, min(height, end-top+1))
}

// Bar is which part of the options View has drawn.
func (p *PickDialog) Bar() widget.Bar { return p.bar }

// lines draws all that was found, and returns what is on which line.
func (p *PickDialog) lines(look *theme.Theme, width int) (lines []string, rows []int) {
	column := 0
	for _, label := range p.ask.Labels {
		column = min(max(column, display.Width(label)+2), width/2)
	}
	heading := ""
	for at, e := range p.found {
		label, parts := "", []string{e.Name}
		if e.option != noEntry && p.ask.Headings != nil && p.typed() == "" && p.ask.Headings[e.option] != heading {
			heading = p.ask.Headings[e.option]
			lines, rows = append(lines, look.Heading.Render(display.Cut(heading, width))), append(rows, noEntry)
		}
		if e.option != noEntry && column > 0 {
			label, parts = p.ask.Labels[e.option], display.Wrap(e.Name, max(1, width-2-column))
		}
		for i, part := range parts {
			mark, key := "  ", display.Pad(label, column)
			if at == p.cursor && i == 0 {
				mark = "> "
			}
			label = "" // only before the first line
			line := mark + look.Text.Render(part)
			if column > 0 {
				line = mark + look.Key.Render(key) + look.Text.Render(part)
			}
			if at == p.cursor {
				line = look.Selected.Render(display.Pad(mark+key+part, width))
			}
			lines, rows = append(lines, display.Cut(line, width)), append(rows, at)
		}
	}
	if len(p.found) > 0 {
		return lines, rows
	}
	nothing := "Nothing here matches that."
	switch _, why := p.Takes(p.typed()); {
	case p.search.Busy():
		nothing = searching
	case why != "":
		nothing = fmt.Sprintf("%s %q %s.", p.ask.Other.Field.Label, display.Line(p.typed()), why)
	}
	for _, line := range widget.Wrapped(look.Muted, nothing, max(1, width-2)) {
		lines, rows = append(lines, "  "+line), append(rows, noEntry)
	}
	return lines, rows
}

func (p *PickDialog) typed() string { return strings.TrimSpace(p.form.Value(findField)) }

// Offers uses the keys of forms to move, because those of lists print letters.
func (p *PickDialog) Offers() []actions.Offer {
	return []actions.Offer{
		actions.EnabledUnless(actions.Submit, "").WithHint("choose"), actions.EnabledUnless(actions.NextField, "").WithHint("next"), actions.EnabledUnless(actions.Cancel, "").WithHint("cancel"),
		actions.EnabledUnless(actions.PreviousField, ""),
	}
}

func (p *PickDialog) Form() *widget.Form { return p.form }

// Edited finds what matches, and searches for more after a pause.
func (p *PickDialog) Edited() tea.Cmd {
	p.search.Reset()
	p.cursor, p.waits = 0, false
	var cmd tea.Cmd
	if text := p.typed(); text != "" && p.ask.More != nil {
		if fetch := p.ask.More.Search(text); fetch != nil {
			cmd = p.search.LoadAfter(searchPause, fetch)
		}
	}
	p.find()
	return cmd
}

// find finds what matches. A text that Other takes comes first, because an id means no other. Options that are begun
// what was searched come before the rest, so that Enter opens nothing that may not be there.
func (p *PickDialog) find() {
	text := p.typed()
	p.found = nil
	if text == "" {
		p.add(p.recent)
		for i := range p.ask.Options {
			p.found = append(p.found, p.option(i))
		}
		return
	}
	exact := slices.Index(p.ask.Options, text)
	if takes, _ := p.Takes(text); exact < 0 && takes {
		p.add([]Choice{{Name: text + " (as typed)", Then: func() tea.Cmd { return p.ask.Other.Then(text) }}})
	} else if exact >= 0 {
		p.found = append(p.found, p.option(exact))
	}
	var typed []Choice
	typedFirst := false
	if p.ask.More != nil {
		typed, typedFirst = p.ask.More.Typed(text)
	}
	matches := slices.DeleteFunc(fuzzy.Find(text, p.ask.Options), func(m fuzzy.Match) bool { return m.Index == exact })
	addOptions := func(begun bool) {
		for _, match := range matches {
			if name := match.Str; begun == (len(name) >= len(text) && strings.EqualFold(name[:len(text)], text)) {
				p.found = append(p.found, p.option(match.Index))
			}
		}
	}
	addOptions(true)
	p.add(p.search.Value)
	if typedFirst {
		p.add(typed)
	}
	addOptions(false)
	if !typedFirst {
		p.add(typed)
	}
}

func (p *PickDialog) add(choices []Choice) {
	for _, c := range choices {
		c.Name = display.Line(c.Name)
		if e := (entry{c, noEntry}); c.Of == "" || !slices.ContainsFunc(p.found, e.is) {
			p.found = append(p.found, e)
		}
	}
}

func (p *PickDialog) option(i int) entry {
	return entry{Choice{Name: display.Line(p.ask.Options[i]), Then: func() tea.Cmd { return p.ask.Then(i) }}, i}
}

// Do chooses, cancels or moves: by a key in a circle, by the wheel to an end.
func (p *PickDialog) Do(id actions.ID) (cmd tea.Cmd, closed bool) {
	n := len(p.found)
	switch id {
	case actions.Cancel:
		cmd, closed = cancelled(p.ask.OnCancel), true
	case actions.Submit:
		if p.waits = p.cursor == 0 && p.search.Busy() && (n == 0 || p.found[0].Of != ""); p.waits {
			return nil, false
		}
		if n > 0 {
			cmd, closed = p.found[p.cursor].Then(), true
		}
	case actions.NextField:
		p.cursor = (p.cursor + 1) % max(1, n)
	case actions.PreviousField:
		p.cursor = (p.cursor - 1 + n) % max(1, n)
	case actions.Down:
		p.cursor = max(0, min(p.cursor+1, n-1))
	case actions.Up:
		p.cursor = max(0, p.cursor-1)
	}
	if closed {
		p.search.Cancel()
	}
	return cmd, closed
}
