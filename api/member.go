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
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Member is a named value of a record, from a JSON object, a form or a CSV row.
type Member struct {
	Name     string
	Value    Value
	Repeated bool // the name came more than once; Value is the first
}

// ParseObject reads exactly one JSON object in its order; anything else is CodeInvalidJSON. encoding/json would accept
// repeated members and replace broken UTF-8 and lone surrogates, and so store what the caller did not mean. The members
// refer to the text, which must not change after.
func ParseObject(text []byte) ([]Member, error) { return parseObject(text, "") }

// parseObject is ParseObject, but does not check the surrogates of the member that unchecked names.
func parseObject(text []byte, unchecked string) ([]Member, error) {
	if members, isPlain := splitPlain(text); isPlain {
		return members, nil
	}
	return splitWithEncodingJSON(text, unchecked)
}

// splitWithEncodingJSON says what is wrong with a text that is not valid.
func splitWithEncodingJSON(text []byte, unchecked string) ([]Member, error) {
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
			return nil, Errorf(CodeInvalidJSON,
				"The JSON is not valid: %s is half of a surrogate pair, not a character.", member[at:at+len(`\u0000`)])
		}
		members.add(Member{Name: name.(string), Value: Value{json: value}})
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
	return Errorf(CodeInvalidJSON, "The JSON is not valid: %s.", Plain(err))
}

// FormMembers converts a decoded form to members, in alphabetical order.
func FormMembers(form url.Values) []Member {
	var members members
	for name, values := range form {
		for _, text := range values {
			members.add(Member{Name: name, Value: TextValue(text)})
		}
	}
	slices.SortFunc(members.list, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	return members.list
}

// FormListMembers is FormMembers for a form in which the entries of one list may stand alone: list=a&list=b,
// list[]=a&list[]=b, or list[0]=a&list[1]=b. Mixing these counts as repeating the list. A single blank entry is the
// empty list.
func FormListMembers(form url.Values, list string) []Member {
	rest := url.Values{}
	var lists [][]string
	numbered, isRepeated := map[int]string{}, false
	for name, values := range form {
		number, isNumbered := listNumber(name, list)
		switch {
		case name == list && len(values) > 1, name == list+"[]":
			lists = append(lists, values)
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
		lists = append(lists, entries)
	}
	members := FormMembers(rest)
	if len(lists) == 0 {
		return members
	}
	entries := lists[0]
	if len(entries) == 1 && strings.TrimSpace(entries[0]) == "" {
		entries = nil
	}
	members = slices.DeleteFunc(members, func(m Member) bool { return m.Name == list })
	return append(members, Member{Name: list, Value: ListValue(entries), Repeated: isRepeated || len(lists) > 1 ||
		rest.Has(list)})
}

// listNumber reads 3 from list[3].
func listNumber(name, list string) (int, bool) {
	text, isPrefixed := strings.CutPrefix(name, list+"[")
	text, isClosed := strings.CutSuffix(text, "]")
	number, err := strconv.Atoi(text)
	return number, isPrefixed && isClosed && err == nil && number >= 0 && strconv.Itoa(number) == text
}

// CellMembers converts a CSV row to members. An empty cell is null, which clears the field; a missing column keeps the
// field.
func CellMembers(header, cells []string) []Member {
	var members members
	for i, text := range cells[:min(len(cells), len(header))] {
		value := TextValue(text)
		if text == "" {
			value = NullValue()
		}
		members.add(Member{Name: header[i], Value: value})
	}
	return members.list
}

// members is a list with an index of names if it is long: a linear search would be quadratic in what a caller sends.
type members struct {
	list  []Member
	index map[string]int // nil for a short list
}

// maxShortList is how many names a linear search finds faster than an index does.
const maxShortList = 32

// JoinMembers concatenates the members of one record. A name in more than one list is repeated.
func JoinMembers(lists ...[]Member) []Member {
	var joined members
	for _, m := range slices.Concat(lists...) {
		joined.add(m)
	}
	return joined.list
}

func (m *members) add(member Member) {
	if i := m.find(member.Name); i >= 0 {
		m.list[i].Repeated = true
		return
	}
	m.list = append(m.list, member)
	switch {
	case m.index != nil:
		m.index[member.Name] = len(m.list) - 1
	case len(m.list) > maxShortList:
		m.index = map[string]int{}
		for i, known := range m.list {
			m.index[known.Name] = i
		}
	}
}

// find returns where the name is in the list, or -1.
func (m *members) find(name string) int {
	if m.index == nil {
		return slices.IndexFunc(m.list, func(known Member) bool { return known.Name == name })
	}
	if i, seen := m.index[name]; seen {
		return i
	}
	return -1
}

func (f FieldErrors) checkRepeated(m Member) {
	if m.Repeated {
		f.Add(m.Name, "is given more than once")
	}
}

// loneSurrogate returns the offset of the first escape in valid JSON that is half of a surrogate pair, such as \ud800,
// or -1. encoding/json replaces all of them by U+FFFD, so that different texts would become equal.
func loneSurrogate(text []byte) int {
	for i := 0; i < len(text); {
		next := bytes.IndexByte(text[i:], '\\')
		if next < 0 {
			return -1
		}
		i += next
		unit, isUnit := escapedUnit(text[i:])
		switch {
		case !isUnit:
			i += len(`\n`)
		case !utf16.IsSurrogate(unit):
			i += len(`\u0000`)
		default:
			low, _ := escapedUnit(text[i+len(`\u0000`):])
			if utf16.DecodeRune(unit, low) == unicode.ReplacementChar {
				return i
			}
			i += len(`\ud83d\ude00`)
		}
	}
	return -1
}

// escapedUnit reads an escape such as \u00e9 at the start of the text.
func escapedUnit(text []byte) (unit rune, isUnit bool) {
	if len(text) < len(`\u0000`) || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	parsed, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(parsed), err == nil
}

// Optional is a member of a JSON object that may be absent, which is its zero value; use it with the tag option
// omitzero. A member that may also be null is an Optional of a pointer.
type Optional[T any] struct {
	Set   bool // the member is present
	Value T
	odd   string // the JSON to write instead of Value, if any; see Property.Odd
}

// Some is a present value.
func Some[T any](value T) Optional[T] { return Optional[T]{Set: true, Value: value} }

// IsZero tells whether the member is absent.
func (o Optional[T]) IsZero() bool { return !o.Set }

// MarshalJSON writes the value.
func (o Optional[T]) MarshalJSON() ([]byte, error) {
	if o.odd != "" {
		return []byte(o.odd), nil
	}
	return EncodeJSON(o.Value)
}
