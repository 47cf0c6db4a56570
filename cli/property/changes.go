package property

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/cli/bulk"
	"example.com/perks/cli/command"
)

// maxPatchFile bounds what is read of a patch file. The server takes no larger body.
const maxPatchFile = 1 << 20

// changes gathers the fields of a patch from the flags of the command and a file.
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

// read reads and checks everything that was given, and returns the patch and the ETag that guards it. Nothing given, a field
// given twice and a value that breaks its field's rule are wrong usage.
func (c *changes) read(cmd *cobra.Command, meant target, stdin io.Reader) (api.PropertyPatch, string, error) {
	members, err := c.typed(cmd)
	if err != nil {
		return api.PropertyPatch{}, "", err
	}
	object, err := c.inFile(stdin)
	if err != nil {
		return api.PropertyPatch{}, "", err
	}
	problems := api.FieldErrors{}
	fields, ifMatch := takeTarget(object, meant, problems)
	members = append(members, fields...)
	if len(members) == 0 && len(problems) == 0 {
		return api.PropertyPatch{}, "", command.Usagef("Nothing to change: give at least one field, such as --title, --set field=value or --from-file.")
	}
	patch, err := api.ParsePropertyPatch(mergeRepeats(members))
	var invalid *api.Error
	if errors.As(err, &invalid) {
		maps.Copy(problems, invalid.Fields)
	} else if err != nil {
		return patch, "", err
	}
	if len(problems) > 0 {
		return patch, "", &command.UsageError{Message: "The property was not changed, because some values are not valid.", Fields: problems}
	}
	return patch, ifMatch, nil
}

// takeTarget takes out what an exported property says beside its fields: which one it is, and the ETag of its version. They
// must agree with what the command line says.
func takeTarget(members []api.Member, meant target, problems api.FieldErrors) (fields []api.Member, ifMatch string) {
	said := bulk.Row{}
	for _, m := range members {
		switch m.Name {
		case "propertyId", ifMatchColumn, etagColumn:
			if m.Repeated {
				problems.Add(m.Name, "is given more than once")
			}
			said[m.Name] = bulk.Value{Value: m.Value, Name: m.Name}
		default:
			fields = append(fields, m)
		}
	}
	if value, given := said["propertyId"]; given {
		if id := int64(0); value.Int(&id) != "" || id != meant.id {
			problems.Add("propertyId", "is not %d, the property to change", meant.id)
		}
	}
	ifMatch = readGuard(said, problems)
	if ifMatch != "" && meant.ifMatch != "" && ifMatch != meant.ifMatch {
		problems.Add(etagColumn, "differs from --if-match; leave one of them out")
	}
	return fields, cmp.Or(meant.ifMatch, ifMatch)
}

// typed returns the fields that the command line sets.
func (c *changes) typed(cmd *cobra.Command) ([]api.Member, error) {
	var members []api.Member
	for _, field := range api.PropertyPatchFields() {
		if cmd.Flags().Changed(flagOf(field)) {
			members = append(members, api.Member{Name: field, Value: api.TextValue(*c.fields[field])})
		}
	}
	for _, setting := range c.set {
		field, value, ok := strings.Cut(setting, "=")
		if !ok {
			return nil, command.Usagef("--set %q must look like field=value.%s", setting, command.DidYouMean(setting, api.PropertyPatchFields()))
		}
		members = append(members, api.Member{Name: field, Value: api.TextValue(value)})
	}
	return members, nil
}

// inFile returns the members of the object in --from-file.
func (c *changes) inFile(stdin io.Reader) ([]api.Member, error) {
	if c.file == "" {
		return nil, nil
	}
	text, err := readPatch(c.file, stdin)
	if err != nil {
		return nil, err
	}
	object, err := api.ParseObject(text)
	if err != nil {
		return nil, command.Usagef("%s cannot be read. %s", fileName(c.file), err)
	}
	return object, nil
}

func readPatch(path string, stdin io.Reader) ([]byte, error) {
	source := stdin
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, command.Usagef("The patch cannot be read: %s.", err)
		}
		defer file.Close()
		source = file
	}
	text, err := io.ReadAll(io.LimitReader(source, maxPatchFile+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", fileName(path), err)
	}
	if len(text) > maxPatchFile {
		return nil, command.Usagef("%s is longer than %d bytes.", fileName(path), maxPatchFile)
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
