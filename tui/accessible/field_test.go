package accessible

import (
	"strings"
	"testing"

	"example.com/perks/tui/actions"
	"example.com/perks/tui/widget"
)

func TestFieldPromptsAndInput(t *testing.T) {
	for _, test := range []struct {
		field        widget.Field
		current      string
		prompt       string
		typed, value string
		problem      string
	}{
		{widget.Field{Label: "City"}, "Berlin", "City (now Berlin), empty keeps it, - clears it: ", "Ham burg",
			"Ham burg", ""},
		{widget.Field{Label: "City", Hint: "such as Berlin"}, "", "City (such as Berlin): ", "x", "x", ""},
		{widget.Field{Label: "Story", Kind: widget.Text}, strings.Repeat("é", 200),
			"Story (now 200 characters; :say reads it), several lines, end with a dot; empty keeps it, - clears it: ",
			"x", "x", ""},
		{widget.Field{Label: "Secret", Kind: widget.Secret}, "hush", "Secret (hidden), empty keeps it: ", "-", "-", ""},
		{widget.Field{Label: "Sandbox", Kind: widget.Switch}, "no", "Sandbox, yes or no (now no): ", "Y", widget.Yes,
			""},
		{widget.Field{Label: "Sandbox", Kind: widget.Switch}, "no", "Sandbox, yes or no (now no): ", "maybe", "",
			"Type yes or no."},
	} {
		if got := prompt(test.field, test.current); got != test.prompt {
			t.Errorf("prompt %q, want %q", got, test.prompt)
		}
		if value, problem := read(test.field, test.typed); value != test.value || problem != test.problem {
			t.Errorf("%s: read(%q) = %q, %q", test.field.Label, test.typed, value, problem)
		}
	}
}

func TestFindCommandByKeyNameOrPrefix(t *testing.T) {
	offers := actions.Enabled(actions.Redeem, actions.SortReverse, actions.Sort, actions.Mark, actions.PageDown,
		actions.CopyID, actions.ForUser, actions.User)
	for text, want := range map[string][]actions.ID{
		"r": {actions.Redeem}, "redeem": {actions.Redeem}, "RED": {actions.Redeem}, "S": {actions.SortReverse},
		"s":     {actions.Sort},
		"space": {actions.Mark}, "page-down": {actions.PageDown}, "copy": {actions.CopyID},
		"record.redeem": {actions.Redeem},
		"re":            {actions.Redeem, actions.SortReverse}, "user": {actions.ForUser, actions.User}, "fly": nil,
	} {
		var got []actions.ID
		for _, offer := range find(actions.Default(), offers, text) {
			got = append(got, offer.ID)
		}
		if len(got) != len(want) || len(got) > 0 && got[0] != want[0] {
			t.Errorf("find(%q) = %v, want %v", text, got, want)
		}
	}
}
