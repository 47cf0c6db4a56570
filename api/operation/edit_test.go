package operation_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/operation"
)

func version(tag string, p api.Property) operation.PropertyVersion {
	return operation.PropertyVersion{Record: p, ETag: `"` + tag + `"`}
}

var (
	flat   = api.Property{ID: 42, Title: "Flat", City: "Leeds", Images: []string{}, Bedrooms: 1}
	mine   = flat.With(api.PropertyPatch{Title: api.Some("Mine")})
	theirs = flat.With(api.PropertyPatch{Title: api.Some("Theirs")})
	lost   = &client.Unreachable{Err: errors.New("reset"), OutcomeUnknown: true}
)

// editIn returns an edit in a state, with "Mine" for its title unless nothing is to be saved.
func editIn(t *testing.T, state operation.EditState) *operation.PropertyEdit {
	t.Helper()
	e := operation.Properties.NewEdit("42", version("1", flat))
	e.Type("title", "Mine")
	switch state {
	case operation.Refreshing:
		e.Overtake(theirs)
		e.Submit()
	case operation.MergingDraft:
		e.MeetDraft(version("2", theirs))
	case operation.Reviewing, operation.Merging, operation.Sending, operation.InDoubt, operation.TypingInDoubt,
		operation.Saved:
		e.Submit()
	}
	switch state {
	case operation.Merging, operation.Sending, operation.InDoubt, operation.TypingInDoubt, operation.Saved:
		e.Confirm()
	}
	now := version("2", theirs)
	switch state {
	case operation.Merging:
		e.Sent(sent(&client.Error{Status: http.StatusPreconditionFailed}, &now))
	case operation.InDoubt, operation.TypingInDoubt:
		e.Sent(sent(lost, nil))
	case operation.Saved:
		e.Sent(sent(nil, nil))
	case operation.Ended:
		e.GiveUp()
	}
	if state == operation.TypingInDoubt {
		e.Back()
	}
	if e.State() != state {
		t.Fatalf("it is in state %d, not %d", e.State(), state)
	}
	return e
}

// sent is an outcome of saving, with the record as it was read after it, if it was.
func sent(err error, now *operation.PropertyVersion) operation.PropertySaving {
	s := operation.PropertySaving{Kind: operation.Properties, Patch: api.PropertyChanges(flat, mine), Err: err}
	if now != nil {
		s.Current, s.HasCurrent = *now, true
	}
	return s
}

// TestEveryEventInEveryState has what follows from everything that can happen in each state. A dot is nothing.
func TestEveryEventInEveryState(t *testing.T) {
	type edit = operation.PropertyEdit
	other, same, made := version("2", theirs), version("2", flat), version("2", mine)
	changed := &client.Error{Status: http.StatusPreconditionFailed}
	inputs := []struct {
		name string
		do   func(e *edit)
	}{
		{"type", func(e *edit) { e.Type("city", "York") }},
		{"submit", func(e *edit) { e.Submit() }},
		{"submit invalid", func(e *edit) { e.Type("bedrooms", "many"); e.Submit() }},
		{"submit nothing", func(e *edit) { e.Type("title", "Flat"); e.Submit() }},
		{"submit overtaken", func(e *edit) { e.Overtake(theirs); e.Submit() }},
		{"draft of another version", func(e *edit) { e.MeetDraft(other) }},
		{"back", func(e *edit) { e.Back() }},
		{"give up", func(e *edit) { e.GiveUp() }},
		{"confirm", func(e *edit) { e.Confirm() }},
		{"decide too early", func(e *edit) { e.Decide() }},
		{"decide for mine", func(e *edit) { choose(e, operation.Mine); e.Decide() }},
		{"decide for theirs", func(e *edit) { choose(e, operation.Theirs); e.Decide() }},
		{"sent: saved", func(e *edit) { e.Sent(sent(nil, nil)) }},
		{"sent: saved before", func(e *edit) { e.Sent(sent(changed, &made)) }},
		{"sent: lost", func(e *edit) { e.Sent(sent(lost, nil)) }},
		{"sent: lost, not saved yet", func(e *edit) { e.Sent(sent(lost, &same)) }},
		{"sent: refused", func(e *edit) {
			e.Sent(sent(&client.Error{Status: 422, Fields: api.FieldErrors{"title": {"is rude"}}}, nil))
		}},
		{"sent: failed", func(e *edit) { e.Sent(sent(&client.Error{Status: 403}, nil)) }},
		{"sent: changed, unread", func(e *edit) { e.Sent(sent(changed, nil)) }},
		{"sent: changed", func(e *edit) { e.Sent(sent(changed, &other)) }},
		{"sent: changed invisibly", func(e *edit) { e.Sent(sent(changed, &same)) }},
		{"read: has it", func(e *edit) { e.Read(made, nil) }},
		{"read: lacks it", func(e *edit) { e.Read(same, nil) }},
		{"read: changed", func(e *edit) { e.Read(other, nil) }},
		{"read: has it, more was typed", func(e *edit) { e.Type("city", "York"); e.Read(made, nil) }},
		{"read: failed", func(e *edit) { e.Read(made, lost) }},
	}
	names := []string{
		"typing", "typing?", "refresh", "review", "merge", "merge draft", "sending", "doubt", "saved", "ended",
	}
	want := strings.Fields(`
		input                        typing      typing? refresh review  merge  merge-draft sending doubt   saved ended
		type                         .           .       .       .       .      .           .       .       .     .
		submit                       review      review  review  .       .      .           .       .       .     .
		submit-invalid               .           .       typing  .       .      .           .       .       .     .
		submit-nothing               .           .       typing  .       .      .           .       .       .     .
		submit-overtaken             refresh     review  review  .       .      .           .       .       .     .
		draft-of-another-version     merge-draft .       .       .       .      .           .       .       .     .
		back                         .           .       .       typing  typing ended       .       typing? .     .
		give-up                      ended       ended   ended   ended   ended  ended       .       ended   .     .
		confirm                      .           .       .       sending .      .           .       sending .     .
		decide-too-early             .           .       .       .       .      .           .       .       .     .
		decide-for-mine              .           .       .       .       review typing      .       .       .     .
		decide-for-theirs            .           .       .       .       ended  typing      .       .       .     .
		sent:-saved                  .           .       .       .       .      .           saved   .       .     .
		sent:-saved-before           .           .       .       .       .      .           saved   .       .     .
		sent:-lost                   .           .       .       .       .      .           doubt   .       .     .
		sent:-lost,-not-saved-yet    .           .       .       .       .      .           doubt   .       .     .
		sent:-refused                .           .       .       .       .      .           typing  .       .     .
		sent:-failed                 .           .       .       .       .      .           review  .       .     .
		sent:-changed,-unread        .           .       .       .       .      .           review  .       .     .
		sent:-changed                .           .       .       .       .      .           merge   .       .     .
		sent:-changed-invisibly      .           .       .       .       .      .           review  .       .     .
		read:-has-it                 .           saved   merge   .       .      .           .       saved   .     .
		read:-lacks-it               .           .       review  .       .      .           .       .       .     .
		read:-changed                .           .       merge   .       .      .           .       .       .     .
		read:-has-it,-more-was-typed .           typing  merge   .       .      .           .       saved   .     .
		read:-failed                 .           .       review  .       .      .           .       .       .     .`)
	got := append([]string{"input"}, names...)
	for _, input := range inputs {
		got = append(got, input.name)
		for state := range operation.EditState(len(names)) {
			e := editIn(t, state)
			input.do(e)
			after := "."
			if e.State() != state {
				after = names[e.State()]
			}
			got = append(got, after)
			isKept := e.State() == operation.Saved || e.State() == operation.Ended || input.name == "submit nothing" ||
				input.name == "decide for theirs"
			isLess := strings.HasSuffix(input.name, "more was typed") && state.HasForm() && e.Text("city") != "York"
			if !isKept && (isLess || e.Text("title") != "Mine") {
				t.Errorf("%s while %s: the text became %q, %q", input.name, names[state], e.Text("title"),
					e.Text("city"))
			}
		}
	}
	for i, cell := range got {
		if cell = strings.ReplaceAll(cell, " ", "-"); cell != want[i] {
			columns := len(names) + 1
			t.Errorf("%s while %s: %s, want %s", got[i-i%columns], got[i%columns], cell, want[i])
		}
	}
}

func choose(e *operation.PropertyEdit, side operation.Side) {
	if e.Merge != nil {
		e.Merge.Choose(side)
	}
}

func TestDeletionAndUndoHaveNoText(t *testing.T) {
	gone := &client.Error{Status: http.StatusNotFound}
	changed := &client.Error{Status: http.StatusPreconditionFailed}
	now, same := version("2", theirs), version("1", flat)
	for name, test := range map[string]struct {
		err  error
		now  *operation.PropertyVersion
		want operation.EditState
	}{
		"deleted":               {nil, nil, operation.Saved},
		"gone before":           {gone, nil, operation.Saved},
		"changed":               {changed, &now, operation.Reviewing},
		"lost":                  {lost, nil, operation.InDoubt},
		"lost, not deleted yet": {lost, &same, operation.Reviewing},
	} {
		e := operation.Properties.NewDeletion("42", same)
		e.Confirm()
		if e.Sent(sent(test.err, test.now)); e.State() != test.want {
			t.Errorf("%s: in state %d", name, e.State())
		}
		if name == "changed" && e.Base.ETag != now.ETag {
			t.Error("it would delete a version that nobody has seen")
		}
	}
	saved, made := editIn(t, operation.Sending), version("2", mine)
	saved.Sent(sent(nil, &made))
	for name, test := range map[string]struct {
		now  operation.PropertyVersion
		want operation.EditState
	}{
		"as it was saved":   {version("2", mine), operation.Reviewing},
		"saved again":       {version("3", mine), operation.Reviewing},
		"changed by others": {version("3", theirs), operation.Merging},
	} {
		e := saved.Undo(test.now)
		if e.State() != test.want || e.Wanted().Title != "Flat" {
			t.Errorf("%s: in state %d it wants %q", name, e.State(), e.Wanted().Title)
		}
		if e.Back(); e.State() != operation.Ended {
			t.Errorf("%s: it goes back to a text that it does not have", name)
		}
	}
}

// walk is an edit, a person who types, somebody else, and a service that loses requests and replies.
type walk struct {
	t       *testing.T
	r       *rand.Rand
	c       *client.Client
	s       *propertyServer
	e       *operation.PropertyEdit
	said    map[string]string // what was typed and must not get lost
	history []api.Property    // every record that the service has had
	steps   []string
}

func (w *walk) step() {
	w.s.drop, w.s.cut = w.r.IntN(5) == 0, w.r.IntN(5) == 0
	fails := w.r.IntN(6) == 0
	before := w.e.State()
	var did string
	switch n := w.r.IntN(12); {
	case n < 3:
		name := []string{"title", "city", "bedrooms"}[w.r.IntN(3)]
		text := []string{"1", "2", "3", "many"}[w.r.IntN(4)]
		did = "type " + name + " " + text
		w.e.Type(name, text)
		if !w.e.State().HasForm() {
			break
		}
		if delete(w.said, name); slices.Contains(w.e.Typed(), name) {
			w.said[name] = text
		}
	case n == 3:
		name := []string{"title", "city", "bedrooms"}[w.r.IntN(3)]
		did = "others change " + name
		value := api.TextValue(fmt.Sprint(w.r.IntN(4)))
		patch, err := api.ParsePropertyPatch([]api.Member{{Name: name, Value: value}})
		if err != nil {
			w.t.Fatal(err)
		}
		w.s.change(patch)
		w.history = append(w.history, *w.s.property)
		if w.r.IntN(2) == 0 {
			w.e.Overtake(*w.s.property)
		}
	case n == 4 && w.r.IntN(3) == 0 && w.e.State() == operation.Typing:
		did = "resume the draft"
		now, err := operation.Properties.Read(w.t.Context(), w.c, "42")
		if err != nil {
			w.t.Fatal(err)
		}
		w.e = operation.Properties.Resume("42", w.e.Draft(time.Now()), now)
	case n < 6:
		did = "submit"
		w.e.Submit()
	case n < 8:
		did = "confirm"
		w.confirm()
	case n == 8:
		did = "back"
		w.e.Back()
	case n == 9 && w.e.Merge != nil:
		did = "decide"
		w.decide()
	case n >= 9:
		did = "read"
		now, err := operation.Properties.Read(w.t.Context(), w.c, "42")
		if fails {
			err = lost
		}
		w.e.Read(now, err)
	}
	w.steps = append(w.steps, fmt.Sprintf("%s: %d to %d", did, before, w.e.State()))
}

func (w *walk) confirm() {
	if !w.e.Confirm() {
		return
	}
	made, had := w.s.made, *w.s.property
	done := w.e.Saving().Send(w.t.Context(), w.c)
	w.history = append(w.history, *w.s.property)
	if w.s.made > made+1 {
		w.fail("made %d times", w.s.made-made)
	}
	if w.s.made > made && !api.PropertyChanges(w.e.Base.Record, had).IsEmpty() {
		w.fail("it was made in another version than the one that was reviewed")
	}
	w.e.Sent(done)
}

func (w *walk) decide() {
	for _, name := range w.e.Merge.Undecided() {
		side := []operation.Side{operation.Mine, operation.Theirs}[w.r.IntN(2)]
		if side == operation.Theirs {
			delete(w.said, name)
		}
		w.e.Merge.At = slices.Index(w.e.Merge.Conflicts, name)
		w.e.Merge.Choose(side)
	}
	w.e.Decide()
}

func (w *walk) check() {
	if w.e.State() == operation.Saved {
		if !slices.ContainsFunc(w.history, w.e.Patch.IsAppliedTo) {
			w.fail("claimed to be saved: %v", w.e.Patch.Fields())
		}
		for _, name := range slices.Sorted(maps.Keys(w.said)) {
			if text := operation.Properties.Text(name, w.e.Wanted()); text != w.said[name] {
				w.fail("%q was typed as the %s, and %q is saved", w.said[name], name, text)
			}
		}
		return
	}
	for _, name := range slices.Sorted(maps.Keys(w.said)) {
		if w.e.State() != operation.Ended && w.e.Text(name) != w.said[name] {
			w.fail("the %s is %q, and %q was typed", name, w.e.Text(name), w.said[name])
		}
		if w.said[name] == w.e.BaseText(name) { // the others have saved the same, and may change it again
			delete(w.said, name)
		}
	}
}

func (w *walk) fail(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf(format+"\n%s", append(args, strings.Join(w.steps, "\n"))...)
}

// TestRandomEditsKeepTheirPromises walks at random: what was typed is never lost, nothing is made twice or over a
// change that nobody has reviewed, and what is called saved was in the record.
func TestRandomEditsKeepTheirPromises(t *testing.T) {
	s := newPropertyServer()
	c := serve(t, s)
	ended := map[operation.EditState]int{}
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 0))
		*s.property, s.noETags, s.weak, s.neverMatch = flat, r.IntN(3) == 0, r.IntN(3) == 0, r.IntN(4) == 0
		s.version++
		s.drop, s.cut = false, false
		base, err := operation.Properties.Read(t.Context(), c, "42")
		if err != nil {
			t.Fatal(err)
		}
		w := &walk{t: t, r: r, c: c, s: s, e: operation.Properties.NewEdit("42", base), said: map[string]string{}}
		for range 60 {
			w.step()
			w.check()
		}
		ended[w.e.State()]++
	}
	if ended[operation.Saved] < 100 || ended[operation.Merging] == 0 || ended[operation.InDoubt] == 0 {
		t.Errorf("the walks end in these states: %v", ended)
	}
}
