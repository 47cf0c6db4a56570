package tui

import (
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/screens/perks"
	"example.com/perks/tui/screens/property"
	"example.com/perks/tui/screens/redemptions"
	"example.com/perks/tui/screens/user"
	"example.com/perks/tui/widget"
)

// tabs are the lists that everything else is opened from. Each keeps its own stack of screens.
var tabs = [...]struct {
	route  screen.Route
	action actions.ID
}{
	screen.PerksTab:       {screen.ToPerks{}, actions.Perks},
	screen.UsersTab:       {screen.ToUsers{}, actions.User},
	screen.PropertiesTab:  {screen.ToProperties{}, actions.Property},
	screen.RedemptionsTab: {screen.ToRedemptions{}, actions.Redemptions},
}

// isTab tells whether a screen is the list of a tab.
func isTab(s screen.Screen) bool {
	switch s.(type) {
	case *perks.List, *user.List, *property.List, *redemptions.List:
		return true
	}
	return false
}

// openStart shows the first screen.
func (a *App) openStart() tea.Cmd {
	a.tab = a.options.Start.Tab()
	return a.push(a.newScreen(a.options.Start))
}

// selectTab shows a tab as it was left. If it is shown already, it shows its list, and asks first if that would lose
// something.
func (a *App) selectTab(tab int) tea.Cmd {
	if tab != a.tab || len(a.screens) == 0 {
		return a.showTab(tab)
	}
	lost := a.screens
	if isTab(lost[0]) {
		lost = lost[1:]
	}
	return a.leave(lost, "Leave?", "leave", func() tea.Cmd { return a.shell.Open(tabs[tab].route) })
}

// showTab shows a tab. If it is shown already, it shows its list.
func (a *App) showTab(tab int) tea.Cmd {
	var drafts tea.Cmd
	switch {
	case tab != a.tab:
		a.dropLogins()
		a.parked[a.tab], a.screens, a.tab = a.screens, a.parked[tab], tab
		a.parked[tab] = nil
		if len(a.screens) > 0 {
			a.resize()
			return a.Top().Update(screen.Revealed{})
		}
	case len(a.screens) > 0 && isTab(a.screens[0]):
		return a.closeDownTo(1)
	default:
		drafts = a.drop(len(a.screens))
	}
	return tea.Batch(drafts, a.push(a.newScreen(tabs[tab].route)))
}

// tabNames are what the header calls the tabs, and which they are: those that would show only a refusal are left out.
func (a *App) tabNames() (names []string, shown []int) {
	for i, tab := range tabs {
		if i != a.tab && a.shell.WhyNotOpen(tab.route) != "" {
			continue
		}
		action := a.shell.Keys.Action(tab.action)
		name := action.Name
		if len(action.Keys) > 0 {
			name = actions.Spell(action.Keys[0]) + " " + name
		}
		names, shown = append(names, name), append(shown, i)
	}
	return names, shown
}

// tabs draws the names of the tabs, if they fit and somebody is logged in.
func (a *App) tabs() string {
	names, shown := a.tabNames()
	right, _ := a.connection()
	if a.shell.Account.Client == nil || !widget.TabsFit(a.width-4-display.Width(right), names) {
		return ""
	}
	return widget.Tabs(a.shell.Theme, a.width, names, slices.Index(shown, a.tab))
}

// tabAt returns the tab at a column of the header, for a click.
func (a *App) tabAt(column int) (tab int, ok bool) {
	if a.tabs() == "" {
		return 0, false
	}
	names, shown := a.tabNames()
	at, ok := widget.TabAt(a.width, names, slices.Index(shown, a.tab), column-1) // behind the edge
	if !ok {
		return 0, false
	}
	return shown[at], true
}
