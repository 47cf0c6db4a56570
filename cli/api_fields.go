package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/spf13/pflag"

	"example.com/perks/cli/command"
)

// apiFields is what --field and --raw-field were given, in the order of the command line.
type apiFields struct {
	given []apiField
	stdin io.Reader // nil once it has been read
}

// apiField is one key=value. The key may name a member inside: a[b], or an item of an array: a[].
type apiField struct {
	flag  string // as people write it
	text  string
	typed bool // true, false, null, numbers and @file are more than text
}

// fieldFlag is one of the two flags. They share a list, which keeps the order of the command line.
type fieldFlag struct {
	fields *apiFields
	apiField
}

func bindFields(flags *pflag.FlagSet, fields *apiFields) {
	typed, text := &fieldFlag{fields, apiField{flag: "--field", typed: true}},
		&fieldFlag{fields, apiField{flag: "--raw-field"}}
	flags.VarP(typed, "field", "F", "add a field, whose value may be JSON or @FILE: `key=value`, repeatable")
	flags.VarP(text, "raw-field", "f", "add a field, whose value is text: `key=value`, repeatable")
}

func (f *fieldFlag) Set(text string) error {
	f.fields.given = append(f.fields.given, apiField{f.flag, text, f.typed})
	return nil
}
func (f *fieldFlag) String() string { return "" }
func (f *fieldFlag) Type() string   { return "stringArray" }

// split returns the key and the value. isJSON tells that the value, after key:=, is JSON as it stands.
func (f apiField) split() (key, value string, isJSON bool, err error) {
	key, value, ok := strings.Cut(f.text, "=")
	if emptyList := !ok && strings.HasSuffix(key, "[]"); emptyList {
		return strings.TrimSuffix(key, "[]"), "[]", true, nil
	}
	if !ok || key == "" {
		return "", "", false, command.Usagef("%s %q must look like key=value, or key:=JSON.", f.flag, f.text)
	}
	key, isJSON = strings.CutSuffix(key, ":")
	if isJSON && !json.Valid([]byte(value)) {
		return "", "", false, command.Usagef("%s %q: %s is not JSON. Leave the colon out if it is a string.", f.flag,
			f.text, value)
	}
	return key, value, isJSON, nil
}

// value returns the value of a field as JSON.
func (a *apiFields) value(f apiField, value string, isJSON bool) (json.RawMessage, error) {
	isNumber := value != "" && strings.ContainsRune("-0123456789", rune(value[0])) && json.Valid([]byte(value))
	switch {
	case isJSON, f.typed && (isNumber || value == "true" || value == "false" || value == "null"):
		return json.RawMessage(value), nil
	case f.typed && strings.HasPrefix(value, "@"):
		text, err := a.read(f.flag, value[1:])
		if err != nil {
			return nil, err
		}
		value = string(text)
	}
	return json.Marshal(value)
}

// query makes a query, in which a key may be repeated. Its values are texts: null is empty.
func (a *apiFields) query() (url.Values, error) {
	values := url.Values{}
	for _, field := range a.given {
		key, value, ok := strings.Cut(field.text, "=")
		if !ok || key == "" {
			return nil, command.Usagef("%s %q must look like key=value.", field.flag, field.text)
		}
		raw, err := a.value(field, value, false)
		if err != nil {
			return nil, err
		}
		if text := ""; json.Unmarshal(raw, &text) == nil { // a string, or null
			value = text
		}
		values.Add(key, value)
	}
	return values, nil
}

// object makes a JSON object. a[b]=1 a[c]=2 makes an object in it, a[]=1 a[]=2 an array, and a[][b]=1 a[][c]=2 a[][b]=3
// an array of objects, each of which begins where a member would come twice.
func (a *apiFields) object() ([]byte, error) {
	object := map[string]any{}
	for _, field := range a.given {
		key, text, isJSON, err := field.split()
		if err != nil {
			return nil, err
		}
		value, err := a.value(field, text, isJSON)
		if err != nil {
			return nil, err
		}
		steps, err := stepsOf(key)
		if err == nil {
			_, err = put(object, steps, value)
		}
		if err != nil {
			return nil, command.Usagef("%s %q: %s.", field.flag, field.text, err)
		}
	}
	return json.Marshal(object)
}

// stepsOf reads a[b][] as a, b and "", which is an item of an array.
func stepsOf(key string) ([]string, error) {
	name, rest, nested := strings.Cut(key, "[")
	if !nested {
		return []string{key}, nil
	}
	rest, closed := strings.CutSuffix(rest, "]")
	steps := append([]string{name}, strings.Split(rest, "][")...)
	for _, step := range steps {
		if !closed || name == "" || strings.ContainsAny(step, "[]") {
			return nil, fmt.Errorf("write the key as a, a[b] or a[]")
		}
	}
	return steps, nil
}

// put puts a value along the steps below a place, and returns the new content of the place. The first step names a
// member of an object.
func put(at any, steps []string, value json.RawMessage) (any, error) {
	if len(steps) == 0 {
		if at != nil {
			return nil, fmt.Errorf("it is given twice")
		}
		return value, nil
	}
	if step := steps[0]; step != "" {
		object, isObject := at.(map[string]any)
		if at != nil && !isObject {
			return nil, fmt.Errorf("another field gives no object there")
		}
		if object == nil {
			object = map[string]any{}
		}
		member, err := put(object[step], steps[1:], value)
		object[step] = member
		return object, err
	}
	list, isList := at.([]any)
	if at != nil && !isList {
		return nil, fmt.Errorf("another field gives no array there")
	}
	if last := len(list) - 1; len(steps) > 1 && last >= 0 && hasRoom(list[last], steps[1:]) {
		item, err := put(list[last], steps[1:], value)
		list[last] = item
		return list, err
	}
	item, err := put(nil, steps[1:], value)
	return append(list, item), err
}

// hasRoom reports whether a value fits along the steps without a member coming twice.
func hasRoom(at any, steps []string) bool {
	if len(steps) == 0 {
		return at == nil
	}
	switch at := at.(type) {
	case nil:
		return true
	case []any:
		return steps[0] == ""
	case map[string]any:
		return steps[0] != "" && hasRoom(at[steps[0]], steps[1:])
	}
	return false
}
