// Package explain is the command that explains records and their fields, and what it knows of them.
package explain

import (
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"example.com/perks/cli/command"
	"example.com/perks/cli/completion"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

// explainedJSON is what explain knows, taken from api/openapi.yaml. TestExplanationsMatchTheDescription compares them,
// and writes it anew with -update.
//
//go:embed explain.json
var explainedJSON []byte

// explained parses the explanations of the records, each followed by those of its fields.
var explained = sync.OnceValue(func() (all []Explanation) {
	_ = json.Unmarshal(explainedJSON, &all) // a test compares it
	return all
})

// Explanation is about a record, or a field of one.
type Explanation struct {
	Name        string          `json:"name"` // such as perk or perk.valid_to
	Type        string          `json:"type"`
	Rule        string          `json:"rule"`
	Description string          `json:"description"`
	Example     json.RawMessage `json:"example"` // null if there is none
}

// New makes the command.
func New(s *session.Session) *cobra.Command {
	return session.Writes[Explanation](s, &cobra.Command{
		Use:   "explain [RECORD[.FIELD] | RECORD FIELD]",
		Short: "Explain the fields of records: type, rule and example",
		Long: "Explain a field, from the API's description: its type, the rule that its values follow, and an\n" +
			"example. With a record alone, list its fields; without an argument, list the records. This needs no\n" +
			"connection.",
		Example: "  perksctl explain\n  perksctl explain perk\n  perksctl explain perk.valid_to\n" +
			"  perksctl explain property --output csv",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			if len(args) > 1 && !strings.Contains(args[0], ".") {
				return command.Exactly("RECORD", "FIELD")(cmd, args)
			}
			return command.Exactly("RECORD")(cmd, args)
		},
		ValidArgsFunction: complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			view := output.View{Columns: []string{"name", "type", "rule"}, ID: "name"}
			if len(args) == 0 {
				view.Columns = []string{"name", "description"}
			}
			printer, err := output.New[Explanation](s.Output, s.Streams, view)
			if err != nil {
				return err
			}
			found, isField, err := Look(args...)
			switch {
			case err != nil:
				return err
			case isField:
				return printer.One(cmd.Context(), found[0])
			}
			return printer.List(cmd.Context(), output.Each(found))
		},
	})
}

// Look returns what the words of a record and a field, such as perk.valid_to, ask for: without words the records, with
// a record its fields, and with both that field.
func Look(words ...string) (found []Explanation, isField bool, err error) {
	if len(words) == 0 {
		return records(), false, nil
	}
	record, field, isField := strings.Cut(strings.Join(words, "."), ".")
	record = singular(record)
	fields := fieldsOf(record)
	if fields == nil {
		return nil, false, unknownRecord(record)
	}
	if !isField {
		return fields, false, nil
	}
	names := make([]string, len(fields))
	for i, known := range fields {
		if names[i] = strings.TrimPrefix(known.Name, record+"."); names[i] == field {
			return fields[i : i+1], true, nil
		}
	}
	return nil, false, command.Usagef("%s has no field %q.%s The fields are %s.",
		record, field, command.DidYouMean(field, names), strings.Join(names, ", "))
}

func complete(_ *cobra.Command, args []string, typed string) (names []string, _ cobra.ShellCompDirective) {
	directive := cobra.ShellCompDirectiveNoFileComp
	record, _, inside := strings.Cut(typed, ".")
	switch {
	case len(args) > 0:
	case inside:
		for _, field := range fieldsOf(singular(record)) {
			about := strings.TrimSuffix(field.Type+", "+field.Rule, ", ")
			names = append(names, cobra.CompletionWithDesc(field.Name, about))
		}
	default:
		directive |= cobra.ShellCompDirectiveNoSpace // a dot may follow
		for _, e := range records() {
			names = append(names, e.Name)
		}
	}
	return completion.Beginning(names, typed), directive
}

func records() []Explanation {
	isField := func(e Explanation) bool { return strings.Contains(e.Name, ".") }
	return slices.DeleteFunc(slices.Clone(explained()), isField)
}

// fieldsOf returns the fields of a record, nil if there is no such record.
func fieldsOf(record string) (fields []Explanation) {
	for _, e := range explained() {
		if strings.HasPrefix(e.Name, record+".") {
			fields = append(fields, e)
		}
	}
	return fields
}

// unknownRecord names the records, or those that have a field of that name.
func unknownRecord(name string) error {
	var names, withField []string
	for _, e := range explained() {
		record, field, isField := strings.Cut(e.Name, ".")
		switch {
		case !isField:
			names = append(names, record)
		case field == name:
			withField = append(withField, e.Name)
		}
	}
	if withField != nil {
		return command.Usagef("%q is a field. Name its record too: perksctl explain %s",
			name, strings.Join(withField, ", or "))
	}
	return command.Usagef("%q is not a record.%s The records are %s.",
		name, command.DidYouMean(name, names), strings.Join(names, ", "))
}

// singular takes the plural of a record for the record.
func singular(name string) string {
	for _, e := range records() {
		if name == e.Name+"s" || name == strings.TrimSuffix(e.Name, "y")+"ies" {
			return e.Name
		}
	}
	return name
}
