package screen

import (
	"fmt"
	"slices"
	"strings"

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
	found  []int // into the options, the best first; asTyped among them
	cursor int   // into found
}

const findField = "find"

// asTyped stands for the typed text itself.
const asTyped = -1

func (p Pick) Overlay(shell *Shell) Overlay {
	d := &PickDialog{ask: p, form: widget.NewForm(shell.Theme, widget.Field{Name: findField, Label: "Find"})}
	d.Edited()
	d.cursor = max(0, min(p.Current, len(d.found)-1))
	return d
}

func (p *PickDialog) Title() string { return display.Line(p.ask.Title) }

func (p *PickDialog) Options() []string { return p.ask.Options }

// Point puts the cursor on an option.
func (p *PickDialog) Point(index int) {
	p.Type("")
	p.cursor = index
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

// AccessibleText lists the options. They are numbered unless the typed text can be chosen, such as the id 1.
func (p *PickDialog) AccessibleText() string {
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
func (p *PickDialog) View(theme *theme.Theme, width, height int) string {
	p.form.SetTheme(theme)
	lines := []string{display.Cut(theme.Heading.Render("Find: ")+theme.Text.Render(p.form.Value(findField)+"▏"), width)}
	space := max(1, height-1)
	top := max(0, min(p.cursor-space/2, len(p.found)-space))
	for at := top; at < min(len(p.found), top+space); at++ {
		line, style := "  "+p.name(p.found[at]), theme.Text
		if at == p.cursor {
			line, style = "> "+line[2:], theme.Selected
		}
		lines = append(lines, style.Render(display.Pad(line, width)))
	}
	if len(p.found) == 0 {
		nothing := "Nothing here matches that."
		if _, why := p.Takes(p.typed()); why != "" && p.ask.OtherIs == "" {
			nothing = fmt.Sprintf("%s %q %s.", p.ask.Other.Field.Label, display.Line(p.typed()), why)
		}
		for _, line := range widget.Wrapped(theme.Muted, nothing, max(1, width-2)) {
			lines = append(lines, "  "+line)
		}
	}
	return display.Crop(strings.Join(lines, "\n"), width, min(height, len(lines)))
}

func (p *PickDialog) name(at int) string {
	if at == asTyped && p.ask.OtherIs != "" {
		return p.ask.OtherIs + " " + display.Line(p.typed())
	}
	if at == asTyped {
		return display.Line(p.typed()) + " (as typed)"
	}
	return display.Line(p.ask.Options[at])
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

// Edited finds the options that match. If the typed text can be chosen it comes first, because an id means no other. If it has a
// name of its own it comes last: "quit" among commands means the command.
func (p *PickDialog) Edited() {
	text := p.typed()
	p.found, p.cursor = p.found[:0], 0
	if text == "" {
		for i := range p.ask.Options {
			p.found = append(p.found, i)
		}
		return
	}
	exact := slices.Index(p.ask.Options, text) // asTyped if it is none of them
	for _, match := range fuzzy.Find(text, p.ask.Options) {
		if match.Index != exact {
			p.found = append(p.found, match.Index)
		}
	}
	switch takes, _ := p.Takes(text); {
	case exact == asTyped && !takes:
	case exact == asTyped && p.ask.OtherIs != "":
		p.found = append(p.found, asTyped)
	default:
		p.found = slices.Insert(p.found, 0, exact)
	}
}

func (p *PickDialog) Do(id actions.ID) (tea.Cmd, bool) {
	switch id {
	case actions.Cancel:
		return cancelled(p.ask.OnCancel), true
	case actions.NextField:
		p.move(1)
	case actions.PreviousField:
		p.move(-1)
	case actions.Submit:
		switch {
		case len(p.found) == 0:
		case p.found[p.cursor] == asTyped:
			return p.ask.Other.Then(p.typed()), true
		default:
			return p.ask.Then(p.found[p.cursor]), true
		}
	}
	return nil, false
}

func (p *PickDialog) move(by int) {
	if n := len(p.found); n > 0 {
		p.cursor = (p.cursor + by + n) % n
	}
}
