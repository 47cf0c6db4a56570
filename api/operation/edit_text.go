package operation

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
)

// typed is the text of a field, parsed once. The patch is empty if there is a problem.
type typed[P any] struct {
	text     string
	patch    P
	problems []string
}

// setBase makes the edit one of another version, without any text.
func (e *Edit[I, R, P]) setBase(base client.Version[R]) {
	e.Base, e.texts, e.typed = base, map[string]string{}, map[string]typed[P]{}
	for _, field := range e.Kind.Fields() {
		e.texts[field.Name] = shown(field, e.Kind.Text(field.Name, base.Record))
	}
}

// rebase makes the edit the same change of another version. Text that is not valid stays as it was typed.
func (e *Edit[I, R, P]) rebase(base client.Version[R], patch P) {
	e.Patch, e.outdated = patch, false
	if e.Undoes {
		e.Base = base
		return
	}
	before, wanted := e.typed, with(base.Record, patch)
	e.setBase(base)
	for _, field := range e.Kind.Fields() {
		if was := before[field.Name]; len(was.problems) > 0 {
			e.put(field, was.text)
		} else if !patch.Only(field.Name).IsEmpty() {
			e.put(field, shown(field, e.Kind.Text(field.Name, wanted)))
		}
	}
}

// Type sets the text of a field, as a form shows it.
func (e *Edit[I, R, P]) Type(name, text string) {
	if field, known := e.Kind.Field(name); known && text != e.Text(name) && e.step(Typed) == Typed {
		e.put(field, text)
	}
}

func (e *Edit[I, R, P]) put(field api.Field, text string) {
	delete(e.typed, field.Name)
	if text == e.texts[field.Name] {
		return // text that was not changed is never wrong
	}
	t := e.Kind.parse(field.Name, ValueOf(field, restored(field, text, e.Kind.Text(field.Name, e.Base.Record))))
	if t.text = text; t.problems != nil {
		t.problems[0] = cmp.Or(e.Kind.advice(field, text), t.problems[0])
	}
	e.typed[field.Name] = t
}

// SetAll replaces the text by values, and by the problems of those that could not be read. Some may be of
// names that are not fields. Like a text, a value is never wrong if it is that of the base.
func (e *Edit[I, R, P]) SetAll(values map[string]api.Value, wrong api.FieldErrors) {
	if e.step(Typed) != Typed {
		return
	}
	clear(e.typed)
	for name, value := range values {
		field, known := e.Kind.Field(name)
		if !known || !reflect.DeepEqual(value, e.Kind.Value(field, e.Base.Record)) {
			e.typed[name] = e.Kind.parse(name, value)
		}
	}
	for name, problems := range wrong {
		e.typed[name] = typed[P]{problems: problems}
	}
}

// Text is the text of a field, as a form shows it.
func (e *Edit[I, R, P]) Text(name string) string {
	if t, isTyped := e.typed[name]; isTyped {
		return t.text
	}
	return e.texts[name]
}

// BaseText is the text of a field in the version that is changed, as a form shows it.
func (e *Edit[I, R, P]) BaseText(name string) string { return e.texts[name] }

// Typed returns the fields whose text was changed, valid or not.
func (e *Edit[I, R, P]) Typed() []string {
	var names []string
	for _, field := range e.Kind.Fields() {
		if _, isTyped := e.typed[field.Name]; isTyped {
			names = append(names, field.Name)
		}
	}
	return names
}

// Problem says what is wrong with the text of a field; "" if nothing is.
func (e *Edit[I, R, P]) Problem(name string) string {
	return strings.Join(e.typed[name].problems, ", ")
}

// Problems returns the problems of each field, and of names that are not fields.
func (e *Edit[I, R, P]) Problems() api.FieldErrors {
	problems := api.FieldErrors{}
	for name, t := range e.typed {
		if len(t.problems) > 0 {
			problems[name] = t.problems
		}
	}
	return problems
}

// Invalid returns the fields that are not valid.
func (e *Edit[I, R, P]) Invalid() []string {
	var names []string
	for _, name := range e.Typed() {
		if e.Problem(name) != "" {
			names = append(names, name)
		}
	}
	return names
}

func (e *Edit[I, R, P]) withTyped() R {
	record := e.Base.Record
	for _, t := range e.typed {
		t.patch.Apply(&record)
	}
	return record
}

// changes is what the valid text changes.
func (e *Edit[I, R, P]) changes() P { return e.Kind.Changes(e.Base.Record, e.withTyped()) }

// Wanted is the record as it would be saved.
func (e *Edit[I, R, P]) Wanted() R { return with(e.Base.Record, e.Patch) }

func with[R any, P Patch[R, P]](record R, patch P) R {
	patch.Apply(&record)
	return record
}

// advice says what to write instead, for the usual mistakes; "" for others. The rule alone does not name the line, or
// the sign.
func (k *EditKind[I, R, P]) advice(field api.Field, text string) string {
	switch point := strings.Replace(strings.TrimSpace(text), ",", ".", 1); field.Kind {
	case api.PriceField:
		if strings.Contains(text, ",") && k.parse(field.Name, api.TextValue(point)).problems == nil {
			return "Use a point: " + point
		}
	case api.ListField:
		for i, line := range strings.Split(text, "\n") {
			if line = strings.TrimSpace(line); line != "" && api.URLRule(line) != "" {
				return fmt.Sprintf("Line %d: enter a full URL, such as https://…", i+1)
			}
		}
	}
	return ""
}

func (k *EditKind[I, R, P]) parse(name string, value api.Value) (t typed[P]) {
	patch, err := k.Parse([]api.Member{{Name: name, Value: value}})
	var invalid *api.Error
	if errors.As(err, &invalid) {
		t.problems = invalid.Fields[name]
		return t
	}
	t.patch = patch
	return t
}

// ValueOf is the value that a text stands for: in a list, each line that is not blank is an entry.
func ValueOf(field api.Field, text string) api.Value {
	switch field.Kind {
	case api.LineField, api.TextField:
		return api.TextValue(text)
	case api.ListField:
		var entries []string
		for line := range strings.SplitSeq(text, "\n") {
			if line = strings.TrimSpace(line); line != "" {
				entries = append(entries, line)
			}
		}
		return api.ListValue(entries)
	}
	return api.TextValue(strings.TrimSpace(text))
}

// shown is a text without what a form cannot hold: control and invisible characters.
func shown(field api.Field, text string) string {
	if !field.IsMultiline() {
		return display.Line(text)
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = display.Text(line)
	}
	return strings.Join(lines, "\n")
}

// restored puts back, in every line that was not edited, the characters that a form cannot hold. was is the original
// text.
func restored(field api.Field, text, was string) string {
	if text == shown(field, was) {
		return was
	}
	if !field.IsMultiline() {
		return text
	}
	originals := map[string][]string{}
	for line := range strings.SplitSeq(was, "\n") {
		seen := display.Text(line)
		originals[seen] = append(originals[seen], line)
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if known := originals[line]; len(known) > 0 {
			lines[i] = known[0]
			originals[line] = known[1:]
		}
	}
	return strings.Join(lines, "\n")
}

// Draft is the text of an edit that was not saved, by fields, beside the version that it changes and when it was typed.
// It is nil without any text.
type Draft map[string]string

// The names under which a draft has its base, the ETag of that, and its time. No field has these names.
const (
	draftBase = "(base)"
	draftETag = "(etag)"
	draftTime = "(time)"
)

// Draft returns the text that was typed, and its base.
func (e *Edit[I, R, P]) Draft(now time.Time) Draft {
	if len(e.typed) == 0 {
		return nil
	}
	base, _ := api.EncodeJSON(e.Base.Record) // a record that came as JSON goes as JSON
	draft := Draft{draftBase: string(base), draftETag: e.Base.ETag, draftTime: now.Format(time.RFC3339)}
	for name, t := range e.typed {
		draft[name] = t.text
	}
	return draft
}

// TypedAt is when the draft was typed, if it says so.
func (d Draft) TypedAt() (at time.Time, known bool) {
	at, err := time.Parse(time.RFC3339, d[draftTime])
	return at, err == nil
}

// Typed returns the fields that a draft has.
func (k *EditKind[I, R, P]) Typed(draft Draft) []string {
	var names []string
	for _, field := range k.Fields() {
		if _, isTyped := draft[field.Name]; isTyped {
			names = append(names, field.Name)
		}
	}
	return names
}

// Resume goes on with a draft of the record as it is now. If that has changed since, both are merged first.
func (k *EditKind[I, R, P]) Resume(id I, draft Draft, now client.Version[R]) *Edit[I, R, P] {
	base := client.Version[R]{ETag: draft[draftETag]}
	err := k.Decode([]byte(draft[draftBase]), &base.Record)
	if err != nil || k.IDOf(base.Record) != k.IDOf(now.Record) {
		base = now
	}
	e := k.NewEdit(id, base)
	for _, name := range k.Typed(draft) {
		e.Type(name, draft[name])
	}
	e.MeetDraft(now)
	return e
}
