package api

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A query is a filter in one line, as a person types it:
//
//	coffee "two for one" city:rome near:52.52,13.405 <5km +expired price:100..250
//	coffee near:berlin
//
// A field is its key, a colon and a value; a key may be cut short while no other one begins so. Quotes at the start of
// a word or of a value hold blanks and colons, and \" in them is a quote. A range is 2..5, 2.. or ..5, or >2 or <5,
// which include the 2 and the 5. Everything else is words. Because a query is read while it is typed, every text is
// one: what makes no sense is left out, as a problem.

// QueryProblem is a problem of a part of a query.
type QueryProblem struct {
	From, To   int    // of the part, in bytes
	Text       string // what to do, such as "city: needs a value"
	Incomplete bool   // more typing may correct it
}

// QueryKind tells what a part of a query is.
type QueryKind string

// The kinds of parts.
const (
	QueryWord    QueryKind = "word"
	QueryField   QueryKind = "field" // with its value
	QueryMistake QueryKind = "problem"
)

// QueryPart is a word of a query, or a field with its value.
type QueryPart struct {
	Kind     QueryKind
	From, To int      // in bytes
	Fields   []string // names of the fields that it sets: one, or both ends of a range
}

// ParseQuery returns the filter that a query asks for. It leaves out the parts that have problems.
func ParseQuery[F any](fields []FilterField[F], text string) (filter F, problems []QueryProblem) {
	r := readQuery(fields, text)
	filter = r.filter()
	return filter, r.problems
}

// QueryParts returns the parts of a query, in their order.
func QueryParts[F any](fields []FilterField[F], text string) []QueryPart {
	r := readQuery(fields, text)
	r.filter() // finds the values that are not valid
	return r.parts
}

// queryReader collects what a query says.
type queryReader[F any] struct {
	fields   []FilterField[F]
	parts    []QueryPart
	problems []QueryProblem
	words    []string
	values   map[string]string // by the name of the field
	setBy    map[string]int    // the part that names the field
}

func readQuery[F any](fields []FilterField[F], text string) *queryReader[F] {
	r := &queryReader[F]{fields: fields, values: map[string]string{}, setBy: map[string]int{}}
	for tokens := queryTokens(text); len(tokens) > 0; {
		t := tokens[0]
		tokens = tokens[1:]
		meant, value, problem := r.meaning(t)
		for len(tokens) > 0 && len(meant) > 0 && isHalfPoint(meant[0].isPoint, value) && isNumeric(tokens[0].text) {
			value, t.to, tokens = value+" "+tokens[0].text, tokens[0].to, tokens[1:]
		}
		r.parts = append(r.parts, QueryPart{Kind: QueryField, From: t.from, To: t.to})
		if problem.Text != "" {
			r.complain(len(r.parts)-1, problem)
		} else {
			r.take(meant, value)
		}
	}
	return r
}

// complain adds a problem, of which a part has one at most.
func (r *queryReader[F]) complain(part int, problem QueryProblem) {
	if r.parts[part].Kind != QueryMistake {
		r.parts[part].Kind = QueryMistake
		r.problems = append(r.problems, problem)
	}
}

func (r *queryReader[F]) complainOf(part int, isIncomplete bool, text string) {
	r.complain(part, QueryProblem{r.parts[part].From, r.parts[part].To, text, isIncomplete})
}

// meaning returns the fields that a token sets, and its value: two for a range.
func (r *queryReader[F]) meaning(t queryToken) (fields []FilterField[F], value string, problem QueryProblem) {
	bare := t.text[:t.bare]
	for i, field := range r.fields {
		distance, isDistance := strings.CutPrefix(bare, "<")
		switch {
		case field.IsSwitch && t.bare == len(t.text) && (bare == "+"+field.Key || bare == "-"+field.Key):
			return r.fields[i : i+1], strconv.FormatBool(bare[0] == '+'), problem
		case field.Unit != "" && isDistance && isNumeric(distance[:min(1, len(distance))]):
			return r.fields[i : i+1], distance, problem
		}
	}
	if colon := strings.IndexByte(bare, ':'); colon > 0 {
		named, suggestion := fieldsNamed(r.fields, bare[:colon])
		if len(named) > 0 {
			return named, t.text[colon+1:], problem
		}
		if suggestion != "" {
			return nil, "", QueryProblem{From: t.from, To: t.from + colon + 1,
				Text: fmt.Sprintf("no field %q. Did you mean %s:?", bare[:colon], suggestion)}
		}
	}
	if words := keyed(r.fields, ""); len(words) > 0 {
		return words, t.text, problem
	}
	for i, field := range r.fields {
		if slices.Contains(field.Values, strings.ToLower(t.text)) {
			return r.fields[i : i+1], t.text, problem
		}
	}
	text := fmt.Sprintf("%q needs a field: %s:", t.text, strings.Join(keysOf(r.fields), ":, "))
	return nil, "", QueryProblem{t.from, t.to, text, len(namesBeginning(r.fields, t.text)) > 0}
}

// take sets the fields that the last part names.
func (r *queryReader[F]) take(fields []FilterField[F], value string) {
	at := len(r.parts) - 1
	part := &r.parts[at]
	if fields[0].Key == "" {
		part.Kind, part.Fields = QueryWord, []string{fields[0].Name}
		r.words, r.setBy[fields[0].Name] = append(r.words, value), at
		return
	}
	ends := []string{value}
	if len(fields) == 2 {
		ends = rangeEnds(value)
	}
	for i, field := range fields {
		switch _, isAgain := r.values[field.Name]; {
		case strings.TrimSpace(ends[i]) == "":
		case isAgain:
			r.complainOf(at, false, field.Key+": is given twice")
		default:
			r.values[field.Name], r.setBy[field.Name] = ends[i], at
			part.Fields = append(part.Fields, field.Name)
		}
	}
	if len(part.Fields) == 0 {
		r.setBy[fields[0].Name] = at
		r.complainOf(at, true, fields[0].Key+": needs a value")
	}
}

// filter sets the fields in their order, because some need others.
func (r *queryReader[F]) filter() (filter F) {
	for _, field := range r.fields {
		value, given := r.values[field.Name]
		if field.Key == "" {
			value, given = strings.Join(r.words, " "), len(r.words) > 0
		}
		if needed, isNamed := r.setBy[field.needs]; !given || isNamed && r.parts[needed].Kind == QueryMistake {
			continue
		}
		changed := filter
		text := field.Set(&changed, field.ofQuery(value))
		if text != "" {
			text = cmp.Or(field.Key, "words") + ": " + text
		} else if whole, canContradict := any(changed).(interface{ Problem() (name, problem string) }); canContradict {
			name, problem := whole.Problem()
			text = strings.TrimSpace(name + " " + problem)
		}
		if text != "" {
			isBegun := slices.ContainsFunc(field.choices(),
				func(choice string) bool { return strings.HasPrefix(choice, strings.ToLower(value)) })
			r.complainOf(r.setBy[field.Name], isBegun || isHalfPoint(field.isPoint, value), text)
			continue
		}
		filter = changed
	}
	return filter
}

// yesNo are the values of a switch in a query.
var yesNo = []string{"yes", "no"}

// choices returns all values of the field in a query, where these are fixed.
func (f FilterField[F]) choices() []string {
	if f.IsSwitch {
		return yesNo
	}
	return f.Values
}

// ofQuery returns a value of a query as Set reads it.
func (f FilterField[F]) ofQuery(value string) string {
	choice := slices.IndexFunc(f.choices(), func(choice string) bool { return strings.EqualFold(choice, value) })
	switch {
	case choice >= 0 && f.IsSwitch:
		return strconv.FormatBool(yesNo[choice] == "yes")
	case choice >= 0:
		return f.Values[choice]
	}
	return strings.TrimSuffix(value, f.Unit)
}

// keyed returns the fields with a key: one, or both ends of a range.
func keyed[F any](fields []FilterField[F], key string) (found []FilterField[F]) {
	for _, field := range fields {
		if field.Key == key {
			found = append(found, field)
		}
	}
	return found
}

// keysOf returns each key once.
func keysOf[F any](fields []FilterField[F]) (keys []string) {
	for _, field := range fields {
		if field.Key != "" && !slices.Contains(keys, field.Key) {
			keys = append(keys, field.Key)
		}
	}
	return keys
}

// fieldsNamed returns the fields that a name before a colon stands for: a key or the beginning of one, the name of a
// parameter or a flag. If there are none, it suggests what may be meant.
func fieldsNamed[F any](fields []FilterField[F], name string) (found []FilterField[F], suggestion string) {
	name = strings.ToLower(name)
	if found = keyed(fields, name); len(found) > 0 {
		return found, ""
	}
	for i, field := range fields {
		if field.Key != "" && (field.Name == name || field.Flag == name) {
			return fields[i : i+1], ""
		}
	}
	keys := keysOf(fields)
	begun := slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return !strings.HasPrefix(key, name) })
	switch len(begun) {
	case 0:
		return nil, Closest(name, keys)
	case 1:
		return keyed(fields, begun[0]), ""
	}
	return nil, strings.Join(begun, ": or ")
}

// rangeEnds returns the lower and the upper end of a range, "" for none. A single value is both.
func rangeEnds(value string) []string {
	if low, high, isRange := strings.Cut(value, ".."); isRange {
		return []string{low, high}
	}
	if low, isLeast := strings.CutPrefix(value, ">"); isLeast {
		return []string{strings.TrimPrefix(low, "="), ""}
	}
	if high, isMost := strings.CutPrefix(value, "<"); isMost {
		return []string{"", strings.TrimPrefix(high, "=")}
	}
	return []string{value, value}
}

func isNumeric(text string) bool { return strings.Trim(text, "+-., 0123456789") == "" }

// isHalfPoint tells whether a point still lacks one of its two numbers, which may follow a blank.
func isHalfPoint(isPoint bool, value string) bool {
	return isPoint && isNumeric(value) &&
		len(strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })) < 2
}

// FormatQuery returns the query that ParseQuery reads as the filter.
func FormatQuery[F any](fields []FilterField[F], filter F) string {
	var parts []string
	for _, field := range keyed(fields, "") {
		words := field.Get(filter)
		if words == "" {
			break
		}
		for word := range strings.SplitSeq(words, " ") {
			if read := queryTokens(word); len(read) != 1 || read[0].text != word ||
				QueryParts(fields, word)[0].Kind != QueryWord {
				word = quote(word)
			}
			parts = append(parts, word)
		}
	}
	for _, key := range keysOf(fields) {
		ends := keyed(fields, key)
		low, high := ends[0].Get(filter), ends[len(ends)-1].Get(filter)
		switch {
		case low == "" && high == "":
		case ends[0].IsSwitch:
			parts = append(parts, "+"+key)
		case ends[0].Unit != "":
			parts = append(parts, "<"+low+ends[0].Unit)
		case low != high:
			parts = append(parts, key+":"+low+".."+high)
		default:
			parts = append(parts, key+":"+QuoteQuery(low))
		}
	}
	return strings.Join(parts, " ")
}

// QuoteQuery returns a value as it stands in a query: in quotes if it needs them.
func QuoteQuery(value string) string {
	if value == "" || value[0] == '"' || strings.ContainsFunc(value, unicode.IsSpace) {
		return quote(value)
	}
	return value
}

func quote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// QueryCompletion is what may replace the text at the cursor of a query.
type QueryCompletion[F any] struct {
	From   int             // where that begins
	Prefix string          // what is typed from there to the cursor, without quotes
	Field  *FilterField[F] // the field whose value it is; nil where a field or a word begins
	// what begins with the prefix. If the values of a field are not fixed, the caller looks them up
	Choices []string
}

// CompleteQuery returns the completion of a query at a cursor, which is an offset in bytes.
func CompleteQuery[F any](fields []FilterField[F], text string, cursor int) QueryCompletion[F] {
	t := queryToken{from: cursor, to: cursor}
	if tokens := queryTokens(text[:cursor]); len(tokens) > 0 && tokens[len(tokens)-1].to == cursor {
		t = tokens[len(tokens)-1]
	}
	bare := t.text[:t.bare]
	if colon := strings.IndexByte(bare, ':'); colon > 0 {
		c := QueryCompletion[F]{From: t.from + colon + 1, Prefix: t.text[colon+1:]}
		if named, _ := fieldsNamed(fields, bare[:colon]); len(named) > 0 {
			c.Field = &named[0]
			c.Choices = slices.DeleteFunc(slices.Clone(c.Field.choices()),
				func(choice string) bool { return !strings.HasPrefix(choice, strings.ToLower(c.Prefix)) })
		}
		return c
	}
	c := QueryCompletion[F]{From: t.from, Prefix: t.text}
	if t.bare == len(t.text) {
		c.Choices = namesBeginning(fields, bare)
	}
	return c
}

// namesBeginning returns what can begin a part of a query and begins so: keys, switches behind a sign, and values that
// need no key.
func namesBeginning[F any](fields []FilterField[F], typed string) []string {
	var names []string
	for _, key := range keysOf(fields) {
		names = append(names, key+":")
	}
	for _, field := range fields {
		if len(keyed(fields, "")) == 0 {
			names = append(names, field.Values...)
		}
		if field.IsSwitch && typed != "" {
			names = append(names, "+"+field.Key, "-"+field.Key)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, strings.ToLower(typed)) })
}

// queryToken is a part of a query as it is typed.
type queryToken struct {
	from, to int
	text     string // without quotes
	bare     int    // bytes of the text before the quotes, in which nothing has a meaning
}

// queryTokens splits a query at its blanks. A quote that is still open runs to the end.
func queryTokens(text string) (tokens []queryToken) {
	for at := 0; at < len(text); {
		if r, size := utf8.DecodeRuneInString(text[at:]); unicode.IsSpace(r) {
			at += size
			continue
		}
		t := queryToken{from: at, bare: -1}
		var word []byte
		for isQuoted := false; at < len(text); {
			r, size := utf8.DecodeRuneInString(text[at:])
			if !isQuoted && unicode.IsSpace(r) {
				break
			}
			switch {
			case isQuoted && r == '"':
				isQuoted = false
			case isQuoted && r == '\\' && at+1 < len(text) && (text[at+1] == '"' || text[at+1] == '\\'):
				word = append(word, text[at+1])
				size = 2
			// at the start, or behind the first colon
			case t.bare < 0 && r == '"' && bytes.IndexByte(word, ':') == len(word)-1:
				isQuoted, t.bare = true, len(word)
			default:
				word = append(word, text[at:at+size]...)
			}
			at += size
		}
		t.to, t.text = at, string(word)
		if t.bare < 0 {
			t.bare = len(t.text)
		}
		tokens = append(tokens, t)
	}
	return tokens
}
