package redeem

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"example.com/perks/api"
	"example.com/perks/tui/widget"
)

// Metadata is typed as rows: key=value each, blank ones not counted, or one JSON object in the first.

// isBlank tells whether a row says nothing.
func isBlank(row string) bool { return strings.TrimSpace(row) == "" }

// isObject tells whether a row is meant as a JSON object.
func isObject(row string) bool { return strings.HasPrefix(strings.TrimSpace(row), "{") }

// rowProblem returns what is wrong with one of the rows, as the end of a sentence whose subject is the row, or "".
func rowProblem(rows []string, at int) string {
	row := rows[at]
	switch {
	case isBlank(row):
		return ""
	case at > 0 && isObject(rows[0]):
		return "must be empty, because the first row is the whole object"
	case at > 0 && isObject(row):
		return "must be key=value; a whole JSON object belongs into the first row, alone"
	case isObject(row):
		if _, err := api.ParseObject([]byte(row)); err != nil {
			return "cannot be read: " + err.Error()
		}
	default:
		if problem := pairProblem(rows, at); problem != "" {
			return problem
		}
	}
	if size(rows[:at+1]) > api.MaxMetadata && size(rows[:at]) <= api.MaxMetadata {
		return fmt.Sprintf("makes the metadata longer than %s bytes", widget.Count(api.MaxMetadata))
	}
	return ""
}

func pairProblem(rows []string, at int) string {
	key, _, ok := strings.Cut(rows[at], "=")
	switch {
	case !ok:
		return "must be key=value, such as ticket=4711"
	case isBlank(key):
		return "must have a key before the ="
	}
	for _, earlier := range rows[:at] {
		if other, _, ok := strings.Cut(earlier, "="); ok && other == key {
			return fmt.Sprintf("has the key %q a second time", key)
		}
	}
	return ""
}

func size(rows []string) int { return len(metadata(rows)) }

// metadata returns what the rows say, as compact JSON whose members have a fixed order; nil if they say nothing. Rows that
// cannot be read are left out.
func metadata(rows []string) json.RawMessage {
	if len(rows) > 0 && isObject(rows[0]) {
		var compact bytes.Buffer
		if json.Compact(&compact, []byte(rows[0])) != nil {
			return nil
		}
		return compact.Bytes()
	}
	object := map[string]string{}
	for _, row := range rows {
		if key, value, ok := strings.Cut(row, "="); ok && !isBlank(key) {
			object[key] = value
		}
	}
	if len(object) == 0 {
		return nil
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // an escaped < takes six bytes of the few that there are
	if encoder.Encode(object) != nil {
		return nil // not reached: texts always encode
	}
	return bytes.TrimRight(text.Bytes(), "\n")
}
