package api

import (
	"bytes"
	"encoding/json"
	"io"
	"net/url"
	"slices"
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
// let a repeated member win silently and would replace broken UTF-8: both would store what the caller did not mean.
func ParseObject(text []byte) ([]Member, error) {
	if !utf8.Valid(text) {
		return nil, Errorf(CodeInvalidJSON, "The JSON is not valid UTF-8.")
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	if start, err := dec.Token(); err != nil || start != json.Delim('{') {
		return nil, Errorf(CodeInvalidJSON, "The JSON must be one object, in braces.")
	}
	var members members
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, invalidJSON(err)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, invalidJSON(err)
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

// CellMembers turns one row of a CSV file into members. An empty cell is an absent member.
func CellMembers(header, cells []string) []Member {
	var members members
	for i, text := range cells {
		if text != "" && i < len(header) {
			members.add(header[i], TextValue(text))
		}
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
