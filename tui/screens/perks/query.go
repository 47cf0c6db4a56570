package perks

import (
	"cmp"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/screen"
)

// query is which perks the list shows, and in which order. Two equal queries ask for the same.
type query struct {
	words, city, category string

	isNear bool
	near   client.Point
	radius float64 // 0 is the service's own

	expired bool
	order   api.SortKey
}

// options is how the client asks for a page.
func (q query) options(page int64) client.PerkListOptions {
	options := client.PerkListOptions{
		ListOptions:    client.ListOptions{Page: page, PerPage: perPage, Sort: api.FormatSort([]api.SortKey{q.effective()})},
		Query:          q.words,
		City:           q.city,
		Category:       q.category,
		RadiusKM:       q.radius,
		IncludeExpired: q.expired,
	}
	if q.isNear {
		options.Near = &q.near
	}
	return options
}

// chooseOrder asks for the field to sort by.
func (s *Screen) chooseOrder() tea.Cmd {
	note := func(field string) string {
		if field == api.SortDistance && !s.want.isNear {
			return " (needs Near in the filter)"
		}
		return ""
	}
	return s.shell.Post(screen.PickOrder(append(screen.PerkOrders(), api.SortDistance), s.want.effective(), note, s.sortBy))
}

func (s *Screen) sortBy(order api.SortKey) tea.Cmd {
	if order.Field == api.SortDistance && !s.want.isNear {
		return screen.Tell(screen.Warning, "Perks can be sorted by distance only from a place: fill in Near in the filter (%s) first.", s.filterKey())
	}
	changed := s.want
	changed.order = order
	return s.ask(changed)
}

func (s *Screen) reverse() tea.Cmd {
	changed := s.want
	changed.order = changed.effective()
	changed.order.Desc = !changed.order.Desc
	return s.ask(changed)
}

// effective is the order that can be had: there is no distance without a place to measure from.
func (q query) effective() api.SortKey {
	if q.order.Field == api.SortDistance && !q.isNear {
		return screen.DefaultOrder()
	}
	return q.order
}

// isFiltered tells whether something but the order and the expired ones was asked for.
func (q query) isFiltered() bool {
	return q.words != "" || q.city != "" || q.category != "" || q.isNear
}

// filter says what the list is filtered by: `words "coffee", city Berlin`; "" if by nothing.
func (q query) filter() string {
	var parts []string
	add := func(name, value string) {
		if value != "" {
			parts = append(parts, name+" "+display.Line(value))
		}
	}
	if q.words != "" {
		add("words", `"`+q.words+`"`)
	}
	add("city", q.city)
	add("category", q.category)
	if q.isNear {
		radius := cmp.Or(q.radius, usualRadiusKM)
		parts = append(parts, "near "+degrees(q.near.Lat)+","+degrees(q.near.Lng)+" within "+degrees(radius)+" km")
	}
	return strings.Join(parts, ", ")
}

// asID is the words as the id of a perk, if they can be one and nothing else is in the filter; "" otherwise.
func (q query) asID() string {
	if words := (query{words: q.words, expired: q.expired, order: q.order}); q != words || api.PerkIDRule(q.words) != "" {
		return ""
	}
	return api.LowerUUID(q.words)
}

// summary says the whole query in one line, the filter first because it is what surprises most when it is forgotten.
func (q query) summary() string {
	which := "All valid perks"
	switch filter := q.filter(); {
	case filter != "" && q.expired:
		which = "Filter: " + filter + ", expired ones too"
	case filter != "":
		which = "Filter: " + filter
	case q.expired:
		which = "All perks, expired ones too"
	}
	return which + " - " + screen.OrderWords(q.effective())
}

func degrees(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
