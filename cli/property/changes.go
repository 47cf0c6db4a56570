package property

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/cli/command"
	"example.com/perks/cli/exit"
)

// maxPatchFile bounds what is read of a patch file. The server takes no larger body.
const maxPatchFile = 1 << 20

// changes gathers the fields of a patch from the flags of the command.
type changes struct {
	fields map[string]*string // by the names of the wire
	set    []string
	file   string
}

// fieldHelp is what the flags' help says of each field.
var fieldHelp = map[string]string{
	"title":       "the title",
	"description": "the description",
	"address":     "street and number",
	"city":        "the city",
	"postcode":    "the postcode",
	"images":      "addresses of images, comma-separated; they replace all that are there",
	"price_pw":    "the price for a week, such as 295.50; its digits are kept",
	"bedrooms":    "how many bedrooms",
	"bathrooms":   "how many bathrooms",
	"lat":         "the latitude in degrees; empty for none",
	"lng":         "the longitude in degrees; empty for none",
	"deposit":     "the deposit",
}

func (c *changes) bind(cmd *cobra.Command) {
	c.fields = map[string]*string{}
	for _, field := range api.PropertyPatchFields() {
		c.fields[field] = cmd.Flags().String(flagOf(field), "", fieldHelp[field])
	}
	cmd.Flags().StringArrayVar(&c.set, "set", nil, "set a field: `field=value`, repeatable")
	cmd.Flags().StringVar(&c.file, "from-file", "", "read a JSON object of fields from this `file`, - for standard input")
}

func flagOf(field string) string { return strings.ReplaceAll(field, "_", "-") }

// patch reads and checks everything that was given. Nothing given, a field given twice and a value that breaks its
// field's rule are wrong usage.
func (c *changes) patch(cmd *cobra.Command, stdin io.Reader) (api.PropertyPatch, error) {
	members, err := c.members(cmd, stdin)
	if err != nil {
		return api.PropertyPatch{}, err
	}
	if len(members) == 0 {
		return api.PropertyPatch{}, exit.Usagef("Nothing to change: give at least one field, such as --title, --set field=value or --from-file.")
	}
	patch, err := api.ParsePropertyPatch(mergeRepeats(members))
	var invalid *api.Error
	if errors.As(err, &invalid) {
		return patch, &exit.Usage{Message: "The property was not changed, because some values are not valid.", Fields: invalid.Fields}
	}
	return patch, err
}

func (c *changes) members(cmd *cobra.Command, stdin io.Reader) ([]api.Member, error) {
	var members []api.Member
	for _, field := range api.PropertyPatchFields() {
		if cmd.Flags().Changed(flagOf(field)) {
			members = append(members, api.Member{Name: field, Value: api.TextValue(*c.fields[field])})
		}
	}
	for _, setting := range c.set {
		field, value, ok := strings.Cut(setting, "=")
		if !ok {
			return nil, exit.Usagef("--set %q must look like field=value.%s", setting, command.DidYouMean(setting, api.PropertyPatchFields()))
		}
		members = append(members, api.Member{Name: field, Value: api.TextValue(value)})
	}
	if c.file == "" {
		return members, nil
	}
	text, err := readPatch(c.file, stdin)
	if err != nil {
		return nil, err
	}
	object, err := api.ParseObject(text)
	if err != nil {
		return nil, exit.Usagef("%s cannot be read. %s", fileName(c.file), err)
	}
	return append(members, object...), nil
}

func readPatch(path string, stdin io.Reader) ([]byte, error) {
	source := stdin
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, exit.Usagef("The patch cannot be read: %s.", err)
		}
		defer file.Close()
		source = file
	}
	text, err := io.ReadAll(io.LimitReader(source, maxPatchFile+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", fileName(path), err)
	}
	if len(text) > maxPatchFile {
		return nil, exit.Usagef("%s is longer than %d bytes.", fileName(path), maxPatchFile)
	}
	return text, nil
}

func fileName(path string) string {
	if path == "-" {
		return "Standard input"
	}
	return path
}

// mergeRepeats marks fields that came from more than one place, as a repeat within one object is marked.
func mergeRepeats(members []api.Member) []api.Member {
	var merged []api.Member
	index := map[string]int{}
	for _, member := range members {
		if i, seen := index[member.Name]; seen {
			merged[i].Repeated = true
			continue
		}
		index[member.Name] = len(merged)
		merged = append(merged, member)
	}
	return merged
}
