package record

import (
	"context"
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/api/operation"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// Editor is the part of a record's screen that reads the record and edits it. The screen itself shows the record while
// Page is Viewing, and offers there what it wants of the Editor.
type Editor[I ~string, R any, P operation.Patch[R, P]] struct {
	Shell         *screen.Shell
	Width, Height int
	Kind          *Kind[I, R, P]
	ID            I
	Screen        screen.Screen      // that it is a part of
	LeftForm      func(field string) // is called when a form is closed, with the field that had the keyboard

	Record *screen.Loader[client.Version[R]]
	Notes  []string // messages above the record or its edit
	Scroll Scroll
	Reveal bool // scroll to the cursor or the current conflict

	remembered bool
	awaited    bool // the record is read because somebody else has changed it
	formTop    int  // the line on which the form begins

	edit     *edit[I, R, P] // nil while the record is only read
	refused  bool           // something in the form was not valid when it was submitted
	seen     bool           // the review was scrolled to its end
	unfolded bool           // long texts of the review are shown whole

	undo    *operation.Edit[I, R, P] // the last edit that was saved; nil if none was
	drafts  *drafts
	removal *operation.Edit[I, R, P]                  // a deletion that was confirmed; nil if none was, or it is done
	told    string                                    // that the record was deleted here, until that is said
	sender  *screen.Sender[operation.Saving[I, R, P]] // sends the edit or the removal

	deleted  *screen.Loader[api.PropertyVersion] // who has deleted a record that is gone
	prepared *screen.Loader[prepared[I, R, P]]   // an edit made of the history
}

// NewEditor makes the part of a screen. It reads nothing before Load.
func NewEditor[I ~string, R any, P operation.Patch[R, P]](
	shell *screen.Shell, kind *Kind[I, R, P], id I, of screen.Screen, leftForm func(field string),
) *Editor[I, R, P] {
	s := &Editor[I, R, P]{
		Shell: shell, Kind: kind, Screen: of, LeftForm: leftForm,
		Record:   screen.NewLoader[client.Version[R]](shell),
		sender:   screen.NewSender[operation.Saving[I, R, P]](shell),
		deleted:  screen.NewLoader[api.PropertyVersion](shell),
		prepared: screen.NewLoader[prepared[I, R, P]](shell),
	}
	s.Choose(id)
	return s
}

// Choose says which record it is, before Load.
func (s *Editor[I, R, P]) Choose(id I) {
	s.ID, s.drafts = id, newDrafts(s.Shell, s.Kind.Name, string(id))
}

// Page is what a screen shows of a record.
type Page int

// The pages. All but the first are shown by the Editor.
const (
	Viewing   Page = iota // the record
	editing               // the form
	reviewing             // what saving would change
	merging               // what both sides have changed
)

// Page returns what is shown.
func (s *Editor[I, R, P]) Page() Page {
	switch {
	case s.edit == nil:
		return Viewing
	case s.edit.State().HasForm():
		return editing
	case s.edit.State().IsMerge():
		return merging
	}
	return reviewing
}

// Title names an edit; "" without one.
func (s *Editor[I, R, P]) Title() string {
	switch {
	case s.edit == nil:
		return ""
	case s.edit.words().do == "undo":
		return "Undo in " + s.name()
	case s.edit.words().do == "restore":
		return "Restore " + s.name()
	}
	return "Edit " + s.name()
}

// Load reads the record, and already its draft, so that an edit can open at once.
func (s *Editor[I, R, P]) Load() tea.Cmd {
	id, kind, d, memory, profile := s.ID, s.Kind, s.drafts, s.Shell.Memory, s.Shell.Account.Profile
	return tea.Batch(
		s.Record.Load(func(ctx context.Context, c *client.Client) (client.Version[R], error) {
			return kind.Read(ctx, c, id)
		}),
		func() tea.Msg { return draftLoaded{d, memory.Draft(profile, d.name)} },
	)
}

// Selected is the record, for commands of the user's own.
func (s *Editor[I, R, P]) Selected() (kind, id string) { return s.Kind.Name, string(s.ID) }

// IsRead tells whether the record is shown, and not a change of it.
func (s *Editor[I, R, P]) IsRead() bool { return s.Page() == Viewing }

// Resize keeps the current conflict in sight.
func (s *Editor[I, R, P]) Resize(width, height int) {
	if width, height = max(1, width), max(1, height); s.Width == width && s.Height == height {
		return
	}
	s.Width, s.Height = width, height
	if s.Page() == merging {
		s.Scroll = Scroll{}
		s.Reveal = true
	}
}

func (s *Editor[I, R, P]) Form() *widget.Form {
	if s.Page() == editing {
		return s.edit.form
	}
	return nil
}

func (s *Editor[I, R, P]) Close() {
	s.Record.Cancel()
	s.deleted.Cancel()
	s.prepared.Cancel()
}

func (s *Editor[I, R, P]) Unsaved() string {
	name := display.Capital(s.name())
	switch {
	case s.isDeleting():
		return name + " is being deleted. You would not see the outcome."
	case s.edit == nil:
		return ""
	case s.edit.State() == operation.Sending:
		return name + " is being saved. You would not see the outcome."
	case s.edit.State().IsInDoubt():
		return "It is unknown whether " + s.name() + " was saved."
	}
	if typed := s.edit.Typed(); len(typed) > 0 {
		return fmt.Sprintf("The changes to %s are not saved: %s.", s.name(), s.Kind.Labels(typed))
	}
	return ""
}

func (s *Editor[I, R, P]) isDeleting() bool {
	return s.removal != nil && s.removal.State() == operation.Sending
}

// IsInDoubt tells whether it is unknown what became of the edit or the deletion.
func (s *Editor[I, R, P]) IsInDoubt() bool {
	return s.edit != nil && s.edit.State().IsInDoubt() || s.removal != nil && s.removal.State().IsInDoubt()
}

// turn shows another page.
func (s *Editor[I, R, P]) turn() {
	s.Scroll, s.seen, s.unfolded, s.refused = Scroll{}, false, false, false
	s.Reveal = true
	if s.edit != nil {
		s.edit.drawn = nil
	}
}

func (s *Editor[I, R, P]) note(format string, args ...any) {
	s.Notes = append(s.Notes, fmt.Sprintf(format, args...))
}

func (s *Editor[I, R, P]) SaveDraft() tea.Cmd {
	if s.drafts.dirty {
		return s.saveDraft()
	}
	return s.drafts.last
}

// saveDraft saves the text of the form, or deletes the draft if the text is as it was at first.
func (s *Editor[I, R, P]) saveDraft() tea.Cmd {
	if s.edit == nil || s.edit.form == nil {
		return nil
	}
	return s.drafts.save(s.edit.profile, s.edit.Draft(s.Shell.Now()))
}

// ShownID is the id as it can be shown: a service may have any text.
func (s *Editor[I, R, P]) ShownID() string { return display.Line(string(s.ID)) }

// name names the record in a sentence: "property 42".
func (s *Editor[I, R, P]) name() string { return s.Kind.Name + " " + s.ShownID() }

// Placeholder is shown instead of the record; the title is empty if the record can be shown.
func (s *Editor[I, R, P]) Placeholder() (kind widget.NoticeKind, title, advice string) {
	switch name := display.Capital(s.name()); {
	case s.Deletion() != nil && s.prepared.Busy():
		return widget.Loading, beingRead, ""
	case s.Deletion() != nil:
		if title, advice = s.deletedNotice(s.Deletion()); len(s.Notes) > 0 {
			return widget.Failure, strings.Join(s.Notes, " "), title + " " + advice
		}
		return widget.Empty, title, advice
	case s.Record.Has:
		return 0, "", ""
	case s.Record.Err != nil:
		what, next := s.Explain(s.Record.Err)
		what = widget.Joined(" ", what, s.whyUnknown())
		return widget.Failure, name + " was not loaded. " + what, next
	}
	return widget.Loading, "Loading " + s.name() + " ...", ""
}

// Banner is the messages above the record: the notes, and that it is old.
func (s *Editor[I, R, P]) Banner() []string {
	notes := slices.Clone(s.Notes)
	if s.isDeleting() {
		notes = append(notes, display.Capital(s.name())+" is being deleted ...")
	}
	if s.prepared.Busy() {
		notes = append(notes, beingRead)
	}
	if err := s.Record.Err; err != nil {
		what, next := s.Explain(err)
		notes = append(notes, what+" "+s.Shell.Age(s.Record.At)+" "+next)
	}
	return notes
}

// AccessibleText is that of a page other than Viewing.
func (s *Editor[I, R, P]) AccessibleText() string {
	lines := LinearNotes(s.Notes)
	switch s.Page() {
	case editing:
		if text := s.fixFirst(); text != "" {
			lines = append(lines, LinearNotes([]string{text})...)
		}
		lines = append(lines, s.edit.form.AccessibleText())
	case reviewing:
		s.seen = true // people who listen hear all of it
		lines = append(append(lines, s.reviewIntro()...), linearDiffs(s.edit.reviewDiffs())...)
	case merging:
		lines = append(append(append(lines, s.mergeIntro()...), s.mergeStatus()), linearDiffs(s.edit.mergeDiffs())...)
	}
	return strings.Join(lines, "\n")
}

// LinearNotes are messages as lines for screen readers.
func LinearNotes(notes []string) (lines []string) {
	for _, note := range notes {
		lines = append(lines, "Note: "+display.Line(note))
	}
	return lines
}
