package perks

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// pause is how long nothing must be typed before the service is asked.
const pause = 150 * time.Millisecond

// The fields of the filter, as the service calls them where it has one for each.
const (
	fieldWords    = "q"
	fieldCity     = "city"
	fieldCategory = "category"
	fieldNear     = "near"
	fieldRadius   = "radius"
)

// The radius that the service takes where none is given, and the widest.
const (
	usualRadiusKM = 10
	maxRadiusKM   = 500
)

func (s *Screen) newForm() *widget.Form {
	form := widget.NewForm(s.shell.Theme,
		widget.Field{Name: fieldWords, Label: "Words", Hint: "(start of words)"},
		widget.Field{Name: fieldCity, Label: "City", Hint: "(such as Rome)"},
		widget.Field{Name: fieldCategory, Label: "Category", Hint: "(name or id)"},
		widget.Field{Name: fieldNear, Label: "Near", Hint: "(lat,lng)", Check: func(text string) string {
			_, _, problem := parseNear(text)
			return problem
		}},
		widget.Field{Name: fieldRadius, Label: "Radius km", Hint: fmt.Sprintf("(%d)", usualRadiusKM), Check: func(text string) string {
			_, problem := parseRadius(text)
			if problem == "" && strings.TrimSpace(text) != "" && strings.TrimSpace(s.form.Value(fieldNear)) == "" {
				return "needs Near: a place to measure from"
			}
			return problem
		}},
	)
	form.SendFromAnywhere()
	return form
}

// parseNear reads "52.5,13.4". The empty text is no place.
func parseNear(text string) (point client.Point, given bool, problem string) {
	if text = strings.TrimSpace(text); text == "" {
		return client.Point{}, false, ""
	}
	lat, lng, _ := strings.Cut(text, ",")
	if api.TextValue(strings.TrimSpace(lat)).Float(&point.Lat) != "" || api.TextValue(strings.TrimSpace(lng)).Float(&point.Lng) != "" {
		return client.Point{}, true, "must be latitude,longitude, such as 52.52,13.405"
	}
	if problem := api.LatRule(point.Lat); problem != "" {
		return client.Point{}, true, "latitude " + problem
	}
	if problem := api.LngRule(point.Lng); problem != "" {
		return client.Point{}, true, "longitude " + problem
	}
	return point, true, ""
}

// parseRadius reads a number of kilometres. The empty text leaves it to the service.
func parseRadius(text string) (km float64, problem string) {
	if text = strings.TrimSpace(text); text == "" {
		return 0, ""
	}
	if problem := api.TextValue(text).Float(&km); problem != "" {
		return 0, problem
	}
	if !(km > 0 && km <= maxRadiusKM) {
		return 0, fmt.Sprintf("must be above 0 and at most %d", maxRadiusKM)
	}
	return km, ""
}

// read returns what the form asks for, and which fields hold something that cannot be asked for.
func (s *Screen) read() (q query, wrong []string) {
	q = s.want
	q.words = strings.TrimSpace(s.form.Value(fieldWords))
	q.city = strings.TrimSpace(s.form.Value(fieldCity))
	q.category = strings.TrimSpace(s.form.Value(fieldCategory))
	var nearProblem, radiusProblem string
	q.near, q.isNear, nearProblem = parseNear(s.form.Value(fieldNear))
	q.radius, radiusProblem = parseRadius(s.form.Value(fieldRadius))
	if nearProblem != "" {
		wrong = append(wrong, fieldNear)
	}
	if radiusProblem != "" || q.radius != 0 && !q.isNear {
		wrong = append(wrong, fieldRadius)
	}
	return q, wrong
}

func (s *Screen) fill(names []string) {
	near, radius := "", ""
	if s.want.isNear {
		near = degrees(s.want.near.Lat) + "," + degrees(s.want.near.Lng)
	}
	if s.want.radius != 0 {
		radius = degrees(s.want.radius)
	}
	values := map[string]string{
		fieldWords: s.want.words, fieldCity: s.want.city, fieldCategory: s.want.category, fieldNear: near, fieldRadius: radius,
	}
	for _, name := range names {
		s.form.Set(name, values[name])
	}
}

// follow makes the list show what the form asks for, once nothing has been typed for a moment. What was asked for before is
// given up at once, even where the form now holds something wrong, which is not sent.
func (s *Screen) follow() tea.Cmd {
	q, wrong := s.read()
	if len(wrong) > 0 {
		s.giveUp()
		return nil
	}
	return s.askAfter(pause, q)
}

func (s *Screen) openFilter() tea.Cmd {
	s.typing = true
	s.form.FocusOn(0)
	s.arrange()
	return nil
}

// leaveFilter goes back to the list. Only Enter insists that the fields be right; otherwise those that are wrong take back
// what the list shows, so that nothing is left in there that does not count.
func (s *Screen) leaveFilter(insist bool) tea.Cmd {
	_, wrong := s.read()
	if insist && len(wrong) > 0 {
		s.form.Check()
		return nil
	}
	s.typing = false
	s.fill(wrong)
	cmd := s.follow()
	s.arrange()
	return cmd
}

func (s *Screen) clearFilter() tea.Cmd {
	changed := query{order: s.want.order, expired: s.want.expired}
	return s.ask(changed)
}

// refuse shows what the service said of the filter beside its fields. The keyboard stays where it is.
func (s *Screen) refuse() {
	focus := s.form.Focus()
	s.form.Refuse(s.refused())
	s.form.FocusOn(slices.Index(s.form.Names(), focus))
}

// inForm renames the fields that the form has in another way than the service.
func inForm(fields api.FieldErrors) api.FieldErrors {
	renamed := api.FieldErrors{}
	for name, problems := range fields {
		switch name {
		case "lat":
			name, problems = fieldNear, prefixed("latitude ", problems)
		case "lng":
			name, problems = fieldNear, prefixed("longitude ", problems)
		}
		renamed[name] = append(renamed[name], problems...)
	}
	return renamed
}

func prefixed(prefix string, problems []string) []string {
	out := make([]string, len(problems))
	for i, problem := range problems {
		out[i] = prefix + problem
	}
	return out
}

func (s *Screen) clearedBy() string { return s.shell.Key(actions.ClearFilter) + " clears the filter." }

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
		return screen.Tell(screen.Warning, "Perks can be sorted by distance only from a place: fill in Near in the filter (%s) first.", s.shell.Key(actions.Filter))
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
