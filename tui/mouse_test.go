package tui_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
	"example.com/perks/tui"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
	"example.com/perks/tui/widget"
)

func wheel(d *tuitest.Driver, button tea.MouseButton) {
	d.Send(tea.MouseMsg{X: 40, Y: 10, Action: tea.MouseActionPress, Button: button})
}

func TestClickOnAFooterHintRunsIt(t *testing.T) {
	p := &probe{offers: []actions.Offer{actions.Offer{ID: actions.Redeem, Hint: "redeem 2 marked"},
		actions.Offer{ID: actions.CopyID}}}
	d := probed(t, p)
	d.Play("click: 2 marked")
	if len(p.done) != 1 || !p.has(actions.Redeem) {
		t.Fatalf("done: %v", p.done)
	}
	d.Play("click: y copy")
	if len(p.done) != 2 || !p.has(actions.CopyID) {
		t.Fatalf("done: %v", p.done)
	}
	d.Send(tea.MouseMsg{X: 79, Y: 23, Action: tea.MouseActionPress, Button: tea.MouseButtonLeft}) // beside the hints
	lines := strings.Split(d.Screen(), "\n")
	last := display.Width(strings.TrimRight(lines[23], " ")) - 1 // the end of "? keys"
	d.Send(tea.MouseMsg{X: last, Y: 23, Action: tea.MouseActionPress, Button: tea.MouseButtonLeft})
	d.Play(`
		=> Find:
		click: esc cancel => ≠ Find:`)
	if len(p.done) != 2 {
		t.Errorf("done: %v", p.done)
	}
	p.form = widget.NewForm(d.App.Shell().Theme, widget.Field{Name: "city", Label: "City"})
	p.offers = actions.Enabled(actions.Submit)
	if d.Play("click: enter send"); !p.has(actions.Submit) {
		t.Errorf("done: %v", p.done)
	}
}

func TestClickChoosesAnOption(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {200, 60}, {60, 20}, {39, 12}, {30, 9}} {
		chosen := -1
		d := probed(t, &probe{})
		d.Resize(size[0], size[1])
		options := []string{"one", "two", "three", "four"}
		ask := screen.Pick{Title: "Which?", Options: options,
			Then: func(index int) tea.Cmd { chosen = index; return nil }}
		d.Send(ask)
		d.Play(`
			click: Find:
			click: two`)
		if chosen != 1 || d.App.Overlay() != nil {
			t.Errorf("%v: chose %d", size, chosen)
		}
		chosen, ask.Options = -1, options[:2] // with so few, there is a line to type in only once something is typed
		d.Send(ask)
		d.Play(`
			=> > one | ≠ Find:
			"t" => Find: | > two
			backspace => > one | ≠ Find:
			click: two`)
		if chosen != 1 || d.App.Overlay() != nil {
			t.Errorf("%v: chose %d of two", size, chosen)
		}
	}
}

func TestClickOnAHeadingOfTheHelpChoosesNothing(t *testing.T) {
	p := &probe{offers: actions.Enabled(actions.Redeem, actions.CopyID)}
	d := probed(t, p)
	d.Play(`
		?
		click: Everywhere => Keys
		click: Copy the id => ≠ Keys`)
	if !p.has(actions.CopyID) {
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

// TestClickAnswersAQuestion clicks on what a dialog offers. A click that comes with the one that opened it confirms
// nothing, and where a word has to be typed, none does.
func TestClickAnswersAQuestion(t *testing.T) {
	d := probed(t, &probe{})
	yes := 0
	ask := screen.Confirm{Title: "Delete it?", Text: "It goes offline now.", Yes: "delete",
		Then: func() tea.Cmd { yes++; return nil }}
	d.Send(ask)
	d.Play("click: y delete")
	if yes > 0 || d.App.Overlay() == nil {
		t.Fatal("a second click confirmed it")
	}
	d.Elapse(time.Second)
	d.Play("click: It goes offline")
	if yes > 0 || d.App.Overlay() == nil {
		t.Fatal("a click on the text answered it")
	}
	d.Play("click: delete   n no")
	if yes != 1 || d.App.Overlay() != nil {
		t.Fatalf("confirmed %d times", yes)
	}
	d.Send(ask)
	d.Play("click: n no")
	if yes != 1 || d.App.Overlay() != nil {
		t.Errorf("confirmed %d times", yes)
	}
	ask.Words = []string{"delete"}
	d.Send(ask)
	d.Elapse(time.Second)
	for y := range 23 {
		for x := range 80 {
			d.Send(tea.MouseMsg{X: x, Y: y, Action: tea.MouseActionPress, Button: tea.MouseButtonLeft})
		}
	}
	if yes != 1 || d.App.Overlay() == nil {
		t.Errorf("clicks answered it")
	}
}

// scrollbar returns where the scrollbar is drawn: its column, and the first and last line of its thumb.
func scrollbar(t *testing.T, d *tuitest.Driver) (x, first, last int) {
	t.Helper()
	first = -1
	for y, line := range strings.Split(d.Screen(), "\n") {
		if before, _, found := strings.Cut(line, widget.Thumb); found {
			if x, last = display.Width(before), y; first < 0 {
				first = y
			}
		}
	}
	if first < 0 {
		t.Fatalf("there is no scrollbar:\n%s", d.Screen())
	}
	return x, first, last
}

// TestClickOnAScrollbarScrolls clicks beside the thumb of a list and of a dialog, and drags it.
func TestClickOnAScrollbarScrolls(t *testing.T) {
	server, owner := catalogueOf62(t)
	d := tuitest.StartAs(t, server, owner.id, owner.secret)
	d.See("row 1 of 62")
	d.Settle()
	press := func(x, y int, action tea.MouseAction) {
		d.Send(tea.MouseMsg{X: x, Y: y, Action: action, Button: tea.MouseButtonLeft})
	}
	x, first, last := scrollbar(t, d)
	press(x, first, tea.MouseActionPress)
	d.See("row 1 of 62")
	press(x, last+3, tea.MouseActionPress)
	if _, now, until := scrollbar(t, d); now > last+3 || until < last+3 {
		t.Errorf("the thumb is at %d to %d, not at %d:\n%s", now, until, last+3, d.Screen())
	}
	for range 3 {
		press(x, 21, tea.MouseActionMotion)
		d.Settle()
	}
	if _, _, until := scrollbar(t, d); until != 21 || !d.Shows("row 62 of 62") {
		t.Errorf("the thumb is not at the end:\n%s", d.Screen())
	}
	for range 3 {
		press(x, first, tea.MouseActionPress)
	}
	if _, now, _ := scrollbar(t, d); now != first {
		t.Errorf("the thumb is not at the beginning:\n%s", d.Screen())
	}

	d.Press("?")
	d.See("> enter l →")
	press(x, 20, tea.MouseActionPress) // that of the list is behind the dialog
	d.See("> enter l →")
	x -= 3
	press(x, 20, tea.MouseActionPress)
	press(x, 20, tea.MouseActionPress)
	d.Gone("enter l →")
	for range 15 {
		press(x, 3, tea.MouseActionPress)
	}
	d.See("enter l →")
}

// TestAScrollbarReachesEveryRow presses and drags it in a list of which only a part is loaded.
func TestAScrollbarReachesEveryRow(t *testing.T) {
	server := servertest.Start(t)
	perks := make([]store.PerkRecord, 1000)
	for i := range perks {
		perks[i].ID, perks[i].Title = fmt.Sprintf("perk-%04d", i), fmt.Sprintf("Perk %d", i)
	}
	server.ImportPerks(perks...)
	d := tuitest.Start(t, server)
	d.See("row 1 of 1,000")
	d.Settle()
	x, top, _ := scrollbar(t, d)
	point := func(y int, action tea.MouseAction) {
		d.Send(tea.MouseMsg{X: x, Y: y, Action: action, Button: tea.MouseButtonLeft})
		if _, first, last := scrollbar(t, d); y < first || y > last {
			t.Errorf("the thumb is at %d to %d, not at %d:\n%s", first, last, y, d.Screen())
		}
	}
	point(12, tea.MouseActionPress)
	d.Settle()
	d.See("row 464 of 1,000")
	if loaded := len(d.App.Top().(interface{ Shown() []api.Perk }).Shown()); loaded > 200 {
		t.Errorf("it has loaded %d rows", loaded)
	}
	point(15, tea.MouseActionMotion)
	point(21, tea.MouseActionMotion)
	d.Settle()
	d.See("row 1,000 of 1,000")
	point(12, tea.MouseActionMotion)
	point(top, tea.MouseActionMotion)
	d.Settle()
	d.See("row 1 of 1,000")
}

// TestTheScrollbarOfAListThatIsNotCounted goes from its end to its beginning, and back.
func TestTheScrollbarOfAListThatIsNotCounted(t *testing.T) {
	server, owner := uncounted(t)
	d := tuitest.StartAs(t, server, owner.id, owner.secret)
	d.Play(`3 => Properties 200+
		enter settle G settle => last row ─`)
	drag := func(y int, wanted ...string) {
		t.Helper()
		for range 20 {
			x, _, _ := scrollbar(t, d)
			d.Send(tea.MouseMsg{X: x, Y: y, Action: tea.MouseActionMotion, Button: tea.MouseButtonLeft})
			d.Settle()
		}
		d.See(wanted...)
	}
	drag(4, "> 1 Flat number 1.", "row 1 of 200+")
	drag(21, "> 270 Flat number 270.", "last row")
	d.Play(`g => > 1 Flat number 1.`)
	drag(21, "> 270 Flat number 270.", "row 270 of 200+")
}

func TestThemeAndMouseAreRemembered(t *testing.T) {
	d := probed(t, &probe{}, func(o *tui.Options) { o.Mouse = true })
	for _, step := range []struct{ play, theme, mouse string }{
		{"T => Theme: dark.", "dark", ""}, {"M => Mouse: off.", "dark", screen.Off},
		{"M => Mouse: on.", "dark", screen.On},
	} {
		d.Play(step.play)
		d.Settle()
		theme, mouse := d.Memory.Setting(screen.SettingTheme), d.Memory.Setting(screen.SettingMouse)
		if theme != step.theme || mouse != step.mouse {
			t.Errorf("%s: remembered theme %q, mouse %q", step.play, theme, mouse)
		}
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
	d = tuitest.StartWithHandler(t, emptyService, withHint, func(o *tui.Options) {
		o.Notices, o.Accounts = notices,
			broken{}
	})
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
	p := &probe{offers: append(actions.Enabled(actions.CopyID, actions.Edit, actions.Sort),
		actions.Offer{ID: actions.Redeem, Why: "It expired."})}
	d := probed(t, p)
	d.Play(`
		size: 80x60
		? => s Sort by… | r Redeem (not now: It expired.) | e Edit | q Quit | ctrl+k : Find a command | space`)
	inOrder(d, "List", "Perk", "Property", "Everywhere")
	d.Play(`
		"copy" => > y Copy the id
		enter`)
	d.Until("the action", func() bool { return p.has(actions.CopyID) })
	d.Play(`? "redeem\n" => Redeem: not possible now. It expired.`)
}
