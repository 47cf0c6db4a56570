package user

import (
	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// kind is what users are called among what is remembered.
const kind = "user"

// recent is the users that were looked at last.
type recent struct {
	asker *Screen
	ids   []string
}

// chosen is the user that a person has asked for.
type chosen struct {
	asker *Screen
	id    string
}

// ask asks which user to show: one of those that were looked at last, or another.
func (s *Screen) ask() tea.Cmd {
	memory, profile := s.shell.Memory, s.shell.Account.Profile
	return func() tea.Msg { return recent{s, memory.Recent(profile, kind)} }
}

func (s *Screen) askAmong(r recent) tea.Cmd {
	if r.asker != s {
		return nil
	}
	var ids, options []string
	for _, id := range r.ids {
		if id != s.id && api.UserIDRule(id) == "" {
			ids, options = append(ids, id), append(options, display.Line(id))
		}
	}
	if len(ids) == 0 {
		return s.shell.Post(s.prompt())
	}
	other := s.prompt()
	return s.shell.Post(screen.Pick{
		Title:   "Which user?",
		Other:   &other,
		Left:    s.leave,
		Options: append(options, "Another user ..."),
		Then: func(index int) tea.Cmd {
			if index >= len(ids) {
				return s.shell.Post(s.prompt())
			}
			return s.shell.Post(chosen{s, ids[index]})
		},
	})
}

func (s *Screen) prompt() screen.Prompt {
	return screen.Prompt{
		Title: "Which user?",
		Field: widget.Field{Name: "user_id", Label: "User id", Hint: "such as alice", Check: api.UserIDRule},
		Then:  func(id string) tea.Cmd { return s.shell.Post(chosen{s, id}) },
		Left:  s.leave,
	}
}

// leave goes back to the screen below, unless there is a user to go back to.
func (s *Screen) leave() tea.Cmd {
	if s.id != "" {
		return nil
	}
	return s.shell.Post(screen.Back{From: s})
}

func (s *Screen) turnToUser(c chosen) tea.Cmd {
	if c.asker != s {
		return nil
	}
	s.id = c.id
	s.at = atAvailable
	return s.startAnew()
}
