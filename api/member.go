package api

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Member is one named value of a record as it came in: from a JSON object, a form or a row of a CSV file.
type Member struct {
	Name     string
	Value    Value
	Repeated bool // the name came more than once; Value is the first
}

// ParseObject reads exactly one JSON object and keeps its order; anything else is CodeInvalidJSON. encoding/json would
// let a repeated member win silently and would replace broken UTF-8 and half surrogate pairs: all of these would store what
// the caller did not mean.
func ParseObject(text []byte) ([]Member, error) { return parseObject(text, "") }

// parseObject is ParseObject, but does not check the surrogate pairs of one member, if it is named.
func parseObject(text []byte, unchecked string) ([]Member, error) {
	if !utf8.Valid(text) {
		return nil, Errorf(CodeInvalidJSON, "The JSON is not valid UTF-8.")
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	if start, err := dec.Token(); err != nil || start != json.Delim('{') {
		return nil, Errorf(CodeInvalidJSON, "The JSON must be one object, in braces.")
	}
	var members members
	for dec.More() {
		start := dec.InputOffset()
		name, err := dec.Token()
		if err != nil {
			return nil, invalidJSON(err)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, invalidJSON(err)
		}
		member := text[start:dec.InputOffset()]
		if at := loneSurrogate(member); at >= 0 && (unchecked == "" || name != unchecked) {
			return nil, Errorf(CodeInvalidJSON, "The JSON is not valid: %s is half of a surrogate pair, not a character.", member[at:at+len(`\u0000`)])
		}
		members.add(name.(string), Value{json: value})
	}
	if _, err := dec.Token(); err != nil {
		return nil, invalidJSON(err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, Errorf(CodeInvalidJSON, "The JSON must be one object with nothing after it.")
	}
	return members.list, nil
}

func invalidJSON(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return Errorf(CodeInvalidJSON, "The JSON is not valid: it ends too early.")
	}
	return Errorf(CodeInvalidJSON, "The JSON is not valid: %s.", err)
}

// FormMembers turns a decoded form into members, in alphabetical order.
func FormMembers(form url.Values) []Member {
	var members members
	for name, values := range form {
		for _, text := range values {
			members.add(name, TextValue(text))
		}
	}
	slices.SortFunc(members.list, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	return members.list
}

// FormListMembers is FormMembers for a form that may give each entry of one list on its own: as list=a&list=b,
// list[]=a&list[]=b, or list[0]=a&list[1]=b in the order of the numbers. A list given in two of these ways counts as repeated.
// A single blank entry is the empty list.
func FormListMembers(form url.Values, list string) []Member {
	rest := url.Values{}
	ways, numbered, isRepeated := [][]string{}, map[int]string{}, false
	for name, values := range form {
		number, isNumbered := listNumber(name, list)
		switch {
		case name == list && len(values) > 1, name == list+"[]":
			ways = append(ways, values)
		case isNumbered:
			numbered[number], isRepeated = values[0], isRepeated || len(values) > 1
		default:
			rest[name] = values
		}
	}
	if len(numbered) > 0 {
		var entries []string
		for _, number := range slices.Sorted(maps.Keys(numbered)) {
			entries = append(entries, numbered[number])
		}
		ways = append(ways, entries)
	}
	members := FormMembers(rest)
	if len(ways) == 0 {
		return members
	}
	entries := ways[0]
	if len(entries) == 1 && strings.TrimSpace(entries[0]) == "" {
		entries = []string{}
	}
	members = slices.DeleteFunc(members, func(m Member) bool { return m.Name == list })
	return append(members, Member{Name: list, Value: Value{texts: entries}, Repeated: isRepeated || len(ways) > 1 || rest.Has(list)})
}

// listNumber reads 3 from list[3].
func listNumber(name, list string) (int, bool) {
	text, isPrefixed := strings.CutPrefix(name, list+"[")
	text, isClosed := strings.CutSuffix(text, "]")
	number, err := strconv.Atoi(text)
	return number, isPrefixed && isClosed && err == nil && number >= 0 && strconv.Itoa(number) == text
}

// CellMembers turns one row of a CSV file into members. An empty cell is a null: it clears the field, while a missing
// column leaves the field as it is.
func CellMembers(header, cells []string) []Member {
	var members members
	for i, text := range cells[:min(len(cells), len(header))] {
		value := TextValue(text)
		if text == "" {
			value = Value{json: json.RawMessage("null")}
		}
		members.add(header[i], value)
	}
	return members.list
}

// members finds repeats by an index, because a search would be quadratic in what a caller sends.
type members struct {
	list  []Member
	index map[string]int
}

func (m *members) add(name string, value Value) {
	if m.index == nil {
		m.index = map[string]int{}
	}
	if i, seen := m.index[name]; seen {
		m.list[i].Repeated = true
		return
	}
	m.index[name] = len(m.list)
	m.list = append(m.list, Member{Name: name, Value: value})
}

func (f FieldErrors) checkRepeated(m Member) {
	if m.Repeated {
		f.Add(m.Name, "is given more than once")
	}
}
