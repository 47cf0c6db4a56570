package record

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/api/operation"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
)

// ConfirmDelete asks about the version that is shown. meanwhile says what somebody else has changed since it asked
// before; "" at first.
func (s *Editor[I, R, P]) ConfirmDelete(meanwhile string) tea.Cmd {
	seen := s.Record.Value
	text := fmt.Sprintf("%s\n%s at %s\n\nIt goes offline now. %s", strings.Join(s.Kind.Summary(seen.Record)[:2], "\n"),
		display.Capital(s.name()), s.Shell.Account.Profile.APIURL, whoRestores)
	if meanwhile != "" {
		text = meanwhile + "\n\n" + text
	}
	if seen.ETag == "" {
		text += "\n\n" + noETagWarning
	}
	return s.Shell.Post(screen.Confirm{
		Title: fmt.Sprintf("Delete %s?", s.name()),
		Text:  text,
		Yes:   "delete it",
		Words: []string{string(s.Kind.IDOf(seen.Record)), "delete"},
		Then: func() tea.Cmd {
			s.Notes = nil
			s.removal = s.Kind.NewDeletion(s.ID, seen)
			return s.send(s.removal)
		},
	})
}

const whoRestores = "Where the service keeps no history, only an operator can restore it."

// noETagWarning is shown if the service has no ETags.
const noETagWarning = "This service has no ETags: changes that somebody else makes at the same moment can be lost."

func (s *Editor[I, R, P]) handleDelete(sent screen.Sent[operation.Saving[I, R, P]]) tea.Cmd {
	done, err := sent.Value, sent.Err
	done.Err = err
	switch s.removal.Sent(done) {
	case operation.FoundSaved:
		return s.finishDelete(done.Lost || err != nil)
	case operation.FoundSame:
		before := s.Record.Value.Record
		s.setRecord(done.Current)
		changed := s.Kind.changesBetween(before, done.Current.Record)
		return s.ConfirmDelete("Not deleted: somebody else changed it. " + changed)
	case operation.FoundDoubt:
		s.note("Unknown outcome: %s may be deleted. %s checks.", s.name(), s.Shell.Key(actions.CheckAgain))
		return nil
	}
	if client.OutcomeUnknown(err) {
		s.setRecord(done.Current)
		s.note("Unknown outcome: %s is not deleted yet. It may still be.", s.name())
		return nil
	}
	what, next := s.Explain(err)
	s.note("%s was not deleted. %s", display.Capital(s.name()), what)
	s.note("%s", next)
	return nil
}

// changesBetween names the fields in which two versions differ, with short values.
func (k *Kind[I, R, P]) changesBetween(before, now R) string {
	var changes []string
	for _, name := range k.Changes(before, now).Fields() {
		f := k.field(name)
		change := lowerLabel(f)
		if !f.IsMultiline() {
			change += fmt.Sprintf(" from %s to %s", Displayed(f, k.Text(name, before)), Displayed(f, k.Text(name, now)))
		}
		changes = append(changes, change)
	}
	if changes == nil {
		return "No visible field differs."
	}
	return "Changed: " + strings.Join(changes, "; ") + "."
}

func (s *Editor[I, R, P]) finishDelete(quiet bool) tea.Cmd {
	s.Notes = nil
	what := fmt.Sprintf("Deleted %s, %s.", s.name(), s.Kind.Title(s.Record.Value.Record))
	if quiet {
		what = display.Capital(s.name()) + " is gone."
	}
	s.told, s.removal, s.undo = what, nil, nil
	s.Record.Reset() // it is read again, to offer what can be done with a deleted property
	return s.Load()
}

// Leave closes the screen, as soon as it is on top.
func (s *Editor[I, R, P]) Leave() tea.Cmd { return s.Shell.Post(screen.Back{From: s.Screen}) }
