// Package output writes records as people and programs want them: tables, JSON, YAML, CSV, JSON lines, ids, or through a
// jq expression or a template. Commands hand over values with JSON tags and say which fields a table shows.
//
// It knows nothing of where the values come from. Whatever a server sent is made safe for the place where it goes.
package output

import (
	"fmt"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/itchyny/gojq"
	"github.com/spf13/pflag"

	"example.com/perks/cli/command"
)

// The formats of --output.
const (
	Table = "table"
	JSON  = "json"
	YAML  = "yaml"
	CSV   = "csv"
	JSONL = "jsonl"
	IDs   = "id"
)

func formats() []string { return []string{Table, JSON, YAML, CSV, JSONL, IDs} }

// Options is the flags that decide how data is written.
type Options struct {
	Format   string   // one of the formats; empty is Table, or JSON with an expression or a template
	Fields   []string // only these, in this order; empty is all, or what the table chooses
	JQ       string
	Template string
	Raw      bool // CSV cells as they are

	Now func() time.Time // from which people count; nil is time.Now
}

// Bind declares the flags.
func (o *Options) Bind(flags *pflag.FlagSet) {
	flags.StringVarP(&o.Format, "output", "o", "", "write data as "+strings.Join(formats(), ", ")+` (default "table")`)
	flags.StringSliceVar(&o.Fields, "fields", nil, "show only these fields, in this order (`a,b,...`)")
	flags.StringVar(&o.JQ, "jq", "", "filter the JSON with a jq `expression`")
	flags.StringVar(&o.Template, "template", "", "write the JSON through a Go `template`, such as '{{range .}}{{.id}}{{\"\\n\"}}{{end}}'")
	flags.BoolVar(&o.Raw, "raw", false, "with --output csv, leave out the apostrophes that keep a spreadsheet from running cells")
}

// Check refuses values that cannot be right, before anything is done.
func (o *Options) Check() error {
	if o.Format != "" && !slices.Contains(formats(), o.Format) {
		return command.Usagef("%q is not an output format.%s The formats are %s.", o.Format, command.DidYouMean(o.Format, formats()), strings.Join(formats(), ", "))
	}
	if err := o.checkFields(); err != nil {
		return err
	}
	if o.Raw && o.Format != CSV {
		return command.Usagef("--raw is about the cells of CSV; it goes with --output csv alone.")
	}
	if o.JQ != "" && o.Template != "" {
		return command.Usagef("--jq and --template exclude each other.")
	}
	if (o.JQ != "" || o.Template != "") && !slices.Contains([]string{"", JSON, JSONL}, o.Format) {
		return command.Usagef("--jq and --template read JSON; they do not go with --output %s.", o.Format)
	}
	if _, err := compile(o.JQ); err != nil {
		return command.Usagef("The --jq expression cannot be read: %s.", err)
	}
	if _, err := parseTemplate(o.Template); err != nil {
		return command.Usagef("The --template cannot be read: %s.", err)
	}
	return nil
}

// checkFields refuses names that no record can have. Whether this one has them is seen where its type is known.
func (o *Options) checkFields() error {
	for i, name := range o.Fields {
		o.Fields[i] = strings.TrimSpace(name)
		switch {
		case o.Fields[i] == "":
			return command.Usagef("--fields has an empty name in it.")
		case slices.Contains(o.Fields[:i], o.Fields[i]):
			return command.Usagef("--fields names %q twice.", o.Fields[i])
		}
	}
	if len(o.Fields) > 0 && o.Format == IDs {
		return command.Usagef("--output id writes the id alone; it does not go with --fields.")
	}
	return nil
}

// now returns the moment from which people count.
func (o *Options) now() time.Time {
	if o.Now == nil {
		return time.Now()
	}
	return o.Now()
}

// WantsJSON tells whether programs read the output; errors are then JSON too.
func (o *Options) WantsJSON() bool { return o.Format == JSON || o.Format == JSONL }

// IsTable tells whether people read the output.
func (o *Options) IsTable() bool {
	return (o.Format == "" || o.Format == Table) && o.JQ == "" && o.Template == ""
}

func compile(expression string) (*gojq.Code, error) {
	if expression == "" {
		return nil, nil
	}
	query, err := gojq.Parse(expression)
	if err != nil {
		return nil, err
	}
	return gojq.Compile(query)
}

func parseTemplate(text string) (*template.Template, error) {
	if text == "" {
		return nil, nil
	}
	return template.New("--template").Funcs(template.FuncMap{"json": toJSON, "join": join}).Option("missingkey=error").Parse(text)
}

// toJSON lets a template write a value as JSON.
func toJSON(value any) (string, error) {
	text, err := marshal(value)
	return string(text), err
}

// join lets a template write a list with something between its entries.
func join(separator string, list []any) string {
	texts := make([]string, len(list))
	for i, entry := range list {
		texts[i] = fmt.Sprint(entry)
	}
	return strings.Join(texts, separator)
}
