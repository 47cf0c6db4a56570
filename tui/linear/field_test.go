package linear

import (
	"strings"
	"testing"

	"example.com/perks/tui/actions"
	"example.com/perks/tui/components"
)

func TestHowFieldsAreAskedForAndRead(t *testing.T) {
	colours := []string{"red", "green"}
	for _, test := range []struct {
		field        components.Field
		holds        string
		asked        string
		typed, value string
		problem      string
	}{
		{components.Field{Label: "City"}, "Berlin", "City (now Berlin), empty keeps it, - clears it: ", "Ham burg", "Ham burg", ""},
		{components.Field{Label: "City", Hint: "such as Berlin"}, "", "City (such as Berlin): ", "x", "x", ""},
		{components.Field{Label: "Story", Kind: components.Text}, strings.Repeat("é", 200), "Story (now 200 characters; :say says it), several lines, the last only a dot; empty keeps it, - clears it: ", "x", "x", ""},
		{components.Field{Label: "Secret", Kind: components.Secret}, "hush", "Secret (hidden), empty keeps it: ", "-", "-", ""},
		{components.Field{Label: "Sandbox", Kind: components.Switch}, "no", "Sandbox, yes or no (now no): ", "Y", components.Yes, ""},
		{components.Field{Label: "Sandbox", Kind: components.Switch}, "no", "Sandbox, yes or no (now no): ", "maybe", "", "Type yes or no."},
		{components.Field{Label: "Colour", Kind: components.Choice, Options: colours}, "red", "Colour: 1 red, 2 green (now red): ", "2", "green", ""},
		{components.Field{Label: "Colour", Kind: components.Choice, Options: colours}, "red", "Colour: 1 red, 2 green (now red): ", "gre", "green", ""},
		{components.Field{Label: "Colour", Kind: components.Choice, Options: colours}, "red", "Colour: 1 red, 2 green (now red): ", "3", "", "The numbers go from 1 to 2."},
	} {
		if got := prompt(test.field, test.holds); got != test.asked {
			t.Errorf("it asks %q, want %q", got, test.asked)
		}
		if value, problem := read(test.field, test.typed); value != test.value || problem != test.problem {
			t.Errorf("%s: %q is read as %q, %q", test.field.Label, test.typed, value, problem)
		}
	}
}

func TestCommandsAreFoundByKeyNameAndBeginning(t *testing.T) {
	offers := actions.Able(actions.Redeem, actions.SortReverse, actions.Sort, actions.Mark, actions.NextPage, actions.CopyID, actions.ForUser, actions.User)
	for text, want := range map[string][]actions.ID{
		"r": {actions.Redeem}, "redeem": {actions.Redeem}, "RED": {actions.Redeem}, "S": {actions.SortReverse}, "s": {actions.Sort},
		"space": {actions.Mark}, "next-page": {actions.NextPage}, "copy": {actions.CopyID}, "record.redeem": {actions.Redeem},
		"re": {actions.Redeem, actions.SortReverse}, "user": {actions.ForUser, actions.User}, "fly": nil,
	} {
		var got []actions.ID
		for _, offer := range find(actions.Default(), offers, text) {
			got = append(got, offer.ID)
		}
		if len(got) != len(want) || len(got) > 0 && got[0] != want[0] {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
	}
}
