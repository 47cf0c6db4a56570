package property

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"example.com/perks/api/rows"
	"example.com/perks/cli/bulk"
	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
)

const deleteFileHelp = "With --file, delete the property of each row of a CSV file or of JSON lines. The columns are propertyId (or id) and, if\n" +
	"you like, etag or if_match with the ETag that the property must still have. The other columns of an export of\n" +
	"properties are passed over, so that an export says what to delete.\n\n" + command.FileHelp

const deleteFileExample = "  perksctl property delete --file closed.csv\n" +
	"  perksctl property delete --file closed.csv --yes --failed again.csv"

// checkDeleteFile refuses flags that do not go with --file, and those that do not go without it.
func checkDeleteFile(cmd *cobra.Command, flags *bulk.Flags) error {
	if err := command.NotWithFile(cmd, flags.File, "if-match"); err != nil {
		return err
	}
	return flags.Check(cmd)
}

func runDeleteFile(ctx context.Context, s *session.Session, options bulk.Options, yes bool) error {
	if err := checkNotSandbox(s); err != nil {
		return err
	}
	if !options.DryRun && !yes {
		if err := confirmFile(ctx, s, options.Flags); err != nil {
			return err
		}
	}
	connect, known := connectOnce(s), deleteColumns()
	return bulk.Run(ctx, s, options, bulk.Work{Name: "property delete", Parse: func(row rows.Row) (bulk.Task, error) {
		target, err := parseDeleteRow(known, row)
		if err != nil {
			return nil, err
		}
		return &deleteTask{target, connect}, nil
	}})
}

func confirmFile(ctx context.Context, s *session.Session, flags bulk.Flags) error {
	if flags.File == "-" {
		return command.Usagef("The rows come from standard input, so that nobody can be asked whether to delete: add --yes.")
	}
	info, err := os.Stat(flags.File)
	if err != nil {
		return command.Usagef("--file cannot be read: %s.", err)
	}
	connection, err := s.Connection()
	if err != nil {
		return err
	}
	what := "the properties in " + flags.File
	if n, ok := countRows(flags, info); ok {
		what += fmt.Sprintf(" (%s)", rowCount(n))
	}
	return command.Confirm(ctx, s.Streams, false, fmt.Sprintf("Delete %s at %s?", what, connection))
}

// maxCounted is the longest file whose rows are counted for the question: it is read before anyone notices.
const maxCounted = 16 << 20

// countRows counts what the run will find. It does not where that would take long or swallow the rows, and where the file
// does not say in its name how to read it.
func countRows(flags bulk.Flags, info os.FileInfo) (n int, ok bool) {
	format, err := rows.ParseFormat(flags.Format)
	if flags.Format == "" {
		format, err = rows.FormatOf(flags.File)
	}
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxCounted {
		return 0, false
	}
	file, err := os.Open(flags.File)
	if err != nil {
		return 0, false
	}
	defer file.Close()
	for range rows.NewReader(file, format).Rows() {
		n++
	}
	return n, true
}

func rowCount(n int) string {
	if n == 1 {
		return "1 row"
	}
	return fmt.Sprintf("%d rows", n)
}
