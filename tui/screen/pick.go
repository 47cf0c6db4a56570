package screen

import (
	"fmt"
	"slices"
	"strconv"
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
	dialog
	ask    Pick
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
	d := &PickDialog{ask: p, dialog: dialog{form: form}, shell: shell, search: NewLoader[[]Choice](shell)}
	d.find()
	d.cursor = max(0, min(p.Current, len(d.found)-1))
	return d
}

// recentRead is not an Outcome: it says nothing about the service.
type recentRead struct {
	by      *PickDialog
	choices []Choice
}

// Update reads what comes first, and adds what was read or found. A cursor that was moved stays on the same option.
func (p *PickDialog) Update(msg tea.Msg) tea.Cmd {
	cmd, changed := p.search.Handle(msg)
	var under entry
	if p.cursor > 0 {
		under = p.found[p.cursor]
	}
	if changed && p.waits {
		p.waits, cmd = false, p.shell.Post(Perform{ID: actions.Submit})
	}
	switch msg := msg.(type) {
	case Opened:
		if p.ask.More != nil {
			return func() tea.Msg { return recentRead{p, p.ask.More.Recent()} }
		}
	case Edited:
		return p.edited()
	case recentRead:
		if msg.by == p {
			p.recent, changed = msg.choices, true
		}
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

// Click chooses what the line shows.
func (p *PickDialog) Click(_, line int) actions.ID {
	if line < 0 || line >= len(p.rows) || p.rows[line] == noEntry {
		return ""
	}
	p.cursor = p.rows[line]
	return actions.Submit
}

// takes tells whether a text that is not an option can be chosen, and why not.
func (p *PickDialog) takes(text string) (takes bool, why string) {
	if p.ask.Other == nil || text == "" {
		return false, ""
	}
	if check := p.ask.Other.Field.Check; check != nil {
		why = check(text)
	}
	return why == "", why
}

// Search types a text, and searches for it. If the dialog takes the text, the cursor is on it.
func (p *PickDialog) Search(text string) tea.Cmd {
	p.form.Set(findField, text)
	return p.edited()
}

const noMatch = "Nothing here matches that."

// AccessibleText lists the options, or what was found if there are choices beside them. They are numbered unless the
// typed text can be chosen, such as the id 1.
func (p *PickDialog) AccessibleText() string {
	var lines []string
	for i, option := range p.ask.Options {
		if option = display.Line(option); p.ask.Other == nil {
			option = fmt.Sprintf("%d: %s", i+1, option)
		}
		lines = append(lines, option)
	}
	if p.ask.More == nil {
		return strings.Join(lines, "\n")
	}
	if len(p.found) == 0 {
		return noMatch
	}
	lines = nil
	for i, e := range p.found[:min(len(p.found), ReadAtOnce)] {
		lines = append(lines, fmt.Sprintf("%d: %s", i+1, e.Name))
	}
	if more := len(p.found) - ReadAtOnce; more > 0 {
		lines = append(lines, fmt.Sprintf("%d more.", more))
	}
	return strings.Join(lines, "\n")
}

func (p *PickDialog) Prompt() string {
	switch {
	case p.ask.More != nil:
		return "Number, or what to find; empty line cancels: "
	case p.ask.Other != nil:
		return "One of these, or another; empty line cancels: "
	}
	return "Number, or part of the name; empty line cancels: "
}

// Answer takes the number of an option, a part of its name, or other text if the dialog takes that.
func (p *PickDialog) Answer(text string) Reply {
	options, found := p.ask.Options, matching(p.ask.Options, text)
	n, err := strconv.Atoi(text)
	isNumber, exact := err == nil, slices.Index(options, text)
	takes, why := p.takes(text)
	switch {
	case text == "":
		return Reply{Say: "Cancelled.", Do: actions.Cancel}
	case p.ask.More != nil && n >= 1 && n <= min(len(p.found), ReadAtOnce):
		p.cursor = n - 1
		return Reply{Do: actions.Submit}
	case p.ask.More != nil:
		return Reply{Cmd: p.Search(text), Again: true}
	case p.ask.Other != nil && exact >= 0: // a number is not that of an option then
		return p.choose(exact)
	case takes:
		return Reply{Cmd: p.Search(text), Do: actions.Submit}
	case p.ask.Other == nil && n >= 1 && n <= len(options):
		return p.choose(n - 1)
	case p.ask.Other == nil && isNumber:
		return Reply{Say: fmt.Sprintf("No %d here: the numbers go from 1 to %d.", n, len(options))}
	case len(found) == 1:
		return p.choose(found[0])
	case p.ask.Other != nil:
		return Reply{Say: fmt.Sprintf("%q %s.", display.Line(text), why)}
	case len(found) == 0:
		return Reply{Say: noMatch}
	}
	lines := make([]string, len(found))
	for i, at := range found {
		lines[i] = fmt.Sprintf("%d: %s", at+1, display.Line(options[at]))
	}
	return Reply{Say: strings.Join(lines, "\n")}
}

// choose puts the cursor on an option.
func (p *PickDialog) choose(index int) Reply {
	cmd := p.Search("")
	p.cursor = max(0, slices.IndexFunc(p.found, func(e entry) bool { return e.option == index }))
	return Reply{Cmd: cmd, Do: actions.Submit}
}

// matching returns the options with that name, or else those whose names contain it.
func matching(options []string, text string) (found []int) {
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

// View draws the line to type in, and the options that fit, with the one under the cursor.
func (p *PickDialog) View(look *theme.Theme, width, height int) string {
	p.form.SetTheme(look)
	lines, rows := p.lines(look, width)
	above := 1
	if p.isObvious() {
		above = 0
	}
	space := max(1, height-above)
	top := max(0, min(slices.Index(rows, p.cursor)-space/2, len(lines)-space))
	end := min(len(lines), top+space)
	p.rows = append(slices.Repeat([]int{noEntry}, above), rows[top:end]...)
	p.bar = widget.Bar{First: top, Shown: end - top, All: len(lines), Above: above}
	if p.isObvious() {
		return display.Crop(strings.Join(lines[top:end], "\n"), width, min(height, end-top))
	}
	find, wait := look.Heading.Render("Find: "), ""
	if p.waits {
		wait = look.Muted.Render(" " + searching)
	}
	p.form.SetTheme(look)
	find = display.Cut(find+p.form.Input(findField, width-display.Width(find)-display.Width(wait))+wait, width)
	return display.Crop(strings.Join(append([]string{find}, lines[top:end]...), "\n"), width, min(height, end-top+1))
}

// isObvious tells whether there is so little to choose from that nobody looks for a line to type in, and nothing was
// typed.
func (p *PickDialog) isObvious() bool {
	return len(p.ask.Options) <= 3 && p.ask.More == nil && p.ask.Other == nil && p.form.Value(findField) == ""
}

func (p *PickDialog) Frame() Frame { return Frame{Grows: true, Bar: p.bar} }

// lines draws all that was found, and returns what is on which line.
func (p *PickDialog) lines(look *theme.Theme, width int) (lines []string, rows []int) {
	column := 0
	for _, label := range p.ask.Labels {
		column = min(max(column, display.Width(label)+2), width/2)
	}
	heading := ""
	for at, e := range p.found {
		label, parts := "", []string{display.Cut(e.Name, max(1, width-2))}
		if e.Section != heading && e.Section != "" && p.hasSections() {
			heading = e.Section
			lines, rows = append(lines, look.Heading.Render(display.Cut(heading, width))), append(rows, noEntry)
		}
		if e.option != noEntry {
			parts = display.Wrap(e.Name, max(1, width-2-column)) // it may say why not
		}
		if e.option != noEntry && column > 0 {
			label = p.ask.Labels[e.option]
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
	nothing := noMatch
	switch _, why := p.takes(p.typed()); {
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
		{ID: actions.Submit, Hint: "choose", Do: p.submit},
		{ID: actions.NextField, Hint: "next", Do: func() tea.Cmd { return p.move(1) }},
		{ID: actions.Cancel, Hint: "cancel", Do: p.done(p.ask.OnCancel)},
		{ID: actions.PreviousField, Do: func() tea.Cmd { return p.move(-1) }},
	}
}

func (p *PickDialog) submit() tea.Cmd {
	n := len(p.found)
	if p.waits = p.cursor == 0 && p.search.Busy() && (n == 0 || p.found[0].Of != ""); p.waits || n == 0 {
		return nil
	}
	return p.done(p.found[p.cursor].Then)()
}

// done ends the search too.
func (p *PickDialog) done(then func() tea.Cmd) func() tea.Cmd {
	return func() tea.Cmd {
		cmd := p.closing(then)()
		p.search.Cancel()
		return cmd
	}
}

// move moves the cursor in a circle.
func (p *PickDialog) move(by int) tea.Cmd {
	n := max(1, len(p.found))
	p.cursor = (p.cursor + by + n) % n
	return nil
}

// Scroll moves the cursor to an end.
func (p *PickDialog) Scroll(id actions.ID) {
	by := map[actions.ID]int{actions.Down: wheelStep, actions.Up: -wheelStep}[id]
	p.cursor = max(0, min(p.cursor+by, len(p.found)-1))
}

// edited finds what matches, and searches for more after a pause.
func (p *PickDialog) edited() tea.Cmd {
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
	if takes, _ := p.takes(text); exact < 0 && takes {
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
	e := entry{Choice{Name: display.Line(p.ask.Options[i]), Then: func() tea.Cmd { return p.ask.Then(i) }}, i}
	switch {
	case p.ask.More != nil:
		e.Section = p.ask.More.Options
	case p.ask.Headings != nil && p.typed() == "":
		e.Section = p.ask.Headings[i]
	}
	return e
}

// hasSections tells whether not all that was found is in one section of a dialog that has more than options.
func (p *PickDialog) hasSections() bool {
	return p.ask.More == nil || slices.ContainsFunc(p.found, func(e entry) bool { return e.Section != p.found[0].Section })
}

// Recent tells a screen the ids that were opened last.
type Recent struct {
	Of  Screen // that has asked
	IDs []string
}

// Recent reads which ids of a kind were opened last.
func (s *Shell) Recent(of Screen, profile Profile, kind string) tea.Cmd {
	memory := s.Memory
	return func() tea.Msg { return Recent{of, memory.Recent(profile, kind)} }
}

// PickID asks for one of the ids or, as the last option has it, for another one; without ids for any.
func (s *Shell) PickID(title string, ids []string, another string, other Prompt) tea.Cmd {
	if len(ids) == 0 {
		return s.Post(other)
	}
	var options []string
	for _, id := range ids {
		options = append(options, display.Line(id))
	}
	return s.Post(Pick{Title: title, Options: append(options, another), Other: &other, OnCancel: other.OnCancel,
		Then: func(index int) tea.Cmd {
			if index < len(ids) {
				return other.Then(ids[index])
			}
			return s.Post(other)
		}})
}
