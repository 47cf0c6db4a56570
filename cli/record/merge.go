package record

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/api/operation"
	"example.com/perks/cli/command"
)

// maxMerges ends an edit without a terminal while others keep changing the record.
const maxMerges = 5

// afterFailure prepares the draft for another attempt, or returns the error if that cannot help.
func (e *edit[I, R, P]) afterFailure(event operation.EditEvent, sent operation.Saving[I, R, P]) error {
	err := sent.Err
	refused, _ := errors.AsType[*client.Error](err)
	switch {
	case event == operation.FoundDoubt:
		return e.kind.adviseReading(e.session, e.id, err)
	case event == operation.FoundConflict || event == operation.FoundSame:
		isSame := event == operation.FoundSame && client.SameVersion(sent.Current.ETag, sent.ETag)
		if e.merges++; isSame || e.merges > maxMerges && !e.session.Streams.CanAsk() {
			return err
		}
		if event == operation.FoundSame {
			return e.rewriteDraft(nil)
		}
		return e.merge()
	case operation.IsVersionConflict(err):
		return sent.ReadErr
	case event == operation.FoundRefused || refused != nil && refused.Status == http.StatusUnprocessableEntity:
		e.Back()
		n := notesOf(refused.Fields)
		n[""] = []string{"The server refused this: " + refused.Message}
		return e.reopen(n, err)
	}
	return err
}

// merge merges the edited fields into the current version, and says what changed. For conflicts it opens the editor.
func (e *edit[I, R, P]) merge() error {
	s, conflicts := e.session.Streams, e.Merge.Conflicts
	s.Warn("Somebody else changed %s meanwhile:", e.kind.Named(e.id))
	s.Show(e.kind.changesByOthers(e.Edit))
	if len(conflicts) > 0 && !s.CanAsk() {
		return &command.Advised{
			Err: &client.Error{
				Status: http.StatusPreconditionFailed, Code: api.CodePreconditionFailed,
				Message: "The " + e.kind.Name + " was not changed, because somebody else changed the same fields " +
					"meanwhile.",
			},
			Advice: "Edit it on a terminal to decide about: " + strings.Join(conflicts, ", ") + ".",
		}
	}
	n := e.kind.conflictNotes(e.Edit)
	for range conflicts {
		e.Merge.Choose(operation.Mine) // the editor shows both
	}
	e.Decide()
	return e.rewriteDraft(n)
}

// rewriteDraft writes the edit as it is after a merge, and opens the editor if there are notes. It writes the draft
// before the new base: whenever the process ends, the old base beside the draft loses nothing.
func (e *edit[I, R, P]) rewriteDraft(n notes) error {
	e.Back()
	e.open = len(n) > 0
	if err := e.rewrite(e.kind.annotate(e.kind.write(e.heading(), e.Wanted()), n)); err != nil {
		return err
	}
	return e.keepBase()
}

// conflictNotes show for each conflict what the field was, and what somebody else changed it to.
func (k *Kind[I, R, P]) conflictNotes(e *operation.Edit[I, R, P]) notes {
	n := notes{}
	for _, name := range e.Merge.Conflicts {
		add := func(sentence string, of R) {
			n[name] = append(n[name], sentence)
			for line := range strings.Lines(k.writeField(name, of)) {
				n[name] = append(n[name], "  "+strings.TrimSuffix(line, "\n"))
			}
		}
		add("Somebody else changed this too. Yours is below; theirs is:", e.Merge.Now.Record)
		add("Before, it was:", e.Base.Record)
	}
	return n
}

// changesByOthers lists what somebody else changed, field by field.
func (k *Kind[I, R, P]) changesByOthers(e *operation.Edit[I, R, P]) string {
	var out strings.Builder
	before, theirs := e.Base.Record, e.Merge.Now.Record
	for _, name := range k.Changes(before, theirs).Fields() {
		fmt.Fprintf(&out, "  %s\n    before: %s\n    theirs: %s\n", name, k.short(name, before), k.short(name, theirs))
		if slices.Contains(e.Merge.Conflicts, name) {
			fmt.Fprintf(&out, "    yours:  %s\n", k.short(name, e.Wanted()))
		}
	}
	return out.String()
}

// widestInMessage is the width of the longest value that a message shows in full.
const widestInMessage = 60

// short is a field's value on one line, cut if it is long.
func (k *Kind[I, R, P]) short(name string, of R) string {
	field, _ := k.Field(name)
	texts := k.Texts(of, name)
	if len(texts) == 0 && field.Kind != api.ListField {
		return "null"
	}
	return cmp.Or(display.Cut(display.Line(strings.Join(texts, ", ")), widestInMessage), "(empty)")
}

// writeDiff returns the difference that a patch makes, field by field: removed lines after a minus and in red, added
// ones after a plus and in green.
func (k *Kind[I, R, P]) writeDiff(s *command.Streams, patch P, before R) string {
	var out strings.Builder
	colours := map[display.Mark]string{display.Removed: "\x1b[31m", display.Added: "\x1b[32m"}
	for _, name := range patch.Fields() {
		old, edited := k.writeField(name, before), k.writeField(name, with(before, patch))
		for _, line := range display.Diff(strings.TrimSuffix(old, "\n"), strings.TrimSuffix(edited, "\n")) {
			text := string(line.Mark) + line.Text
			if line.Mark == display.Omitted {
				text = "  " + name + " ..."
			}
			if colour := colours[line.Mark]; s.Colour && colour != "" {
				text = colour + text + "\x1b[0m"
			}
			out.WriteString(text + "\n")
		}
	}
	return out.String()
}
