package property

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/api/operation"
	"example.com/perks/cli/bulk"
	"example.com/perks/cli/command"
	"example.com/perks/cli/completion"
	"example.com/perks/cli/list"
	"example.com/perks/cli/session"
)

func newDelete(s *session.Session) *cobra.Command {
	var ifMatch string
	file, many := &bulk.Flags{}, &many{session: s}
	cmd := session.Writes[done](s, &cobra.Command{
		Use:   "delete {ID... | --file FILE | --query TEXT | --plan FILE}",
		Short: "Delete properties",
		Long: "Delete properties in the order given. On a terminal you are asked first; elsewhere --yes is needed.\n" +
			"The first failure ends the command, and the error says which properties were not tried. Without\n" +
			"--if-match a deletion is not guarded: it also deletes a property that somebody else has just\n" +
			"changed.\n\n" +
			fmt.Sprintf(manyHelp, "delete") + deleteFileHelp,
		Example: "  perksctl property delete 42\n  perksctl property delete 41 42 --yes\n" +
			"  perksctl property delete --query 'city:leeds price:..50'\n" + deleteFileExample,
		Args: many.orArgs(command.OrFile(&file.File, command.AtLeastOne("ID"))),

		ValidArgsFunction: completion.Properties(s, true),
		RunE: func(cmd *cobra.Command, args []string) error {
			if many.isGiven(cmd) {
				return many.run(cmd, file)
			}
			if err := file.Check(cmd, command.IfMatchFlag); err != nil {
				return err
			}
			if file.File != "" {
				work := workOf(bulk.DeleteProperties, deleteColumns(), parseDeleteRow)
				return runAskedFile(cmd.Context(), s, *file, many.yes, "delete", work)
			}
			ids, err := parseIDs(args)
			if err != nil {
				return err
			}
			tag, err := command.IfMatchOf(cmd, ifMatch)
			if err != nil {
				return err
			}
			if len(ids) > 1 && tag != "" {
				return command.Usagef("--if-match names a version of one property, but %d are given.", len(ids))
			}
			return runDelete(cmd.Context(), s, ids, tag, many.yes, file.DryRun)
		},
	})
	cmd.Flags().StringVar(&ifMatch, command.IfMatchFlag, "", "delete it only if this `ETag` is current")
	bindUnguarded(cmd, s)
	many.bind(cmd)
	file.Bind(cmd)
	return cmd
}

func runDelete(ctx context.Context, s *session.Session, ids []api.PropertyID, tag string, yes, dryRun bool) error {
	printer, err := begin[done](s)
	if err != nil {
		return err
	}
	edits, names := make([]operation.PropertySaving, len(ids)), make([]string, len(ids))
	for i, id := range ids {
		edits[i], names[i] = deletion(id, tag), name(id)
	}
	if dryRun {
		return runDry(ctx, s, edits...)
	}
	connection, err := s.Connection()
	if err != nil {
		return err
	}
	question := fmt.Sprintf("Delete %s at %s?", strings.Join(names, ", "), connection)
	if err := command.Confirm(ctx, s.Streams, yes, question); err != nil {
		return err
	}
	c, connection, err := s.ConnectToChange(ctx)
	if err != nil {
		return err
	}
	return list.Each(ctx, printer, "property", ids, func(id api.PropertyID) (done, error) {
		sent := deletion(id, tag).Send(ctx, c)
		if sent.Err != nil {
			return done{}, adviseReading(s, id, sent.Err)
		}
		d := noteLost(s, sent)
		s.Streams.Note("Deleted %s at %s.", name(id), connection)
		return d, nil
	})
}

func deletion(id api.PropertyID, tag string) operation.PropertySaving {
	return operation.PropertySaving{Kind: operation.Properties, ID: id, Delete: true, ETag: tag}
}

const deleteFileHelp = "With --file, delete the property of each row of a CSV file or of JSON lines. The columns\n" +
	"are propertyId (or id) and optionally etag or if_match with the ETag that the property must still\n" +
	"have, which guards the row. The other columns of an export are ignored, so you can pass an export.\n\n" +
	command.FileHelp

const deleteFileExample = "  perksctl property delete --file closed.csv\n" +
	"  perksctl property delete --file closed.csv --yes --failed again.csv"

// runAskedFile asks before a verb is done to each row of a file.
func runAskedFile(
	ctx context.Context, s *session.Session, flags bulk.Flags, yes bool, verb string, work bulk.Work,
) error {
	if err := checkNotSandbox(s); err != nil {
		return err
	}
	if !flags.DryRun && !yes {
		if err := confirmFile(ctx, s, flags, verb); err != nil {
			return err
		}
	}
	return bulk.Run(ctx, s, flags, work)
}

func confirmFile(ctx context.Context, s *session.Session, flags bulk.Flags, verb string) error {
	if flags.File == "-" {
		return command.Usagef("Standard input has the rows, so perksctl cannot ask whether to %s. Add --yes.", verb)
	}
	connection, err := s.Connection()
	if err != nil {
		return err
	}
	what := "the properties in " + flags.File
	n, known, err := flags.CountRows()
	if err != nil {
		return err
	}
	if known {
		what += " (" + display.Plural(n, "row", "rows") + ")"
	}
	question := fmt.Sprintf("%s%s %s at %s?", strings.ToUpper(verb[:1]), verb[1:], what, connection)
	return command.Confirm(ctx, s.Streams, false, question)
}
