package client

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"

	"example.com/perks/api"
)

// parseMetadata reads the metadata of a redemption. Absent and null mean the empty object.
func parseMetadata(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return map[string]any{}, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, api.Errorf(api.CodeInvalidJSON, "The JSON has something after it.")
	}
	if list, ok := value.([]any); value == nil || ok && len(list) == 0 { // PHP writes an empty map as a list
		value = map[string]any{}
	}
	return value, nil
}

// sameJSON compares two values that were decoded with UseNumber. The order of members does not count, nor how a number is
// written: a server may keep 2.50 as 2.5.
func sameJSON(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, member := range a {
			if other, ok := b[name]; !ok || !sameJSON(member, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !sameJSON(a[i], b[i]) {
				return false
			}
		}
		return true
	case json.Number:
		b, ok := b.(json.Number)
		return ok && sameNumber(a.String(), b.String())
	}
	return a == b
}

// sameNumber goes as far as a server may that keeps numbers as floating-point ones.
func sameNumber(a, b string) bool {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return a == b || errX == nil && errY == nil && x == y
}
