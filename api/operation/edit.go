package operation

import (
	"errors"
	"slices"
	"sync"

	"example.com/perks/api"
	"example.com/perks/api/client"
)

// EditState is where an edit is.
type EditState int

// The states of an edit. A deletion is an edit too, which begins under review and has no text.
const (
	Typing        EditState = iota // text is typed
	TypingInDoubt                  // text is typed, and what was sent before may have been saved
	Refreshing                     // text may be typed, and the record is read to merge before the review
	Reviewing                      // the person sees what would change
	Merging                        // the person sees what both sides changed, and decides about conflicts
	MergingDraft                   // the same, before the text of a resumed draft is typed on
	Sending                        // the change was sent, and its reply is awaited
	InDoubt                        // the change may have been saved: its reply was lost
	Saved                          // the service has the change
	Ended                          // nothing is to be saved
	editStates
)

// HasForm tells whether text can be typed.
func (s EditState) HasForm() bool { return s == Typing || s == TypingInDoubt || s == Refreshing }

// IsInDoubt tells whether what was sent may have been saved.
func (s EditState) IsInDoubt() bool { return s == InDoubt || s == TypingInDoubt }

// IsMerge tells whether a person decides about conflicts.
func (s EditState) IsMerge() bool { return s == Merging || s == MergingDraft }

// EditEvent is what happens to an edit.
type EditEvent int

// The events of an edit: what a person does, what submitting the text finds, and what the service tells.
const (
	Ignored   EditEvent = iota // it cannot happen in this state
	Typed                      // text was typed
	WentBack                   // to the text
	GaveUp                     // the person cancels it
	Confirmed                  // the person saves what the review shows
	Decided                    // the person goes on with a merge, in which nothing is left to decide

	FoundInvalid  // the text has values that are not valid
	FoundNothing  // the text changes nothing
	FoundOutdated // somebody else has changed the record since
	FoundChange   // the text changes something

	FoundSaved   // the service confirms the change, or its record has it
	FoundPart    // the record has the change, but more was typed since
	FoundUnsaved // the record does not have the change, which may still arrive
	FoundRefused // the service refuses some values
	FoundFailure // the service did not make the change
	FoundDoubt   // the reply was lost

	FoundConflict // the record was changed by somebody else
	FoundSame     // the record is another version, in which no field differs
	editEvents
)

// editTable says which state follows from an event. An event that is not there is ignored: the edit stays as it is.
//
// Text is kept in every state but Saved and Ended. Sending is reached by Confirmed alone, and Saved by FoundSaved
// alone.
var editTable = sync.OnceValue(func() [editStates]map[EditEvent]EditState {
	return [editStates]map[EditEvent]EditState{
		Typing: {
			Typed: Typing, GaveUp: Ended,
			FoundInvalid: Typing, FoundNothing: Typing, FoundOutdated: Refreshing, FoundChange: Reviewing,
			FoundConflict: MergingDraft, FoundSame: Typing,
		},
		TypingInDoubt: {
			Typed: TypingInDoubt, GaveUp: Ended,
			FoundInvalid: TypingInDoubt, FoundNothing: TypingInDoubt, FoundChange: Reviewing,
			FoundSaved: Saved, FoundUnsaved: TypingInDoubt, FoundPart: Typing,
		},
		Refreshing: {
			Typed: Refreshing, GaveUp: Ended,
			FoundInvalid: Typing, FoundNothing: Typing, FoundChange: Reviewing,
			FoundConflict: Merging, FoundSame: Reviewing,
		},
		Reviewing: {
			WentBack: Typing, GaveUp: Ended, Confirmed: Sending, FoundConflict: Merging, FoundSame: Reviewing,
		},
		Merging:      {WentBack: Typing, GaveUp: Ended, Decided: Reviewing},
		MergingDraft: {GaveUp: Ended, Decided: Typing},
		Sending: {
			FoundSaved: Saved, FoundRefused: Typing, FoundFailure: Reviewing, FoundDoubt: InDoubt,
			FoundConflict: Merging, FoundSame: Reviewing,
		},
		InDoubt: {WentBack: TypingInDoubt, GaveUp: Ended, Confirmed: Sending, FoundSaved: Saved, FoundUnsaved: InDoubt},
		Saved:   {},
		Ended:   {},
	}
})

// Patch is a change of some fields of a record.
type Patch[R, P any] interface {
	Fields() []string
	Only(names ...string) P
	Apply(to *R)
	IsEmpty() bool
	IsAppliedTo(held R) bool
}

// Edit is an edit of one record, from the first key to the saved version. It does nothing by itself: whoever drives it
// tells it what happens, draws its state, sends its Saving when it is Sending, and reads the record when it is
// Refreshing or in doubt.
type Edit[I ~string, R any, P Patch[R, P]] struct {
	Kind    *EditKind[I, R, P]
	ID      I
	Base    client.Version[R] // the version that it changes
	Patch   P                 // what is reviewed, merged and sent
	Merge   *Merge[I, R, P]   // while both sides are compared
	Deletes bool
	Undoes  bool // it takes back what was saved, without text of its own

	Restores *api.PropertyRestore // the version that it brings back, without text of its own; nil if it does not
	Key      string               // the idempotency key of that

	state    EditState
	outdated bool
	after    client.Version[R] // once it is saved
	texts    map[string]string // of the base
	typed    map[string]typed[P]
}

// NewEdit begins to change a version.
func (k *EditKind[I, R, P]) NewEdit(id I, base client.Version[R]) *Edit[I, R, P] {
	e := &Edit[I, R, P]{Kind: k, ID: id}
	e.setBase(base)
	return e
}

// NewDeletion asks whether to delete a version.
func (k *EditKind[I, R, P]) NewDeletion(id I, base client.Version[R]) *Edit[I, R, P] {
	return &Edit[I, R, P]{Kind: k, ID: id, Base: base, Deletes: true, state: Reviewing}
}

// State says where the edit is.
func (e *Edit[I, R, P]) State() EditState { return e.state }

func (e *Edit[I, R, P]) can(event EditEvent) bool {
	_, follows := editTable()[e.state][event]
	return follows
}

// step goes to the state that follows from an event.
func (e *Edit[I, R, P]) step(event EditEvent) EditEvent {
	if !e.can(event) {
		return Ignored
	}
	e.state = editTable()[e.state][event]
	if !e.state.IsMerge() {
		e.Merge = nil
	}
	return event
}

// Submit checks the text, and goes to the review if it changes something.
func (e *Edit[I, R, P]) Submit() EditEvent {
	patch := e.changes()
	switch {
	case !e.can(FoundChange):
		return Ignored
	case len(e.Problems()) > 0:
		return e.step(FoundInvalid)
	case patch.IsEmpty():
		return e.step(FoundNothing)
	}
	e.Patch = patch
	if e.outdated && e.can(FoundOutdated) {
		e.outdated = false
		return e.step(FoundOutdated)
	}
	return e.step(FoundChange)
}

// Overtake takes a version that somebody else has saved while text is typed, and returns the fields that it changes.
// Submitting merges first.
func (e *Edit[I, R, P]) Overtake(now R) []string {
	changed := e.Kind.Changes(e.Base.Record, now).Fields()
	if e.state != Typing || len(changed) == 0 {
		return nil
	}
	e.outdated = true
	return changed
}

// Confirm tells whether to send the change now.
func (e *Edit[I, R, P]) Confirm() bool { return e.step(Confirmed) == Confirmed }

// Saving is how to send the change, which is for the base only.
func (e *Edit[I, R, P]) Saving() Saving[I, R, P] {
	s := Saving[I, R, P]{
		Kind: e.Kind, ID: e.ID, Patch: e.Patch, Delete: e.Deletes, ETag: e.Base.ETag, Base: &e.Base.Record,
		Restore: e.Restores, Key: e.Key,
	}
	if e.IsOfDeleted() {
		s.Base = nil // there is nothing to read and compare
	}
	return s
}

// hasText tells whether text is typed: not for what is done as a whole.
func (e *Edit[I, R, P]) hasText() bool { return !e.Deletes && !e.Undoes && e.Restores == nil }

// Sent takes the outcome of the change that was sent.
func (e *Edit[I, R, P]) Sent(done Saving[I, R, P]) EditEvent {
	refused, _ := errors.AsType[*client.Error](done.Err)
	switch {
	case e.state != Sending:
		return Ignored
	case done.IsDone() || e.Deletes && client.IsNotFound(done.Err):
		return e.saved(done.Current, done.HasCurrent)
	case client.OutcomeUnknown(done.Err) && e.Deletes && done.HasCurrent:
		return e.step(FoundFailure)
	case client.OutcomeUnknown(done.Err):
		return e.step(FoundDoubt)
	case IsVersionConflict(done.Err) && done.HasCurrent:
		return e.meet(done.Current)
	case refused != nil && len(refused.Fields) > 0 && e.hasText():
		return e.step(FoundRefused)
	}
	return e.step(FoundFailure)
}

// Read takes the record as it was read, or why it was not.
func (e *Edit[I, R, P]) Read(now client.Version[R], err error) EditEvent {
	isSaved := err == nil && !e.Deletes && e.Patch.IsAppliedTo(now.Record) || e.Deletes && client.IsNotFound(err)
	switch {
	case e.state == Refreshing:
		if event := e.Submit(); event != FoundChange || err != nil {
			return event // without the newer version, the service reports the conflict
		}
		return e.meet(now)
	case !e.can(FoundSaved) || e.state == Sending:
		return Ignored
	case e.IsOfDeleted() && client.IsNotFound(err):
		return e.step(FoundUnsaved)
	case err != nil && !isSaved:
		return Ignored
	case !isSaved && e.Deletes:
		return e.step(GaveUp)
	case !isSaved:
		return e.step(FoundUnsaved)
	}
	later := e.Kind.Changes(e.Wanted(), e.withTyped())
	if e.state == TypingInDoubt && (!later.IsEmpty() || len(e.Invalid()) > 0) {
		e.rebase(now, later)
		return e.step(FoundPart)
	}
	return e.saved(now, err == nil)
}

// meet compares the edit with a version that somebody else has saved, and merges the two if a field differs.
func (e *Edit[I, R, P]) meet(now client.Version[R]) EditEvent {
	switch {
	case e.Deletes:
		e.Base = now
		return e.step(FoundSame)
	case e.Restores != nil:
		e.Base, e.Patch = now, e.Kind.Changes(now.Record, e.Wanted())
		return e.step(FoundSame)
	case e.Kind.Changes(e.Base.Record, now.Record).IsEmpty():
		e.rebase(now, e.Patch)
		return e.step(FoundSame)
	}
	e.Merge = e.Kind.merge(e.Base.Record, now, e.Patch)
	return e.step(FoundConflict)
}

// MeetDraft compares the text of a draft with the record as it is now.
func (e *Edit[I, R, P]) MeetDraft(now client.Version[R]) EditEvent {
	if e.state != Typing || e.Kind.IsSame(e.Base, now) {
		return Ignored
	}
	e.Patch = e.changes()
	return e.meet(now)
}

// Decide goes on with a merge in which all conflicts are decided. If nothing of the edit is left, it ends.
func (e *Edit[I, R, P]) Decide() EditEvent {
	if !e.can(Decided) || len(e.Merge.Undecided()) > 0 {
		return Ignored
	}
	now, patch := e.Merge.Now, e.Merge.patch(e.Patch)
	if e.state == Merging && patch.IsEmpty() {
		return e.step(GaveUp)
	}
	e.rebase(now, patch)
	return e.step(Decided)
}

// Back goes back to the text, in which a merge counts if all conflicts are decided. Without a text, the edit ends. Of a
// draft that was not merged, only the draft is left.
func (e *Edit[I, R, P]) Back() EditEvent {
	if !e.hasText() || e.state == MergingDraft {
		return e.step(GaveUp)
	}
	if e.state == Merging && len(e.Merge.Undecided()) == 0 {
		e.rebase(e.Merge.Now, e.Merge.patch(e.Patch))
	}
	return e.step(WentBack)
}

// GiveUp ends the edit without saving it.
func (e *Edit[I, R, P]) GiveUp() EditEvent { return e.step(GaveUp) }

// saved ends the edit. If its version was not read, it is computed, and compared with the next one that is read.
func (e *Edit[I, R, P]) saved(current client.Version[R], isRead bool) EditEvent {
	e.after = client.Version[R]{Record: e.Wanted()}
	if isRead && e.Kind.Changes(e.after.Record, current.Record).IsEmpty() {
		e.after = current
	}
	return e.step(FoundSaved)
}

// Reverse is the change that takes back the edit.
func (e *Edit[I, R, P]) Reverse() P { return e.Kind.Changes(e.Wanted(), e.Base.Record) }

// Undo begins to take back the edit, which was saved, in the record as it is now. Later changes by somebody else are
// merged.
func (e *Edit[I, R, P]) Undo(now client.Version[R]) *Edit[I, R, P] {
	undo := &Edit[I, R, P]{Kind: e.Kind, ID: e.ID, Base: e.after, Patch: e.Reverse(), Undoes: true, state: Reviewing}
	if e.after.ETag != "" && e.Kind.IsSame(e.after, now) {
		undo.Base = now
	} else {
		undo.meet(now)
	}
	return undo
}

// Merge is an edit and what somebody else has changed since its base, by fields.
type Merge[I ~string, R any, P Patch[R, P]] struct {
	Now       client.Version[R]
	Conflicts []string // both changed them, to different values: only a person can tell which is right
	Theirs    []string // they changed them, and the edit does not or has the same value
	Mine      []string // the edit alone does

	At     int // the conflict to decide next
	chosen map[string]Side
	kind   *EditKind[I, R, P]
}

// Side is a side of a merge.
type Side string

// The sides. "" is neither.
const (
	Mine   Side = "mine"
	Theirs Side = "theirs"
)

func (k *EditKind[I, R, P]) merge(before R, now client.Version[R], mine P) *Merge[I, R, P] {
	m := &Merge[I, R, P]{Now: now, chosen: map[string]Side{}, kind: k}
	changed := k.Changes(before, now.Record).Fields()
	for _, field := range k.Fields() {
		one := mine.Only(field.Name)
		switch theirsToo := slices.Contains(changed, field.Name); {
		case theirsToo && !one.IsAppliedTo(now.Record):
			m.Conflicts = append(m.Conflicts, field.Name)
		case theirsToo:
			m.Theirs = append(m.Theirs, field.Name)
		case !one.IsEmpty():
			m.Mine = append(m.Mine, field.Name)
		}
	}
	return m
}

// Undecided returns the conflicts that are not decided yet.
func (m *Merge[I, R, P]) Undecided() []string {
	return slices.DeleteFunc(slices.Clone(m.Conflicts), func(name string) bool { return m.chosen[name] != "" })
}

// Chosen returns the side that was chosen for a conflict; "" for none.
func (m *Merge[I, R, P]) Chosen(name string) Side { return m.chosen[name] }

// Choose decides the current conflict, and moves to the next undecided one.
func (m *Merge[I, R, P]) Choose(side Side) {
	if len(m.Conflicts) == 0 {
		return
	}
	m.chosen[m.Conflicts[m.At]] = side
	for i := range m.Conflicts {
		if next := (m.At + i) % len(m.Conflicts); m.chosen[m.Conflicts[next]] == "" {
			m.At = next
			return
		}
	}
}

// patch is what the edit still changes in their version, as far as it is decided.
func (m *Merge[I, R, P]) patch(whole P) P {
	kept := slices.Clone(m.Mine)
	for _, name := range m.Conflicts {
		if m.chosen[name] == Mine {
			kept = append(kept, name)
		}
	}
	return m.kind.Changes(m.Now.Record, with(m.Now.Record, whole.Only(kept...)))
}
