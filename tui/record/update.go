package record

import (
	"cmp"
	"fmt"
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/operation"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

func (s *Editor[I, R, P]) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case screen.Edited:
		if s.Page() == editing {
			s.typed()
			return s.drafts.edited()
		}
	case screen.FieldLeft:
		if s.drafts.dirty {
			return s.saveDraft()
		}
	case screen.Reconnected:
		switch { // what failed may succeed now
		case s.IsInDoubt() || len(s.Notes) == 0:
		case s.Page() == Viewing:
			s.Notes = nil
		case s.Page() == reviewing:
			s.Notes = []string{"Not saved. Your text is kept."}
		}
		return s.Record.Again()
	case screen.Changed:
		return s.changedByOthers(msg)
	case versionChosen:
		if msg.of == any(s) && s.edit == nil && cmp.Or(s.WhyNoChange(), s.WhyNotAllowed(actions.Restore)) == "" {
			return s.startRestore(msg.version)
		}
	case draftDue:
		if msg == (draftDue{s.drafts, s.drafts.number}) {
			return s.saveDraft()
		}
	case draftSaved:
		if msg.drafts == s.drafts {
			return s.drafts.handleSaved(msg.err)
		}
	case draftLoaded:
		if msg.drafts == s.drafts && !s.drafts.known {
			s.drafts.values, s.drafts.known = msg.values, true
		}
	case editedText:
		return s.handleEditor(msg)
	case screen.Mouse:
		return s.mouse(msg)
	default:
		return s.handleEnd(msg)
	}
	return nil
}

func (s *Editor[I, R, P]) Watches(event api.Event) bool {
	return s.Kind.IsAbout(event, s.ID)
}

func (s *Editor[I, R, P]) WatchesWhileTyping() bool { return true }

// changedByOthers reads the record again, or says in the form that saving will merge.
func (s *Editor[I, R, P]) changedByOthers(msg screen.Changed) tea.Cmd {
	if s.IsInDoubt() || s.sender.Busy() {
		return nil
	}
	if now := s.Kind.InEvent(msg.Events[len(msg.Events)-1]); now != nil && s.Page() != Viewing {
		s.overtake(*now)
		return nil
	}
	s.awaited = true
	return s.Record.Again()
}

func (s *Editor[I, R, P]) overtake(now R) {
	if changed := s.edit.Overtake(now); len(changed) > 0 {
		s.Notes = []string{fmt.Sprintf("Somebody else changed: %s. Saving merges.", s.Kind.Labels(changed))}
	}
}

func (s *Editor[I, R, P]) handleEnd(msg tea.Msg) tea.Cmd {
	if sent, mine := s.sender.Handle(msg); mine {
		if s.edit == nil {
			return s.handleDelete(sent)
		}
		return s.handleSave(sent)
	}
	if _, changed := s.deleted.Handle(msg); changed {
		return s.tellDeleted()
	}
	if _, changed := s.prepared.Handle(msg); changed {
		return s.handlePrepared()
	}
	next, changed := s.Record.Handle(msg)
	if !changed {
		return next
	}
	awaited := s.awaited
	s.awaited = false
	switch {
	case s.IsInDoubt() || s.edit != nil && s.edit.State() == operation.Refreshing:
		return s.handleRead()
	case s.IsGone() && s.Kind.Delete != nil:
		return s.readDeletion()
	case s.Record.Err == nil && !s.remembered:
		s.remembered = true
		return tea.Batch(s.tellDeleted(), s.Kind.Remember(s.Shell, s.ID, s.Record.Value.Record))
	case s.Record.Err == nil && s.edit != nil && awaited:
		s.overtake(s.Record.Value.Record)
	}
	return s.tellDeleted()
}

// mouse scrolls with the wheel, and moves to the field of a form that is clicked.
func (s *Editor[I, R, P]) mouse(msg screen.Mouse) tea.Cmd {
	switch form := s.Form(); {
	case form != nil:
		if msg.Wheel == "" {
			s.FocusAt(form, msg)
		}
	case msg.Wheel != "":
		s.Scroll.Do(msg.Wheel)
	}
	return nil
}

// FocusAt moves to the field that is clicked, and tells whether there is one.
func (s *Editor[I, R, P]) FocusAt(form *widget.Form, at screen.Mouse) bool {
	index, ok := form.FieldAt(at.X, at.Y-s.formTop)
	if ok {
		form.FocusIndex(index)
	}
	return ok
}

// Offers is what can be done on a page other than Viewing.
func (s *Editor[I, R, P]) Offers() []actions.Offer {
	busy := actions.WhyIf(s.sender.Busy(), "It is being saved.")
	switch s.Page() {
	case editing:
		offers := append([]actions.Offer{{ID: actions.Submit, Why: busy, Hint: "save", Do: s.review}},
			actions.Enabled(actions.NextField, actions.PreviousField)...)
		if s.Kind.field(s.edit.form.Focus()).IsMultiline() {
			editor := actions.Offer{ID: actions.Editor, Why: whyNoEditor(), Do: s.openEditor}
			offers = slices.Insert(offers, 1, editor)
		}
		return append(offers, actions.Offer{ID: actions.Cancel, Why: busy, Do: s.discard})
	case reviewing:
		offers := []actions.Offer{
			{ID: actions.Submit, Why: cmp.Or(busy, s.whyUnseen()), Hint: s.edit.words().do, Do: s.save},
		}
		if s.IsInDoubt() {
			offers = append(offers, actions.Offer{ID: actions.CheckAgain, Why: busy, Do: s.Record.Again})
		}
		offers = append(offers, s.Scroll.Moves(s.Scroll.Scrolled)...)
		offers = append(offers, actions.Offer{ID: actions.Back, Why: busy, Do: s.leaveReview})
		if s.isFoldable() {
			offers = append(offers, actions.Offer{ID: actions.Open, Hint: foldWord(s.unfolded), Do: func() tea.Cmd {
				s.unfolded = !s.unfolded
				return nil
			}})
		}
		return offers
	case merging:
		names := s.edit.Merge.Undecided()
		none := actions.WhyIf(len(s.edit.Merge.Conflicts) == 0, "Nothing has to be decided.")
		undecided := actions.WhyIf(len(names) > 0, fmt.Sprintf("Decide first about: %s.", s.Kind.Labels(names)))
		choose := func(side operation.Side) func() tea.Cmd {
			return func() tea.Cmd {
				s.edit.Merge.Choose(side)
				s.Reveal = true
				return nil
			}
		}
		return append([]actions.Offer{
			{ID: actions.Mine, Why: none, Do: choose(operation.Mine)},
			{ID: actions.Theirs, Why: none, Do: choose(operation.Theirs)},
			{ID: actions.Submit, Why: undecided, Hint: s.edit.afterMerge().do, Do: s.applyMerge},
			{ID: actions.Back, Do: s.leaveMerge},
		}, s.Scroll.Moves(s.moveInMerge)...)
	}
	return nil
}

// Offer offers what changes the record, with the scope of that.
func (s *Editor[I, R, P]) Offer(offers ...actions.Offer) []actions.Offer {
	return s.Kind.offers(offers)
}

// CheckOffers is what can be done while the outcome of a change is unknown.
func (s *Editor[I, R, P]) CheckOffers() []actions.Offer {
	if !s.IsInDoubt() {
		return nil
	}
	return []actions.Offer{{ID: actions.CheckAgain, Do: s.Record.Again}}
}

// WhyNotAllowed says why this profile and token cannot do the action; "" if they can.
func (s *Editor[I, R, P]) WhyNotAllowed(id actions.ID) string {
	return s.Shell.WhyNoChange(actions.Offer{ID: id, Scope: string(s.Kind.Scope)})
}

// WhyNoChange says why the record can't be changed now; "" if it can.
func (s *Editor[I, R, P]) WhyNoChange() string {
	switch {
	case s.isDeleting():
		return "It is being deleted."
	case s.prepared.Busy():
		return beingRead
	case s.IsInDoubt():
		return "First check whether it was deleted."
	case s.IsGone() && s.Deletion() == nil:
		return "There is no such " + s.Kind.Name + " any more."
	case s.Deletion() != nil:
	case !s.Record.Has && s.Record.Busy():
		return "It is being loaded."
	case !s.Record.Has:
		return "It was not loaded."
	}
	return ""
}

// WhyNoEdit says why no form can be opened now; "" if one can.
func (s *Editor[I, R, P]) WhyNoEdit() string {
	return cmp.Or(s.WhyNoChange(), actions.WhyIf(!s.drafts.known, "Its draft is being loaded."))
}

// PickField asks which field to edit.
func (s *Editor[I, R, P]) PickField(current string) tea.Cmd {
	fields := s.Kind.formFields()
	pick := screen.Pick{Title: "Edit which field?", Then: func(index int) tea.Cmd {
		if s.edit != nil || s.WhyNoEdit() != "" {
			return nil
		}
		return s.StartEdit(fields[index].Name)
	}}
	for i, f := range fields {
		if pick.Options = append(pick.Options, f.Label); f.Name == current {
			pick.Current = i
		}
	}
	return s.Shell.Post(pick)
}

// leaveReview goes back to the form; an undo has none.
func (s *Editor[I, R, P]) leaveReview() tea.Cmd {
	if s.edit.form == nil {
		return s.closeEdit()
	}
	if s.edit.Back(); !s.IsInDoubt() {
		s.Notes = nil
	}
	s.turn()
	return nil
}

// moveInMerge moves from conflict to conflict, or scrolls.
func (s *Editor[I, R, P]) moveInMerge(id actions.ID) tea.Cmd {
	m := s.edit.Merge
	step := map[actions.ID]int{actions.Up: -1, actions.Down: 1}[id]
	if step == 0 || len(m.Conflicts) == 0 {
		return s.Scroll.Scrolled(id)
	}
	m.At = max(0, min(m.At+step, len(m.Conflicts)-1))
	s.Reveal = true
	return nil
}
