package property

import (
	"slices"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// kind is how properties are remembered.
const kind = "property"

// recent is the ids of the properties that were opened last.
type recent struct {
	screen *Screen
	ids    []int64
}

// ask lets a person choose a property.
func (s *Screen) ask() tea.Cmd {
	memory, profile := s.shell.Memory, s.shell.Account.Profile
	return func() tea.Msg {
		var ids []int64
		for _, text := range memory.Recent(profile, kind) {
			if id, problem := parseID(text); problem == "" && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
		return recent{s, ids}
	}
}

// offer asks among the recent ones, or for an id if there are none.
func (s *Screen) offer(ids []int64) tea.Cmd {
	if len(ids) == 0 {
		return s.shell.Post(s.prompt())
	}
	other := s.prompt()
	options := make([]string, 0, len(ids)+1)
	for _, id := range ids {
		options = append(options, strconv.FormatInt(id, 10))
	}
	return s.shell.Post(screen.Pick{
		Title:   "Which property?",
		Options: append(options, "Another property ..."),
		Other:   &other,
		Left:    s.close,
		Then: func(index int) tea.Cmd {
			if index < len(ids) {
				return s.open(ids[index])
			}
			return s.shell.Post(other)
		},
	})
}

func (s *Screen) prompt() screen.Prompt {
	return screen.Prompt{
		Title: "Open a property",
		Field: widget.Field{Name: "propertyId", Label: "Property id", Hint: "such as 42", Check: func(value string) string {
			_, problem := parseID(value)
			return problem
		}},
		Then: func(value string) tea.Cmd {
			id, problem := parseID(value)
			if problem != "" {
				return screen.Tell(screen.Warning, "The id %s.", problem)
			}
			return s.open(id)
		},
		Left: s.close,
	}
}

func parseID(text string) (id int64, problem string) {
	id, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || id <= 0 {
		return 0, "must be a whole number above 0"
	}
	return id, ""
}

// open shows a property that was chosen.
func (s *Screen) open(id int64) tea.Cmd {
	if s.id != 0 {
		return nil
	}
	s.id = id
	s.drafts = draftsOf(s.shell, id)
	return s.begin()
}

// remember puts the property among the recent ones once it was read.
func (s *Screen) remember() tea.Cmd {
	if s.remembered {
		return nil
	}
	s.remembered = true
	memory, profile, id := s.shell.Memory, s.shell.Account.Profile, strconv.FormatInt(s.id, 10)
	return func() tea.Msg {
		if err := memory.Remember(profile, kind, id); err != nil {
			return screen.Toast{Kind: screen.Warning, Text: screen.Sentence("The property cannot be put among the recent ones: ", err)}
		}
		return nil
	}
}
