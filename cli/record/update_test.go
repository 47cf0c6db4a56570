package record

import (
	"testing"

	"github.com/spf13/cobra"

	"example.com/perks/api"
)

func TestParseIDs(t *testing.T) {
	for arg, ok := range map[string]bool{
		"1": true, "9223372036854775808": true, "7f3c/é": true, "": false, ".": false, "x ": false, "a\nb": false,
	} {
		if _, err := listings.parseIDs([]string{arg}); (err == nil) != ok {
			t.Errorf("listings.parseIDs(%q): %v", arg, err)
		}
	}
}

func TestEveryFieldHasAFlagWithHelp(t *testing.T) {
	cmd := &cobra.Command{Use: "update"}
	c := &changes{}
	c.bind(cmd, api.PropertyFields())
	for _, field := range api.PropertyPatchFields() {
		if flag := cmd.Flags().Lookup(flagOf(field)); flag == nil || flag.Usage == "" {
			t.Errorf("%s has no flag, or a flag without help", field)
		}
	}
}
