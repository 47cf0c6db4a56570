package record

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/api/operation"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/list"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/theme"
	"example.com/perks/tui/widget"
)

// toHistory shows the history of a record above its screen, which restores what is chosen there.
type toHistory[I ~string, R any, P operation.Patch[R, P]] struct {
	of     *Editor[I, R, P]
	change *api.PropertyVersion // to show first; nil for the list
}

func (to toHistory[I, R, P]) Tab() int { return to.of.Kind.Tab }
func (to toHistory[I, R, P]) New(*screen.Shell) screen.Screen {
	h := to.of.NewHistory()
	if h.Open = func(_ string, v *api.PropertyVersion) tea.Cmd { return h.show(v) }; to.change != nil {
		h.show(to.change)
	}
	return h
}

// History is the screen of what was changed in a record, the newest change first.
type History[I ~string, R any, P operation.Patch[R, P]] struct {
	*list.List[struct{}, api.PropertyVersion]
	shell         *screen.Shell
	of            *Editor[I, R, P]
	width, height int

	change   *change // shown with all its differences; nil while the list is shown
	unfolded bool
	scroll   Scroll
}

// change is a change of a record, and how it is drawn.
type change struct {
	api.PropertyVersion
	diffs []fieldDiff
	drawn map[drawing][]Line // slow to compute for each frame
}

// NewHistory makes the list for a part of the record's screen. There a change opens on a screen of its own.
func (s *Editor[I, R, P]) NewHistory() *History[I, R, P] {
	shell, k, id := s.Shell, s.Kind, s.ID
	h := &History[I, R, P]{shell: shell, of: s}
	newest := list.FirstOrder("version")
	type version = *api.PropertyVersion
	kind := list.Kind[struct{}, api.PropertyVersion]{
		One: "change", Many: "changes", Settings: "history", NoMarks: true,
		File:   "history-of-" + k.Name + "-" + string(id),
		Called: func(struct{}) string { return "History" }, None: "No change is known.",
		Orders: func(struct{}) []string { return []string{newest.Field} },
		Order:  func(struct{}) api.SortKey { return newest }, OneWay: true,
		Pages: func(
			c *client.Client, ctx context.Context, _ struct{}, options client.ListOptions,
		) client.Pages[api.PropertyVersion] {
			options.Sort = "" // it has no other order
			return k.Pages(c, ctx, id, options)
		},
		Changes: func(e api.Event) bool { return k.IsAbout(e, id) },
		ID:      func(v version) string { return v.At.String() + screen.Optional(v.ETag) },
		Open:    func(_ string, v version) tea.Cmd { return shell.Open(toHistory[I, R, P]{s, v}) },
		Columns: list.Columns[version]{
			{Column: widget.Column{Name: "When", Min: list.AgeWidth},
				Cell: func(v version) string { return shell.When(v.At) }},
			{Column: widget.Column{Name: "Who", Min: 10, Share: 1, Drop: 1}, Cell: by},
			{Column: widget.Column{Name: "What", Min: 8}, Tone: toneOf,
				Cell: func(v version) string { return display.Line(v.Action) }},
			{Column: widget.Column{Name: "Changed", Min: 12, Share: 4}, Cell: func(v version) string {
				return k.Labels(v.Changed)
			}},
			{Column: widget.Column{Name: "Values", Min: 16, Share: 4, Drop: 2}, Cell: k.summary},
		},
	}
	h.List = list.New(shell, kind)
	return h
}

func toneOf(v *api.PropertyVersion) theme.Tone {
	switch v.Action {
	case api.VersionDeleted:
		return theme.Warning
	case api.VersionRestored:
		return theme.Good
	}
	return theme.Quiet
}

// by is who made a change: "alice at acme".
func by(v *api.PropertyVersion) string {
	return cmp.Or(widget.Joined(" at ", screen.Optional(v.Actor), screen.Optional(v.ClientID)), "operator")
}

// said is a change in words: "Updated 2 h ago by acme."
func said(shell *screen.Shell, v *api.PropertyVersion) string {
	return fmt.Sprintf("%s %s by %s (%s).", display.Capital(display.Line(v.Action)), shell.When(v.At), by(v),
		display.Instant(v.At, shell.Now()))
}

// beforeAndAfter is the record before and after a change, as far as that tells.
func (k *Kind[I, R, P]) beforeAndAfter(v *api.PropertyVersion) (before, after R) {
	_ = k.Decode(v.Before, &before) // null, and what cannot be read, has no fields
	_ = k.Decode(v.After, &after)
	return before, after
}

// summary is the first of the changed values: "250.50 → 275.00".
func (k *Kind[I, R, P]) summary(v *api.PropertyVersion) string {
	before, after := k.beforeAndAfter(v)
	for _, name := range v.Changed {
		if f := k.field(name); !f.IsMultiline() {
			return Displayed(f, k.Text(name, before)) + " → " + Displayed(f, k.Text(name, after))
		}
	}
	if len(v.Changed) == 0 {
		return cmp.Or(k.Title(after), k.Title(before))
	}
	return ""
}

// show shows a change with all its differences.
func (h *History[I, R, P]) show(v *api.PropertyVersion) tea.Cmd {
	h.change, h.unfolded, h.scroll = &change{PropertyVersion: *v, drawn: map[drawing][]Line{}}, false, Scroll{}
	k := h.of.Kind
	before, after := k.beforeAndAfter(v)
	for _, name := range k.Changes(before, after).Fields() {
		f := k.field(name)
		shown := fieldDiff{title: f.Label, diff: diff(f, k.Text(name, before), k.Text(name, after))}
		switch {
		case len(v.Changed) > 0:
		case v.Action == api.VersionDeleted:
			shown.diff = onlyMarked(shown.diff, display.Removed)
		default:
			shown.diff = onlyMarked(shown.diff, display.Added)
		}
		h.change.diffs = append(h.change.diffs, shown)
	}
	return nil
}

func (h *History[I, R, P]) Title() string { return "History of " + h.of.name() }

func (h *History[I, R, P]) Resize(width, height int) {
	h.width, h.height = width, height
	h.List.Resize(width, height)
}

func (h *History[I, R, P]) Update(msg tea.Msg) tea.Cmd {
	if mouse, is := msg.(screen.Mouse); is && h.change != nil {
		if mouse.Wheel != "" {
			return screen.ScrollWheel(h.scroll.Scrolled, mouse.Wheel)
		}
		return nil
	}
	return h.List.Update(msg)
}

// Selected is the record, for commands of the user's own.
func (h *History[I, R, P]) Selected() (of, id string) { return h.of.Kind.Name, string(h.of.ID) }

func (h *History[I, R, P]) HasRows() bool { return h.change == nil }

func (h *History[I, R, P]) Offers() []actions.Offer {
	if h.change == nil {
		var own []actions.Offer
		if !screen.IsLacking(h.Failure()) {
			restore := func() tea.Cmd { return h.restore(h.Current()) }
			own = append(own, actions.Offer{ID: actions.Restore, Why: h.WhyNoRow(), Do: restore})
		}
		isCopy := func(o actions.Offer) bool { return o.ID == actions.CopyID }
		return slices.DeleteFunc(h.List.Offers(h.of.Offer(own...)...), isCopy)
	}
	offers := h.of.Offer(actions.Offer{ID: actions.Restore, Do: func() tea.Cmd {
		return h.restore(&h.change.PropertyVersion)
	}}, actions.Offer{ID: actions.Back, Do: func() tea.Cmd {
		h.change = nil
		return nil
	}})
	if word := foldWord(h.unfolded); !slices.Equal(h.lines(true), h.lines(false)) {
		offers = append(offers, actions.Offer{ID: actions.Open, Hint: word, Do: func() tea.Cmd {
			h.unfolded = !h.unfolded
			return nil
		}})
	}
	return append(offers, h.scroll.Moves(h.scroll.Scrolled)...)
}

// foldWord is what the footer calls folding long texts, or showing them whole.
func foldWord(unfolded bool) string {
	if unfolded {
		return "fold"
	}
	return "show all"
}

// restore lets the screen of the record restore the version that a change has left.
func (h *History[I, R, P]) restore(v *api.PropertyVersion) tea.Cmd {
	chosen := versionChosen{h.of, *v}
	h.shell.Post(screen.Back{From: h})
	return screen.Send(chosen)
}

// versionChosen says which version of a record is to be restored.
type versionChosen struct {
	of      any // a pointer to its Editor
	version api.PropertyVersion
}

// inner returns the size of a change, and how far it is from the border.
func (h *History[I, R, P]) inner() (width, height, margin int) {
	width, height = widget.Inner(h.width, h.height)
	if margin = widget.Corner(h.width, h.height); width <= 2*margin {
		margin = 0
	}
	return max(1, width-2*margin), height, margin
}

func (h *History[I, R, P]) lines(unfolded bool) []Line {
	width, _, _ := h.inner()
	d := drawing{h.shell.Theme, width, unfolded}
	if _, known := h.change.drawn[d]; !known {
		h.change.drawn[d], _, _ = drawDiffs(h.change.diffs, d)
	}
	if unfolded {
		return h.change.drawn[d]
	}
	return fold(h.change.drawn[d], d.width, h.shell.Key(actions.Open))
}

func (h *History[I, R, P]) View() string {
	if h.change == nil {
		return h.List.View()
	}
	width, height, margin := h.inner()
	lines := append(introLines(width, nil, []string{said(h.shell, &h.change.PropertyVersion)}), h.lines(h.unfolded)...)
	h.scroll.Layout(lines, width, height)
	panel := widget.Panel{Title: h.Title(), Focused: true, Bar: h.scroll.Bar()}
	inside := widget.Indented(h.scroll.Draw(h.shell.Theme, lines, width, height), margin)
	return panel.View(h.shell.Theme, inside, h.width, h.height)
}

func (h *History[I, R, P]) AccessibleText() string {
	if h.change == nil {
		return h.List.AccessibleText()
	}
	intro := said(h.shell, &h.change.PropertyVersion)
	return strings.Join(append([]string{intro}, linearDiffs(h.change.diffs)...), "\n")
}
