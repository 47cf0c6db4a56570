package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"example.com/perks/store"
)

func (p *program) backupCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy a SQLite database, as of one moment, to a new file",
		Long: "Copy a SQLite database, as of one moment, to a new file, while servers go on reading and writing it.\n\n" +
			"The copy is a database like the original; to go back to it, stop the server and use 'perksd restore'. A file that is there\n" +
			"already is not overwritten. For PostgreSQL there is pg_dump: perksd backup says how to call it.",
		Example: "  perksd backup perks-$(date +%F).db",
		Args:    arguments("FILE"),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return p.backUp(cmd.Context(), args[0]) }
	p.sandboxFlag(cmd)
	return cmd
}

func (p *program) backUp(ctx context.Context, path string) error {
	db, err := p.target(ctx)
	if err != nil {
		return err
	}
	if p.sandbox {
		if err := p.withExistingStore(ctx, func(store.Store) error { return nil }); err != nil {
			return err
		}
	}
	if err := db.backup(ctx, path); err != nil {
		return err
	}
	made, err := os.Stat(path)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "Backed up %s%s to %s (%.1f MiB).\n", p.ifSandbox("the sandbox "), db.name(), path, float64(made.Size())/(1<<20))
	return err
}
