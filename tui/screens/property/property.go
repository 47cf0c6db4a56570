// Package property has the list of listings, and the screen that shows, edits, deletes and restores one.
package property

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

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
	Rows: [][]string{{"title"}, {"address"}, {"city", "postcode"}, {"price_pw", "deposit", "bedrooms", "bathrooms"},
		{"lat", "lng"}, {"description", "images"}},
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

	page *widget.Form                 // the record to read, as its form has it; nil before it is drawn
	of   client.Version[api.Property] // what it shows
	past *past
}

func New(shell *screen.Shell, route screen.ToProperty) *Screen {
	s := &Screen{}
	s.Editor = record.NewEditor(shell, kind, route.ID, s, func(field string) { s.form().FocusOnName(field) })
	s.past = newPast(s)
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
		if s.Page() == record.Viewing {
			return s.mouse(msg)
		}
		return s.Editor.Update(msg)
	case screen.Edited, screen.FieldLeft, screen.Changed: // of the record
		return s.Editor.Update(msg)
	}
	had, before := s.Record.Has, s.Record.Value
	cmd := tea.Batch(s.past.update(msg), s.Editor.Update(msg))
	if s.Record.Has && !kind.IsSame(before, s.Record.Value) {
		cmd = tea.Batch(cmd, s.past.read())
		if had {
			cmd = tea.Batch(cmd, screen.Send(changedHere{}))
		}
	}
	return cmd
}

// changedHere tells the list that a property is not as it was.
type changedHere struct{}

// IsBeside is true: whoever works through properties sees where they are in the list.
func (s *Screen) IsBeside() bool { return true }

// mouse moves to the field that is clicked. A click on the field that has the keyboard edits it.
func (s *Screen) mouse(msg screen.Mouse) tea.Cmd {
	hadKeys := !s.past.hasKeys
	if cmd, mine := s.past.mouse(msg); mine {
		return cmd
	}
	form := s.form()
	before := form.Focus()
	switch {
	case msg.Wheel != "":
		form.Scroll(msg.Wheel)
	case s.FocusAt(form, msg) && hadKeys && form.Focus() == before && s.WhyNoEdit() == "":
		edit := s.StartEdit(before)
		if editing := s.Form(); editing != nil {
			editing.FocusOnName(before) // a click selects nothing
		}
		return edit
	}
	return nil
}

// form returns the record to read, with the fields where the form to edit it has them.
func (s *Screen) form() *widget.Form {
	if s.page != nil && kind.IsSame(s.of, s.Record.Value) {
		return s.page
	}
	s.of = s.Record.Value
	form := kind.ToRead(s.Shell.Theme, func(f api.Field) string { return valueOf(f, s.of.Record) })
	if s.page != nil {
		form.FocusOnName(s.page.Focus())
	}
	s.page = form
	return form
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
	if s.past.hasKeys {
		return append(s.past.Offers(), s.past.tab())
	}
	why, noEdit := s.WhyNoChange(), s.WhyNoEdit()
	noImage := actions.WhyIf(len(s.Record.Value.Record.Images) == 0, "It has no images.")
	noOpen := cmp.Or(noEdit, s.WhyNotAllowed(actions.Edit)) // elsewhere Open changes nothing
	form := s.form()
	edit := func() tea.Cmd { return s.StartEdit(form.Focus()) }
	scroll := func(id actions.ID) tea.Cmd { form.Scroll(id); return nil }
	return slices.Concat([]actions.Offer{s.past.tab()}, s.CheckOffers(), s.Offer([]actions.Offer{
		{ID: actions.Open, Why: noOpen, Hint: "edit", Do: edit},
		{ID: actions.Edit, Why: noEdit, Do: edit},
		{ID: actions.History, Why: why, Do: s.OpenHistory},
		{ID: actions.Undo, Why: cmp.Or(why, s.WhyNoUndo()), Do: s.StartUndo},
		{ID: actions.Delete, Why: why, Do: func() tea.Cmd { return s.ConfirmDelete("") }},
		{ID: actions.EditField, Why: noEdit, Hint: "field", Do: func() tea.Cmd { return s.PickField(form.Focus()) }},
		{ID: actions.OpenImage, Why: noImage, Do: s.openImage},
		{ID: actions.CopyID, Do: s.CopyID},
	}...), widget.Moves(scroll))
}

func (s *Screen) View() string {
	form := s.Form()
	if form == nil && s.Page() != record.Viewing {
		return s.Editor.View()
	}
	if form == nil {
		if kind, title, advice := s.placeholder(); title != "" {
			return widget.Notice(s.Shell.Theme, kind, title, advice, s.Width, s.Height)
		}
		form = s.form()
	}
	const around = 2 // the status, and a line between
	left := s.past.layOut(s.Width, s.Height, form.Lines(s.Width, s.Height-leastPast-around)+around)
	var parts []string
	if left > 0 {
		parts = append(parts, s.ViewForm(form, left))
	}
	if left < s.Height {
		parts = append(parts, s.past.View())
	}
	return strings.Join(parts, "\n")
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

// valueOf is the value of a field as it is shown, with a remark if it can't be read.
func valueOf(f api.Field, p api.Property) string {
	value := record.Displayed(f, operation.Properties.Text(f.Name, p))
	if f.IsMultiline() {
		value = strings.TrimRight(value, "\n")
	}
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
	if s.past.hasKeys {
		return s.past.AccessibleText()
	}
	lines := record.LinearNotes(s.Banner())
	return strings.Join(append(lines, s.form().AccessibleText(), "Property id: "+s.ShownID()), "\n")
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
