package property

import (
	"context"
	"sync"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/rows"
	"example.com/perks/cli/bulk"
	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
)

const updateFileHelp = "With --file, change one property for each row of a CSV file or of JSON lines. The columns are propertyId (or id) and\n" +
	"the fields to change. A column etag, as property get exports it, or if_match holds the ETag that the property must\n" +
	"still have; its cells must not be empty. In other columns, an empty cell leaves the field as it is, and the text\n" +
	"null clears lat and lng. images are URLs with commas between, or a JSON array. You can edit an export and pass it\n" +
	"to --file, with or without --raw: perksctl property get ... -o csv\n\n" + command.FileHelp

const updateFileExample = "  perksctl property update --file prices.csv --failed again.csv\n" +
	"  perksctl property update --file prices.csv --dry-run"

// checkUpdateFile refuses flags that do not go with --file, and those that do not go without it.
func checkUpdateFile(cmd *cobra.Command, flags *bulk.Flags) error {
	about := []string{"set", "from-file", "if-match"}
	for _, field := range api.PropertyPatchFields() {
		about = append(about, flagOf(field))
	}
	if err := command.NotWithFile(cmd, flags.File, about...); err != nil {
		return err
	}
	return flags.Check(cmd)
}

func runUpdateFile(ctx context.Context, s *session.Session, options bulk.Options) error {
	if err := checkNotSandbox(s); err != nil {
		return err
	}
	connect, known := connectOnce(s), updateColumns()
	return bulk.Run(ctx, s, options, bulk.Work{Name: "property update", Parse: func(row rows.Row) (bulk.Task, error) {
		target, patch, err := parseUpdateRow(known, row)
		if err != nil {
			return nil, err
		}
		return &updateTask{target, connect, patch}, nil
	}})
}

func connectOnce(s *session.Session) connector {
	return sync.OnceValues(func() (*client.Client, error) {
		c, _, err := s.Connect()
		return c, err
	})
}

func connected(c *client.Client) connector {
	return func() (*client.Client, error) { return c, nil }
}
