package property

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/api/operation"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
)

// confirmDelete asks about the version that is shown. meanwhile says what somebody else has changed since it asked
// before; "" at first.
func (s *Screen) confirmDelete(meanwhile string) tea.Cmd {
	seen := s.record.Value
	p := seen.Record
	text := fmt.Sprintf("%s\n%s\nProperty %s at %s\n\nIt goes offline now. %s",
		display.Line(p.Title), address(p), s.shownID(), s.shell.Account.Profile.APIURL, whoRestores)
	if meanwhile != "" {
		text = meanwhile + "\n\n" + text
	}
	if seen.ETag == "" {
		text += "\n\n" + noETagWarning
	}
	return s.shell.Post(screen.Confirm{
		Title: fmt.Sprintf("Delete property %s?", s.shownID()),
		Text:  text,
		Yes:   "delete it",
		Words: []string{string(p.PropertyID()), "delete"},
		Then: func() tea.Cmd {
			s.notes = nil
			s.removal = operation.Properties.NewDeletion(s.id, seen)
			return s.send(s.removal)
		},
	})
}

const whoRestores = "Where the service keeps no history, only an operator can restore it."

// noETagWarning is shown if the service has no ETags.
const noETagWarning = "This service has no ETags: changes that somebody else makes at the same moment can be lost."

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

func (s *Screen) handleDelete(sent screen.Sent[operation.PropertySaving]) tea.Cmd {
	done, err := sent.Value, sent.Err
	done.Err = err
	switch s.removal.Sent(done) {
	case operation.FoundSaved:
		return s.finishDelete(done.Lost || err != nil)
	case operation.FoundSame:
		before := s.record.Value.Record
		s.setRecord(done.Current)
		return s.confirmDelete("Not deleted: somebody else changed it. " + changesBetween(before, done.Current.Record))
	case operation.FoundDoubt:
		s.note("Unknown outcome: property %s may be deleted. %s checks.", s.shownID(), s.shell.Key(actions.CheckAgain))
		return nil
	}
	if client.OutcomeUnknown(err) {
		s.setRecord(done.Current)
		s.note("Unknown outcome: property %s is not deleted yet. It may still be.", s.shownID())
		return nil
	}
	what, next := s.explain(err)
	s.note("Property %s was not deleted. %s", s.shownID(), what)
	s.note("%s", next)
	return nil
}

// changesBetween names the fields in which two versions differ, with short values.
func changesBetween(before, now api.Property) string {
	var changes []string
	for _, name := range api.PropertyChanges(before, now).Fields() {
		f := fieldNamed(name)
		change := f.lowerLabel()
		if !f.IsMultiline() {
			change += fmt.Sprintf(" from %s to %s", displayed(f, f.text(before)), displayed(f, f.text(now)))
		}
		changes = append(changes, change)
	}
	if changes == nil {
		return "No visible field differs."
	}
	return "Changed: " + strings.Join(changes, "; ") + "."
}

func (s *Screen) finishDelete(quiet bool) tea.Cmd {
	s.notes = nil
	what := fmt.Sprintf("Deleted property %s, %s.", s.shownID(), display.Line(s.record.Value.Record.Title))
	if quiet {
		what = fmt.Sprintf("Property %s is gone.", s.shownID())
	}
	s.told, s.removal, s.undo = what, nil, nil
	s.record.Reset() // it is read again, to offer what can be done with a deleted property
	return s.load()
}

// close closes the screen, as soon as it is on top.
func (s *Screen) close() tea.Cmd { return s.shell.Post(screen.Back{From: s}) }
