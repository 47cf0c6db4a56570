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
func (e *edit) send(ctx context.Context, patch api.PropertyPatch) (answer string, err error) {
	c, connection, err := e.afresh().Connect()
	if err != nil {
		return "", err
	}
	if e.base.ETag == "" {
		if err := e.checkUnchanged(ctx); err != nil {
			return "", err
		}
	}
	message, err := c.UpdateProperty(ctx, e.id, patch, e.base.ETag)
	var refused *client.Error
	if client.IsWeak(e.base.ETag) && errors.As(err, &refused) && refused.Status == http.StatusPreconditionFailed && e.checkUnchanged(ctx) == nil {
		// Nobody changed it: to this server a weak ETag never matches.
		message, err = c.UpdateProperty(ctx, e.id, patch, "")
	}
	if client.OutcomeUnknown(err) && ctx.Err() == nil && e.isHeld(ctx, patch) {
		e.session.Streams.Note("Updated %s at %s: no answer said so, but it is as you want it.", name(e.id), connection)
		return "The property holds the change, although no answer said so.", nil
	}
	if err != nil {
		return "", err
	}
	e.session.Streams.Note("Updated %s at %s.", name(e.id), connection)
	return message.Message, nil
}

// checkUnchanged does what it can where a change cannot be tied to an ETag: between it and the change, a moment is left.
func (e *edit) checkUnchanged(ctx context.Context) error {
	current, err := e.read(ctx)
	if err != nil {
		return err
	}
	if len(current.sheet.changesTo(e.base.sheet)) == 0 {
		return nil
	}
	return &client.Error{Status: http.StatusPreconditionFailed, Code: api.CodePreconditionFailed, Message: "The property was changed meanwhile."}
}

// isHeld reads the property after a change of which nobody knows whether it was made.
func (e *edit) isHeld(ctx context.Context, patch api.PropertyPatch) bool {
	current, err := e.read(ctx)
	return err == nil && patch.IsHeldBy(current.Property)
}

// answerTo makes the text ready to be tried again, or returns why that is no use.
func (e *edit) answerTo(ctx context.Context, err error) error {
	var refused *client.Error
	switch {
	case !errors.As(err, &refused) || refused.OutcomeUnknown:
		return settle(e.session, e.id, err)
	case refused.Status == http.StatusPreconditionFailed:
		return e.afterConflict(ctx, err)
	case refused.Status == http.StatusUnprocessableEntity || refused.Status == http.StatusBadRequest && len(refused.Fields) > 0:
		n := notesOf(refused.Fields)
		n.top = append(n.top, "The server refused this: "+refused.Message)
		return e.openAgain(n, err)
	}
	return err
}

// afterConflict brings the text up to what somebody else made of the property.
func (e *edit) afterConflict(ctx context.Context, cause error) error {
	current, err := e.read(ctx)
	if err != nil {
		return err
	}
	text, err := e.draft.Read()
	if err != nil {
		return err
	}
	isSame := current.ETag == e.base.ETag && len(current.sheet.changesTo(e.base.sheet)) == 0
	if e.merges++; isSame || e.merges > maxMerges && !e.session.Streams.CanAsk() {
		return cause
	}
	return e.catchUp(readSheet(text).sheet, current)
}

// catchUp merges the edited fields into what the property is now, and says what changed. The editor opens for fields that
// both sides changed. The text is written first: with the old base beside it nothing is lost, whenever the process ends.
func (e *edit) catchUp(edited sheet, current base) error {
	s := e.session.Streams
	merged, changed := merge(e.base.sheet, edited, current.sheet)
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
func merge(before, mine, theirs sheet) (merged sheet, changed []change) {
	edited := mine.changesTo(before)
	merged = edited.over(theirs)
	for _, field := range api.PropertyPatchFields() {
		if same(field, before[field], theirs[field]) {
			continue
		}
		c := change{field: field, before: before[field], theirs: theirs[field], mine: merged[field]}
		c.mineToo = !same(field, c.mine, c.theirs)
		changed = append(changed, c)
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

// writeDiff returns what would become of the fields of after, each as the sheet shows it: lines that go behind a minus,
// lines that come behind a plus.
func writeDiff(s *command.Streams, before, after sheet) string {
	var out strings.Builder
	for _, field := range after.fields() {
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
				out.WriteString(paintLine(s, line.Kind, strings.TrimSuffix(display.Text(line.Content), "\n")))
			}
		}
	}
	return out.String()
}

func paintLine(s *command.Streams, kind udiff.OpKind, line string) string {
	mark, colour := "  ", ""
	switch kind {
	case udiff.Delete:
		mark, colour = "- ", red
	case udiff.Insert:
		mark, colour = "+ ", green
	}
	if !s.Colour || colour == "" {
		return mark + line + "\n"
	}
	return colour + mark + line + reset + "\n"
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

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
