package perks

import (
	"context"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/screen"
)

// chooseCategory asks for one of the service's categories. They are loaded once.
func (s *Screen) chooseCategory() tea.Cmd {
	if s.categories.Has {
		return s.pickCategory()
	}
	s.categoriesWait = true
	if s.categories.Busy() {
		return nil
	}
	return s.categories.Load(func(ctx context.Context, c *client.Client) ([]api.Category, error) { return c.Categories(ctx) })
}

func (s *Screen) arrivedCategories() tea.Cmd {
	wait := s.categoriesWait
	s.categoriesWait = false
	switch {
	case s.categories.Err != nil:
		return screen.Tell(screen.Failure, "%s", screen.Sentence("The categories could not be loaded: ", s.categories.Err))
	case wait && !s.typing:
		return s.pickCategory()
	}
	return nil
}

func (s *Screen) pickCategory() tea.Cmd {
	names := []string{""}
	pick := screen.Pick{Title: "Category", Options: []string{"All categories"}}
	for _, category := range s.categories.Value {
		if s.want.category != "" && (strings.EqualFold(category.Name, s.want.category) || category.ID == s.want.category) {
			pick.Current = len(names)
		}
		names = append(names, category.Name)
		pick.Options = append(pick.Options, display.Line(category.Name))
	}
	pick.Then = func(index int) tea.Cmd {
		changed := s.want
		changed.category = names[index]
		return s.ask(changed)
	}
	return s.shell.Post(pick)
}
