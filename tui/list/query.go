package list

import (
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/screen"
)

// maxSeen is how many values of a column are kept for completion.
const maxSeen = 500

// note keeps the values in the rows for completion.
func (l *List[F, T]) note() {
	for _, field := range l.Fields {
		at := l.Columns.Sorted(field.Name)
		if at < 0 || field.Key == "" {
			continue
		}
		for i := range l.rows {
			if value := l.rows[i].Cells[at]; value != "" && len(l.seen[field.Name]) < maxSeen &&
				!slices.Contains(l.seen[field.Name], value) {
				l.seen[field.Name] = append(l.seen[field.Name], value)
			}
		}
	}
}

// text returns the typed query.
func (l *List[F, T]) text() string { return l.line.Value("query") }

// completion returns the likely ends of what is typed, the most likely first, and where those begin in the line.
func (l *List[F, T]) completion() (from int, choices []string) {
	text := l.text()
	c := api.CompleteQuery(l.Fields, text, len(text))
	if c.Field == nil || c.Choices != nil {
		return c.From, c.Choices
	}
	for _, value := range l.valuesBeginning(c.Field.Name, c.Prefix) {
		choices = append(choices, api.QuoteQuery(value))
	}
	return c.From, choices
}

// valuesBeginning returns the known values of a field that begin so, without regard to case.
func (l *List[F, T]) valuesBeginning(field, prefix string) []string {
	values := slices.Clone(l.seen[field])
	if l.Values != nil {
		values = append(values, l.Values(field)...)
	}
	slices.Sort(values)
	return slices.DeleteFunc(slices.Compact(values), func(value string) bool {
		return len(value) < len(prefix) || !strings.EqualFold(value[:len(prefix)], prefix)
	})
}

// complete types the first of the completions.
func (l *List[F, T]) complete() tea.Cmd {
	from, choices := l.completion()
	if len(choices) == 0 {
		return nil
	}
	next := choices[0]
	if !strings.HasSuffix(next, ":") {
		next += " "
	}
	l.line.Set("query", l.text()[:from]+next)
	return l.typed()
}

// read returns the typed query. A name that is begun counts as the first that begins so, and a choice that is
// begun at the end as the first of its field.
func (l *List[F, T]) read() (q query[F], problems []api.QueryProblem) {
	text := l.text()
	if c := api.CompleteQuery(l.Fields, text, len(text)); c.Field != nil && c.Prefix != "" && len(c.Choices) > 0 &&
		!slices.Contains(c.Choices, strings.ToLower(c.Prefix)) {
		text = text[:c.From] + c.Choices[0]
	}
	text = l.named(text)
	q = query[F]{text: strings.TrimSpace(text), order: l.want.order}
	q.filter, problems = api.ParseQuery(l.Fields, text)
	for _, field := range l.Fields {
		value := field.Get(q.filter)
		if value == "" || !slices.Contains(l.Begun, field.Name) {
			continue
		}
		known := l.valuesBeginning(field.Name, value)
		isWhole := slices.ContainsFunc(known, func(name string) bool { return strings.EqualFold(name, value) })
		if len(known) > 0 && !isWhole && field.Set(&q.filter, known[0]) == "" {
			q.text = api.FormatQuery(l.Fields, q.filter)
		}
	}
	return q, problems
}

// named names the field of a word that is the value of Bare, if that makes sense of it.
func (l *List[F, T]) named(text string) string {
	_, problems := api.ParseQuery(l.Fields, text)
	for _, p := range problems {
		if l.Bare == "" || p.Incomplete || strings.ContainsAny(text[p.From:p.To], ":+<>") {
			continue
		}
		named := text[:p.From] + l.Bare + ":" + text[p.From:]
		if _, left := api.ParseQuery(l.Fields, named); len(left) < len(problems) {
			return named
		}
	}
	return text
}

// chips are the words of the query, and its fields. A place is called what the service calls it.
func (l *List[F, T]) chips() (chips []string) {
	text, before := api.FormatQuery(l.Fields, l.want.filter), api.QueryField
	place := ""
	if shown := l.loader.Value.pages; l.isWanted() && len(shown) > 0 {
		place = shown[0].Near
	}
	for _, part := range api.QueryParts(l.Fields, text) {
		chip := display.Line(text[part.From:part.To])
		if place != "" && slices.Contains(part.Fields, "near") {
			chip = "near:" + api.QuoteQuery(display.Line(place))
		}
		if part.Kind == api.QueryWord && before == api.QueryWord {
			chips[len(chips)-1] += " " + chip
		} else {
			chips = append(chips, chip)
		}
		before = part.Kind
	}
	return chips
}

// typed shows the list of the typed query. An invalid query keeps the list as it is.
func (l *List[F, T]) typed() tea.Cmd {
	q, problems := l.read()
	if len(problems) > 0 {
		l.cancelLoads()
		return nil
	}
	return l.showAfter(pause, q)
}

// mistake is the first problem of the typed query, or that it names a place that is not found; "" if there is none.
func (l *List[F, T]) mistake() (text string, isIncomplete bool) {
	if _, problems := l.read(); l.typing && len(problems) > 0 {
		return problems[0].Text, problems[0].Incomplete
	}
	if l.isNoPlace() {
		return screen.Sentence("", l.Failure()), false
	}
	return "", false
}

// isNoPlace tells whether the query that is typed names a place that is not found. That is said below the query, and
// not in the list again.
func (l *List[F, T]) isNoPlace() bool { return l.typing && client.IsNoPlace(l.Failure()) }

// Type opens the line to type a query in.
func (l *List[F, T]) Type() tea.Cmd {
	l.typing, l.before = true, l.want.text
	text := l.before
	switch {
	case len(l.Fields) == 1: // another value takes its place
		text = ""
	case text != "":
		text += " "
	}
	l.line.Set("query", text)
	l.arrange()
	return ifAny(l.OnType)
}

// leave closes the line. Without apply, the list is as it was before.
func (l *List[F, T]) leave(apply bool) tea.Cmd {
	if mistake, _ := l.mistake(); apply && mistake != "" {
		return nil
	}
	if !apply {
		l.line.Set("query", l.before)
	}
	cmd := l.typed()
	l.typing = false
	l.arrange()
	return cmd
}

// Find shows what a query finds.
func (l *List[F, T]) Find(text string) tea.Cmd {
	filter, _ := api.ParseQuery(l.Fields, text)
	return l.show(query[F]{text: strings.TrimSpace(text), filter: filter, order: l.want.order})
}

// Filter returns what the list selects.
func (l *List[F, T]) Filter() F { return l.want.filter }

// TypedID is the query if nothing matches and it can be an id; "" otherwise.
func (l *List[F, T]) TypedID() string {
	if len(l.shown) > 0 || !l.loadEnded || l.IDRule == nil || l.want.text == "" || l.IDRule(l.want.text) != "" {
		return ""
	}
	return api.LowerUUID(l.want.text)
}

// words are what a row is searched for.
func (l *List[F, T]) words() []string {
	for _, field := range l.Fields {
		if field.Key == "" {
			return strings.Fields(field.Get(l.want.filter))
		}
	}
	return nil
}

// summary is the query and the order in one line.
func (l *List[F, T]) summary() string {
	order := orderWords(l.effective(l.want))
	if l.want.text == "" {
		return order
	}
	return display.Line(l.want.text) + ", " + order
}

// With returns the query with a field of another value, such as of a category.
func (l *List[F, T]) With(set func(*F)) string {
	filter := l.want.filter
	set(&filter)
	return api.FormatQuery(l.Fields, filter)
}
