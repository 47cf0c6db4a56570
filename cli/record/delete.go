package record

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"example.com/perks/api/display"
	"example.com/perks/api/operation"
	"example.com/perks/cli/bulk"
	"example.com/perks/cli/command"
	"example.com/perks/cli/list"
	"example.com/perks/cli/session"
)

// NewDelete makes the command delete.
func (k *Kind[I, R, P]) NewDelete(s *session.Session) *cobra.Command {
	var ifMatch string
	file, many := &bulk.Flags{}, &many[I, R, P]{kind: k, session: s}
	line := "  perksctl " + k.Name + " delete "
	cmd := session.Writes[done[I]](s, &cobra.Command{
		Use:   "delete {ID... | --file FILE | --query TEXT | --plan FILE}",
		Short: "Delete " + k.Plural,
		Long: "Delete " + k.Plural + " in the order given. On a terminal you are asked first; elsewhere --yes is " +
			"needed.\n" +
			"The first failure ends the command, and the error says which " + k.Plural + " were not tried. Without\n" +
			"--if-match a deletion is not guarded: it also deletes a " + k.Name + " that somebody else has just\n" +
			"changed.\n\n" +
			k.manyHelp("delete") + k.deleteFileHelp(),
		Example: line + k.ExampleID + "\n" + line + "41 42 --yes\n" + line + "--query 'city:leeds price:..50'\n" +
			line + "--file closed.csv\n" + line + "--file closed.csv --yes --failed again.csv",
		Args: many.orArgs(command.OrFile(&file.File, command.AtLeastOne("ID"))),

		ValidArgsFunction: k.IDs(s, true),
		RunE: func(cmd *cobra.Command, args []string) error {
			if many.isGiven(cmd) {
				return many.run(cmd, file)
			}
			if err := file.Check(cmd, command.IfMatchFlag); err != nil {
				return err
			}
			if file.File != "" {
				work := k.workOf(k.Name+" delete", k.deleteColumns(), k.parseDeleteRow)
				return k.runAskedFile(cmd.Context(), s, *file, many.yes, "delete", work)
			}
			ids, err := k.parseIDs(args)
			if err != nil {
				return err
			}
			tag, err := command.IfMatchOf(cmd, ifMatch)
			if err != nil {
				return err
			}
			if len(ids) > 1 && tag != "" {
				return command.Usagef("--if-match names a version of one %s, but %d are given.", k.Name, len(ids))
			}
			return k.runDelete(cmd.Context(), s, ids, tag, many.yes, file.DryRun)
		},
	})
	cmd.Flags().StringVar(&ifMatch, command.IfMatchFlag, "", "delete it only if this `ETag` is current")
	bindUnguarded(cmd, s)
	many.bind(cmd)
	file.Bind(cmd)
	return cmd
}

func (k *Kind[I, R, P]) runDelete(
	ctx context.Context, s *session.Session, ids []I, tag string, yes, dryRun bool,
) error {
	printer, err := begin[done[I]](k, s)
	if err != nil {
		return err
	}
	edits, names := make([]operation.Saving[I, R, P], len(ids)), make([]string, len(ids))
	for i, id := range ids {
		edits[i], names[i] = k.deletion(id, tag), k.Named(id)
	}
	if dryRun {
		return k.runDry(ctx, s, edits...)
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
	return list.Each(ctx, printer, k.Name, ids, func(id I) (done[I], error) {
		sent := k.deletion(id, tag).Send(ctx, c)
		if sent.Err != nil {
			return done[I]{}, k.adviseReading(s, id, sent.Err)
		}
		d := k.noteLost(s, sent)
		s.Streams.Note("Deleted %s at %s.", k.Named(id), connection)
		return d, nil
	})
}

func (k *Kind[I, R, P]) deletion(id I, tag string) operation.Saving[I, R, P] {
	e := k.saving(id)
	e.Delete, e.ETag = true, tag
	return e
}

func (k *Kind[I, R, P]) deleteFileHelp() string {
	return fmt.Sprintf("With --file, delete the %[1]s of each row of a CSV file or of JSON lines. The columns\n"+
		"are %[2]s and optionally etag or if_match with the ETag that the %[1]s must still\n"+
		"have, which guards the row. The other columns of an export are ignored, so you can pass an export.\n\n",
		k.Name, k.idHelp()) + command.FileHelp
}

// idHelp names the column of the id.
func (k *Kind[I, R, P]) idHelp() string {
	if k.IDColumn.Name == "id" {
		return "id"
	}
	return k.IDColumn.Name + " (or id)"
}

// runAskedFile asks before a verb is done to each row of a file.
func (k *Kind[I, R, P]) runAskedFile(
	ctx context.Context, s *session.Session, flags bulk.Flags, yes bool, verb string, work bulk.Work,
) error {
	if err := k.checkMayChange(s); err != nil {
		return err
	}
	if !flags.DryRun && !yes {
		if err := k.confirmFile(ctx, s, flags, verb); err != nil {
			return err
		}
	}
	return bulk.Run(ctx, s, flags, work)
}

func (k *Kind[I, R, P]) confirmFile(ctx context.Context, s *session.Session, flags bulk.Flags, verb string) error {
	if flags.File == "-" {
		return command.Usagef("Standard input has the rows, so perksctl cannot ask whether to %s. Add --yes.", verb)
	}
	connection, err := s.Connection()
	if err != nil {
		return err
	}
	what := "the " + k.Plural + " in " + flags.File
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
