package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"example.com/perks/store/sqlite"
)

func (p *program) restoreCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Put a backup in the place of a SQLite database",
		Long: "Put a copy of a backup, as 'perksd backup' makes it, in the place of a SQLite database. Stop the server first: while anything uses\n" +
			"the database, nothing is done.\n\n" +
			"The backup is looked through before anything is changed. The former database is kept beside the new one, under the name that is said.\n" +
			"What came after the backup is not in it: redemptions made since then are forgotten, and can be made once more.\n" +
			"For PostgreSQL there is pg_restore: perksd restore says how to call it.",
		Example: "  perksd restore perks-2026-01-31.db",
		Args:    arguments("FILE"),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return p.restore(cmd.Context(), args[0]) }
	return cmd
}

func (p *program) restore(ctx context.Context, backup string) error {
	db, err := parseDatabase(p.database)
	if err != nil {
		return err
	}
	former, err := db.restore(ctx, backup, p.now())
	if err != nil {
		return err
	}
	if former != "" {
		former = " The former one is " + former + "."
	}
	_, err = fmt.Fprintf(p.stdout, "Restored %s from %s.%s\n", db.name(), backup, former)
	return err
}

func (f sqliteFile) restore(ctx context.Context, backup string, at time.Time) (former string, err error) {
	former, err = sqlite.Restore(ctx, backup, string(f), at)
	if errors.Is(err, sqlite.ErrInUse) {
		return "", fmt.Errorf("%s is in use; stop the server, and every other perksd that works on it, and restore again", f)
	}
	return former, err
}

// restore leaves the work to PostgreSQL's own programs. A database that servers work on is left alone: the backup goes to
// another one beside it.
func (d *postgresDatabase) restore(_ context.Context, backup string, _ time.Time) (former string, err error) {
	name := shellWord(d.dbname + "_restored")
	return "", usageError{fmt.Errorf("perksd restore works on a file of SQLite; a backup of PostgreSQL goes into a new database, which --database has to name from then on. Make and fill it with: "+
		"createdb %[1]s --template=template0 --encoding=UTF8 %[2]s && pg_restore %[1]s --exit-on-error --no-owner --dbname=%[2]s %[3]s",
		d.clientFlags(), name, shellWord(backup))}
}
