package property

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
)

// confirmDelete asks about the version that is shown. meanwhile says what somebody else has changed since it asked before; "" at first.
func (s *Screen) confirmDelete(meanwhile string) tea.Cmd {
	seen := s.record.Value
	p := seen.Property
	text := fmt.Sprintf("%s\n%s\nProperty %s at %s\n\nIt goes offline now. Only an operator can restore it.",
		display.Line(p.Title), address(p), s.shownID(), s.shell.Account.Profile.APIURL)
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
			e := client.EditingOf(s.id, seen, api.PropertyPatch{})
			e.Delete = true
			return s.sender.Send(sendChange(e))
		},
	})
}

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

func (s *Screen) handleDelete(sent screen.Sent[client.Editing]) tea.Cmd {
	done, err := sent.Value, sent.Err
	switch {
	case err == nil:
		return s.finishDelete(done.Lost)
	case client.IsNotFound(err) || client.IsVersionConflict(err) && done.IsApplied():
		return s.finishDelete(true)
	case client.IsVersionConflict(err) && done.HasCurrent:
		before := s.record.Value.Property
		s.setRecord(done.Current)
		return s.confirmDelete("Not deleted: somebody else changed it. " + changesBetween(before, done.Current.Property))
	case client.OutcomeUnknown(err) && done.HasCurrent:
		s.setRecord(done.Current)
		s.note("Unknown outcome: property %s is not deleted yet. It may still be.", s.shownID())
		return nil
	case client.OutcomeUnknown(err):
		s.unknown = true
		s.note("Unknown outcome: property %s may be deleted. %s checks.", s.shownID(), s.shell.Key(actions.CheckAgain))
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
		if !f.isMultiline() {
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
	s.deleted, s.unknown, s.notes = true, false, nil
	what := fmt.Sprintf("Deleted property %s, %s.", s.shownID(), display.Line(s.record.Value.Property.Title))
	if quiet {
		what = fmt.Sprintf("Property %s is gone.", s.shownID())
	}
	return tea.Batch(
		screen.Tell(screen.Done, "%s To restore it, ask the operator: perksd property restore %s", what, s.shownID()),
		s.close())
}

// close closes the screen, as soon as it is on top.
func (s *Screen) close() tea.Cmd { return s.shell.Post(screen.Back{From: s}) }
