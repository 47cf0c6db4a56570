package perks

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/tui/screen"
)

// byDefault is the order that the service has by itself.
func byDefault() api.SortKey { return api.SortKey{Field: "created_at", Desc: true} }

// orderName is what a sort field is called when one is chosen, and in which direction people mean it at first.
func orderName(field string) (name string, desc bool) {
	switch field {
	case "created_at":
		return "When it was added", true
	case "updated_at":
		return "When it was changed", true
	case "valid_from":
		return "When it begins", false
	case "valid_to":
		return "When it ends", false
	case "merchant_name":
		return "Merchant", false
	case "":
		return "", false
	}
	name = strings.ReplaceAll(field, "_", " ")
	return strings.ToUpper(name[:1]) + name[1:], false
}

// orderWords says an order: "newest first", "by title, Z to A".
func orderWords(key api.SortKey) string {
	up, down := "", ""
	switch key.Field {
	case "created_at":
		up, down = "oldest first", "newest first"
	case "updated_at":
		up, down = "changed longest ago first", "changed last first"
	case "valid_from":
		up, down = "beginning soonest first", "beginning last first"
	case "valid_to":
		up, down = "ending soonest first", "ending last first"
	case api.SortDistance:
		up, down = "nearest first", "farthest first"
	default:
		name, _ := orderName(key.Field)
		name = strings.ToLower(name)
		up, down = "by "+name+", A to Z", "by "+name+", Z to A"
	}
	if key.Desc {
		return down
	}
	return up
}

// chooseOrder asks for the field to sort by.
func (s *Screen) chooseOrder() tea.Cmd {
	fields := api.PerkSortFields()
	pick := screen.Pick{Title: "Sort by", Then: func(index int) tea.Cmd { return s.sortBy(fields[index]) }}
	for i, field := range fields {
		name, _ := orderName(field)
		if field == api.SortDistance && !s.want.isNear {
			name += " (needs Near in the filter)"
		}
		if field == s.want.effective().Field {
			pick.Current = i
			name += " (now)"
		}
		pick.Options = append(pick.Options, name)
	}
	return s.shell.Post(pick)
}

func (s *Screen) sortBy(field string) tea.Cmd {
	if field == api.SortDistance && !s.want.isNear {
		return screen.Tell(screen.Warning, "Perks can be sorted by distance only from a place: fill in Near in the filter (%s) first.", s.filterKey())
	}
	_, desc := orderName(field)
	changed := s.want
	changed.order = api.SortKey{Field: field, Desc: desc}
	return s.ask(changed)
}

func (s *Screen) reverse() tea.Cmd {
	changed := s.want
	changed.order = changed.effective()
	changed.order.Desc = !changed.order.Desc
	return s.ask(changed)
}
