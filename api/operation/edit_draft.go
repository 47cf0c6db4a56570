package operation

import (
	"time"

	"example.com/perks/api/client"
)

// Draft is the text of an edit that was not saved, by fields, beside the version that it changes and when it was typed.
// nil is no draft.
type Draft map[string]string

// The names under which a draft has its base version and its time. No field has these names.
const (
	draftBase = "(base)"
	draftTime = "(time)"
)

// Draft returns what was typed.
func (e *Edit[I, R, P]) Draft(now time.Time) Draft {
	if len(e.typed) == 0 {
		return nil
	}
	draft := Draft{draftTime: now.Format(time.RFC3339)}
	for name, t := range e.typed {
		draft[name] = t.text
	}
	base, _ := e.Kind.Encode(e.Base) // a record that came as JSON goes as JSON
	draft[draftBase] = string(base)
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
	for _, field := range k.Fields {
		if _, isTyped := draft[field.Name]; isTyped {
			names = append(names, field.Name)
		}
	}
	return names
}

// Resume goes on with a draft of the record as it is now. If that has changed since, both are merged first.
func (k *EditKind[I, R, P]) Resume(id I, draft Draft, now client.Version[R]) *Edit[I, R, P] {
	base, err := k.Decode([]byte(draft[draftBase]))
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
