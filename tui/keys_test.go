package tui_test

import (
	"slices"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/tui"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
	"example.com/perks/tui/widget"
)

func TestKeyRunsOfferedAction(t *testing.T) {
	p := &probe{offers: actions.Enabled(actions.Redeem)}
	d := probed(t, p)
	d.Press("r")
	if !p.has(actions.Redeem) {
		t.Errorf("done: %v", p.done)
	}
	d.Press("y") // copies an id if that is offered
	if p.has(actions.CopyID) {
		t.Error("a key ran an action that is not offered")
	}
}

func TestDisabledActionSaysWhyUntilTheNextAction(t *testing.T) {
	p := &probe{offers: []actions.Offer{{ID: actions.Redeem, Why: "It expired 2 days ago."}, {ID: actions.CopyID}}}
	probed(t, p).Play(`
		r # => Redeem: not possible now. It expired 2 days ago.
		wait: 1s
		y => ≠ It expired 2 days ago.`)
	if p.has(actions.Redeem) {
		t.Error("the disabled action ran")
	}
}

func TestConfiguredKeysApply(t *testing.T) {
	keys, _, err := actions.Configure(map[actions.ID]actions.Override{actions.Redeem: {Keys: []string{"f5"}}})
	if err != nil {
		t.Fatal(err)
	}
	p := &probe{offers: actions.Enabled(actions.Redeem)}
	d := probed(t, p, func(o *tui.Options) { o.Keys = keys })
	if d.Press("r"); p.has(actions.Redeem) {
		t.Error("the default key still works")
	}
	if d.Press("f5"); !p.has(actions.Redeem) {
		t.Error("the new key does not work")
	}
}

func TestTypedTextRunsNoActions(t *testing.T) {
	p := &probe{offers: actions.Enabled(actions.Submit, actions.Cancel, actions.Redeem, actions.Delete)}
	d := probed(t, p)
	p.form = widget.NewForm(d.App.Shell().Theme, widget.Field{Name: "city", Label: "City"})
	d.TypesEverywhere()
	if len(p.done) > 0 || received[screen.Edited](p) == 0 {
		t.Errorf("done: %v; received %d edits", p.done, received[screen.Edited](p))
	}
	d.Press("ctrl+x")
	if p.has(actions.Delete) {
		t.Error("ctrl+x ran delete while typing")
	}
	d.Press("ctrl+s", "esc")
	if !p.has(actions.Submit) || !p.has(actions.Cancel) {
		t.Errorf("done: %v", p.done)
	}
}

func TestPaletteTakesAnyText(t *testing.T) {
	d := probed(t, &probe{})
	d.Press("ctrl+k")
	d.TypesEverywhere()
}

func TestEnterMovesToNextFieldAndSubmitsInLast(t *testing.T) {
	p := &probe{offers: actions.Enabled(actions.Submit)}
	d := probed(t, p)
	p.form = widget.NewForm(d.App.Shell().Theme, widget.Field{Name: "a", Label: "A"},
		widget.Field{Name: "b", Label: "B"})
	d.Press("enter")
	if p.form.Focus() != "b" || len(p.done) > 0 {
		t.Fatalf("focus on field %s, done: %v", p.form.Focus(), p.done)
	}
	d.Press("enter")
	if !p.has(actions.Submit) {
		t.Errorf("done: %v", p.done)
	}
}

func TestPastedTextRunsNoActions(t *testing.T) {
	p := &probe{offers: actions.Enabled(actions.Redeem)}
	d := probed(t, p)
	for _, text := range []string{"r", "rrr", "q"} {
		d.Paste(text)
		d.See("There is nothing to paste into here.")
	}
	if len(p.done) > 0 || d.Quit() {
		t.Errorf("done: %v", p.done)
	}
	p.form = widget.NewForm(d.App.Shell().Theme, widget.Field{Name: "city", Label: "City"})
	d.Paste("Berlin\x1b[31m\nMitte")
	if got := p.form.Value("city"); got != "Berlin[31m Mitte" {
		t.Errorf("pasted %q", got)
	}
}

func TestKeysInOneMessageAreHandledOneByOne(t *testing.T) {
	p := &probe{}
	p.offers = append(widget.Moves(p.Do), actions.Enabled(actions.Filter)...)
	d := probed(t, p)
	p.do = func(id actions.ID) tea.Cmd {
		if id == actions.Filter {
			p.form = widget.NewForm(d.App.Shell().Theme, widget.Field{Name: "q", Label: "Words"})
		}
		return nil
	}
	d.Send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("jj/coffee")})
	if len(p.done) != 3 || p.form == nil || p.form.Value("q") != "coffee" {
		t.Errorf("done: %v, form: %v", p.done, p.form)
	}
}

func TestConfirmIgnoresKeysTypedAhead(t *testing.T) {
	p := &probe{unsaved: "The title was changed."}
	d := probed(t, p)
	d.Send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("qy")})
	d.See("Quit?", "The title was changed.")
	if d.Quit() {
		t.Fatal("it quit without a confirmation")
	}
	d.Play(`
		n => ≠ Quit?
		q y`)
	d.Until("it to quit", d.Quit)
}

func TestConfirmNeedsY(t *testing.T) {
	done := false
	d := probed(t, &probe{})
	ask := screen.Confirm{Title: "Delete property 42?", Text: "It goes offline now.", Yes: "delete it",
		Then: func() tea.Cmd { done = true; return nil }}
	d.Send(ask)
	d.See("Delete property 42?", "It goes offline now.", "y delete it")
	for _, key := range []string{"enter", " ", "j", "tab", "Y", "ctrl+s", "r"} {
		if d.Press(key); done {
			t.Fatalf("%s confirmed it", key)
		}
	}
	d.Play(`esc => ≠ Delete property 42?`)
	d.Send(ask)
	d.Elapse(time.Second) // keys are ignored at first
	if d.Play(`y => ≠ Delete property 42?`); !done {
		t.Error("y did not confirm it")
	}
}

func TestControlCQuits(t *testing.T) {
	d := probed(t, &probe{})
	d.Press("ctrl+c")
	d.Until("it to quit", d.Quit)
}

func TestControlCAsksOnceIfSomethingIsUnsaved(t *testing.T) {
	p := &probe{unsaved: "The title was changed."}
	d := probed(t, p)
	p.form = widget.NewForm(d.App.Shell().Theme, widget.Field{Name: "title", Label: "Title"})
	d.Press("ctrl+c")
	d.See("Quit?", "The title was changed.")
	if d.Quit() {
		t.Fatal("it quit without a confirmation")
	}
	d.Press("ctrl+c")
	d.Until("it to quit", d.Quit)
}

// TestTypingAheadFillsTheOpenedPrompt types without waiting for a redraw, key by key and in one message.
func TestTypingAheadFillsTheOpenedPrompt(t *testing.T) {
	for name, typed := range map[string]func(*tuitest.Driver){
		"key by key":     func(d *tuitest.Driver) { d.Type("uabc") },
		"in one message": func(d *tuitest.Driver) { d.Send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("uabc")}) },
	} {
		p := &probe{offers: actions.Enabled(actions.ForUser)}
		d := probed(t, p)
		p.do = func(actions.ID) tea.Cmd {
			return p.shell.Post(screen.Prompt{Title: "Which?", Field: widget.Field{Name: "which", Label: "Which"},
				Then: func(string) tea.Cmd { return nil }})
		}
		typed(d)
		if o := d.App.Overlay(); o == nil || o.Form().Value("which") != "abc" {
			t.Errorf("%s: the screen is:\n%s", name, d.Screen())
		}
	}
}

// TestTextAfterARefusedKeyRunsNoCommands types a reason into a question that did not open.
func TestTextAfterARefusedKeyRunsNoCommands(t *testing.T) {
	p := &probe{offers: append(actions.Enabled(actions.ForUser, actions.Redeem, actions.Open),
		actions.Offer{ID: actions.Void, Why: "It is pending."}, actions.Offer{ID: actions.CopyID, Why: "It has none."})}
	d := probed(t, p)
	d.Play(`
		ctrl+x "for u"
		wait: 999999999ns
		"ser\n" => Void: not possible now. It is pending.`)
	if len(p.done) > 0 || d.Quit() {
		t.Errorf("a reason that nobody asked for did %v", p.done)
	}
	d.Elapse(time.Second)
	d.Press("y", "u") // no text is expected after the first
	if !slices.Equal(p.done, []actions.ID{actions.ForUser}) {
		t.Errorf("done: %v", p.done)
	}
}
