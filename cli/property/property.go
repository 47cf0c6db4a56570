// Package property is the commands about properties, the rental listings: read, update, delete.
package property

import (
	"strconv"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

var listView = output.View{Columns: []string{"propertyId", "title", "address", "city", "postcode", "price_pw", "bedrooms"}, ID: "propertyId"}

// versioned is a property as it is exported: with the ETag of its version, by which an update from the export is guarded.
type versioned struct {
	api.Property
	ETag string `json:"etag"`
}

// done is what a change of a property gives to programs.
type done struct {
	ID      int64  `json:"propertyId"`
	Message string `json:"message"`
}

var doneView = output.View{ID: "propertyId"}

// New makes the group.
func New(s *session.Session) *cobra.Command {
	return command.Group(cobra.Command{
		Use:     "property",
		Aliases: []string{"properties"},
		Short:   "Read, update and delete properties",
		Example: "  perksctl property get 42\n  perksctl property update 42 --price-pw 295.50 --bedrooms 2",
	}, newGet(s), newUpdate(s), newEdit(s), newDelete(s))
}

func parseIDs(args []string) ([]int64, error) {
	ids := make([]int64, len(args))
	for i, arg := range args {
		id, err := strconv.ParseInt(arg, 10, 64)
		if err != nil || id <= 0 {
			return nil, command.Usagef("%q is not the id of a property: it must be a whole number above 0.", arg)
		}
		ids[i] = id
	}
	return ids, nil
}

// name is how messages call a property.
func name(id int64) string { return "property " + strconv.FormatInt(id, 10) }

// checkNotSandbox keeps a change that was meant for the sandbox away from live data: the sandbox has no properties.
func checkNotSandbox(s *session.Session) error {
	connection, err := s.Connection()
	if err == nil && connection.Sandbox {
		return command.Usagef("The sandbox has no properties; this would change the live one. Add --sandbox=false if that is what you want.")
	}
	return err
}

// entityTag puts the quotes around an ETag (RFC 9110, section 8.8.3) that a shell took off.
func entityTag(tag string) string {
	if tag == "" || tag == "*" || tag[0] == '"' || len(tag) > 2 && tag[:2] == "W/" {
		return tag
	}
	return `"` + tag + `"`
}

// guard returns the ETag of --if-match with its quotes, "" if the flag is not given. An empty one is refused: it is what a
// script's failed search leaves, and the change would go out unguarded.
func guard(cmd *cobra.Command, tag string) (string, error) {
	if !cmd.Flags().Changed(ifMatchFlag) {
		return "", nil
	}
	if problem := entityTagRule(tag); problem != "" {
		return "", command.Usagef("--%s %s.", ifMatchFlag, problem)
	}
	return entityTag(tag), nil
}

const ifMatchFlag = "if-match"
