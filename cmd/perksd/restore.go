package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"example.com/perks/store"
	"example.com/perks/store/sqlite"
)

type restoreOptions struct {
	former string // --former
	forget bool   // --forget-revocations
}

// carriesOver reports whether the database has been restored, so that only clients and signing keys are copied to it.
func (o restoreOptions) carriesOver(args []string) bool {
	return o.former != "" || o.forget && len(args) == 0
}

func (p *program) restoreCommand() *cobra.Command {
	var o restoreOptions
	cmd := &cobra.Command{
		Use:   "restore [FILE]",
		Short: "Put a backup in the place of a database",
		Long: "Put a copy of a backup, as 'perksd backup' makes it, in the place of a SQLite database. Stop the server first: while anything uses\n" +
			"the database, nothing is done.\n\n" +
			"The backup is checked before anything is changed, and migrated to the version of this program. The former database is kept\n" +
			"beside the new one, under the name that is printed. What came after the backup is not in it: redemptions made since then are forgotten,\n" +
			"and can be made once more.\n\n" +
			"Clients and signing keys are not restored. What was disabled, rotated, narrowed or dropped after the backup stays so, and clients made\n" +
			"since are kept. A signing key that was rotated since is dropped, so clients have to get new tokens. The command lists each difference\n" +
			"from the backup, and so does the audit log. If the database to be replaced is missing, damaged or not a later state of the backup,\n" +
			"nothing is restored without --forget-revocations.\n\n" +
			"PostgreSQL has pg_restore: 'perksd restore FILE' prints how to call it. It fills a database beside the former one. Then 'perksd restore\n" +
			"--former ADDRESS' copies clients and signing keys from the former one to that of --database.",
		Example: "  perksd restore perks-2026-01-31.db",
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if o.carriesOver(args) {
			return arguments()(cmd, args)
		}
		return arguments("FILE")(cmd, args)
	}
	cmd.Flags().StringVar(&o.former, "former", "", "the `ADDRESS` of the PostgreSQL database that the one of --database takes the place of")
	cmd.Flags().BoolVar(&o.forget, "forget-revocations", false, "restore even if perksd can't tell what was revoked after the backup")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		db, err := parseDatabase(p.database)
		switch {
		case err != nil:
			return err
		case o.carriesOver(args):
			return p.carryOver(cmd.Context(), db, o)
		}
		return p.restore(cmd.Context(), db, args[0], o)
	}
	return cmd
}

func (p *program) restore(ctx context.Context, db database, backup string, o restoreOptions) error {
	r := p.newRestoration(o.forget)
	former, err := db.restore(ctx, backup, r)
	if err != nil {
		return err
	}
	if former != "" {
		former = " The former one is " + former + "."
	}
	_, err = fmt.Fprintf(p.stdout, "Restored %s from %s.%s\n%s", db.name(), backup, former, r.report())
	return err
}

// carryOver is the last step of restoring a database of PostgreSQL, which pg_restore has filled.
func (p *program) carryOver(ctx context.Context, db database, o restoreOptions) error {
	if _, isFile := db.(sqliteFile); isFile {
		return usageError{errors.New("name the backup: perksd restore FILE; over SQLite the former database is the file that is replaced")}
	}
	if setUp, err := isSetUp(ctx, db); err != nil || !setUp {
		return cmp.Or(err, fmt.Errorf("perksd was never set up in the database %s; fill it with pg_restore first, as 'perksd restore FILE' says", db.name()))
	}
	r := p.newRestoration(o.forget)
	if err := r.lookAt(ctx, o.former, db); err != nil {
		return err
	}
	if err := withOpen(ctx, db, slog.New(slog.NewTextHandler(p.stderr, nil)), func(restored store.Store) error { return r.applyTo(ctx, restored) }); err != nil {
		return fmt.Errorf("%w.\nIf this or an earlier attempt has changed anything, drop the database %s, make and fill it again, as 'perksd restore FILE' says", err, db.name())
	}
	_, err := fmt.Fprintf(p.stdout, "Copied clients and signing keys to %s.\n%s", db.name(), r.report())
	return err
}

// lookAt is readFormer for a PostgreSQL database beside the restored one.
func (r *restoration) lookAt(ctx context.Context, address string, restored database) error {
	if address == "" {
		r.readFormer(ctx, nil, errors.New("--former does not name it"))
		return nil
	}
	former, err := parseDatabase(address)
	if err != nil {
		return err
	}
	if err := requireMigrated(ctx, former); err != nil {
		r.readFormer(ctx, nil, err)
		return nil
	}
	if same, err := restored.is(ctx, former); err != nil || same {
		return cmp.Or(err, error(usageError{errors.New("--former and --database name the same database")}))
	}
	return withOpen(ctx, former, slog.New(slog.DiscardHandler), func(db store.Store) error { r.readFormer(ctx, db, nil); return nil })
}

func (f sqliteFile) restore(ctx context.Context, backup string, r *restoration) (former string, err error) {
	former, err = sqlite.Restore(ctx, backup, string(f), r.at, sqlite.CarryOver{
		Former:   func(former *sqlite.DB, err error) { r.readFormer(ctx, former, err) },
		Restored: func(restored *sqlite.DB) error { return r.applyTo(ctx, restored) },
	})
	if errors.Is(err, sqlite.ErrInUse) {
		return "", fmt.Errorf("%s is in use; stop the server, and every other perksd that works on it, and restore again", f)
	}
	return former, err
}

// restore leaves the work to PostgreSQL's own programs. A database that servers work on is left alone: the backup goes to
// another one beside it, which then gets the clients and signing keys.
func (d *postgresDatabase) restore(_ context.Context, backup string, _ *restoration) (former string, err error) {
	name := d.dbname + "_restored"
	return "", usageError{fmt.Errorf("perksd restore works on a file of SQLite; a backup of PostgreSQL goes into a new database, which --database has to name from then on. "+
		"Stop all servers first; make it, fill it and keep out whoever was shut out since with: "+
		"createdb --maintenance-db=%[1]s --template=template0 --encoding=UTF8 %[2]s && pg_restore --exit-on-error --no-owner --dbname=%[3]s %[4]s && "+
		"perksd restore --database=%[5]s --former=%[6]s",
		shellWord(d.clientAddress(d.dbname)), shellWord(name), shellWord(d.clientAddress(name)), shellWord(backup),
		shellWord(d.ownAddress(name)), shellWord(d.ownAddress(d.dbname)))}
}
