package tui

import (
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// globals is what works everywhere, and why some of it does not now.
func (a *App) globals() []actions.Offer {
	bottom, signedOut, here, none := "", "", "", ""
	if a.kept == nil {
		none = "Nothing has been redeemed yet."
	}
	if len(a.screens) < 2 {
		bottom = "This is the first screen; " + a.shell.Keys.Key(actions.Quit) + " quits."
	}
	if a.shell.Account.Client == nil {
		signedOut = "Log in first."
	}
	switch {
	case a.isLoggingIn():
		here = "That is this screen."
	case a.Top() == nil:
		here = "It is still being looked who is logged in."
	}
	return []actions.Offer{
		actions.If(actions.Back, bottom),
		actions.If(actions.Perks, signedOut), actions.If(actions.User, signedOut), actions.If(actions.Property, signedOut), actions.If(actions.Results, none),
		actions.If(actions.Refresh, signedOut),
		actions.If(actions.Login, here), actions.If(actions.Theme, ""), actions.If(actions.Mouse, ""),
		actions.If(actions.Messages, ""), actions.If(actions.Suspend, ""),
		actions.If(actions.Palette, ""), actions.If(actions.Help, ""), actions.If(actions.Quit, ""),
	}
}

func (a *App) do(id actions.ID) tea.Cmd {
	switch id {
	case actions.Back:
		top := a.Top()
		return a.leave(a.screens[len(a.screens)-1:], "Leave?", "leave", func() tea.Cmd { return a.shell.Post(screen.Back{From: top}) })
	case actions.Perks:
		return a.leave(a.screens[min(1, len(a.screens)):], "Leave?", "leave", func() tea.Cmd { return a.shell.Open(screen.ToPerks{}) })
	case actions.User:
		return a.shell.Open(screen.ToUser{})
	case actions.Property:
		return a.shell.Open(screen.ToProperty{})
	case actions.Results:
		return a.reopen()
	case actions.Login:
		return a.shell.Open(screen.ToLogin{})
	case actions.Refresh:
		return a.Top().Update(screen.Reconnected{})
	case actions.Theme:
		return a.nextTheme()
	case actions.Mouse:
		return a.toggleMouse()
	case actions.Messages:
		return a.lay(screen.NewReading("Messages", a.status.former()))
	case actions.Suspend:
		keep := keeping(a.screens)
		return func() tea.Msg { return append(run(keep), tea.Suspend) }
	case actions.Palette:
		return a.lay(a.palette())
	case actions.Help:
		return a.lay(screen.NewReading("Keys", a.help()))
	case actions.Quit:
		return a.leave(a.all(), "Quit?", "quit", func() tea.Cmd { return tea.Quit })
	}
	return nil
}

// interrupt quits. Where something would be lost it asks, and a second time it quits all the same.
func (a *App) interrupt() tea.Cmd {
	if a.status.interrupted && a.Overlay() != nil {
		return tea.Quit
	}
	a.overlays = nil
	cmd := a.leave(a.all(), "Quit?", "quit", func() tea.Cmd { return tea.Quit })
	a.status.interrupted = a.Overlay() != nil
	return cmd
}

// leave goes on at once, or asks first where one of the screens would lose something.
func (a *App) leave(screens []screen.Screen, title, yes string, then func() tea.Cmd) tea.Cmd {
	lost := unsaved(screens)
	if len(lost) == 0 {
		return then()
	}
	return a.lay(screen.NewConfirm(screen.Confirm{Title: title, Text: strings.Join(lost, "\n"), Yes: yes, Then: then}, a.shell.Keys))
}

func (a *App) nextTheme() tea.Cmd {
	names := []widget.ThemeName{widget.DarkTheme, widget.LightTheme, widget.HighContrastTheme, widget.NoTheme}
	next := names[(slices.Index(names, a.shell.Theme.Name)+1)%len(names)]
	a.shell.Theme = widget.NewTheme(next, a.options.Colours)
	return a.tell(screen.Toast{Kind: screen.Note, Text: "The theme is " + string(next) + " now. To keep it, set tui.theme in the configuration."})
}

func (a *App) toggleMouse() tea.Cmd {
	a.mouse = !a.mouse
	if a.mouse {
		return tea.Batch(tea.EnableMouseCellMotion, a.tell(screen.Toast{Kind: screen.Note, Text: "The mouse scrolls and chooses now. To select text with it, switch that off."}))
	}
	return tea.Batch(tea.DisableMouse, a.tell(screen.Toast{Kind: screen.Note, Text: "The mouse is the terminal's again: it selects text."}))
}

// palette finds everything by its name: first what can be done now, with the key that does it now. It opens a
// perk by its id, too.
func (a *App) palette() screen.Overlay {
	var can, cannot []actions.Offer
	for _, offer := range a.Offers() {
		switch {
		case offer.ID == actions.Palette || offer.ID.Group() == "list":
		case offer.Enabled():
			can = append(can, offer)
		default:
			cannot = append(cannot, offer)
		}
	}
	offers := append(can, cannot...)
	names := make([]string, len(offers))
	for i, offer := range offers {
		names[i] = a.shell.Keys.Action(offer.ID).Name
		if key := a.keyNow(offer.ID); key != "" {
			names[i] += "  (" + key + ")"
		}
		if !offer.Enabled() {
			names[i] += " - not now: " + offer.Why
		}
	}
	pick := screen.Pick{Title: "Commands", Options: names, Then: func(index int) tea.Cmd {
		return a.shell.Post(perform{offers[index].ID})
	}}
	if a.shell.Account.Client != nil {
		pick.OtherIs = "Open perk"
		pick.Other = &screen.Prompt{
			Field: widget.Field{Label: "Perk id", Check: api.PerkIDRule},
			Then:  func(id string) tea.Cmd { return a.shell.Open(screen.ToPerk{ID: api.LowerUUID(id)}) },
		}
	}
	return screen.NewPick(pick, a.shell.Theme)
}

// perform asks for an action once the palette, which hides what it is about, is closed.
type perform struct{ id actions.ID }

// help is every key that does something here.
func (a *App) help() []screen.Styled {
	var lines []screen.Styled
	for _, offer := range a.Offers() {
		action := a.shell.Keys.Action(offer.ID)
		keys := make([]string, len(action.Keys))
		for i, key := range action.Keys {
			keys[i] = actions.Spell(key)
		}
		text := action.Name
		if !offer.Enabled() {
			text += " (not now: " + offer.Why + ")"
		}
		lines = append(lines, screen.Styled{Word: strings.Join(keys, " "), Text: text})
	}
	return lines
}
