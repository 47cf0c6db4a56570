// Package property has the screen that shows, edits, deletes and restores a property, and that of its history.
package property

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/api/operation"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// Screen is the screen.
type Screen struct {
	shell         *screen.Shell
	width, height int

	id         api.PropertyID // "" until one is chosen
	remembered bool
	record     *screen.Loader[operation.PropertyVersion]
	notes      []string // messages above the property or its edit
	scroll     scroll

	cursor  int   // the field of the page that the keyboard is at
	ends    []int // behind the last line of each fact of the page, as drawn last
	formTop int   // the line on which the form begins
	reveal  bool  // scroll to the cursor or the current conflict

	edit     *edit // nil while the property is only read
	refused  bool  // something in the form was not valid when it was submitted
	seen     bool  // the review was scrolled to its end
	unfolded bool  // long texts of the review are shown whole

	undo    *operation.PropertyEdit // the last edit that was saved; nil if none was
	drafts  *drafts
	removal *operation.PropertyEdit                  // a deletion that was confirmed; nil if none was, or it is done
	told    string                                   // that the property was deleted here, until that is said
	sender  *screen.Sender[operation.PropertySaving] // sends the edit or the removal

	deleted  *screen.Loader[api.PropertyVersion] // who has deleted a property that is gone
	prepared *screen.Loader[prepared]            // an edit made of the history
}

// page is what the screen shows of a property.
type page int

const (
	viewing   page = iota // the property
	editing               // the form
	reviewing             // what saving would change
	merging               // what both sides have changed
)

func (s *Screen) page() page {
	switch {
	case s.edit == nil:
		return viewing
	case s.edit.State().HasForm():
		return editing
	case s.edit.State().IsMerge():
		return merging
	}
	return reviewing
}

func New(shell *screen.Shell, route screen.ToProperty) *Screen {
	return &Screen{
		shell: shell, id: route.ID, drafts: newDrafts(shell, route.ID),
		record:   screen.NewLoader[operation.PropertyVersion](shell),
		sender:   screen.NewSender[operation.PropertySaving](shell),
		deleted:  screen.NewLoader[api.PropertyVersion](shell),
		prepared: screen.NewLoader[prepared](shell),
	}
}

func (s *Screen) Title() string {
	switch {
	case s.id == "":
		return "Property"
	case s.edit != nil && s.edit.Undoes:
		return fmt.Sprintf("Undo in property %s", s.shownID())
	case s.edit != nil && s.edit.Restores != nil:
		return fmt.Sprintf("Restore property %s", s.shownID())
	case s.edit != nil:
		return fmt.Sprintf("Edit property %s", s.shownID())
	case s.record.Has:
		return fmt.Sprintf("Property %s: %s", s.shownID(), display.Line(s.record.Value.Record.Title))
	}
	return fmt.Sprintf("Property %s", s.shownID())
}

func (s *Screen) Init() tea.Cmd {
	switch {
	case s.inSandbox():
		return nil
	case s.id == "":
		return s.shell.Recent(s, s.shell.Account.Profile, kind)
	}
	return s.load()
}

// load reads the property, and already its draft, so that an edit can open at once.
func (s *Screen) load() tea.Cmd {
	id, d, memory, profile := s.id, s.drafts, s.shell.Memory, s.shell.Account.Profile
	return tea.Batch(
		s.record.Load(func(ctx context.Context, c *client.Client) (operation.PropertyVersion, error) {
			return operation.Properties.Read(ctx, c, id)
		}),
		func() tea.Msg { return draftLoaded{d, memory.Draft(profile, d.name)} },
	)
}

// inSandbox tells whether the sandbox is used. It has no properties, and a change meant for it must not reach live
// data.
func (s *Screen) inSandbox() bool { return s.shell.Account.Profile.Sandbox }

// Resize keeps the current conflict in sight.
func (s *Screen) Resize(width, height int) {
	s.width, s.height = max(1, width), max(1, height)
	if s.page() == merging {
		s.scroll = scroll{}
		s.reveal = true
	}
}

func (s *Screen) Form() *widget.Form {
	if s.page() == editing {
		return s.edit.form
	}
	return nil
}

func (s *Screen) Close() {
	s.record.Cancel()
	s.deleted.Cancel()
	s.prepared.Cancel()
}

func (s *Screen) Unsaved() string {
	switch {
	case s.isDeleting():
		return fmt.Sprintf("Property %s is being deleted. You would not see the outcome.", s.shownID())
	case s.edit == nil:
		return ""
	case s.edit.State() == operation.Sending:
		return fmt.Sprintf("Property %s is being saved. You would not see the outcome.", s.shownID())
	case s.edit.State().IsInDoubt():
		return fmt.Sprintf("It is unknown whether property %s was saved.", s.shownID())
	}
	if typed := s.edit.Typed(); len(typed) > 0 {
		return fmt.Sprintf("The changes to property %s are not saved: %s.", s.shownID(), labels(typed))
	}
	return ""
}

func (s *Screen) isDeleting() bool { return s.removal != nil && s.removal.State() == operation.Sending }

// isInDoubt tells whether it is unknown what became of the edit or the deletion.
func (s *Screen) isInDoubt() bool {
	return s.edit != nil && s.edit.State().IsInDoubt() || s.removal != nil && s.removal.State().IsInDoubt()
}

// turn shows another page.
func (s *Screen) turn() {
	s.scroll, s.seen, s.unfolded, s.refused = scroll{}, false, false, false
	s.reveal = true
	if s.edit != nil {
		s.edit.drawn = nil
	}
}

func (s *Screen) note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

func (s *Screen) SaveDraft() tea.Cmd {
	if s.drafts.dirty {
		return s.saveDraft()
	}
	return s.drafts.last
}

// saveDraft saves the text of the form, or deletes the draft if the text is as it was at first.
func (s *Screen) saveDraft() tea.Cmd {
	if s.edit == nil || s.edit.form == nil {
		return nil
	}
	return s.drafts.save(s.edit.profile, s.edit.Draft(s.shell.Now()))
}

func (s *Screen) viewProperty() string {
	if kind, title, advice := s.placeholder(); title != "" {
		return widget.Notice(s.shell.Theme, kind, title, advice, s.width, s.height)
	}
	lines := introLines(s.width, s.banner(), nil)
	lines = append(lines, s.drawFacts(s.width, len(lines))...)
	s.scroll.layout(lines, s.width, s.height)
	if s.reveal {
		s.reveal = false
		first, end := s.linesAt(s.cursor)
		s.scroll.Reveal(end - 1)
		s.scroll.Reveal(first)
	}
	return s.scroll.draw(s.shell.Theme, lines, s.width, s.height)
}

// drawFacts draws the property with a mark at the cursor, below that many lines.
func (s *Screen) drawFacts(width, above int) (lines []line) {
	pairs, widest, gutter := facts(s.record.Value.Record), 0, len(fitMark("> ", width))
	for _, p := range pairs {
		widest = max(widest, display.Width(p.Label))
	}
	s.ends = s.ends[:0]
	for i, p := range pairs {
		look, mark := *s.shell.Theme, display.Pad("", gutter)
		if i == s.cursor {
			look.Heading, mark = look.Accent, look.Accent.Render(fitMark("> ", width))
		}
		p.Label = display.Pad(p.Label, widest)
		for _, text := range widget.Pairs(&look, width-gutter, []widget.Pair{p}) {
			lines = append(lines, line{role: asText, text: mark + text, drawn: true})
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
	above, below := s.scroll.More()
	switch {
	case id == actions.Down && below > 0 && end > above+s.scroll.visible, id == actions.Up && above > first:
		return s.scroll.Scrolled(id)
	case id == actions.Down:
		s.cursor++
	case id == actions.Up:
		s.cursor--
	case id == actions.Top:
		s.cursor = 0
	case id == actions.Bottom:
		s.cursor = len(pageFields()) - 1
	default:
		s.scroll.Do(id)
		s.cursor = s.fieldAt(s.cursor)
		return nil
	}
	s.cursor, s.reveal = max(0, min(s.cursor, len(pageFields())-1)), true
	return nil
}

// fieldAt returns the field nearest to one that is visible.
func (s *Screen) fieldAt(row int) int {
	above, _ := s.scroll.More()
	for row < len(pageFields())-1 && row < len(s.ends) && s.ends[row] <= above {
		row++
	}
	for first, _ := s.linesAt(row); row > 0 && first >= above+s.scroll.visible; first, _ = s.linesAt(row) {
		row--
	}
	return row
}

// pageFields are the fields with a row of their own: a position has one.
var pageFields = sync.OnceValue(func() []field {
	return slices.DeleteFunc(slices.Clone(fields()), func(f field) bool { return f.Name == "lng" })
})

// cursorOn moves the cursor to a field.
func (s *Screen) cursorOn(name string) {
	if name == "lng" {
		name = "lat"
	}
	s.cursor = max(0, slices.IndexFunc(pageFields(), func(f field) bool { return f.Name == name }))
	s.reveal = true
}

// placeholder is shown instead of the property; the title is empty if the property can be shown.
func (s *Screen) placeholder() (kind widget.NoticeKind, title, advice string) {
	switch {
	case s.inSandbox():
		return widget.Failure, noneInSandbox, goLive(s.shell)
	case s.id == "":
		return widget.Empty, "No property is open.", s.shell.Key(actions.Open) + " chooses one."
	case s.deletion() != nil && s.prepared.Busy():
		return widget.Loading, beingRead, ""
	case s.deletion() != nil:
		if title, advice = s.deletedNotice(s.deletion()); len(s.notes) > 0 {
			return widget.Failure, strings.Join(s.notes, " "), title + " " + advice
		}
		return widget.Empty, title, advice
	case s.record.Has:
		return 0, "", ""
	case s.record.Err != nil:
		what, next := s.explain(s.record.Err)
		what = widget.Joined(" ", what, s.whyUnknown())
		return widget.Failure, fmt.Sprintf("Property %s was not loaded. %s", s.shownID(), what), next
	}
	return widget.Loading, fmt.Sprintf("Loading property %s ...", s.shownID()), ""
}

// banner is the messages above the property: the notes, and that it is old.
func (s *Screen) banner() []string {
	notes := slices.Clone(s.notes)
	if s.isDeleting() {
		notes = append(notes, fmt.Sprintf("Property %s is being deleted ...", s.shownID()))
	}
	if s.prepared.Busy() {
		notes = append(notes, beingRead)
	}
	if err := s.record.Err; err != nil {
		what, next := s.explain(err)
		notes = append(notes, what+" "+s.shell.Age(s.record.At)+" "+next)
	}
	return notes
}

func facts(p api.Property) []widget.Pair {
	var pairs []widget.Pair
	for _, f := range fields() {
		pair := widget.Pair{Label: f.Label, Value: f.value(p)}
		switch {
		case f.Name == "lat":
			lng := fieldNamed("lng")
			pair = widget.Pair{Label: "Position", Value: "latitude " + pair.Value + ", longitude " + lng.value(p)}
			if f.text(p)+lng.text(p) == "" {
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

func (s *Screen) AccessibleText() string {
	var lines []string
	kind, title, advice := s.placeholder()
	switch {
	case s.page() == editing:
		notes := slices.Clone(s.notes)
		if text := s.fixFirst(); text != "" {
			notes = append(notes, text)
		}
		lines = append(linearNotes(notes), s.edit.form.AccessibleText())
	case s.page() == reviewing:
		s.seen = true // people who listen hear all of it
		lines = slices.Concat(linearNotes(s.notes), s.reviewIntro(), linearDiffs(s.edit.reviewDiffs()))
	case s.page() == merging:
		lines = slices.Concat(linearNotes(s.notes), s.mergeIntro(), []string{s.mergeStatus()},
			linearDiffs(s.edit.mergeDiffs()))
	case title != "":
		return widget.AccessibleNotice(kind, title, advice)
	default:
		lines = append(linearNotes(s.banner()), widget.AccessiblePairs(facts(s.record.Value.Record))...)
	}
	return strings.Join(lines, "\n")
}

func linearNotes(notes []string) (lines []string) {
	for _, note := range notes {
		lines = append(lines, "Note: "+display.Line(note))
	}
	return lines
}

// kind is the kind of the ids that are remembered.
const kind = "property"

// pickProperty asks which property to open: one of those that were opened last, or another.
func (s *Screen) pickProperty(recent []string) tea.Cmd {
	return s.shell.PickID("Which property?", recent, "Another property ...", screen.Prompt{
		Title: "Open a property",
		Field: widget.Field{Name: "propertyId", Label: "Property id", Hint: "such as 42",
			Check: func(text string) string { return api.AnyIDRule(strings.TrimSpace(text)) }},
		Then: func(text string) tea.Cmd {
			if s.id != "" {
				return nil
			}
			s.id = api.PropertyID(strings.TrimSpace(text))
			s.drafts = newDrafts(s.shell, s.id)
			return s.load()
		},
		OnCancel: s.close,
	})
}

// shownID is the id as it can be shown: a service may have any text.
func (s *Screen) shownID() string { return display.Line(string(s.id)) }
