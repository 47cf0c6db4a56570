package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"example.com/perks/api"
	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

// described is the records that explain knows, with their names in openapi.yaml.
var described = []struct{ name, plural, schema string }{
	{"perk", "perks", "Perk"}, {"category", "categories", "PerkCategory"}, {"redemption", "redemptions", "RedemptionRecord"},
	{"property", "properties", "Property"}, {"eligibility", "", "Eligibility"}, {"token", "tokens", "Token"}, {"error", "errors", "Problem"},
}

// explanation is about a record, or a field of one.
type explanation struct {
	Name        string          `json:"name"` // such as perk or perk.valid_to
	Type        string          `json:"type"`
	Rule        string          `json:"rule"`
	Description string          `json:"description"`
	Example     json.RawMessage `json:"example"` // null if there is none
}

func newExplain(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "explain [RECORD[.FIELD] | RECORD FIELD]",
		Short: "Explain the fields of records: type, rule and example",
		Long: "Explain a field, from the API's description: its type, the rule that its values follow, and an example.\n" +
			"With a record alone, list its fields; without an argument, list the records. This needs no connection.",
		Example: "  perksctl explain\n  perksctl explain perk\n  perksctl explain perk.valid_to\n  perksctl explain property --output csv",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			if len(args) > 1 && !strings.Contains(args[0], ".") {
				return command.Exactly("RECORD", "FIELD")(cmd, args)
			}
			return command.Exactly("RECORD")(cmd, args)
		},
		ValidArgsFunction: completeExplain,
		RunE: func(cmd *cobra.Command, args []string) error {
			view := output.View{Columns: []string{"name", "type", "rule"}, ID: "name"}
			if len(args) == 0 {
				view.Columns = []string{"name", "description"}
			}
			printer, err := output.New[explanation](s.Output, s.Streams, view)
			if err != nil {
				return err
			}
			document, err := readDescription()
			if err != nil {
				return err
			}
			if len(args) == 0 {
				var records []explanation
				for _, d := range described {
					records = append(records, document.explain(d.name, document.Components.Schemas[d.schema]))
				}
				return printer.List(cmd.Context(), output.Each(records))
			}
			name, field, one := strings.Cut(strings.Join(args, "."), ".")
			fields, err := document.fieldsOf(name)
			if err != nil {
				return err
			}
			if !one {
				return printer.List(cmd.Context(), output.Each(fields))
			}
			i := slices.IndexFunc(fields, func(e explanation) bool { return e.Name == shortName(name)+"."+field })
			if i < 0 {
				names := withoutRecord(fields)
				return command.Usagef("%s has no field %q.%s The fields are %s.",
					shortName(name), field, command.DidYouMean(field, names), strings.Join(names, ", "))
			}
			return printer.One(cmd.Context(), fields[i])
		},
	}
}

func completeExplain(_ *cobra.Command, args []string, typed string) (names []string, _ cobra.ShellCompDirective) {
	directive := cobra.ShellCompDirectiveNoFileComp
	record, _, inside := strings.Cut(typed, ".")
	switch document, err := readDescription(); {
	case err != nil || len(args) > 0:
	case inside:
		fields, _ := document.fieldsOf(record)
		for _, field := range fields {
			names = append(names, cobra.CompletionWithDesc(field.Name, strings.TrimSuffix(field.Type+", "+field.Rule, ", ")))
		}
	default:
		directive |= cobra.ShellCompDirectiveNoSpace // a dot may follow
		for _, d := range described {
			names = append(names, d.name)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, typed) }), directive
}

func withoutRecord(fields []explanation) []string {
	names := make([]string, len(fields))
	for i, field := range fields {
		_, names[i], _ = strings.Cut(field.Name, ".")
	}
	return names
}

func shortName(name string) string {
	for _, d := range described {
		if name == d.plural {
			return d.name
		}
	}
	return name
}

// description is what explain reads of openapi.yaml.
type description struct {
	Components struct{ Schemas map[string]*schema }
	examples   []*yaml.Node // the records in all examples of the document
}

// schema is the type of a value, or a reference to one.
type schema struct {
	Ref                  string `yaml:"$ref"`
	Type, Format         string
	Nullable             bool
	Description, Pattern string
	Enum                 []any
	MinLength            *int64 `yaml:"minLength"`
	MaxLength            *int64 `yaml:"maxLength"`
	Minimum, Maximum     string
	MinItems             *int64 `yaml:"minItems"`
	MaxItems             *int64 `yaml:"maxItems"`
	Default, Example     yaml.Node
	Required             []string
	Items                *schema
	Properties           yaml.Node // in the order of the document
}

// readDescription parses the document when it is needed first: no other command pays for it.
var readDescription = sync.OnceValues(func() (*description, error) {
	var root yaml.Node
	d := &description{}
	err := yaml.Unmarshal(api.OpenAPI(), &root)
	if err == nil {
		err = root.Decode(d)
	}
	if err != nil {
		return nil, fmt.Errorf("read the description of the API: %w", err)
	}
	d.collect(&root)
	return d, nil
})

// collect finds the records among the examples. They are under "value".
func (d *description) collect(node *yaml.Node) {
	if node.Kind == yaml.MappingNode {
		if value := member(node, "value"); value != nil && value.Kind == yaml.SequenceNode {
			d.examples = append(d.examples, value.Content...)
		} else if value != nil {
			d.examples = append(d.examples, value)
		}
	}
	for _, child := range node.Content {
		d.collect(child)
	}
}

func member(node *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == name {
			return node.Content[i+1]
		}
	}
	return nil
}

// follow returns the schema that a reference leads to.
func (d *description) follow(s *schema) *schema {
	for s != nil && s.Ref != "" {
		s = d.Components.Schemas[s.Ref[strings.LastIndex(s.Ref, "/")+1:]]
	}
	if s == nil {
		return &schema{}
	}
	return s
}

func (d *description) fieldsOf(record string) ([]explanation, error) {
	record = shortName(record)
	var names, homes []string
	var fields []explanation
	for _, known := range described {
		names = append(names, known.name)
		s := d.follow(d.Components.Schemas[known.schema])
		examples := d.examplesOf(s)
		for i := 0; i+1 < len(s.Properties.Content); i += 2 {
			name := s.Properties.Content[i].Value
			if name == record {
				homes = append(homes, known.name+"."+name)
			}
			var field schema
			if known.name != record {
				continue
			}
			if err := s.Properties.Content[i+1].Decode(&field); err != nil {
				return nil, fmt.Errorf("read the description of %s.%s: %w", record, name, err)
			}
			e := d.explain(record+"."+name, &field)
			for _, example := range examples {
				if value := member(example, name); string(e.Example) == "null" && value != nil {
					e.Example = asRaw(value)
				}
			}
			fields = append(fields, e)
		}
	}
	if fields == nil && homes != nil {
		return nil, command.Usagef("%q is a field. Name its record too: perksctl explain %s", record, strings.Join(homes, ", or "))
	}
	if fields == nil {
		return nil, command.Usagef("%q is not a record.%s The records are %s.", record, command.DidYouMean(record, names), strings.Join(names, ", "))
	}
	return fields, nil
}

// examplesOf returns the examples that have all fields of a record and no others.
func (d *description) examplesOf(s *schema) (found []*yaml.Node) {
	for _, example := range d.examples {
		same := example.Kind == yaml.MappingNode && len(example.Content) > 0
		for i := 0; same && i < len(example.Content); i += 2 {
			same = member(&s.Properties, example.Content[i].Value) != nil
		}
		for _, name := range s.Required {
			same = same && member(example, name) != nil
		}
		if same {
			found = append(found, example)
		}
	}
	return found
}

func asRaw(node *yaml.Node) json.RawMessage {
	var value any
	if node.IsZero() || node.Decode(&value) != nil {
		return json.RawMessage("null")
	}
	raw, err := api.EncodeJSON(value)
	if err != nil {
		return json.RawMessage("null")
	}
	return raw
}

func (d *description) explain(name string, s *schema) explanation {
	s = d.follow(s)
	e := explanation{Name: name, Type: d.typeOf(s), Rule: d.ruleOf(s), Description: strings.TrimSpace(s.Description), Example: asRaw(&s.Example)}
	if !strings.Contains(name, ".") {
		e.Type = "record"
		if examples := d.examplesOf(s); len(examples) > 0 {
			e.Example = asRaw(examples[0])
		}
	}
	return e
}

func (d *description) typeOf(s *schema) string {
	s = d.follow(s)
	text := cmp.Or(map[string]string{
		"string": "text", "string date-time": "time", "string uri": "URL", "integer": "whole number", "integer int64": "whole number",
		"number double": "number", "boolean": "true or false",
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
	var rules []string
	if s.Format == "date-time" {
		rules = append(rules, "RFC 3339")
	}
	var choices []string
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
	rules = append(rules, bounds(count(s.MinLength), count(s.MaxLength), " characters"), bounds(s.Minimum, s.Maximum, ""),
		bounds(count(s.MinItems), count(s.MaxItems), " entries"))
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

func count(n *int64) string {
	if n == nil {
		return ""
	}
	return fmt.Sprint(*n)
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
