package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/theme"
	"example.com/perks/tui/widget"
)

// target is what has the keyboard: the top overlay, the top screen, or nothing yet.
type target interface {
	Form() *widget.Form
	Offers() []actions.Offer
}

type noTarget struct{}

func (noTarget) Form() *widget.Form      { return nil }
func (noTarget) Offers() []actions.Offer { return nil }

func (a *App) target() target {
	if o := a.Overlay(); o != nil {
		return o
	}
	if s := a.Top(); s != nil {
		return s
	}
	return noTarget{}
}

// Offers returns what can be done now, the actions of the target first. A screen that offers Back itself goes back one
// step within. What the profile, the token or the service does not allow is refused here, for all screens.
func (a *App) Offers() []actions.Offer {
	offers := a.target().Offers()
	if a.Overlay() != nil {
		return offers
	}
	offers = append(slices.Clone(offers), a.neighbours()...)
	for i, offer := range offers {
		offers[i].Why = cmp.Or(a.shell.WhyNoChange(offer), a.whyNotOpen(offer.ID), offer.Why)
	}
	for _, global := range a.globals() {
		if global.ID != actions.Back || !stepsBack(offers) {
			offers = append(offers, global)
		}
	}
	return offers
}

// whyNotOpen says why the client may not read the record that an action opens; "" if it may.
func (a *App) whyNotOpen(id actions.ID) string {
	kind := map[actions.ID]string{actions.OpenPerk: "perk", actions.ForUser: "user"}[id]
	if list, is := a.Top().(screen.Selected); is && id == actions.Open && isTab(a.Top()) {
		kind, _ = list.Selected()
	}
	to, _ := RouteTo(kind, "")
	return a.shell.WhyNotOpen(to)
}

func stepsBack(offers []actions.Offer) bool {
	return slices.ContainsFunc(offers, func(offer actions.Offer) bool { return offer.ID == actions.Back })
}

// key handles a message from the keyboard. On a slow connection several keys come as one message. They are handled one
// by one, except those after a key that opens a dialog or a screen: they were typed before the user saw it.
func (a *App) key(msg tea.KeyMsg) tea.Cmd {
	if msg.Type == tea.KeyCtrlC { // it quits; it asks if that would lose something, and the second time it quits anyway
		if a.status.interrupted && a.Overlay() != nil {
			return tea.Quit
		}
		a.overlays = nil
		cmd := a.quit()
		a.status.interrupted = a.Overlay() != nil
		return cmd
	}
	if msg.Type != tea.KeyRunes || len(msg.Runes) < 2 || msg.Paste {
		return a.press(msg)
	}
	var cmds []tea.Cmd
	for i, r := range msg.Runes {
		if form := a.target().Form(); form != nil {
			return tea.Batch(append(cmds, a.write(form, tea.KeyMsg{Type: tea.KeyRunes, Runes: msg.Runes[i:]}))...)
		}
		before, depth := a.target(), a.Depth()
		cmds = append(cmds, a.press(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}, Alt: msg.Alt}), a.Deliver())
		if a.target() != before && a.Depth() >= depth && a.target().Form() == nil {
			break
		}
	}
	return tea.Batch(cmds...)
}

// readingTime is how long a question that a reply raised must be open before y confirms it: a sooner y was meant for
// something else.
const readingTime = time.Second

// isUnread tells whether nobody can have read the last question yet.
func (a *App) isUnread() bool { return a.shell.Now().Sub(a.openedAt) < readingTime }

// typingTime is how long after a refused key that asks for text, or a letter of that text, letters belong to it.
const typingTime = time.Second

// asksForText is the actions after which people type on without looking.
var asksForText = []actions.ID{
	actions.Filter, actions.Redeem, actions.Reject, actions.Void, actions.Edit, actions.EditField, actions.Delete,
	actions.Stock, actions.Create, actions.NewPerk,
}

// isMeantForText tells whether a key belongs to a text that a refused action asks for. It is not a command then.
func (a *App) isMeantForText(key string) bool {
	now := a.shell.Now()
	if now.Sub(a.refusedAt) >= typingTime || !actions.Prints(key) && key != "enter" && key != "backspace" {
		return false
	}
	a.refusedAt = now
	return true
}

// refuse says why a key did nothing.
func (a *App) refuse(id actions.ID, why string) tea.Cmd {
	if slices.Contains(asksForText, id) {
		a.refusedAt = a.shell.Now()
	}
	return a.explain(why)
}

// press handles one key: first the top overlay, then the form of a screen, then the global actions, then the screen.
func (a *App) press(msg tea.KeyMsg) tea.Cmd {
	key := msg.String()
	form := a.target().Form()
	switch {
	case form == nil && a.Overlay() == nil && !msg.Paste && a.isMeantForText(key):
		return nil
	case a.Overlay() == nil && a.shell.Now().Sub(a.withdrawnAt) < readingTime &&
		slices.Contains(a.shell.Keys.Action(actions.Yes).Keys, key):
		return nil // it was the answer
	case form == nil && msg.Paste:
		return a.note("There is nothing to paste into here.")
	case form == nil:
	case msg.Paste || form.Takes(key):
		return a.write(form, msg)
	case key == "enter" && form.EnterSubmits():
		return a.doOffered(actions.Submit)
	case key == "enter":
		form.NextToTypeIn()
		return nil
	case actions.Prints(key) && key != " " && form.Switches():
		return a.explain("Text is not typed here. Space switches it.")
	}
	if offer, ok := a.shell.Keys.Find(key, form != nil, a.Offers()); ok {
		if offer.ID == actions.Yes && a.raised && a.isUnread() {
			return nil
		}
		return a.attempt(offer)
	}
	if form == nil {
		return a.explainElsewhere(key)
	}
	if offer, ok := a.shell.Keys.Find(key, true, actions.Enabled(actions.NextField, actions.PreviousField)); ok {
		form.Do(offer.ID)
		return nil
	}
	return a.write(form, msg)
}

// otherScreenGroups is the groups of actions that users may try on the wrong screen.
var otherScreenGroups = []string{"list", "perks", "record", "redemption", "property", "perk"}

// explainElsewhere says that a key works on other screens only. It says nothing while a dialog is open.
func (a *App) explainElsewhere(key string) tea.Cmd {
	if a.Overlay() != nil || a.Top() == nil {
		return nil
	}
	for _, action := range a.shell.Keys.Actions() {
		if slices.Contains(otherScreenGroups, action.ID.Group()) && slices.Contains(action.Keys, key) {
			help := a.shell.Key(actions.Help)
			return a.refuse(action.ID, fmt.Sprintf("%s: not on this screen. %s shows its keys.", action.Name, help))
		}
	}
	return nil
}

// write passes a message to a form, and reports an edit.
func (a *App) write(form *widget.Form, msg tea.Msg) tea.Cmd {
	cmd, edited := form.Update(msg)
	if !edited {
		return cmd
	}
	change := screen.Edited{Field: form.Focus()}
	if o := a.Overlay(); o != nil {
		return tea.Batch(cmd, o.Update(change))
	}
	return tea.Batch(cmd, a.Top().Update(change))
}

// doOffered does an action if it is offered now.
func (a *App) doOffered(id actions.ID) tea.Cmd {
	offers := a.Offers()
	if i := slices.IndexFunc(offers, func(offer actions.Offer) bool { return offer.ID == id }); i >= 0 {
		return a.attempt(offers[i])
	}
	return nil
}

// Attempt does an action that is offered now, or says why it cannot.
func (a *App) Attempt(id actions.ID) tea.Cmd { return tea.Batch(a.doOffered(id), a.Deliver()) }

func (a *App) attempt(offer actions.Offer) tea.Cmd {
	switch {
	case offer.Enabled():
	case offer.ID == actions.Back && !stepsBack(a.target().Offers()), offer.ID == actions.Cancel && a.isLoggingIn():
		return a.explain(offer.Why) // it says that there is nothing to go back to
	case offer.ID == actions.Submit: // it is called otherwise on each screen
		return a.explain(offer.Why)
	default:
		name := a.shell.Keys.Action(offer.ID).Name
		return a.refuse(offer.ID, fmt.Sprintf("%s: not possible now. %s", name, offer.Why))
	}
	if shown := a.status.shown; shown != nil && (a.status.isExplanation || shown.Kind == screen.Failure) {
		a.status.shown = nil // a person has gone on from it
	}
	if o := a.Overlay(); o != nil {
		cmd := offer.Do()
		if o.Closed() {
			a.overlays = slices.DeleteFunc(a.overlays, func(other screen.Overlay) bool { return other == o })
		}
		return cmd
	}
	if offer.ID == actions.Submit && a.connectivity.loggedOut && !a.isLoggingIn() {
		return a.askForLogin()
	}
	if form := a.target().Form(); form != nil && form.Do(offer.ID) {
		return nil
	}
	if offer.Do == nil {
		return nil
	}
	return offer.Do()
}

// globals returns the actions that work everywhere, and why some do not now.
func (a *App) globals() []actions.Offer {
	none := actions.WhyIf(a.reopenable == nil, "Nothing has been redeemed yet.")
	bottom := actions.WhyIf(len(a.screens) < 2, "This is the first screen. "+a.shell.Key(actions.Quit)+" quits.")
	signedOut := actions.WhyIf(a.shell.Account.Client == nil, "Log in first.")
	here := cmp.Or(actions.WhyIf(a.isLoggingIn(), "You are already there."),
		actions.WhyIf(a.Top() == nil, "Still connecting."))
	overlay := func(open func() screen.Overlay) func() tea.Cmd {
		return func() tea.Cmd { return a.openOverlay(open()) }
	}
	globals := append(a.commandOffers(), actions.Offer{ID: actions.Back, Why: bottom, Do: a.back})
	for i := range tabs {
		globals = append(globals, actions.Offer{ID: tabs[i].action,
			Why: cmp.Or(signedOut, a.shell.WhyNotOpen(tabs[i].route)), Do: func() tea.Cmd { return a.selectTab(i) }})
	}
	return append(globals, []actions.Offer{
		{ID: actions.Results, Why: none, Do: a.reopen},
		{ID: actions.Refresh, Why: signedOut, Do: func() tea.Cmd { return a.Top().Update(screen.Reconnected{}) }},
		{ID: actions.Login, Why: here, Do: func() tea.Cmd { return a.shell.Open(screen.ToLogin{}) }},
		{ID: actions.Theme, Do: a.nextTheme},
		{ID: actions.Mouse, Do: a.switchMouse},
		{ID: actions.Messages, Do: overlay(a.messages)},
		{ID: actions.Suspend, Do: a.suspend},
		{ID: actions.Palette, Do: overlay(a.palette)},
		{ID: actions.Help, Do: overlay(a.help)},
		{ID: actions.Quit, Do: a.quit},
	}...)
}

func (a *App) back() tea.Cmd {
	top := a.Top()
	return a.leave(a.screens[len(a.screens)-1:], "Leave?", "leave", func() tea.Cmd {
		return a.shell.Post(screen.Back{From: top})
	})
}

func (a *App) quit() tea.Cmd {
	return a.leave(a.all(), "Quit?", "quit", func() tea.Cmd { return tea.Quit })
}

// reopen shows again the screen that can be reopened.
func (a *App) reopen() tea.Cmd {
	a.screens, a.reopenable = append(a.screens, a.reopenable), nil
	a.resize()
	return nil
}

func (a *App) switchMouse() tea.Cmd {
	a.mouse = !a.mouse
	capture, text := tea.Cmd(tea.DisableMouse), "Mouse: off. It selects text again."
	if a.mouse {
		capture, text = tea.EnableMouseCellMotion, "Mouse: on. Hold shift to select text."
	}
	return tea.Batch(capture, a.shell.Keep(screen.SettingMouse, screen.Switch(a.mouse)), a.note(text))
}

func (a *App) messages() screen.Overlay { return screen.NewTextDialog("Messages", a.status.history()) }

func (a *App) suspend() tea.Cmd {
	keep := draftCommands(a.screens)
	return func() tea.Msg { return append(runAll(keep), tea.Suspend) }
}

// nextTheme shows the next theme. After the last one comes none that is remembered: the next start asks the terminal.
func (a *App) nextTheme() tea.Cmd {
	names := []theme.Name{theme.Dark, theme.Light, theme.HighContrast, theme.None}
	at := slices.Index(names, theme.Name(a.shell.Settings[screen.SettingTheme]))
	if at == len(names)-1 {
		a.shell.Theme = theme.New(a.options.Theme, a.options.Colours)
		return tea.Batch(a.note("Theme: auto, from the next start on."), a.shell.Keep(screen.SettingTheme, ""))
	}
	if at < 0 && a.shell.Theme.Name == names[0] {
		at = 0
	}
	next := names[at+1]
	a.shell.Theme = theme.New(next, a.options.Colours)
	return tea.Batch(a.note("Theme: "+string(next)+"."), a.shell.Keep(screen.SettingTheme, string(next)))
}

// leave does then, and first asks if one of the screens would lose something.
func (a *App) leave(screens []screen.Screen, title, yes string, then func() tea.Cmd) tea.Cmd {
	var lost []string
	for _, s := range screens {
		if text := s.Unsaved(); text != "" && !slices.Contains(lost, text) {
			lost = append(lost, text)
		}
	}
	if lost == nil {
		return then()
	}
	return a.openOverlay(screen.Confirm{Title: title, Text: strings.Join(lost, "\n"), Yes: yes, Local: true,
		Then: then}.Overlay(a.shell))
}

// showHint tells once how to begin. It leaves any other message to be read first, until the next start.
type showHint struct{}

func (a *App) showHint() tea.Cmd {
	if !a.options.Hint || a.status.shown != nil {
		return nil
	}
	a.options.Hint = false
	hint := fmt.Sprintf("%s shows the keys. %s finds everything.", a.shell.Key(actions.Help),
		a.shell.Key(actions.Palette))
	return tea.Batch(a.note(hint), a.shell.Keep(screen.SettingHint, screen.On))
}

// pickAction asks to choose one of the actions.
func (a *App) pickAction(title string, offers []actions.Offer) screen.Pick {
	return screen.Pick{Title: title, Options: make([]string, len(offers)), Then: func(index int) tea.Cmd {
		return a.shell.Post(screen.Perform{ID: offers[index].ID})
	}}
}

// helpHeadings is where the actions belong, by their groups, in the order of the help.
var helpHeadings = []struct{ groups, name string }{
	{"list perks", "List"}, {"record settle perk", "Perk"}, {"redemption", "Redemption"},
	{"property merge", "Property"}, {"form", "Form"}, {"command", "Your commands"}, {"app", "Everywhere"},
}

func helpHeading(id actions.ID) int {
	return slices.IndexFunc(helpHeadings, func(h struct{ groups, name string }) bool {
		return slices.Contains(strings.Fields(h.groups), id.Group())
	})
}

// help lists the actions with their keys, and does the chosen one.
func (a *App) help() screen.Overlay {
	offers := a.Offers()
	slices.SortStableFunc(offers, func(o, other actions.Offer) int {
		return cmp.Compare(helpHeading(o.ID), helpHeading(other.ID))
	})
	pick := a.pickAction("Keys", offers)
	for i, offer := range offers {
		action := a.shell.Keys.Action(offer.ID)
		var keys []string
		for _, key := range action.Keys {
			keys = append(keys, actions.Spell(key))
		}
		if pick.Options[i] = action.Name; !offer.Enabled() {
			pick.Options[i] += " (not now: " + offer.Why + ")"
		}
		pick.Labels = append(pick.Labels, strings.Join(keys, " "))
		pick.Headings = append(pick.Headings, helpHeadings[max(0, helpHeading(offer.ID))].name)
	}
	return pick.Overlay(a.shell)
}
