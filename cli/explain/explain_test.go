package explain

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"example.com/perks/api"
	"example.com/perks/cli/output"
)

var update = flag.Bool("update", false, "rewrite explain.json")

// TestExplanationsMatchTheDescription compares explain.json with what openapi.yaml says.
func TestExplanationsMatchTheDescription(t *testing.T) {
	var root yaml.Node
	d := &description{}
	if err := yaml.Unmarshal(api.OpenAPI(), &root); err != nil {
		t.Fatal(err)
	}
	if err := root.Decode(d); err != nil {
		t.Fatal(err)
	}
	d.collect(&root)
	d.examples = append(d.examples, d.paged...)
	var lines []string
	for _, record := range [][2]string{
		{"perk", "Perk"}, {"category", "PerkCategory"}, {"redemption", "RedemptionRecord"}, {"property", "Property"},
		{"version", "PropertyVersion"}, {"eligibility", "Eligibility"}, {"token", "Token"}, {"error", "Problem"},
	} {
		for _, e := range d.explain(record[0], d.Components.Schemas[record[1]]) {
			line, err := api.EncodeJSON(e)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, string(line))
		}
	}
	want := []byte("[\n" + strings.Join(lines, ",\n") + "\n]\n")
	if *update {
		if err := os.WriteFile("explain.json", want, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(explainedJSON, want) {
		t.Error("explain.json is not what openapi.yaml says. Run go test ./cli/explain -run Explanations -update")
	}
}

// TestEveryFieldIsExplained compares the explanations with the types: each field has a type, and no field is missing.
func TestEveryFieldIsExplained(t *testing.T) {
	for record, value := range map[string]any{
		"perk": api.Perk{}, "category": api.Category{}, "redemption": api.RedemptionRecord{},
		"property": api.Property{}, "version": api.PropertyVersion{}, "eligibility": api.Eligibility{},
	} {
		var got []string
		for _, field := range fieldsOf(record) {
			got = append(got, strings.TrimPrefix(field.Name, record+"."))
		}
		want := output.FieldsOf(value)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", record, got, want)
		}
	}
	for _, e := range explained() {
		if e.Type == "" || string(e.Example) == "null" || e.Type == "record" && e.Description == "" {
			t.Errorf("%s lacks a type, an example or a description: %+v", e.Name, e)
		}
	}
}

// description is what explain takes from openapi.yaml.
type description struct {
	Components struct{ Schemas map[string]*schema }
	examples   []*yaml.Node // the records in all examples of the document
	paged      []*yaml.Node // those in pages, which come last
}

// schema is the type of a value, or a reference to one.
type schema struct {
	Ref                  string `yaml:"$ref"`
	Type, Format         string
	Nullable             bool
	Description, Pattern string
	Enum                 []any
	MinLength            string `yaml:"minLength"`
	MaxLength            string `yaml:"maxLength"`
	Minimum, Maximum     string
	MinItems             string `yaml:"minItems"`
	MaxItems             string `yaml:"maxItems"`
	Default, Example     yaml.Node
	Required             []string
	Items                *schema
	Properties           yaml.Node // in the order of the document
}

// collect finds the records among the examples. They are under "value", those of pages in "data".
func (d *description) collect(node *yaml.Node) {
	if value := member(node, "value"); value != nil && value.Kind == yaml.SequenceNode {
		d.examples = append(d.examples, value.Content...)
	} else if value != nil {
		d.examples = append(d.examples, value)
		if data := member(value, "data"); data != nil {
			d.paged = append(d.paged, data.Content...)
		}
	}
	for _, child := range node.Content {
		d.collect(child)
	}
}

func member(node *yaml.Node, name string) *yaml.Node {
	for i := 0; node.Kind == yaml.MappingNode && i < len(node.Content); i += 2 {
		if node.Content[i].Value == name {
			return node.Content[i+1]
		}
	}
	return nil
}

// follow returns the schema that a reference leads to.
func (d *description) follow(s *schema) *schema {
	for s.Ref != "" {
		s = d.Components.Schemas[s.Ref[strings.LastIndex(s.Ref, "/")+1:]]
	}
	return s
}

// explain returns the explanation of a record and then those of its fields.
func (d *description) explain(record string, s *schema) []Explanation {
	examples := slices.DeleteFunc(slices.Clone(d.examples), func(node *yaml.Node) bool { return !s.describes(node) })
	about := d.about(record, s)
	about.Type = "record"
	if len(examples) > 0 {
		about.Example = asRaw(examples[0])
	}
	all := []Explanation{about}
	for i := 0; i < len(s.Properties.Content); i += 2 {
		var field schema
		name := s.Properties.Content[i].Value
		_ = s.Properties.Content[i+1].Decode(&field) // what is wrong lacks a type
		e := d.about(record+"."+name, &field)
		for _, example := range examples {
			if value := member(example, name); string(e.Example) == "null" && value != nil {
				e.Example = asRaw(value)
			}
		}
		all = append(all, e)
	}
	return all
}

// describes tells whether a record has all fields of a schema and no others.
func (s *schema) describes(record *yaml.Node) bool {
	for i := 0; i < len(record.Content); i += 2 {
		if member(&s.Properties, record.Content[i].Value) == nil {
			return false
		}
	}
	lacks := func(name string) bool { return member(record, name) == nil }
	return record.Kind == yaml.MappingNode && len(record.Content) > 0 && !slices.ContainsFunc(s.Required, lacks)
}

func asRaw(node *yaml.Node) json.RawMessage {
	var value any
	if !node.IsZero() {
		_ = node.Decode(&value) // null, if it can't be
	}
	raw, err := api.EncodeJSON(value)
	if err != nil {
		return json.RawMessage("null")
	}
	return raw
}

func (d *description) about(name string, s *schema) Explanation {
	s = d.follow(s)
	return Explanation{name, d.typeOf(s), d.ruleOf(s), strings.TrimSpace(s.Description), asRaw(&s.Example)}
}

func (d *description) typeOf(s *schema) string {
	s = d.follow(s)
	text := cmp.Or(map[string]string{
		"string": "text", "string date-time": "time", "string uri": "URL", "integer": "whole number",
		"integer int64": "whole number", "number double": "number", "boolean": "true or false",
	}[strings.TrimSpace(s.Type+" "+s.Format)], s.Type)
	if s.Items != nil {
		text = "list of " + d.typeOf(s.Items)
	}
	if s.Nullable {
		text += " or null"
	}
	return text
}

// ruleOf says which values are valid, beyond their type.
func (d *description) ruleOf(s *schema) string {
	s = d.follow(s)
	var rules, choices []string
	if s.Format == "date-time" {
		rules = append(rules, "RFC 3339")
	}
	for _, choice := range s.Enum {
		if choice != nil {
			choices = append(choices, fmt.Sprint(choice))
		}
	}
	if len(choices) == 1 {
		rules = append(rules, "always "+choices[0])
	} else if len(choices) > 1 {
		rules = append(rules, "one of "+strings.Join(choices, ", "))
	}
	rules = append(rules, bounds(s.MinLength, s.MaxLength, " characters"), bounds(s.Minimum, s.Maximum, ""),
		bounds(s.MinItems, s.MaxItems, " entries"))
	if s.Pattern != "" && s.Format == "" {
		rules = append(rules, "matches "+s.Pattern)
	}
	if !s.Default.IsZero() {
		rules = append(rules, s.Default.Value+" by default")
	}
	if s.Items != nil {
		if rule := d.ruleOf(s.Items); rule != "" {
			rules = append(rules, "each "+rule)
		}
	}
	return strings.Join(slices.DeleteFunc(rules, func(rule string) bool { return rule == "" }), "; ")
}

func bounds(least, most, unit string) string {
	switch {
	case least != "" && most != "":
		return least + " to " + most + unit
	case least == "1" && unit != "":
		return "not empty"
	case least != "":
		return "at least " + least + unit
	case most != "":
		return "at most " + most + unit
	}
	return ""
}
