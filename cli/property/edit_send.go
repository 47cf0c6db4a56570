package property

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/cli/command"
)

// maxMerges ends an edit that nobody watches, if others change the property as fast as it is sent.
const maxMerges = 5

// send changes the property if it still is as it was when the edit began.
func (e *edit) send(ctx context.Context, change client.Editing) client.Editing {
	c, connection, err := e.afresh().Connect()
	if err != nil {
		change.Err = err
		return change
	}
	change = change.Send(ctx, c)
	switch {
	case change.Lost:
		e.session.Streams.Note("Updated %s at %s: no answer said so, but it is as you want it.", name(e.id), connection)
		change.Message = "The property holds the change, although no answer said so."
	case change.Err == nil:
		e.session.Streams.Note("Updated %s at %s.", name(e.id), connection)
	}
	return change
}

// answerTo makes the text ready to be tried again, or returns why that is no use.
func (e *edit) answerTo(change client.Editing) error {
	err := change.Err
	var refused *client.Error
	switch {
	case !errors.As(err, &refused) || refused.OutcomeUnknown:
		return settle(e.session, e.id, err)
	case client.Changed(err):
		return e.afterConflict(change)
	case refused.Status == http.StatusUnprocessableEntity || refused.Status == http.StatusBadRequest && len(refused.Fields) > 0:
		n := notesOf(refused.Fields)
		n.top = append(n.top, "The server refused this: "+refused.Message)
		return e.openAgain(n, err)
	}
	return err
}

// afterConflict brings the text up to what somebody else made of the property.
func (e *edit) afterConflict(change client.Editing) error {
	if change.LookErr != nil {
		return change.LookErr
	}
	text, err := e.draft.Read()
	if err != nil {
		return err
	}
	now := change.Now
	isSame := now.ETag == e.base.ETag && api.PropertyChanges(e.base.Property, now.Property).IsEmpty()
	if e.merges++; isSame || e.merges > maxMerges && !e.session.Streams.CanAsk() {
		return change.Err
	}
	return e.catchUp(readSheet(text), now)
}

// catchUp merges the edited fields into what the property is now, and says what changed. The editor opens for fields that
// both sides changed. The text is written first: with the old base beside it nothing is lost, whenever the process ends.
func (e *edit) catchUp(edited reading, current client.Version) error {
	s := e.session.Streams
	patch, _ := edited.changes(e.base.Property)
	merged, changed := merge(e.base.Property, current.Property, patch, edited.sheet)
	if len(changed) > 0 {
		s.Warn("Somebody else changed %s meanwhile:", name(e.id))
		s.Show(writeMeanwhile(changed))
	}
	var both []string
	for _, c := range changed {
		if c.mineToo {
			both = append(both, c.field)
		}
	}
	if len(both) > 0 && !s.CanAsk() {
		return &command.Advised{
			Err:    &client.Error{Status: http.StatusPreconditionFailed, Code: api.CodePreconditionFailed, Message: "The property was not changed, because somebody else changed the same fields meanwhile."},
			Advice: "Decide on a terminal about: " + strings.Join(both, ", ") + ".",
		}
	}
	if err := e.draft.Write(annotate(merged.write(e.heading()), besideConflicts(changed))); err != nil {
		return err
	}
	e.open = len(both) > 0
	return e.rebase(current)
}

// change is what became of a field that somebody else changed while it was being edited.
type change struct {
	field                string
	before, theirs, mine value
	mineToo              bool // it was edited as well, and to something else: only a person can tell which is right
}

// merge puts the edited fields over what the property has become. A field that only one side changed is as that side has
// it; of one that both changed, mine stays and is a conflict unless both agree.
func merge(before, theirs api.Property, patch api.PropertyPatch, mine sheet) (merged sheet, changed []change) {
	was, is := sheetOf(before), sheetOf(theirs)
	merged = maps.Clone(is)
	for _, field := range patch.Fields() {
		merged[field] = mine[field]
	}
	conflicts := api.MergePropertyChanges(before, theirs, patch).Conflicts
	for _, field := range api.PropertyChanges(before, theirs).Fields() {
		changed = append(changed, change{field, was[field], is[field], merged[field], slices.Contains(conflicts, field)})
	}
	return merged, changed
}

// besideConflicts is what stands beside the fields that both sides changed: what it was, and what somebody else made of it.
func besideConflicts(changed []change) notes {
	var n notes
	indented := func(field string, v value) {
		for line := range strings.Lines(writeField(field, v)) {
			n.add(field, "  "+strings.TrimSuffix(line, "\n"))
		}
	}
	for _, c := range changed {
		if c.mineToo {
			n.add(c.field, "Somebody else changed this too. Yours stands below; theirs is:")
			indented(c.field, c.theirs)
			n.add(c.field, "and before that it was:")
			indented(c.field, c.before)
		}
	}
	return n
}

// contextLines is how many unchanged lines are shown around the changed ones of a long text.
const contextLines = 2

// widestInMessage is the longest value that a message shows whole.
const widestInMessage = 60

// writeDiff returns what would become of the fields, each as the sheet shows it: lines that go behind a minus and in red,
// lines that come behind a plus and in green.
func writeDiff(s *command.Streams, fields []string, before, after sheet) string {
	var out strings.Builder
	for _, field := range fields {
		old, edited := writeField(field, before[field]), writeField(field, after[field])
		diff, err := udiff.ToUnifiedDiff("", "", old, udiff.Lines(old, edited), contextLines)
		if err != nil {
			continue // not reached: the edits are those of this very text
		}
		for i, hunk := range diff.Hunks {
			if i > 0 || hunk.FromLine > 1 {
				fmt.Fprintf(&out, "  %s ...\n", field)
			}
			for _, l := range hunk.Lines {
				line := strings.TrimSuffix(display.Text(l.Content), "\n")
				mark, colour := "  ", ""
				switch l.Kind {
				case udiff.Delete:
					mark, colour = "- ", "\x1b[31m"
				case udiff.Insert:
					mark, colour = "+ ", "\x1b[32m"
				}
				if s.Colour && colour != "" {
					mark, line = colour+mark, line+"\x1b[0m"
				}
				out.WriteString(mark + line + "\n")
			}
		}
	}
	return out.String()
}

// writeMeanwhile tells field by field what somebody else changed, what it was before, and what was made of it here.
func writeMeanwhile(changed []change) string {
	var out strings.Builder
	for _, c := range changed {
		fmt.Fprintf(&out, "  %s\n    before: %s\n    theirs: %s\n", c.field, short(c.before), short(c.theirs))
		if c.mineToo {
			fmt.Fprintf(&out, "    yours:  %s\n", short(c.mine))
		}
	}
	return out.String()
}

// short is a value on one line, cut if need be.
func short(v value) string {
	line := v.text
	switch {
	case v.null:
		return "null"
	case v.list != nil:
		line = strings.Join(v.list, ", ")
	}
	if line == "" {
		return "(empty)"
	}
	runes := []rune(display.Line(line))
	if len(runes) > widestInMessage {
		return string(runes[:widestInMessage]) + "..."
	}
	return string(runes)
}
