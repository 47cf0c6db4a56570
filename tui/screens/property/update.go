package property

import (
	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
)

// Update takes a message.
func (s *Screen) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case screen.Edited:
		return s.edited()
	case screen.FieldLeft:
		if s.drafts.dirty {
			return s.keepDraft()
		}
		return nil
	case screen.Reconnected:
		return s.reconnected(msg)
	case screen.Revealed:
		if s.deleted {
			return s.close()
		}
		return nil
	case recent:
		if msg.screen == s {
			return s.offer(msg.ids)
		}
		return nil
	case dueDraft:
		if msg.drafts == s.drafts && msg.number == s.drafts.number {
			return s.keepDraft()
		}
		return nil
	case keptDraft:
		if msg.drafts == s.drafts {
			return s.drafts.kept(msg.err)
		}
		return nil
	case foundDraft:
		if msg.drafts == s.drafts {
			s.drafts.found(msg.values)
		}
		return nil
	case tea.MouseMsg:
		s.point(msg)
		return nil
	}
	return s.ended(msg)
}

// ended takes the ends of loads and changes.
func (s *Screen) ended(msg tea.Msg) tea.Cmd {
	if next, changed := s.record.Take(msg); next != nil || changed {
		return s.recorded(next)
	}
	if next, changed := s.looker.Take(msg); changed {
		return s.looked()
	} else if next != nil {
		return next
	}
	if sent, ok := s.sender.Take(msg); ok && s.edit != nil {
		return s.sent(sent)
	}
	if sent, ok := s.remover.Take(msg); ok {
		return s.removed(sent)
	}
	return nil
}

func (s *Screen) recorded(next tea.Cmd) tea.Cmd {
	switch {
	case next != nil:
		return next
	case s.doomed:
		return s.sight()
	case s.record.Err == nil:
		return s.remember()
	}
	return nil
}

func (s *Screen) edited() tea.Cmd {
	if s.edit == nil || s.edit.form == nil {
		return nil
	}
	return s.drafts.edited()
}

// reconnected reads again what is shown, and looks after what was sent and not answered. What was typed stays.
func (s *Screen) reconnected(msg screen.Reconnected) tea.Cmd {
	if msg.Other {
		return s.changeService()
	}
	if s.deleted || s.inSandbox() {
		return nil
	}
	cmds := []tea.Cmd{s.record.Again()}
	if s.edit != nil && s.edit.lost && !s.sender.Busy() {
		cmds = append(cmds, s.look())
	}
	return tea.Batch(cmds...)
}

// changeService begins anew: a property of another service is another property, even under the same id. Text that was typed
// is kept as a draft of the service that it belongs to.
func (s *Screen) changeService() tea.Cmd {
	keep := s.keepDraft()
	s.renew()
	s.edit, s.undo, s.notes, s.doomed, s.deleted, s.remembered = nil, nil, nil, false, false, false
	s.show(reading)
	s.drafts = draftsOf(s.shell, s.id)
	return tea.Batch(keep, s.Init())
}

// point scrolls by the wheel, and goes to the field that is clicked.
func (s *Screen) point(msg tea.MouseMsg) {
	if form := s.Form(); form != nil {
		place, ok := form.FieldAt(msg.Y - s.formTop)
		if ok && msg.Button == tea.MouseButtonLeft && msg.Action == tea.MouseActionPress {
			form.FocusOn(place)
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
