package tui_test

import (
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api/display"
	"example.com/perks/tui"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
	"example.com/perks/tui/widget"
)

// click clicks on a text of the screen.
func click(t *testing.T, d *tuitest.Driver, text string) {
	t.Helper()
	for y, line := range strings.Split(d.Screen(), "\n") {
		if before, _, ok := strings.Cut(line, text); ok {
			d.Send(tea.MouseMsg{X: display.Width(before), Y: y, Action: tea.MouseActionPress, Button: tea.MouseButtonLeft})
			return
		}
	}
	t.Fatalf("%q is not on the screen:\n%s", text, d.Screen())
}

func wheel(d *tuitest.Driver, button tea.MouseButton) {
	d.Send(tea.MouseMsg{X: 40, Y: 10, Action: tea.MouseActionPress, Button: button})
}

func TestClickOnAFooterHintRunsIt(t *testing.T) {
	p := &probe{offers: []actions.Offer{actions.EnabledUnless(actions.Redeem, "").WithHint("redeem 2 marked"), actions.EnabledUnless(actions.CopyID, "")}}
	d := probed(t, p)
	click(t, d, "2 marked")
	if len(p.done) != 1 || !p.has(actions.Redeem) {
		t.Fatalf("done: %v", p.done)
	}
	click(t, d, "y copy")
	if len(p.done) != 2 || !p.has(actions.CopyID) {
		t.Fatalf("done: %v", p.done)
	}
	d.Send(tea.MouseMsg{X: 79, Y: 23, Action: tea.MouseActionPress, Button: tea.MouseButtonLeft}) // beside the hints
	lines := strings.Split(d.Screen(), "\n")
	last := display.Width(strings.TrimRight(lines[23], " ")) - 1 // the end of "? keys"
	d.Send(tea.MouseMsg{X: last, Y: 23, Action: tea.MouseActionPress, Button: tea.MouseButtonLeft})
	d.See("Find: ")
	click(t, d, "esc cancel")
	d.Gone("Find: ")
	if len(p.done) != 2 {
		t.Errorf("done: %v", p.done)
	}
	p.form = widget.NewForm(d.App.Shell().Theme, widget.Field{Name: "city", Label: "City"})
	p.offers = actions.Enabled(actions.Submit)
	if click(t, d, "enter send"); !p.has(actions.Submit) {
		t.Errorf("done: %v", p.done)
	}
}

func TestClickChoosesAnOption(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {200, 60}, {60, 20}, {39, 12}, {30, 9}} {
		chosen := -1
		d := probed(t, &probe{})
		d.Resize(size[0], size[1])
		d.Send(screen.Pick{Title: "Which?", Options: []string{"one", "two", "three"}, Then: func(index int) tea.Cmd { chosen = index; return nil }})
		click(t, d, "Find: ")
		click(t, d, "two")
		if chosen != 1 || d.App.Overlay() != nil {
			t.Errorf("%v: chose %d", size, chosen)
		}
	}
}

func TestClickOnAHeadingOfTheHelpChoosesNothing(t *testing.T) {
	p := &probe{offers: actions.Enabled(actions.Redeem, actions.CopyID)}
	d := probed(t, p)
	d.Press("?")
	click(t, d, "Everywhere")
	if d.App.Overlay() == nil {
		t.Fatal("the help is closed")
	}
	click(t, d, "Copy the id")
	if d.App.Overlay() != nil || !p.has(actions.CopyID) {
		t.Errorf("done: %v", p.done)
	}
}

func TestWheelScrollsDialogs(t *testing.T) {
	d := probed(t, &probe{})
	d.Send(screen.Confirm{Title: "Delete it?", Text: strings.Repeat("line\n", 60) + "the end", Yes: "delete"})
	d.See("line")
	for range 30 {
		wheel(d, tea.MouseButtonWheelDown)
	}
	d.See("the end")
	for range 30 {
		wheel(d, tea.MouseButtonWheelUp)
	}
	d.Gone("the end")
	d.Press("n")
	options := strings.Split(strings.Repeat("option ", 30)+"last", " ")
	d.Send(screen.Pick{Title: "Which?", Options: options})
	for range 20 {
		wheel(d, tea.MouseButtonWheelDown)
	}
	d.See("> last")
}

// TestClickAnswersNoQuestion clicks all over a question: only keys answer it.
func TestClickAnswersNoQuestion(t *testing.T) {
	d := probed(t, &probe{})
	yes := false
	d.Send(screen.Confirm{Title: "Delete it?", Text: "It goes offline now.", Yes: "delete", Then: func() tea.Cmd { yes = true; return nil }})
	for y := range 24 {
		for x := range 80 {
			d.Send(tea.MouseMsg{X: x, Y: y, Action: tea.MouseActionPress, Button: tea.MouseButtonLeft})
		}
	}
	if yes || d.App.Overlay() == nil {
		t.Error("a click answered it")
	}
}

func TestThemeAndMouseAreRemembered(t *testing.T) {
	d := probed(t, &probe{}, func(o *tui.Options) { o.Mouse = true })
	d.Press("T")
	d.See("Theme: dark.")
	d.Press("M")
	d.See("Mouse: off.")
	d.Settle()
	if theme, mouse := d.Memory.Setting(screen.SettingTheme), d.Memory.Setting(screen.SettingMouse); theme != "dark" || mouse != screen.Off {
		t.Errorf("remembered theme %q, mouse %q", theme, mouse)
	}
	d.Press("M")
	d.See("Mouse: on.")
	d.Settle()
	if mouse := d.Memory.Setting(screen.SettingMouse); mouse != screen.On {
		t.Errorf("remembered mouse %q", mouse)
	}
}

func TestScreensSeeAndKeepSettings(t *testing.T) {
	memory := &tuitest.Memory{}
	_ = memory.KeepSetting(screen.SettingPreview, screen.Off)
	d := probed(t, &probe{}, func(o *tui.Options) { o.Memory = memory })
	shell := d.App.Shell()
	if got := shell.Settings[screen.SettingPreview]; got != screen.Off {
		t.Errorf("the preview is %q", got)
	}
	d.Do(shell.Keep(screen.SettingPreview, screen.On))
	d.Settle()
	if shell.Settings[screen.SettingPreview] != screen.On || memory.Setting(screen.SettingPreview) != screen.On {
		t.Error("the preview is not kept")
	}
}

func TestHintIsShownOnce(t *testing.T) {
	withHint := func(o *tui.Options) { o.Hint = true }
	d := tuitest.StartWithHandler(t, emptyService, withHint)
	d.See("? shows the keys. ctrl+k finds everything.")
	d.Settle()
	if d.Memory.Setting(screen.SettingHint) == "" {
		t.Error("it will be shown again")
	}
	notices := make(chan string, 1)
	notices <- "Warning: In tui.keys, j is bound twice."
	t.Cleanup(func() { close(notices) })
	d = tuitest.StartWithHandler(t, emptyService, withHint, func(o *tui.Options) { o.Notices, o.Accounts = notices, broken{} })
	d.See("Warning: In tui.keys, j is bound twice.", "Log in")
	if d.Memory.Setting(screen.SettingHint) != "" || d.Shows("ctrl+k finds everything") {
		t.Error("the hint is shown over the login")
	}
	account := tuitest.StartWithHandler(t, emptyService).App.Shell().Account
	for _, failure := range []string{"It failed.", ""} {
		d = tuitest.StartWithHandler(t, emptyService, withHint, func(o *tui.Options) { o.Accounts = broken{} })
		d.Send(screen.LoggedIn{Account: account})
		if failure != "" {
			d.Send(screen.Toast{Kind: screen.Failure, Text: failure})
		}
		d.Elapse(time.Minute)
		d.Settle()
		if kept := d.Memory.Setting(screen.SettingHint); (kept == "") != (failure != "") {
			t.Errorf("after a login and %q the hint is %q", failure, kept)
		}
	}
}

func TestHelpIsSearchedAndRunsAnAction(t *testing.T) {
	p := &probe{offers: []actions.Offer{actions.EnabledUnless(actions.Redeem, "It expired."), {ID: actions.CopyID}, {ID: actions.Edit}, {ID: actions.Sort}}}
	d := probed(t, p)
	d.Press("?")
	d.See("List", "s Sort by…", "Perk", "r Redeem (not now: It expired.)", "Property", "e Edit", "Everywhere")
	if text := d.Screen(); strings.Index(text, "List") > strings.Index(text, "r                  Redeem") {
		t.Errorf("the list does not come first:\n%s", text)
	}
	d.Type("copy")
	d.See("> y Copy the id")
	d.Press("enter")
	d.Until("the action", func() bool { return p.has(actions.CopyID) })
	d.Press("?")
	d.Type("redeem\n")
	d.See("Redeem: not possible now. It expired.")
}
