package property

import (
	"context"

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
		Long: "Show one property, or several as a list. If one of them cannot be read, none is shown. The ETag on standard error\n" +
			"names the version that was read; update and delete take it with --if-match.",
		Example: "  perksctl property get 42\n  perksctl property get 41 42 --output csv",
		Args:    command.AtLeastOne("ID"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.ids, err = parseIDs(args); err != nil {
				return err
			}
			return runGet(cmd.Context(), o)
		},
	}
}

func runGet(ctx context.Context, o *getOptions) error {
	printer, err := output.New[api.Property](o.session.Output, o.session.Streams, listView)
	if err != nil {
		return err
	}
	c, _, err := o.session.Connect()
	if err != nil {
		return err
	}
	properties := make([]api.Property, len(o.ids))
	for i, id := range o.ids {
		property, etag, err := c.Property(ctx, id)
		if err != nil {
			return command.Among(len(o.ids), name(id), err)
		}
		properties[i] = property
		if etag != "" {
			o.session.Streams.Note("The ETag of %s is %s", name(id), etag)
		}
	}
	return printer.Few(ctx, properties)
}
