package property

import (
	"context"
	"errors"
	"fmt"
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
	return e.catchUp(readSheet(text), base{e.base.APIURL, e.id, now})
}

// catchUp merges the edited fields into what the property is now, and says what changed. The editor opens for fields that
// both sides changed. The text is written first: with the old base beside it nothing is lost, whenever the process ends.
func (e *edit) catchUp(edited reading, current base) error {
	s := e.session.Streams
	patch, _ := edited.changes(e.base.Property)
	merged, changed := merge(e.base.Property, current.Property, patch, edited.sheet)
	if len(changed) > 0 {
		s.Warn("Somebody else changed %s meanwhile:", name(e.id))
		s.Show(writeMeanwhile(changed))
	}
	both := conflicts(changed)
	if len(both) > 0 && !s.CanAsk() {
		return &command.Advised{
			Err:    &client.Error{Status: http.StatusPreconditionFailed, Code: api.CodePreconditionFailed, Message: "The property was not changed, because somebody else changed the same fields meanwhile."},
			Advice: "Decide on a terminal about: " + strings.Join(both, ", ") + ".",
		}
	}
	if err := e.draft.Write(annotate(merged.write(e.heading()), besideConflicts(changed))); err != nil {
		return err
	}
	e.base, e.open = current, len(both) > 0
	return e.rememberBase()
}

// change is what became of a field that somebody else changed while it was being edited.
type change struct {
	field                string
	before, theirs, mine value

	// mineToo says that it was edited as well, and to something else: only a person can tell which is right.
	mineToo bool
}

// merge puts the edited fields over what the property has become. A field that only one side changed is as that side has
// it; of one that both changed, mine stays and is a conflict unless both agree.
func merge(before, theirs api.Property, patch api.PropertyPatch, mine sheet) (merged sheet, changed []change) {
	was, is := sheetOf(before), sheetOf(theirs)
	merged = sheetOf(theirs)
	for _, field := range patch.Fields() {
		merged[field] = mine[field]
	}
	conflicts := api.MergePropertyChanges(before, theirs, patch).Conflicts
	for _, field := range api.PropertyChanges(before, theirs).Fields() {
		changed = append(changed, change{field, was[field], is[field], merged[field], slices.Contains(conflicts, field)})
	}
	return merged, changed
}

func conflicts(changed []change) []string {
	var fields []string
	for _, c := range changed {
		if c.mineToo {
			fields = append(fields, c.field)
		}
	}
	return fields
}

// besideConflicts is what stands beside the fields that both sides changed: what it was, and what somebody else made of it.
func besideConflicts(changed []change) notes {
	var n notes
	for _, c := range changed {
		if c.mineToo {
			n.add(c.field, "Somebody else changed this too. Yours stands below; theirs is:")
			n.add(c.field, indented(writeField(c.field, c.theirs))...)
			n.add(c.field, "and before that it was:")
			n.add(c.field, indented(writeField(c.field, c.before))...)
		}
	}
	return n
}

// contextLines is how many unchanged lines are shown around the changed ones of a long text.
const contextLines = 2

// widestInMessage is the longest value that a message shows whole.
const widestInMessage = 60

const (
	red   = "\x1b[31m"
	green = "\x1b[32m"
	reset = "\x1b[0m"
)

// writeDiff returns what would become of the fields, each as the sheet shows it: lines that go behind a minus, lines that
// come behind a plus.
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
			for _, line := range hunk.Lines {
				before, after := "  ", "\n"
				switch {
				case line.Kind == udiff.Delete && s.Colour:
					before, after = red+"- ", reset+"\n"
				case line.Kind == udiff.Delete:
					before = "- "
				case line.Kind == udiff.Insert && s.Colour:
					before, after = green+"+ ", reset+"\n"
				case line.Kind == udiff.Insert:
					before = "+ "
				}
				out.WriteString(before + strings.TrimSuffix(display.Text(line.Content), "\n") + after)
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

func indented(lines string) []string {
	var out []string
	for line := range strings.Lines(lines) {
		out = append(out, "  "+strings.TrimSuffix(line, "\n"))
	}
	return out
}
