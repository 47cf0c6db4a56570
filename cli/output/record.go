package output

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"

	"github.com/itchyny/gojq"
	"go.yaml.in/yaml/v3"

	"example.com/perks/api/display"
	"example.com/perks/api/rows"
	"example.com/perks/cli/command"
)

// record is one value as JSON. Only the formats that need its fields read them.
type record struct {
	raw     json.RawMessage
	remarks map[string]string // on fields whose values could not be read; tables show them

	mark string  // of Changes, "" without a change
	was  *record // before the change; nil if the record is new
	same bool    // as in the last round
}

func newRecord(value any) (record, error) {
	raw, err := rows.Encode(value)
	if err != nil {
		return record{}, fmt.Errorf("write a record: %w", err)
	}
	r := record{raw: raw}
	if of, hasRemarks := value.(interface{ Remarks() map[string]string }); hasRemarks {
		r.remarks = of.Remarks()
	}
	return r, nil
}

// remark is what people read behind the value of a field.
func (r record) remark(field string) string {
	if r.remarks[field] == "" {
		return ""
	}
	return " (" + r.remarks[field] + ")"
}

// FieldsOf returns the names of a record's fields in their order.
func FieldsOf(value any) []string {
	r, err := newRecord(value)
	if err != nil {
		return nil
	}
	return r.fields().Names()
}

// only returns the chosen fields of an object; none chosen means all.
func (r record) only(chosen []string) record {
	if len(chosen) == 0 || !rows.IsObject(r.raw) {
		return r
	}
	all := r.fields()
	var text bytes.Buffer
	separator := byte('{')
	for _, name := range chosen {
		text.WriteByte(separator)
		quoted, _ := rows.Encode(name) // a string can always be encoded
		text.Write(quoted)
		text.WriteByte(':')
		text.Write(all.Get(name))
		separator = ','
	}
	text.WriteByte('}')
	return record{raw: text.Bytes(), remarks: r.remarks}
}

func (r record) fields() rows.Fields { return rows.FieldsOf(r.raw) }

// value decodes the record for a jq expression or a template, with numbers as they are written.
func (r record) value() (any, error) {
	dec := json.NewDecoder(bytes.NewReader(r.raw))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return nil, fmt.Errorf("read a record: %w", err)
	}
	return value, nil
}

// rowsEncoder writes a list as api/rows does.
type rowsEncoder struct {
	rows.Encoder
	out    *bufio.Writer
	isJSON bool
}

func (e rowsEncoder) item(r record) error     { return e.Write(r.raw) }
func (e rowsEncoder) end(complete bool) error { return e.End(complete) }

// one writes an object where a list in JSON is an array.
func (e rowsEncoder) one(r record) error {
	if !e.isJSON {
		return allOf(e.item(r), e.end(true))
	}
	text, err := display.IndentJSON(r.raw, "")
	if err == nil {
		_, err = e.out.Write(append(text, '\n'))
	}
	return err
}

type lineEncoder func(record) error

func (e lineEncoder) one(r record) error  { return e(r) }
func (e lineEncoder) item(r record) error { return e(r) }
func (e lineEncoder) end(bool) error      { return nil }

// idEncoder writes an id to a line, for the arguments of other commands.
func (p *Printer[T]) idEncoder(out io.Writer) lineEncoder {
	unbroken := strings.NewReplacer("\r", " ", "\n", " ") // an id with a line end would be two
	return func(r record) error {
		id := r.fields().Get(p.view.ID)
		if string(id) == "null" {
			return &command.Advised{Err: fmt.Errorf("a record has no field %q, which --output id writes", p.view.ID),
				Advice: "Choose another field, such as with --jq."}
		}
		_, err := io.WriteString(out, unbroken.Replace(rows.TextOf(id))+"\n")
		return err
	}
}

// yamlEncoder writes one mapping, or a sequence with a mapping at a time.
type yamlEncoder struct {
	out   *bufio.Writer
	begun bool
}

func (e *yamlEncoder) one(r record) error { return e.write(r, false) }

func (e *yamlEncoder) item(r record) error {
	e.begun = true
	return e.write(r, true)
}

// end makes the text invalid if the list is not complete: the items before it would be a whole sequence.
func (e *yamlEncoder) end(complete bool) (err error) {
	switch {
	case !complete:
		_, err = e.out.WriteString("%incomplete\n")
	case !e.begun:
		_, err = e.out.WriteString("[]\n")
	}
	return err
}

func (e *yamlEncoder) write(r record, isItem bool) error {
	dec := json.NewDecoder(bytes.NewReader(r.raw))
	dec.UseNumber()
	node, err := readNode(dec, 1)
	if err != nil {
		return err
	}
	if isItem {
		node = &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{node}}
	}
	var text bytes.Buffer
	enc := yaml.NewEncoder(&text)
	enc.SetIndent(len(rows.Indent))
	if err := enc.Encode(node); err != nil {
		return fmt.Errorf("write YAML: %w", err)
	}
	_, err = e.out.Write(display.JSON(text.Bytes()))
	return err
}

// readNode reads JSON as a YAML node, with members in their order and numbers as they are written.
func readNode(dec *json.Decoder, level int) (*yaml.Node, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	switch token := token.(type) {
	case json.Delim:
		return readNested(dec, token, level)
	case string:
		node := scalar("!!str", token)
		// which display.JSON escapes inside the quotes
		if oldScalar().MatchString(token) || strings.ContainsFunc(token, display.IsUnsafe) {
			node.Style = yaml.DoubleQuotedStyle
		}
		return node, nil
	case json.Number:
		if strings.ContainsAny(token.String(), ".eE") {
			return scalar("!!float", token.String()), nil
		}
		return scalar("!!int", token.String()), nil
	case bool:
		return scalar("!!bool", fmt.Sprint(token)), nil
	}
	return scalar("!!null", "null"), nil
}

// readNested reads to the end of an array or an object, whose names are tokens like its values.
func readNested(dec *json.Decoder, start json.Delim, level int) (*yaml.Node, error) {
	node := &yaml.Node{Kind: yaml.MappingNode}
	if start == '[' {
		node.Kind = yaml.SequenceNode
	}
	for dec.More() {
		child, err := readNode(dec, level+1)
		if err != nil {
			return nil, err
		}
		node.Content = append(node.Content, child)
	}
	if len(node.Content) == 0 || level > display.MaxIndented {
		node.Style = yaml.FlowStyle // on one line. Block style can't write [] and {}
	}
	_, err := dec.Token()
	return node, err
}

// oldScalar matches booleans and base-60 numbers of YAML 1.1, which the library, following YAML 1.2, does not quote.
var oldScalar = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?i:y|yes|on|n|no|off)$|^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$`)
})

func scalar(tag, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
}

// queryEncoder runs a jq expression or a template: on a list as one array, or with each on every item.
type queryEncoder struct {
	each   bool
	items  []any // never nil, which would be null
	run    func(value any) error
	finish func() error // writes the rest at the end; may be nil
}

func (e *queryEncoder) one(r record) error {
	value, err := r.value()
	if err == nil {
		err = e.run(value)
	}
	if err == nil && e.finish != nil {
		err = e.finish()
	}
	return err
}

func (e *queryEncoder) item(r record) error {
	value, err := r.value()
	switch {
	case err != nil:
		return err
	case e.each:
		return e.run(value)
	}
	e.items = append(e.items, value)
	return nil
}

func (e *queryEncoder) end(complete bool) (err error) {
	if !e.each && complete {
		err = e.run(e.items)
	}
	if err == nil && complete && e.finish != nil {
		err = e.finish()
	}
	return err
}

// jqQuery writes each result to a line: strings without quotes, as jq -r does, unless JSON was asked for.
func jqQuery(ctx context.Context, out io.Writer, code *gojq.Code, asJSON bool) func(any) error {
	halted := false
	return func(value any) error {
		results := code.RunWithContext(ctx, value)
		for !halted {
			result, more := results.Next()
			if !more {
				return nil
			}
			if err, failed := result.(error); failed {
				if halt := (*gojq.HaltError)(nil); errors.As(err, &halt) && halt.Value() == nil {
					halted = true
					return nil
				}
				return fmt.Errorf("the --jq expression failed: %s", command.ExplainJQ(err))
			}
			text, isText := result.(string)
			if !isText || asJSON {
				raw, err := gojq.Marshal(result)
				if err != nil {
					return fmt.Errorf("write the result of --jq: %w", err)
				}
				text = string(display.JSON(raw))
			}
			if _, err := io.WriteString(out, text+"\n"); err != nil {
				return err
			}
		}
		return nil
	}
}
