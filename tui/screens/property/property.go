// Package property has the list of listings, and the screen that shows, edits, deletes and restores one.
package property

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/api/operation"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/record"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// kind is what screens know of listings.
var kind = &record.Kind[api.PropertyID, api.Property, api.PropertyPatch]{
	EditKind: operation.Properties, Many: "properties", List: actions.Property, Tab: screen.PropertiesTab,
	Scope: api.ScopePropertiesWrite,
	Route: func(id api.PropertyID) screen.Route { return screen.ToProperty{ID: id} },
	Title: func(p api.Property) string { return display.Line(p.Title) },
	Summary: func(p api.Property) []string {
		return []string{display.Line(p.Title), address(p), priceOf(p)}
	},
	Needs: "A title and a price are needed.",
	CheckNew: func(members []api.Member) error {
		_, err := api.ParseNewProperty(members)
		return err
	},
	Remember: func(shell *screen.Shell, id api.PropertyID, _ api.Property) tea.Cmd {
		return shell.Remember(shell.Account.Profile, operation.Properties.Name, string(id))
	},
	IsAbout: func(e api.Event, id api.PropertyID) bool { return e.Property != nil && e.Property.PropertyID() == id },
	InEvent: func(e api.Event) *api.Property { return e.Property },

	WhyNot: whyNotOwn,
}

// whyNotOwn says that a listing is another client's. Its history is for its owner alone, if the client may read it.
func whyNotOwn(ctx context.Context, c *client.Client, id api.PropertyID) (string, error) {
	if c.Lacks(api.ScopePropertiesRead) {
		return "", nil
	}
	_, err := c.PropertyHistory(ctx, id, client.ListOptions{PerPage: 1})
	refused, is := errors.AsType[*client.Error](err)
	switch {
	case is && refused.Status == http.StatusForbidden && refused.Code != api.CodeInsufficientScope:
		return "It belongs to another client.", nil
	case err != nil && (!is || screen.MeetsAll(err) && !screen.IsLacking(err)):
		return "", err
	}
	return "", nil
}

// Screen is the screen.
type Screen struct {
	*record.Editor[api.PropertyID, api.Property, api.PropertyPatch] // without an id until one is chosen

	cursor int   // the field of the page that the keyboard is at
	ends   []int // behind the last line of each fact of the page, as drawn last
}

func New(shell *screen.Shell, route screen.ToProperty) *Screen {
	s := &Screen{}
	s.Editor = record.NewEditor(shell, kind, route.ID, s, s.cursorOn)
	return s
}

func (s *Screen) Title() string {
	switch edit := s.Editor.Title(); {
	case s.ID == "":
		return "Property"
	case edit != "":
		return edit
	case s.Record.Has:
		return "Property " + s.ShownID() + ": " + display.Line(s.Record.Value.Record.Title)
	}
	return "Property " + s.ShownID()
}

func (s *Screen) Init() tea.Cmd {
	switch {
	case s.inSandbox():
		return nil
	case s.ID == "":
		return s.Shell.Recent(s, s.Shell.Account.Profile, kind.Name)
	}
	return s.Load()
}

// inSandbox tells whether the sandbox is used. It has no properties, and a change meant for it must not reach live
// data.
func (s *Screen) inSandbox() bool { return s.Shell.Account.Profile.Sandbox }

func (s *Screen) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case screen.Reconnected:
		if s.inSandbox() {
			return nil
		}
	case screen.Recent:
		if msg.Of == s {
			return s.pickProperty(msg.IDs)
		}
		return nil
	case screen.Mouse:
		if s.Page() == record.Viewing && msg.Wheel == "" {
			return s.click(msg)
		}
	}
	return s.Editor.Update(msg)
}

// click moves to the field that is clicked. A click on the field under the cursor edits it.
func (s *Screen) click(msg screen.Mouse) tea.Cmd {
	above, _ := s.Scroll.More()
	row := slices.IndexFunc(s.ends, func(end int) bool { return end > above+msg.Y })
	switch {
	case row < 0 || row >= len(pageFields()):
	case row == s.cursor && s.WhyNoEdit() == "":
		return s.StartEdit(pageFields()[row].Name)
	default:
		s.cursor = row
	}
	return nil
}

func (s *Screen) Offers() []actions.Offer {
	switch {
	case s.Page() != record.Viewing:
		return s.Editor.Offers()
	case s.inSandbox():
		return nil
	case s.ID == "":
		return []actions.Offer{{ID: actions.Open, Do: func() tea.Cmd {
			return s.Shell.Recent(s, s.Shell.Account.Profile, kind.Name)
		}}}
	}
	if deletion := s.Deletion(); deletion != nil {
		return s.DeletedOffers(*deletion)
	}
	why, noEdit := s.WhyNoChange(), s.WhyNoEdit()
	noImage := actions.WhyIf(len(s.Record.Value.Record.Images) == 0, "It has no images.")
	noOpen := cmp.Or(noEdit, s.WhyNotAllowed(actions.Edit)) // elsewhere Open changes nothing
	edit := func() tea.Cmd { return s.StartEdit(pageFields()[s.cursor].Name) }
	return slices.Concat(s.CheckOffers(), s.Offer([]actions.Offer{
		{ID: actions.Open, Why: noOpen, Hint: "edit", Do: edit},
		{ID: actions.Edit, Why: noEdit, Do: edit},
		{ID: actions.History, Why: why, Do: s.OpenHistory},
		{ID: actions.Undo, Why: cmp.Or(why, s.WhyNoUndo()), Do: s.StartUndo},
		{ID: actions.Delete, Why: why, Do: func() tea.Cmd { return s.ConfirmDelete("") }},
		{ID: actions.EditField, Why: noEdit, Hint: "field", Do: func() tea.Cmd { return s.PickField(s.cursor) }},
		{ID: actions.OpenImage, Why: noImage, Do: s.openImage},
		{ID: actions.CopyID, Do: s.CopyID},
	}...), s.Scroll.Moves(s.move))
}

func (s *Screen) View() string {
	if s.Page() != record.Viewing {
		return s.Editor.View()
	}
	if kind, title, advice := s.placeholder(); title != "" {
		return widget.Notice(s.Shell.Theme, kind, title, advice, s.Width, s.Height)
	}
	lines := record.IntroLines(s.Width, s.Banner(), nil)
	lines = append(lines, s.drawFacts(s.Width, len(lines))...)
	s.Scroll.Layout(lines, s.Width, s.Height)
	if s.Reveal {
		s.Reveal = false
		first, end := s.linesAt(s.cursor)
		s.Scroll.Reveal(end - 1)
		s.Scroll.Reveal(first)
	}
	return s.Scroll.Draw(s.Shell.Theme, lines, s.Width, s.Height)
}

// drawFacts draws the property with a mark at the cursor, below that many lines.
func (s *Screen) drawFacts(width, above int) (lines []record.Line) {
	pairs, widest, gutter := facts(s.Record.Value.Record), 0, len(record.FitMark("> ", width))
	for _, p := range pairs {
		widest = max(widest, display.Width(p.Label))
	}
	s.ends = s.ends[:0]
	for i, p := range pairs {
		look, mark := *s.Shell.Theme, display.Pad("", gutter)
		if i == s.cursor {
			look.Heading, mark = look.Accent, look.Accent.Render(record.FitMark("> ", width))
		}
		p.Label = display.Pad(p.Label, widest)
		for _, text := range widget.Pairs(&look, width-gutter, []widget.Pair{p}) {
			lines = append(lines, record.Drawn(mark+text))
			mark = display.Pad("", gutter)
		}
		s.ends = append(s.ends, above+len(lines))
	}
	return lines
}

// linesAt returns the first line of a fact of the page, and the one behind its last. The first has what is above it,
// the last what is below.
func (s *Screen) linesAt(row int) (first, end int) {
	if row > 0 && row < len(s.ends) {
		first = s.ends[row-1]
	}
	if row == len(pageFields())-1 {
		row++ // the id, which is not a field
	}
	if row < len(s.ends) {
		end = s.ends[row]
	}
	return first, end
}

// move moves the cursor to another field, or scrolls in a field that is longer than the screen.
func (s *Screen) move(id actions.ID) tea.Cmd {
	first, end := s.linesAt(s.cursor)
	above, below := s.Scroll.More()
	switch {
	case id == actions.Down && below > 0 && end > above+s.Scroll.Visible, id == actions.Up && above > first:
		return s.Scroll.Scrolled(id)
	case id == actions.Down:
		s.cursor++
	case id == actions.Up:
		s.cursor--
	case id == actions.Top:
		s.cursor = 0
	case id == actions.Bottom:
		s.cursor = len(pageFields()) - 1
	default:
		s.Scroll.Do(id)
		s.cursor = s.fieldAt(s.cursor)
		return nil
	}
	s.cursor, s.Reveal = max(0, min(s.cursor, len(pageFields())-1)), true
	return nil
}

// fieldAt returns the field nearest to one that is visible.
func (s *Screen) fieldAt(row int) int {
	above, _ := s.Scroll.More()
	for row < len(pageFields())-1 && row < len(s.ends) && s.ends[row] <= above {
		row++
	}
	for first, _ := s.linesAt(row); row > 0 && first >= above+s.Scroll.Visible; first, _ = s.linesAt(row) {
		row--
	}
	return row
}

// pageFields are the fields with a row of their own: a position has one.
var pageFields = sync.OnceValue(func() []api.Field {
	return slices.DeleteFunc(slices.Clone(kind.Fields()), func(f api.Field) bool { return f.Name == "lng" })
})

// cursorOn moves the cursor to a field.
func (s *Screen) cursorOn(name string) {
	if name == "lng" {
		name = "lat"
	}
	s.cursor = max(0, slices.IndexFunc(pageFields(), func(f api.Field) bool { return f.Name == name }))
	s.Reveal = true
}

// placeholder is shown instead of the property; the title is empty if the property can be shown.
func (s *Screen) placeholder() (kind widget.NoticeKind, title, advice string) {
	switch {
	case s.inSandbox():
		return widget.Failure, noneInSandbox, goLive(s.Shell)
	case s.ID == "":
		return widget.Empty, "No property is open.", s.Shell.Key(actions.Open) + " chooses one."
	}
	return s.Placeholder()
}

func facts(p api.Property) []widget.Pair {
	var pairs []widget.Pair
	for _, f := range kind.Fields() {
		pair := widget.Pair{Label: f.Label, Value: valueOf(f, p)}
		switch {
		case f.Name == "lat":
			lng := fieldNamed("lng")
			pair = widget.Pair{Label: "Position", Value: "latitude " + pair.Value + ", longitude " + valueOf(lng, p)}
			if kind.Text("lat", p)+kind.Text("lng", p) == "" {
				pair.Value = "(none)"
			}
		case f.Name == "lng":
			continue
		case f.IsMultiline():
			pair.Value = strings.TrimRight(pair.Value, "\n")
		}
		pairs = append(pairs, pair)
	}
	return append(pairs, widget.Pair{Label: "Property id", Value: display.Line(string(p.PropertyID()))})
}

// valueOf is the value of a field as it is shown, with a remark if it can't be read.
func valueOf(f api.Field, p api.Property) string {
	value := record.Displayed(f, operation.Properties.Text(f.Name, p))
	if remark := p.Remarks()[f.Name]; remark != "" {
		value += " (" + remark + ")"
	}
	return value
}

func fieldNamed(name string) api.Field {
	f, _ := operation.Properties.Field(name)
	return f
}

func address(p api.Property) string {
	town := strings.TrimSpace(display.Line(p.City) + " " + display.Line(p.Postcode))
	street := display.Line(p.Address)
	switch {
	case street == "" && town == "":
		return "without an address"
	case street == "" || town == "":
		return street + town
	}
	return street + ", " + town
}

func (s *Screen) AccessibleText() string {
	if s.Page() != record.Viewing {
		return s.Editor.AccessibleText()
	}
	if kind, title, advice := s.placeholder(); title != "" {
		return widget.AccessibleNotice(kind, title, advice)
	}
	lines := record.LinearNotes(s.Banner())
	return strings.Join(append(lines, widget.AccessiblePairs(facts(s.Record.Value.Record))...), "\n")
}

// pickProperty asks which property to open: one of those that were opened last, or another.
func (s *Screen) pickProperty(recent []string) tea.Cmd {
	return s.Shell.PickID("Which property?", recent, "Another property ...", screen.Prompt{
		Title: "Open a property",
		Field: widget.Field{Name: "propertyId", Label: "Property id", Hint: "such as 42",
			Check: func(text string) string { return api.AnyIDRule(strings.TrimSpace(text)) }},
		Then: func(text string) tea.Cmd {
			if s.ID != "" {
				return nil
			}
			s.Choose(api.PropertyID(strings.TrimSpace(text)))
			return s.Load()
		},
		OnCancel: s.Leave,
	})
}

// openImage opens the image in a browser. It asks which one if there are several.
func (s *Screen) openImage() tea.Cmd {
	images := s.Record.Value.Record.Images
	if len(images) == 1 {
		return s.Shell.Browse(images[0])
	}
	options := make([]string, len(images))
	for i, address := range images {
		options[i] = display.Line(address)
	}
	return s.Shell.Post(screen.Pick{Title: "Which image?", Options: options, Then: func(index int) tea.Cmd {
		return s.Shell.Browse(images[index])
	}})
}
