package screen

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
)

// DefaultOrder is the order of a list of perks if none is asked for.
func DefaultOrder() api.SortKey { return api.SortKey{Field: "created_at", Desc: true} }

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

// OrderWords says an order: "newest first", "by title, Z to A".
func OrderWords(key api.SortKey) string {
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

// PerkOrders is the fields that people sort perks by. Distance is not among them: it needs a place to measure from.
func PerkOrders() []string {
	return []string{"title", "category", "merchant_name", "city", "valid_from", "valid_to", "created_at", "updated_at"}
}

// PickOrder asks which of the fields to sort perks by. The note is added to the name of a field; it may be nil.
func PickOrder(fields []string, now api.SortKey, note func(field string) string, then func(api.SortKey) tea.Cmd) Pick {
	pick := Pick{Title: "Sort by", Then: func(index int) tea.Cmd {
		_, desc := orderName(fields[index])
		return then(api.SortKey{Field: fields[index], Desc: desc})
	}}
	for i, field := range fields {
		name, _ := orderName(field)
		if note != nil {
			name += note(field)
		}
		if field == now.Field {
			pick.Current = i
			name += " (now)"
		}
		pick.Options = append(pick.Options, name)
	}
	return pick
}
