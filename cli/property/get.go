package property

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

type getOptions struct {
	session *session.Session
	ids     []int64
}

func newGet(s *session.Session) *cobra.Command {
	o := &getOptions{session: s}
	return &cobra.Command{
		Use:   "get ID...",
		Short: "Show properties by their ids",
		Long: "Show one property, or several as a list. If one of them cannot be read, none is shown. The field etag names the\n" +
			"version that was read. Give it to update or delete, by --if-match or in a file, and they refuse any later version.",
		Example: "  perksctl property get 42\n" +
			"  perksctl property get 41 42 --output csv\n" +
			"  perksctl property delete 42 --if-match \"$(perksctl property get 42 --jq .etag)\"",
		Args: command.AtLeastOne("ID"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.ids, err = parseIDs(args); err != nil {
				return err
			}
			return runGet(cmd.Context(), o)
		},
	}
}

func runGet(ctx context.Context, o *getOptions) error {
	s := o.session
	printer, err := output.New[versioned](s.Output, s.Streams, listView)
	if err != nil {
		return err
	}
	c, _, err := s.Connect()
	if err != nil {
		return err
	}
	properties, plain, guarded := make([]versioned, len(o.ids)), make([]api.Property, len(o.ids)), false
	for i, id := range o.ids {
		property, etag, err := c.Property(ctx, id)
		if err != nil {
			return command.Among(len(o.ids), name(id), err)
		}
		properties[i], plain[i] = versioned{property, etag}, property
		guarded = guarded || etag != ""
	}
	if guarded || slices.Contains(s.Output.Fields, etagColumn) {
		return printer.Few(ctx, properties)
	}
	// A server without ETags has nothing to guard with: a column of empty ones would have every row of an update fail.
	without, err := output.New[api.Property](s.Output, s.Streams, listView)
	if err != nil {
		return err
	}
	return without.Few(ctx, plain)
}
