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

// pause is how long nothing must be typed before the service is asked.
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
	form.SendFromAnywhere()
	return form
}

// formFields are the fields of the filter that the form has.
func formFields() []api.FilterField {
	return slices.DeleteFunc(slices.Clone(api.PerkFilterFields), func(field api.FilterField) bool { return field.Label == "" })
}

// read returns what the form asks for, and which fields hold something that cannot be asked for.
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

// applyFilter makes the list show what the form asks for, once nothing has been typed for a moment. What was asked for before is
// given up at once, even where the form now holds something wrong, which is not sent.
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
	s.form.FocusOn(0)
	s.layout()
	return nil
}

// leaveFilter goes back to the list. Only Enter insists that the fields be right; otherwise those that are wrong take back
// what the list shows, so that nothing is left in there that does not count.
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

// inForm renames the fields that the form has in another way than the service.
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

// query is which perks the list shows, and in which order.
type query struct {
	_ [0]func() // == would compare the pointer to a circle; isSame compares what is asked for
	api.PerkFilter
	order api.SortKey
}

// isSame tells whether two queries ask for the same.
func (q query) isSame(other query) bool {
	return q.order == other.order && q.Values().Encode() == other.Values().Encode()
}

// chooseOrder asks for the field to sort by.
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
		return screen.Tell(screen.Warning, "Perks can be sorted by distance only from a place: fill in Near in the filter (%s) first.", s.shell.Key(actions.Filter))
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

// effective is the order that can be had: there is no distance without a place to measure from.
func (q query) effective() api.SortKey {
	if q.order.Field == api.SortDistance && q.Near == nil {
		return screen.DefaultOrder()
	}
	return q.order
}

// isFiltered tells whether something but the order and the expired ones was asked for.
func (q query) isFiltered() bool { return q.filter() != "" }

// filter says what the list is filtered by: `words "coffee", city Berlin`; "" if by nothing.
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

// asID is the words as the id of a perk, if they can be one and nothing else is in the filter; "" otherwise.
func (q query) asID() string {
	words := query{PerkFilter: api.PerkFilter{Query: q.Query, IncludeExpired: q.IncludeExpired}, order: q.order}
	if !q.isSame(words) || api.PerkIDRule(q.Query) != "" {
		return ""
	}
	return api.LowerUUID(q.Query)
}

// summary says the whole query in one line, the filter first because it is what surprises most when it is forgotten.
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
