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
	"example.com/perks/cli/command"
)

// maxMerges ends an edit that nobody watches, if others change the property as fast as it is sent.
const maxMerges = 5

// answerTo makes the text ready to be tried again, or returns why that is no use.
func (e *edit) answerTo(change client.Editing) error {
	err := change.Err
	var refused *client.Error
	switch {
	case client.OutcomeUnknown(err):
		return adviseReading(e.session, e.id, err)
	case client.Changed(err) && change.LookErr != nil:
		return change.LookErr
	case client.Changed(err):
		isSame := change.Now.ETag == e.base.ETag && api.PropertyChanges(e.base.Property, change.Now.Property).IsEmpty()
		if e.merges++; isSame || e.merges > maxMerges && !e.session.Streams.CanAsk() {
			return err
		}
		return e.catchUp(change.Patch, change.Now)
	case errors.As(err, &refused) && (refused.Status == http.StatusUnprocessableEntity || refused.Status == http.StatusBadRequest && len(refused.Fields) > 0):
		n := notesOf(refused.Fields)
		n[""] = []string{"The server refused this: " + refused.Message}
		return e.openAgain(n, err)
	}
	return err
}

// catchUp merges the edited fields into what the property is now, and says what changed. The editor opens for fields that
// both sides changed. The text is written first: with the old base beside it nothing is lost, whenever the process ends.
func (e *edit) catchUp(patch api.PropertyPatch, current client.Version) error {
	s := e.session.Streams
	m := mergeOf(e.base.Property, current.Property, patch)
	if told := m.String(); told != "" {
		s.Warn("Somebody else changed %s meanwhile:", name(e.id))
		s.Show(told)
	}
	if len(m.conflicts) > 0 && !s.CanAsk() {
		return &command.Advised{
			Err:    &client.Error{Status: http.StatusPreconditionFailed, Code: api.CodePreconditionFailed, Message: "The property was not changed, because somebody else changed the same fields meanwhile."},
			Advice: "Decide on a terminal about: " + strings.Join(m.conflicts, ", ") + ".",
		}
	}
	if err := e.draft.Write(annotate(write(e.heading(), m.merged), m.notes())); err != nil {
		return err
	}
	e.open = len(m.conflicts) > 0
	return e.rebase(current)
}

// merge is an edit put over what the property has become. A field that only one side changed is as that side has it.
type merge struct {
	before, theirs, merged api.Property
	conflicts              []string // both changed them to different values: only a person can tell which is right; merged has mine
}

func mergeOf(before, theirs api.Property, patch api.PropertyPatch) merge {
	return merge{before, theirs, theirs.With(patch), api.MergePropertyChanges(before, theirs, patch).Conflicts}
}

// notes stand beside the fields that both sides changed: what it was, and what somebody else made of it.
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
		add("Somebody else changed this too. Yours stands below; theirs is:", m.theirs)
		add("and before that it was:", m.before)
	}
	return n
}

// String tells field by field what somebody else changed, what it was before, and what was made of it here.
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

// widestInMessage is the longest value that a message shows whole.
const widestInMessage = 60

// short is a field's value on one line, cut if need be.
func short(name string, p api.Property) string {
	field, _ := api.PropertyFieldNamed(name)
	texts := field.Texts(p)
	if len(texts) == 0 && field.Kind != api.ListField {
		return "null"
	}
	return cmp.Or(display.Cut(display.Line(strings.Join(texts, ", ")), widestInMessage), "(empty)")
}

// writeDiff returns what would become of the fields, each as the text shows it: lines that go behind a minus and in red,
// lines that come behind a plus and in green.
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
