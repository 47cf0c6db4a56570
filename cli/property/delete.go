package property

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/cli/bulk"
	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
)

func newDelete(s *session.Session) *cobra.Command {
	var ifMatch string
	var yes bool
	file := &bulk.Flags{}
	cmd := &cobra.Command{
		Use:   "delete {ID... | --file FILE}",
		Short: "Delete properties",
		Long: "Delete properties in the order given. On a terminal you are asked first; elsewhere --yes is needed. The first failure\n" +
			"ends the command, and the error says which properties were not tried.\n\n" + deleteFileHelp,
		Example: "  perksctl property delete 42\n  perksctl property delete 41 42 --yes\n" + deleteFileExample,
		Args:    command.OrFile(&file.File, command.AtLeastOne("ID")),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := file.Check(cmd, command.IfMatchFlag); err != nil {
				return err
			}
			if file.File != "" {
				return runDeleteFile(cmd.Context(), s, *file, yes)
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
			edits := make([]client.Editing, len(ids))
			for i, id := range ids {
				edits[i] = client.Editing{ID: id, Delete: true, ETag: tag}
			}
			return runDelete(cmd.Context(), s, edits, yes, file.DryRun)
		},
	}
	cmd.Flags().StringVar(&ifMatch, command.IfMatchFlag, "", "delete it only if this `ETag` is current")
	bindUnguarded(cmd, s)
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	file.Bind(cmd)
	return cmd
}

func runDelete(ctx context.Context, s *session.Session, edits []client.Editing, yes, dryRun bool) error {
	printer, err := begin(s)
	if err != nil {
		return err
	}
	if dryRun {
		return runDry(ctx, s, edits...)
	}
	connection, err := s.Connection()
	if err != nil {
		return err
	}
	if err := command.Confirm(ctx, s.Streams, yes, fmt.Sprintf("Delete %s at %s?", names(edits), connection)); err != nil {
		return err
	}
	c, connection, err := s.ConnectToChange(ctx)
	if err != nil {
		return err
	}
	deleted := []done{}
	var failure error
	for i, e := range edits {
		if e = send(ctx, s, c, connection, e); e.Err != nil { // the rest is not tried
			var advice []string
			if left := edits[i+1:]; len(left) > 0 {
				advice = append(advice, "Not tried: "+names(left)+".")
			}
			failure = adviseReading(s, e.ID, command.ErrorOf(len(edits), name(e.ID), e.Err), advice...)
			break
		}
		deleted = append(deleted, done{e.ID, e.Message})
	}
	switch { // an object for one property, an array for several, even if only some were deleted
	case len(edits) > 1:
		return errors.Join(failure, printer.DoneEach(ctx, deleted))
	case failure == nil:
		return printer.Done(ctx, deleted[0])
	}
	return failure
}

func names(edits []client.Editing) string {
	list := make([]string, len(edits))
	for i, e := range edits {
		list[i] = name(e.ID)
	}
	return strings.Join(list, ", ")
}

const deleteFileHelp = "With --file, delete the property of each row of a CSV file or of JSON lines. The columns are propertyId (or id) and\n" +
	"optionally etag or if_match with the ETag that the property must still have. The other columns of an export are\n" +
	"ignored, so you can pass an export.\n\n" + command.FileHelp

const deleteFileExample = "  perksctl property delete --file closed.csv\n" +
	"  perksctl property delete --file closed.csv --yes --failed again.csv"

func runDeleteFile(ctx context.Context, s *session.Session, flags bulk.Flags, yes bool) error {
	if err := checkNotSandbox(s); err != nil {
		return err
	}
	if !flags.DryRun && !yes {
		if err := confirmFile(ctx, s, flags); err != nil {
			return err
		}
	}
	return runFile(ctx, s, flags, "property delete", deleteColumns(), parseDeleteRow)
}

func confirmFile(ctx context.Context, s *session.Session, flags bulk.Flags) error {
	if flags.File == "-" {
		return command.Usagef("Standard input has the rows, so perksctl cannot ask whether to delete. Add --yes.")
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
	return command.Confirm(ctx, s.Streams, false, fmt.Sprintf("Delete %s at %s?", what, connection))
}
