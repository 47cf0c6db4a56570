package property

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
)

func (s *Screen) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case screen.Edited:
		if s.edit != nil && s.edit.form != nil {
			return s.drafts.edited()
		}
	case screen.FieldLeft:
		if s.drafts.dirty {
			return s.saveDraft()
		}
	case screen.Reconnected:
		if !s.deleted && !s.inSandbox() {
			return s.record.Again()
		}
	case screen.Revealed:
		if s.deleted {
			return s.close()
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
	case tea.MouseMsg:
		s.mouse(msg)
	default:
		return s.handleEnd(msg)
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
	if cmd, mine := s.image.Handle(msg); mine {
		return cmd
	}
	next, changed := s.record.Handle(msg)
	if changed && !slices.Contains(s.record.Value.Property.Images, s.image.Address()) {
		s.image.Hide()
	}
	switch {
	case !changed:
		return next
	case s.unknown && !s.sender.Busy():
		return s.handleCheck()
	case s.record.Err == nil && !s.remembered:
		s.remembered = true
		return s.shell.Remember(s.shell.Account.Profile, kind, strconv.FormatInt(s.id, 10))
	}
	return nil
}

// mouse scrolls with the wheel, and focuses the field that is clicked.
func (s *Screen) mouse(msg tea.MouseMsg) {
	if form := s.Form(); form != nil {
		index, ok := form.FieldAt(msg.Y - s.formTop)
		if ok && msg.Button == tea.MouseButtonLeft && msg.Action == tea.MouseActionPress {
			form.FocusIndex(index)
		}
		return
	}
	switch msg.Button {
	case tea.MouseButtonWheelUp:
		s.scroll.Do(actions.Up)
	case tea.MouseButtonWheelDown:
		s.scroll.Do(actions.Down)
	}
}

func (s *Screen) Offers() []actions.Offer {
	busy := ""
	if s.sender.Busy() {
		busy = "It is being saved."
	}
	switch s.mode {
	case editing:
		return []actions.Offer{actions.EnabledUnless(actions.Submit, busy).WithHint("review"), actions.EnabledUnless(actions.NextField, ""), actions.EnabledUnless(actions.PreviousField, ""), actions.EnabledUnless(actions.Cancel, busy)}
	case reviewing:
		word := map[bool]string{false: "save", true: "undo"}[s.edit.undoing]
		unseen := s.whyUnseen()
		offers := []actions.Offer{actions.EnabledUnless(actions.Submit, cmp.Or(busy, unseen)).WithHint(word)}
		if s.unknown {
			offers = append(offers, actions.EnabledUnless(actions.CheckAgain, busy))
		}
		offers = append(append(offers, s.scroll.Moves()...), actions.EnabledUnless(actions.Back, busy))
		if s.isFoldable() {
			offers = append(offers, actions.EnabledUnless(actions.Open, "").WithHint(map[bool]string{false: "show all", true: "fold"}[s.unfolded]))
		}
		return offers
	case merging:
		none, undecided := "", ""
		if len(s.edit.merge.Conflicts) == 0 {
			none = "Nothing has to be decided."
		}
		if names := s.edit.merge.undecided(); len(names) > 0 {
			undecided = fmt.Sprintf("Decide first about: %s.", labels(names))
		}
		return append([]actions.Offer{
			actions.EnabledUnless(actions.Mine, none), actions.EnabledUnless(actions.Theirs, none),
			actions.EnabledUnless(actions.Submit, undecided).WithHint("save"), actions.EnabledUnless(actions.Back, ""),
		}, s.scroll.Moves()...)
	}
	return s.viewingOffers()
}

func (s *Screen) viewingOffers() []actions.Offer {
	switch {
	case s.deleted || s.inSandbox():
		return nil
	case s.id == 0:
		return actions.Enabled(actions.Open)
	}
	why := ""
	switch {
	case s.isDeleting():
		why = "It is being deleted."
	case s.unknown:
		why = "First check whether it was deleted."
	case client.IsNotFound(s.record.Err):
		why = "There is no such property any more."
	case !s.record.Has && s.record.Busy():
		why = "It is being loaded."
	case !s.record.Has:
		why = "It was not loaded."
	}
	noEdit, noUndo, noImage, noPicture := why, why, "", ""
	if why == "" {
		noUndo = s.whyNoUndo()
	}
	if why == "" && !s.drafts.known {
		noEdit = "Its draft is being loaded."
	}
	switch images := s.record.Value.Property.Images; len(images) {
	case 0:
		noImage, noPicture = "It has no images.", "It has no images."
	case 1:
		noPicture = screen.Sentence("", screen.CheckImage(images[0]))
	}
	var offers []actions.Offer
	if s.unknown {
		offers = actions.Enabled(actions.CheckAgain)
	}
	return append(append(offers, actions.EnabledUnless(actions.Edit, noEdit), actions.EnabledUnless(actions.Undo, noUndo), actions.EnabledUnless(actions.OpenImage, noImage),
		actions.EnabledUnless(actions.CopyID, ""), actions.EnabledUnless(actions.Delete, why), actions.EnabledUnless(actions.Picture, noPicture)), s.scroll.Moves()...)
}

func (s *Screen) Do(id actions.ID) tea.Cmd {
	switch s.mode {
	case editing:
		return s.doEditing(id)
	case reviewing:
		return s.doReviewing(id)
	case merging:
		return s.doMerging(id)
	}
	return s.doViewing(id)
}

func (s *Screen) doViewing(id actions.ID) tea.Cmd {
	switch id {
	case actions.Open:
		return s.shell.Recent(s, s.shell.Account.Profile, kind)
	case actions.Edit:
		return s.startEdit()
	case actions.Undo:
		s.notes = nil
		return s.startUndo()
	case actions.Delete:
		return s.confirmDelete("")
	case actions.CheckAgain:
		return s.record.Again()
	case actions.CopyID:
		return s.shell.Copy(strconv.FormatInt(s.id, 10), "")
	case actions.OpenImage:
		return s.pickImage(s.shell.Browse)
	case actions.Picture:
		if s.image.Address() != "" {
			s.image.Hide()
			return nil
		}
		return s.pickImage(func(address string) tea.Cmd { return s.image.Toggle(s.shell, "The property", address) })
	}
	s.scroll.Do(id)
	return nil
}

func (s *Screen) doEditing(id actions.ID) tea.Cmd {
	switch id {
	case actions.Submit:
		return s.review()
	case actions.Cancel:
		return s.discard()
	}
	s.edit.form.Do(id)
	return nil
}

func (s *Screen) doReviewing(id actions.ID) tea.Cmd {
	switch id {
	case actions.Submit:
		return s.send()
	case actions.CheckAgain:
		return s.record.Again()
	case actions.Open:
		s.unfolded = !s.unfolded
		return nil
	case actions.Back:
		if s.edit.form == nil {
			return s.closeEdit()
		}
		s.setMode(editing)
		return nil
	}
	s.scroll.Do(id)
	return nil
}

func (s *Screen) doMerging(id actions.ID) tea.Cmd {
	m := s.edit.merge
	step := map[actions.ID]int{actions.Up: -1, actions.Down: 1}[id]
	switch {
	case id == actions.Submit:
		return s.applyMerge()
	case id == actions.Back:
		return s.leaveMerge()
	case id == actions.Mine:
		m.choose(mine)
	case id == actions.Theirs:
		m.choose(theirs)
	case step != 0 && len(m.Conflicts) > 0:
		m.at = max(0, min(m.at+step, len(m.Conflicts)-1))
	default:
		s.scroll.Do(id)
		return nil
	}
	s.reveal = true
	return nil
}

// pickImage asks which image is meant if there are several.
func (s *Screen) pickImage(then func(address string) tea.Cmd) tea.Cmd {
	images := s.record.Value.Property.Images
	if len(images) == 1 {
		return then(images[0])
	}
	options := make([]string, len(images))
	for i, address := range images {
		options[i] = display.Line(address)
	}
	return s.shell.Post(screen.Pick{Title: "Which image?", Options: options, Then: func(index int) tea.Cmd { return then(images[index]) }})
}
