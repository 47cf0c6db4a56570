package perks

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// pause is how long nothing must be typed before the list is loaded.
const pause = 150 * time.Millisecond

func (s *List) newForm() *widget.Form {
	var fields []widget.Field
	for _, field := range formFields() {
		fields = append(fields, widget.Field{Name: field.Name, Label: field.Label, Hint: field.Hint, Check: func(text string) string {
			q, _ := s.read()
			return field.Set(&q.PerkFilter, text)
		}})
	}
	form := widget.NewForm(s.shell.Theme, fields...)
	form.SubmitFromAnyField()
	return form
}

// formFields returns the fields of the filter that are in the form.
func formFields() []api.FilterField[api.PerkFilter] {
	return slices.DeleteFunc(slices.Clone(api.PerkFilterFields), func(field api.FilterField[api.PerkFilter]) bool { return field.Label == "" })
}

// read returns the query of the form, and the fields that are not valid.
func (s *List) read() (q query, wrong []string) {
	q = query{order: s.want.order, PerkFilter: api.PerkFilter{IncludeExpired: s.want.IncludeExpired}}
	for _, field := range formFields() {
		if problem := field.Set(&q.PerkFilter, s.form.Value(field.Name)); problem != "" {
			wrong = append(wrong, field.Name)
		}
	}
	return q, wrong
}

func (s *List) fill(names []string) {
	for _, field := range formFields() {
		if slices.Contains(names, field.Name) {
			s.form.Set(field.Name, field.Get(s.want.PerkFilter))
		}
	}
}

// applyFilter shows the query of the form after a pause. It cancels the previous query at once, even if the form is not valid.
func (s *List) applyFilter() tea.Cmd {
	q, wrong := s.read()
	if len(wrong) > 0 {
		s.cancelLoads()
		return nil
	}
	return s.showQueryAfter(pause, q)
}

func (s *List) openFilter() tea.Cmd {
	s.typing = true
	s.form.FocusIndex(0)
	s.layout()
	return nil
}

// leaveFilter goes back to the list. Enter insists on valid fields; otherwise fields that are not valid get back what the list shows.
func (s *List) leaveFilter(insist bool) tea.Cmd {
	_, wrong := s.read()
	if insist && len(wrong) > 0 {
		s.form.Check()
		return nil
	}
	s.typing = false
	s.fill(wrong)
	cmd := s.applyFilter()
	s.layout()
	return cmd
}

// inForm puts errors of lat and lng beside the one field that the form has for both.
func inForm(fields api.FieldErrors) api.FieldErrors {
	renamed := api.FieldErrors{}
	for name, problems := range fields {
		prefix := map[string]string{"lat": "latitude ", "lng": "longitude "}[name]
		if prefix != "" {
			name = "near"
		}
		for _, problem := range problems {
			renamed[name] = append(renamed[name], prefix+problem)
		}
	}
	return renamed
}

func (s *List) clearedBy() string { return s.shell.Key(actions.ClearFilter) + " clears the filter." }

// query is a filter and an order.
type query struct {
	_ [0]func() // forbids ==, which would compare the pointer Near; use isSame
	api.PerkFilter
	order api.SortKey
}

func (q query) isSame(other query) bool {
	return q.order == other.order && q.Values().Encode() == other.Values().Encode()
}

func (s *List) chooseOrder() tea.Cmd {
	note := func(field string) string {
		if field == api.SortDistance && s.want.Near == nil {
			return " (needs Near in the filter)"
		}
		return ""
	}
	return s.shell.Post(screen.PickOrder(append(screen.PerkOrders(), api.SortDistance), s.want.effective(), note, s.sortBy))
}

func (s *List) sortBy(order api.SortKey) tea.Cmd {
	if order.Field == api.SortDistance && s.want.Near == nil {
		return screen.Tell(screen.Warning, "To sort by distance, fill in Near in the filter (%s).", s.shell.Key(actions.Filter))
	}
	changed := s.want
	changed.order = order
	return s.showQuery(changed)
}

func (s *List) reverse() tea.Cmd {
	changed := s.want
	changed.order = changed.effective()
	changed.order.Desc = !changed.order.Desc
	return s.showQuery(changed)
}

// effective is the order that the service can use: sorting by distance needs a position.
func (q query) effective() api.SortKey {
	if q.order.Field == api.SortDistance && q.Near == nil {
		return screen.DefaultOrder()
	}
	return q.order
}

// isFiltered tells whether the query has a filter other than for expired perks.
func (q query) isFiltered() bool { return q.filter() != "" }

// filter describes the filter: `words "coffee", city Berlin`; "" if there is none.
func (q query) filter() string {
	var parts []string
	for _, field := range formFields() {
		text := display.Line(field.Get(q.PerkFilter))
		switch {
		case text == "" || field.Name == "radius":
			continue
		case field.Name == "q":
			text = `"` + text + `"`
		case field.Name == "near":
			text += " within " + strconv.FormatFloat(cmp.Or(q.Near.RadiusKM, api.DefaultRadiusKM), 'f', -1, 64) + " km"
		}
		parts = append(parts, strings.ToLower(field.Label)+" "+text)
	}
	return strings.Join(parts, ", ")
}

// asID is the words if they can be the id of a perk and are all of the filter; "" otherwise.
func (q query) asID() string {
	words := query{PerkFilter: api.PerkFilter{Query: q.Query, IncludeExpired: q.IncludeExpired}, order: q.order}
	if !q.isSame(words) || api.PerkIDRule(q.Query) != "" {
		return ""
	}
	return api.LowerUUID(q.Query)
}

// summary is the query in one line. The filter comes first, because a forgotten one surprises most.
func (q query) summary() string {
	which := "All valid perks"
	switch filter := q.filter(); {
	case filter != "" && q.IncludeExpired:
		which = "Filter: " + filter + ", expired ones too"
	case filter != "":
		which = "Filter: " + filter
	case q.IncludeExpired:
		which = "All perks, expired ones too"
	}
	return which + " - " + screen.OrderWords(q.effective())
}
