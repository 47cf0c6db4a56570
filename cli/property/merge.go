package property

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

// maxMerges ends an edit without a terminal while others keep changing the property.
const maxMerges = 5

// afterFailure prepares the draft for another attempt, or returns the error if that is no use.
func (e *edit) afterFailure(event operation.EditEvent, sent operation.PropertySaving) error {
	err := sent.Err
	refused, _ := errors.AsType[*client.Error](err)
	switch {
	case event == operation.FoundDoubt:
		return adviseReading(e.session, e.id, err)
	case event == operation.FoundConflict || event == operation.FoundSame:
		isSame := event == operation.FoundSame && sent.Current.ETag == sent.ETag
		if e.merges++; isSame || e.merges > maxMerges && !e.session.Streams.CanAsk() {
			return err
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

// merge merges the edited fields into the current version, and says what changed. For conflicts it opens the editor. It
// writes the draft before the new base: whenever the process ends, the old base beside the draft loses nothing.
func (e *edit) merge() error {
	s := e.session.Streams
	m := merge{before: e.Base.Record, theirs: e.Base.Record, merged: e.Wanted()}
	if e.Merge != nil {
		m.theirs, m.conflicts = e.Merge.Now.Record, e.Merge.Conflicts
	}
	if changes := m.String(); changes != "" {
		s.Warn("Somebody else changed %s meanwhile:", name(e.id))
		s.Show(changes)
	}
	if len(m.conflicts) > 0 && !s.CanAsk() {
		return &command.Advised{
			Err: &client.Error{
				Status: http.StatusPreconditionFailed, Code: api.CodePreconditionFailed,
				Message: "The property was not changed, because somebody else changed the same fields meanwhile.",
			},
			Advice: "Edit it on a terminal to decide about: " + strings.Join(m.conflicts, ", ") + ".",
		}
	}
	for range m.conflicts {
		e.Merge.Choose(operation.Mine) // the editor shows both
	}
	e.Decide()
	e.Back()
	if err := e.draft.Write(annotate(write(e.heading(), e.Wanted()), m.notes())); err != nil {
		return err
	}
	e.open = len(m.conflicts) > 0
	return e.keepBase()
}

// merge is what somebody else has changed since an edit began.
type merge struct {
	before, theirs, merged api.Property
	conflicts              []string // fields that both changed to different values; merged has ours
}

// notes show for each conflict what the field was, and what somebody else changed it to.
func (m merge) notes() notes {
	n := notes{}
	for _, name := range m.conflicts {
		field, _ := api.PropertyFieldNamed(name)
		add := func(sentence string, p api.Property) {
			n[name] = append(n[name], sentence)
			for line := range strings.Lines(writeField(field, p)) {
				n[name] = append(n[name], "  "+strings.TrimSuffix(line, "\n"))
			}
		}
		add("Somebody else changed this too. Yours is below; theirs is:", m.theirs)
		add("Before, it was:", m.before)
	}
	return n
}

// String lists what somebody else changed, field by field.
func (m merge) String() string {
	var out strings.Builder
	for _, name := range api.PropertyChanges(m.before, m.theirs).Fields() {
		fmt.Fprintf(&out, "  %s\n    before: %s\n    theirs: %s\n", name, short(name, m.before), short(name, m.theirs))
		if slices.Contains(m.conflicts, name) {
			fmt.Fprintf(&out, "    yours:  %s\n", short(name, m.merged))
		}
	}
	return out.String()
}

// widestInMessage is the width of the longest value that a message shows in full.
const widestInMessage = 60

// short is a field's value on one line, cut if it is long.
func short(name string, p api.Property) string {
	field, _ := api.PropertyFieldNamed(name)
	texts := p.Texts(name)
	if len(texts) == 0 && field.Kind != api.ListField {
		return "null"
	}
	return cmp.Or(display.Cut(display.Line(strings.Join(texts, ", ")), widestInMessage), "(empty)")
}

// writeDiff returns the difference that a patch makes, field by field: removed lines after a minus and in red, added
// ones after a plus and in green.
func writeDiff(s *command.Streams, patch api.PropertyPatch, before api.Property) string {
	var out strings.Builder
	colours := map[display.Mark]string{display.Removed: "\x1b[31m", display.Added: "\x1b[32m"}
	for _, name := range patch.Fields() {
		field, _ := api.PropertyFieldNamed(name)
		old, edited := writeField(field, before), writeField(field, before.With(patch))
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
