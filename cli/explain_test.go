package cli

import (
	"slices"
	"testing"

	"example.com/perks/api"
	"example.com/perks/cli/output"
)

// TestEveryFieldIsExplained compares the description with the types: each field has a type, and no field is missing.
func TestEveryFieldIsExplained(t *testing.T) {
	document, err := readDescription()
	if err != nil {
		t.Fatal(err)
	}
	for record, value := range map[string]any{
		"perk": api.Perk{}, "category": api.Category{}, "redemption": api.RedemptionRecord{}, "property": api.Property{}, "eligibility": api.Eligibility{},
	} {
		fields, err := document.fieldsOf(record)
		if err != nil {
			t.Error(err)
		}
		got, want := withoutRecord(fields), output.FieldsOf(value)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", record, got, want)
		}
	}
	for _, d := range described {
		if e := document.explain(d.name, document.Components.Schemas[d.schema]); e.Description == "" || string(e.Example) == "null" {
			t.Errorf("%s lacks a description or an example: %+v", d.name, e)
		}
		fields, _ := document.fieldsOf(d.name)
		for _, field := range fields {
			if field.Type == "" || string(field.Example) == "null" {
				t.Errorf("%s lacks a type or an example: %+v", field.Name, field)
			}
		}
	}
}
