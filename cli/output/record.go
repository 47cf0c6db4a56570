package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"example.com/perks/api/display"
)

// record is one value as JSON. Its fields are read only by the formats that need them one by one.
type record struct{ raw json.RawMessage }

type field struct {
	name  string
	value json.RawMessage
}

type fields []field

// newRecord keeps the chosen fields of an object; none chosen means all.
func newRecord(value any, chosen []string) (record, error) {
	raw, err := marshal(value)
	if err != nil {
		return record{}, fmt.Errorf("write a record: %w", err)
	}
	return record{raw}.only(chosen), nil
}

// only keeps the chosen fields of an object; none chosen means all.
func (r record) only(chosen []string) record {
	if len(chosen) == 0 || !r.isObject() {
		return r
	}
	all := r.fields()
	kept := make(fields, len(chosen))
	for i, name := range chosen {
		kept[i] = field{name, all.get(name)}
	}
	return record{object(kept)}
}

func (r record) isObject() bool { return bytes.HasPrefix(r.raw, []byte("{")) }

// marshal writes JSON on one line, in which characters that would steer a terminal are escaped.
func marshal(value any) (json.RawMessage, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	return display.JSON(bytes.TrimRight(text.Bytes(), "\n")), nil
}

// fields returns an object's members in their order. Anything else is one field named "value".
func (r record) fields() fields {
	if !r.isObject() {
		return fields{{"value", r.raw}}
	}
	dec := json.NewDecoder(bytes.NewReader(r.raw))
	_, _ = dec.Token() // the brace
	list := fields{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return list // not reached: the encoder wrote the text
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return list
		}
		list = append(list, field{name.(string), value})
	}
	return list
}

func object(fields fields) json.RawMessage {
	var text bytes.Buffer
	text.WriteByte('{')
	for i, f := range fields {
		if i > 0 {
			text.WriteByte(',')
		}
		name, _ := marshal(f.name) // a string always marshals
		text.Write(name)
		text.WriteByte(':')
		text.Write(f.value)
	}
	text.WriteByte('}')
	return text.Bytes()
}

// get returns a field's value, null if there is none.
func (f fields) get(name string) json.RawMessage {
	for _, field := range f {
		if field.name == name {
			return field.value
		}
	}
	return json.RawMessage("null")
}

func (f fields) names() []string {
	names := make([]string, len(f))
	for i, field := range f {
		names[i] = field.name
	}
	return names
}

// textOf returns a value as people read it: strings without quotes, null as nothing, lists of texts with commas between.
func textOf(value json.RawMessage) string {
	var text string
	var list []string
	switch {
	case string(value) == "null":
		return ""
	case json.Unmarshal(value, &text) == nil:
		return text
	case json.Unmarshal(value, &list) == nil:
		return strings.Join(list, ",")
	}
	return string(value)
}

// value decodes the record for a jq expression or a template, with numbers as they were written.
func (r record) value() (any, error) {
	dec := json.NewDecoder(bytes.NewReader(r.raw))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return nil, fmt.Errorf("read a record: %w", err)
	}
	return value, nil
}
