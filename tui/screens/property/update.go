package property

import (
	"cmp"
	"fmt"
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/api/operation"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
)

func (s *Screen) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case screen.Edited:
		if s.page() == editing {
			s.typed()
			return s.drafts.edited()
		}
	case screen.FieldLeft:
		if s.drafts.dirty {
			return s.saveDraft()
		}
	case screen.Reconnected:
		switch { // what failed may succeed now
		case s.isInDoubt() || len(s.notes) == 0:
		case s.page() == viewing:
			s.notes = nil
		case s.page() == reviewing:
			s.notes = []string{"Not saved. Your text is kept."}
		}
		if !s.inSandbox() {
			return s.record.Again()
		}
	case screen.Changed:
		return s.changedByOthers(msg)
	case versionChosen:
		if msg.of == s && s.edit == nil && cmp.Or(s.whyNoChange(), s.shell.WhyNoChange(actions.Restore)) == "" {
			return s.startRestore(msg.version)
		}
	case screen.Recent:
		if msg.Of == s {
			return s.pickProperty(msg.IDs)
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

func (s *Screen) Watches(event api.Event) bool {
	return event.Property != nil && event.Property.PropertyID() == s.id
}

func (s *Screen) WatchesWhileTyping() bool { return true }

// changedByOthers reads the property again, or says in the form that saving will merge.
func (s *Screen) changedByOthers(msg screen.Changed) tea.Cmd {
	switch {
	case s.isInDoubt() || s.sender.Busy():
	case s.page() == viewing:
		return s.record.Again()
	default:
		if changed := s.edit.Overtake(*msg.Events[len(msg.Events)-1].Property); len(changed) > 0 {
			s.notes = []string{fmt.Sprintf("Somebody else changed: %s. Saving merges.", labels(changed))}
		}
	}
	return nil
}

func (s *Screen) handleEnd(msg tea.Msg) tea.Cmd {
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
	next, changed := s.record.Handle(msg)
	switch {
	case !changed:
		return next
	case s.isInDoubt() || s.edit != nil && s.edit.State() == operation.Refreshing:
		return s.handleRead()
	case s.isGone():
		return s.readDeletion()
	case s.record.Err == nil && !s.remembered:
		s.remembered = true
		return tea.Batch(s.tellDeleted(), s.shell.Remember(s.shell.Account.Profile, kind, string(s.id)))
	}
	return s.tellDeleted()
}

// mouse scrolls with the wheel, and moves to the field that is clicked. A click on the field under the cursor edits it.
func (s *Screen) mouse(msg screen.Mouse) tea.Cmd {
	switch form := s.Form(); {
	case form != nil:
		if index, ok := form.FieldAt(msg.Y - s.formTop); ok && msg.Wheel == "" {
			form.FocusIndex(index)
		}
	case msg.Wheel != "":
		s.scroll.Do(msg.Wheel)
	case s.page() == viewing:
		above, _ := s.scroll.More()
		row := slices.IndexFunc(s.ends, func(end int) bool { return end > above+msg.Y })
		switch {
		case row < 0 || row >= len(pageFields()):
		case row == s.cursor && s.whyNoEdit() == "":
			return s.startEdit(pageFields()[row].Name)
		default:
			s.cursor = row
		}
	}
	return nil
}

func (s *Screen) Offers() []actions.Offer {
	busy := actions.WhyIf(s.sender.Busy(), "It is being saved.")
	switch s.page() {
	case editing:
		offers := append([]actions.Offer{{ID: actions.Submit, Why: busy, Hint: "save", Do: s.review}},
			actions.Enabled(actions.NextField, actions.PreviousField)...)
		if fieldNamed(s.edit.form.Focus()).IsMultiline() {
			editor := actions.Offer{ID: actions.Editor, Why: whyNoEditor(), Do: s.openEditor}
			offers = slices.Insert(offers, 1, editor)
		}
		return append(offers, actions.Offer{ID: actions.Cancel, Why: busy, Do: s.discard})
	case reviewing:
		offers := []actions.Offer{
			{ID: actions.Submit, Why: cmp.Or(busy, s.whyUnseen()), Hint: s.edit.words().do, Do: s.save},
		}
		if s.isInDoubt() {
			offers = append(offers, actions.Offer{ID: actions.CheckAgain, Why: busy, Do: s.record.Again})
		}
		offers = append(offers, s.scroll.Moves(s.scroll.Scrolled)...)
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
		undecided := actions.WhyIf(len(names) > 0, fmt.Sprintf("Decide first about: %s.", labels(names)))
		choose := func(side operation.Side) func() tea.Cmd {
			return func() tea.Cmd {
				s.edit.Merge.Choose(side)
				s.reveal = true
				return nil
			}
		}
		return append([]actions.Offer{
			{ID: actions.Mine, Why: none, Do: choose(operation.Mine)},
			{ID: actions.Theirs, Why: none, Do: choose(operation.Theirs)},
			{ID: actions.Submit, Why: undecided, Hint: "save", Do: s.applyMerge},
			{ID: actions.Back, Do: s.leaveMerge},
		}, s.scroll.Moves(s.moveInMerge)...)
	}
	return s.viewingOffers()
}

func (s *Screen) viewingOffers() []actions.Offer {
	switch {
	case s.inSandbox():
		return nil
	case s.id == "":
		return []actions.Offer{{ID: actions.Open, Do: func() tea.Cmd {
			return s.shell.Recent(s, s.shell.Account.Profile, kind)
		}}}
	}
	if deletion := s.deletion(); deletion != nil {
		return s.deletedOffers(*deletion)
	}
	why, noEdit := s.whyNoChange(), s.whyNoEdit()
	noUndo := cmp.Or(why, s.whyNoUndo())
	noImage := actions.WhyIf(len(s.record.Value.Record.Images) == 0, "It has no images.")
	noOpen := cmp.Or(noEdit, s.shell.WhyNoChange(actions.Edit)) // elsewhere Open changes nothing
	edit := func() tea.Cmd { return s.startEdit(pageFields()[s.cursor].Name) }
	var offers []actions.Offer
	if s.isInDoubt() {
		offers = append(offers, actions.Offer{ID: actions.CheckAgain, Do: s.record.Again})
	}
	return slices.Concat(offers, []actions.Offer{
		{ID: actions.Open, Why: noOpen, Hint: "edit", Do: edit},
		{ID: actions.Edit, Why: noEdit, Do: edit},
		{ID: actions.History, Why: why, Do: s.openHistory},
		{ID: actions.Undo, Why: noUndo, Do: s.startUndo},
		{ID: actions.Delete, Why: why, Do: func() tea.Cmd { return s.confirmDelete("") }},
		{ID: actions.EditField, Why: noEdit, Hint: "field", Do: s.pickField},
		{ID: actions.OpenImage, Why: noImage, Do: s.openImage},
		{ID: actions.CopyID, Do: s.copyID},
	}, s.scroll.Moves(s.move))
}

// whyNoChange says why the property can't be changed now; "" if it can.
func (s *Screen) whyNoChange() string {
	switch {
	case s.isDeleting():
		return "It is being deleted."
	case s.prepared.Busy():
		return beingRead
	case s.isInDoubt():
		return "First check whether it was deleted."
	case s.isGone() && s.deletion() == nil:
		return "There is no such property any more."
	case s.deletion() != nil:
	case !s.record.Has && s.record.Busy():
		return "It is being loaded."
	case !s.record.Has:
		return "It was not loaded."
	}
	return ""
}

func (s *Screen) whyNoEdit() string {
	return cmp.Or(s.whyNoChange(), actions.WhyIf(!s.drafts.known, "Its draft is being loaded."))
}

// pickField asks which field to edit.
func (s *Screen) pickField() tea.Cmd {
	pick := screen.Pick{Title: "Edit which field?", Current: s.cursor, Then: func(index int) tea.Cmd {
		if s.edit != nil || s.whyNoEdit() != "" {
			return nil
		}
		return s.startEdit(fields()[index].Name)
	}}
	for _, f := range fields() {
		pick.Options = append(pick.Options, f.Label)
	}
	return s.shell.Post(pick)
}

// leaveReview goes back to the form; an undo has none.
func (s *Screen) leaveReview() tea.Cmd {
	if s.edit.form == nil {
		return s.closeEdit()
	}
	if s.edit.Back(); !s.isInDoubt() {
		s.notes = nil
	}
	s.turn()
	return nil
}

// moveInMerge moves from conflict to conflict, or scrolls.
func (s *Screen) moveInMerge(id actions.ID) tea.Cmd {
	m := s.edit.Merge
	step := map[actions.ID]int{actions.Up: -1, actions.Down: 1}[id]
	if step == 0 || len(m.Conflicts) == 0 {
		return s.scroll.Scrolled(id)
	}
	m.At = max(0, min(m.At+step, len(m.Conflicts)-1))
	s.reveal = true
	return nil
}

// openImage opens the image in a browser. It asks which one if there are several.
func (s *Screen) openImage() tea.Cmd {
	images := s.record.Value.Record.Images
	if len(images) == 1 {
		return s.shell.Browse(images[0])
	}
	options := make([]string, len(images))
	for i, address := range images {
		options[i] = display.Line(address)
	}
	return s.shell.Post(screen.Pick{Title: "Which image?", Options: options, Then: func(index int) tea.Cmd {
		return s.shell.Browse(images[index])
	}})
}
