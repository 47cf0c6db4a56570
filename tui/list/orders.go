package list

import (
	"cmp"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/tui/screen"
)

// newestFirst is how a list of perks is sorted by default.
func newestFirst() api.SortKey { return api.SortKey{Field: "created_at", Desc: true} }

// order is a field that perks can be sorted by.
type order struct {
	field, name string // name is what it is called when one is chosen
	desc        bool   // people mean it at first
	up, down    string // the orders in words, of a text "" for "by title, A to Z"
}

// orders are the fields in the order in which they are offered, last those that need something.
var orders = []order{
	{field: "title", name: "Title"},
	{field: "category", name: "Category"},
	{field: "merchant_name", name: "Merchant"},
	{field: "city", name: "City"},
	{"valid_from", "When it begins", false, "beginning soonest first", "beginning last first"},
	{"valid_to", "When it ends", false, "ending soonest first", "ending last first"},
	{"created_at", "When it was added", true, "oldest first", "newest first"},
	{"updated_at", "When it was changed", true, "changed longest ago first", "changed last first"},
	{"redeemed_at", "When it was redeemed", true, "oldest first", "newest first"},
	{"version", "Version", true, "oldest first", "newest first"}, // by no field: clocks differ
	{"price_pw", "Price per week", false, "cheapest first", "dearest first"},
	{"bedrooms", "Bedrooms", true, "fewest bedrooms first", "most bedrooms first"},
	{"propertyId", "Id", true, "by id, lowest first", "by id, highest first"},
	{api.SortDistance, "Distance", false, "nearest first", "farthest first"},
	{api.SortRelevance, "Relevance", false, "best matches first", "best matches last"},
}

// orderOf finds a field. One that is not offered, such as the text of a discount, is called by its name.
func orderOf(field string) order {
	if i := slices.IndexFunc(orders, func(o order) bool { return o.field == field }); i >= 0 {
		return orders[i]
	}
	return order{field: field, name: display.Capital(strings.ReplaceAll(field, "_", " "))}
}

// orderWords names an order: "newest first", "by title, Z to A".
func orderWords(key api.SortKey) string {
	o := orderOf(key.Field)
	by := "by " + strings.ToLower(o.name)
	if key.Desc {
		return cmp.Or(o.down, by+", Z to A")
	}
	return cmp.Or(o.up, by+", A to Z")
}

// orderMark is orderWords with an arrow for the direction: "newest ↓", "title ↑".
func orderMark(key api.SortKey) string {
	o, arrow := orderOf(key.Field), " ↑"
	words := o.up
	if key.Desc {
		words, arrow = o.down, " ↓"
	}
	if words = cmp.Or(words, strings.ToLower(o.name)); key.Field == api.SortRelevance {
		return words // no column has it
	}
	words, _, _ = strings.Cut(strings.TrimPrefix(words, "by "), ", ")
	return strings.TrimSuffix(words, " first") + arrow
}

// FirstOrder returns the order that people mean at first by a field.
func FirstOrder(field string) api.SortKey {
	return api.SortKey{Field: field, Desc: orderOf(field).desc}
}

// chooseOrder asks what to sort by.
func (l *List[F, T]) chooseOrder() tea.Cmd {
	fields, now := l.Orders(l.want.filter), l.effective(l.want)
	pick := screen.Pick{Title: "Sort by", Then: func(index int) tea.Cmd { return l.sortBy(FirstOrder(fields[index])) }}
	for i, field := range fields {
		name := orderOf(field).name
		if field == now.Field {
			pick.Current = i
			name += " (now)"
		}
		pick.Options = append(pick.Options, name)
	}
	return l.shell.Post(pick)
}

func (l *List[F, T]) sortBy(order api.SortKey) tea.Cmd {
	changed := l.want
	changed.order = order
	return tea.Batch(l.keepOrder(order), l.show(changed))
}

func (l *List[F, T]) reverse() tea.Cmd {
	order := l.effective(l.want)
	return l.sortBy(api.SortKey{Field: order.Field, Desc: !order.Desc})
}

// sortByColumn sorts by a field, and the second time in reverse.
func (l *List[F, T]) sortByColumn(field string) tea.Cmd {
	switch {
	case l.effective(l.want).Field == field:
		return l.reverse()
	case slices.Contains(l.Orders(l.want.filter), field):
		return l.sortBy(FirstOrder(field))
	}
	return nil
}
