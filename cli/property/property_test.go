package property

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/operation"
)

func TestParseIDs(t *testing.T) {
	for arg, ok := range map[string]bool{
		"1": true, "9223372036854775808": true, "7f3c/é": true, "": false, ".": false, "x ": false, "a\nb": false,
	} {
		if _, err := parseIDs([]string{arg}); (err == nil) != ok {
			t.Errorf("parseIDs(%q): %v", arg, err)
		}
	}
}

func TestChangesFromFlagsAndFile(t *testing.T) {
	for args, ok := range map[string]bool{
		"--city B --set lat= --from-file -":    true,
		"--title A --set city=B --from-file -": false, // the file also has a title
		"--images a,b":                         false, // not absolute URLs
		"--price-pw 1.10 --set price_pw=1.20":  false,
		"":                                     false,
	} {
		cmd := &cobra.Command{Use: "update"}
		c := &changes{}
		c.bind(cmd)
		if err := cmd.ParseFlags(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		e := &operation.PropertySaving{}
		err := c.read(cmd, e, strings.NewReader(`{"title":"From the file","bedrooms":2}`))
		if (err == nil) != ok {
			t.Errorf("%q: %v", args, err)
		}
		patch := e.Patch
		if ok && !(patch.Title.Value == "From the file" && patch.City.Value == "B" && patch.Lat.Set &&
			patch.Lat.Value == nil && patch.Bedrooms.Value == 2 && !patch.PricePW.Set) {
			t.Errorf("%q: %+v", args, patch)
		}
	}
}

func TestEveryFieldHasAFlagWithHelp(t *testing.T) {
	cmd := &cobra.Command{Use: "update"}
	c := &changes{}
	c.bind(cmd)
	for _, field := range api.PropertyPatchFields() {
		if flag := cmd.Flags().Lookup(flagOf(field)); flag == nil || flag.Usage == "" {
			t.Errorf("%s has no flag, or a flag without help", field)
		}
	}
}
