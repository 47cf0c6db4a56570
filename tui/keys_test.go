package tui_test

import (
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/tui"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
	"example.com/perks/tui/widget"
)

func TestAKeyDoesWhatTheScreenOffers(t *testing.T) {
	p := &probe{offers: actions.Enabled(actions.Redeem)}
	d := probed(t, p)
	d.Press("r")
	if !p.has(actions.Redeem) {
		t.Errorf("done: %v", p.done)
	}
	d.Press("y") // copies an id, where that is offered
	if p.has(actions.CopyID) {
		t.Error("a key did what is not offered")
	}
}

func TestADisabledActionSaysWhy(t *testing.T) {
	p := &probe{offers: []actions.Offer{actions.EnabledUnless(actions.Redeem, "It ended 2 days ago.")}}
	d := probed(t, p)
	d.Press("r")
	d.See("Redeem: not possible now. It ended 2 days ago.")
	if p.has(actions.Redeem) {
		t.Error("it was done all the same")
	}
}

func TestWhyAKeyDidNothingGoesWithTheNextOneThatDoesSomething(t *testing.T) {
	p := &probe{offers: []actions.Offer{actions.EnabledUnless(actions.Redeem, "It ended 2 days ago."), actions.EnabledUnless(actions.CopyID, "")}}
	d := probed(t, p)
	d.Press("r", "x")
	d.See("It ended 2 days ago.")
	d.Press("y")
	if d.Shows("It ended 2 days ago.") {
		t.Errorf("it is still said:\n%s", d.Screen())
	}
}

func TestKeysOfTheConfigurationCount(t *testing.T) {
	keys, err := actions.NewRegistry(map[actions.ID][]string{actions.Redeem: {"f5"}})
	if err != nil {
		t.Fatal(err)
	}
	p := &probe{offers: actions.Enabled(actions.Redeem)}
	d := probed(t, p, func(o *tui.Options) { o.Keys = keys })
	if d.Press("r"); p.has(actions.Redeem) {
		t.Error("the former key still works")
	}
	if d.Press("f5"); !p.has(actions.Redeem) {
		t.Error("the new key does not work")
	}
}

func TestTextIsTextAndNothingElse(t *testing.T) {
	p := &probe{offers: actions.Enabled(actions.Submit, actions.Cancel, actions.Redeem, actions.Delete)}
	d := probed(t, p)
	p.form = widget.NewForm(d.App.Shell().Theme, widget.Field{Name: "city", Label: "City"})
	d.TypesEverywhere()
	if len(p.done) > 0 || heard[screen.Edited](p) == 0 {
		t.Errorf("done: %v; told of %d edits", p.done, heard[screen.Edited](p))
	}
	d.Press("ctrl+x")
	if p.has(actions.Delete) {
		t.Error("a key that prints nothing did what does not work while typing")
	}
	d.Press("ctrl+s", "esc")
	if !p.has(actions.Submit) || !p.has(actions.Cancel) {
		t.Errorf("done: %v", p.done)
	}
}

func TestTextIsTextInThePaletteToo(t *testing.T) {
	d := probed(t, &probe{})
	d.Press("ctrl+k")
	d.TypesEverywhere()
}

func TestEnterGoesOnAndSendsAtTheEnd(t *testing.T) {
	p := &probe{offers: actions.Enabled(actions.Submit)}
	d := probed(t, p)
	p.form = widget.NewForm(d.App.Shell().Theme, widget.Field{Name: "a", Label: "A"}, widget.Field{Name: "b", Label: "B"})
	d.Press("enter")
	if p.form.Focus() != "b" || len(p.done) > 0 {
		t.Fatalf("in field %s, done: %v", p.form.Focus(), p.done)
	}
	d.Press("enter")
	if !p.has(actions.Submit) {
		t.Errorf("done: %v", p.done)
	}
}

func TestPastedTextIsNeverAKey(t *testing.T) {
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

func TestKeysThatComeTogetherAreTakenOneByOne(t *testing.T) {
	p := &probe{offers: append(widget.Moves(), actions.Enabled(actions.Filter)...)}
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

func TestAQuestionIsNotAnsweredByKeysTypedBeforeItWasRead(t *testing.T) {
	p := &probe{unsaved: "The title was changed."}
	d := probed(t, p)
	d.Send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("qy")})
	d.See("Quit?", "The title was changed.")
	if d.Quit() {
		t.Fatal("it has quit")
	}
	d.Press("n")
	d.Gone("Quit?")
	d.Press("q", "y")
	d.Until("the end", d.Quit)
}

func TestConfirmTakesYAndNeverEnter(t *testing.T) {
	done := false
	d := probed(t, &probe{})
	ask := screen.Confirm{Title: "Delete property 42?", Text: "It goes.", Yes: "delete it", Then: func() tea.Cmd { done = true; return nil }}
	d.Send(ask)
	d.See("Delete property 42?", "It goes.", "y delete it")
	for _, key := range []string{"enter", " ", "j", "tab", "Y", "ctrl+s", "r"} {
		if d.Press(key); done {
			t.Fatalf("%s did it", key)
		}
	}
	d.Press("esc")
	d.Gone("Delete property 42?")
	d.Send(ask)
	d.Elapse(time.Second) // no key has raised it
	d.Press("y")
	if !done {
		t.Error("y did not do it")
	}
	d.Gone("Delete property 42?")
}

func TestControlCQuits(t *testing.T) {
	d := probed(t, &probe{})
	d.Press("ctrl+c")
	d.Until("the end", d.Quit)
}

func TestControlCAsksOnceWhereSomethingWouldBeLost(t *testing.T) {
	p := &probe{unsaved: "The title was changed."}
	d := probed(t, p)
	p.form = widget.NewForm(d.App.Shell().Theme, widget.Field{Name: "title", Label: "Title"})
	d.Press("ctrl+c")
	d.See("Quit?", "The title was changed.")
	if d.Quit() {
		t.Fatal("it has quit")
	}
	d.Press("ctrl+c")
	d.Until("the end", d.Quit)
}

// TestKeysTypedQuicklyMeetWhatEarlierOnesHaveOpened types without waiting for anything to be drawn, key by key and in one piece.
func TestKeysTypedQuicklyMeetWhatEarlierOnesHaveOpened(t *testing.T) {
	for name, typed := range map[string]func(*tuitest.Driver){
		"key by key":   func(d *tuitest.Driver) { d.Type("uabc") },
		"in one piece": func(d *tuitest.Driver) { d.Send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("uabc")}) },
	} {
		p := &probe{offers: actions.Enabled(actions.ForUser)}
		d := probed(t, p)
		p.do = func(actions.ID) tea.Cmd {
			return p.shell.Post(screen.Prompt{Title: "Which?", Field: widget.Field{Name: "which", Label: "Which"}, Then: func(string) tea.Cmd { return nil }})
		}
		typed(d)
		if o := d.App.Overlay(); o == nil || o.Form().Value("which") != "abc" {
			t.Errorf("%s: the screen is:\n%s", name, d.Screen())
		}
	}
}
