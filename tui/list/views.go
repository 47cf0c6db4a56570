package list

import (
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// maxViews keeps the tabs readable.
const maxViews = 9

// heightForViews is the least height with tabs.
const heightForViews = 12

func (l *List[F, T]) viewOffers() []actions.Offer {
	save := "save view"
	if slices.Contains(l.views, l.want.text) {
		save = "remove view"
	}
	none := actions.WhyIf(len(l.views) == 0, "No view is saved.")
	return []actions.Offer{
		{ID: actions.SaveView, Why: l.whyNotSave(), Hint: save, Do: l.saveView},
		{ID: actions.NextView, Why: none, Do: func() tea.Cmd { return l.showView(1) }},
		{ID: actions.PreviousView, Why: none, Do: func() tea.Cmd { return l.showView(-1) }},
	}
}

// saveView saves the query as a view, or removes the view that is shown.
func (l *List[F, T]) saveView() tea.Cmd {
	text, done := l.want.text, "View saved."
	if at := slices.Index(l.views, text); at >= 0 {
		l.views, done = slices.Delete(slices.Clone(l.views), at, at+1), "View removed."
	} else {
		l.views = append(slices.Clone(l.views), text)
	}
	l.arrange()
	keep := l.shell.Keep(settingViews+l.Settings, strings.Join(l.views, "\n"))
	return tea.Batch(screen.Tell(screen.Done, "%s", done), keep)
}

// whyNotSave says why the query cannot be saved or removed; "" if it can.
func (l *List[F, T]) whyNotSave() string {
	switch {
	case l.want.text == "":
		return "Filter first: a view is a filter."
	case len(l.views) >= maxViews && !slices.Contains(l.views, l.want.text):
		return fmt.Sprintf("At most %d views can be saved.", maxViews)
	}
	return ""
}

// tabs are the list without a query, the saved views, and last a query that is not saved.
func (l *List[F, T]) tabs() (queries, names []string, current int) {
	queries = append([]string{""}, l.views...)
	if !slices.Contains(queries, l.want.text) {
		queries = append(queries, l.want.text)
	}
	for _, text := range queries {
		names = append(names, display.Line(text))
	}
	names[0] = "All"
	return queries, names, slices.Index(queries, l.want.text)
}

// showsViews tells whether there are tabs. While a query is typed, its completions take their line.
func (l *List[F, T]) showsViews() bool {
	return len(l.views) > 0 && !l.typing && l.height >= heightForViews
}

// showView shows the view that many tabs to the right; negative is to the left.
func (l *List[F, T]) showView(by int) tea.Cmd {
	queries, _, current := l.tabs()
	return l.Find(queries[(current+by+len(queries))%len(queries)])
}

// clickView shows the view at a column.
func (l *List[F, T]) clickView(column int) tea.Cmd {
	_, names, current := l.tabs()
	if at, ok := widget.TabAt(l.width-1, names, current, column-1); ok {
		return l.showView(at - current)
	}
	return nil
}
