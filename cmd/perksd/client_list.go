package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"example.com/perks/store"
)

var clientListing = listing[clientView]{
	columns: []string{"CLIENT_ID", "NAME", "SCOPE", "SANDBOX_ONLY", "DISABLED", "CREATED_AT"},
	cells: func(c clientView) []string {
		return []string{c.ID, c.Name, c.Scope, strconv.FormatBool(c.SandboxOnly), strconv.FormatBool(c.Disabled), timeText(c.CreatedAt)}
	},
}

func (p *program) clientListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List all clients, oldest first",
		Args:  arguments(),
	}
	output := outputFlag(cmd, "table", "json", "jsonl")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return p.listClients(cmd.Context(), output.value) }
	return cmd
}

func (p *program) listClients(ctx context.Context, format string) error {
	return p.withExistingStore(ctx, func(db store.Store) error {
		clients, err := db.Clients(ctx)
		if err != nil {
			return err
		}
		views := make([]clientView, len(clients))
		for i, c := range clients {
			views[i] = viewClient(c)
		}
		return clientListing.print(p.stdout, format, each(views...))
	})
}
