package property

import (
	"context"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/cli/bulk"
	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

type updateOptions struct {
	session *session.Session
	id      int64
	patch   api.PropertyPatch
	ifMatch string
	dryRun  bool
}

func newUpdate(s *session.Session) *cobra.Command {
	o := &updateOptions{session: s}
	changes := &changes{}
	file := &bulk.Flags{}
	cmd := &cobra.Command{
		Use:   "update {ID | --file FILE}",
		Short: "Change fields of a property, or of many",
		Long: "Change the fields that are given, by flags, --set or a file; all others stay as they are. Values are checked\n" +
			"before anything is sent, and a field that is given twice is refused. The etag of an exported property in --from-file\n" +
			"guards the change as --if-match does.\n\n" + updateFileHelp,
		Example: "  perksctl property update 42 --price-pw 295.50 --bedrooms 2\n" +
			"  perksctl property update 42 --set city=Leeds --set lat=\n" +
			"  perksctl property update 42 --from-file patch.json --if-match 1f2e3d\n" +
			updateFileExample,
		Args: command.OrFile(&file.File, command.Exactly("ID")),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkUpdateFile(cmd, file); err != nil {
				return err
			}
			if file.File != "" {
				return runUpdateFile(cmd.Context(), s, bulk.Options{Flags: *file, DryRun: o.dryRun})
			}
			ids, err := parseIDs(args)
			if err != nil {
				return err
			}
			o.id = ids[0]
			if o.ifMatch, err = guard(cmd, o.ifMatch); err != nil {
				return err
			}
			if o.patch, o.ifMatch, err = changes.read(cmd, target{o.id, o.ifMatch}, s.Streams.In); err != nil {
				return err
			}
			return runUpdate(cmd.Context(), o)
		},
	}
	changes.bind(cmd)
	cmd.Flags().StringVar(&o.ifMatch, ifMatchFlag, "", "change it only while this `ETag` names its current version")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "show the request and what it would do, or with --file what each row would do; change nothing")
	file.Bind(cmd)
	return cmd
}

func runUpdate(ctx context.Context, o *updateOptions) error {
	s := o.session
	printer, err := output.New[done](s.Output, s.Streams, doneView)
	if err != nil {
		return err
	}
	if err := checkNotSandbox(s); err != nil {
		return err
	}
	if o.dryRun {
		return s.RehearseWith(ctx, func(c *client.Client) error {
			_, err := c.UpdateProperty(ctx, o.id, o.patch, o.ifMatch)
			return err
		}, func(c *client.Client, _ int) (string, []session.Change, error) {
			return (&updateTask{target{o.id, o.ifMatch}, connected(c), o.patch}).Check(ctx)
		})
	}
	c, connection, err := s.Connect()
	if err != nil {
		return err
	}
	message, err := c.UpdateProperty(ctx, o.id, o.patch, o.ifMatch)
	if err != nil && !found(ctx, s, c, o.id, err, o.isHeld) {
		return settle(s, o.id, err)
	}
	s.Streams.Note("Updated %s at %s.", name(o.id), connection)
	return printer.Done(ctx, done{o.id, message.Message})
}

func (o *updateOptions) isHeld(property api.Property, err error) bool {
	return err == nil && o.patch.IsHeldBy(property)
}
