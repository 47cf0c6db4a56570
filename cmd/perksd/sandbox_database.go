package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"example.com/perks/store"
)

// target returns the database that the command works on: that of --database, or with --sandbox that of --sandbox-database.
func (p *program) target(ctx context.Context) (database, error) {
	live, err := parseDatabase(p.database)
	if err != nil || !p.sandbox {
		return live, err
	}
	if p.sandboxDatabase == "" {
		return nil, usageError{errors.New("there is no sandbox: name its database with --sandbox-database, or in the environment with PERKSD_SANDBOX_DATABASE")}
	}
	apart, err := parseDatabase(p.sandboxDatabase)
	if err != nil {
		return nil, err
	}
	return sandboxDatabase{apart, live}, requireApart(ctx, live, apart)
}

// sandboxDatabase is the database of --sandbox-database. It is never opened as the sandbox when it turns out to be live.
type sandboxDatabase struct {
	database
	live database
}

func (d sandboxDatabase) open(ctx context.Context, log *slog.Logger) (store.Store, error) {
	if err := requireNotLive(ctx, d.database); err != nil { // before it is migrated
		return nil, err
	}
	opened, err := d.database.open(ctx, log)
	if err != nil {
		return nil, err
	}
	if err := requireSandbox(ctx, d.live, d.database, opened); err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return opened, nil
}

// requireSandbox keeps what is tried out from what counts. That two addresses lead to different databases does not say which
// is which, so what a database holds is looked at as well: a live one has clients and keys before it is of any use.
func requireSandbox(ctx context.Context, live, sandbox database, opened store.Store) error {
	if err := requireApart(ctx, live, sandbox); err != nil {
		return err
	}
	found, err := opened.LiveRecords(ctx)
	return explainLive(sandbox, found, err)
}

// requireNotLive is the part of requireSandbox that needs no open database, and so comes before a migration.
func requireNotLive(ctx context.Context, sandbox database) error {
	if setUp, err := isSetUp(ctx, sandbox); err != nil || !setUp {
		return err
	}
	found, err := sandbox.liveRecords(ctx)
	return explainLive(sandbox, found, err)
}

func explainLive(sandbox database, found store.LiveRecords, err error) error {
	if err == nil && found.AreThere() {
		err = usageError{fmt.Errorf("--sandbox-database names a live database, %s: it has %s, which a sandbox never has; "+
			"if --database and --sandbox-database are swapped, swap them back, else give the sandbox a new database", sandbox.name(), found)}
	}
	return err
}

// requireApart fails when both addresses lead to the same tables. Where perksd was never set up there are none.
func requireApart(ctx context.Context, live, sandbox database) error {
	for _, db := range []database{live, sandbox} {
		if setUp, err := isSetUp(ctx, db); err != nil || !setUp {
			return explainApart(err)
		}
	}
	same, err := live.is(ctx, sandbox)
	if err == nil && same {
		return usageError{errors.New("the sandbox needs a database of its own: --sandbox-database names the same one as --database")}
	}
	return explainApart(err)
}

func explainApart(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("telling the sandbox from the live database: %w", err)
}

func isSandbox(db database) bool {
	_, is := db.(sandboxDatabase)
	return is
}

// flagOf is the flag that names the database.
func flagOf(db database) string {
	if isSandbox(db) {
		return "--sandbox-database"
	}
	return "--database"
}

// optionFor is what a command line needs to lead to the database.
func optionFor(db database) string {
	if isSandbox(db) {
		return " --sandbox"
	}
	return ""
}
