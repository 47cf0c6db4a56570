package main

import (
	"context"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/store"
)

func (p *program) clientUpdateCommand() *cobra.Command {
	var name, scope string
	cmd := &cobra.Command{
		Use:   "update ID",
		Short: "Give a client another name or other scopes",
		Long: "Give a client another name or other scopes.\n\n" +
			"A scope that is taken away is gone from the client's tokens too, on running servers within 5s. One that is added is in its next tokens.",
		Example: "  perksd client update front-desk --scope perks:read,perks:redeem\n  perksd client update front-desk --name 'Front desk, ground floor'",
		Args:    arguments("ID"),
	}
	cmd.Flags().StringVar(&name, "name", "", "what people call the client")
	cmd.Flags().StringVar(&scope, "scope", "", "what its tokens may be used for from now on, all of it, with commas between")
	output := outputFlag(cmd, "table", "json")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var change store.ClientChange
		if cmd.Flags().Changed("name") {
			if problem := clientNameProblem(name); problem != "" {
				return usagef(cmd, "--name %s", problem)
			}
			change.Name = &name
		}
		if cmd.Flags().Changed("scope") {
			scopes, err := api.ParseScopes(scope)
			if err != nil {
				return usagef(cmd, "%w", err)
			}
			if len(scopes) == 0 {
				return usagef(cmd, "--scope names no scope; 'perksd client disable' shuts a client out")
			}
			change.Scopes = scopes
		}
		if change.Name == nil && change.Scopes == nil {
			return usagef(cmd, "say what to change with --name or --scope")
		}
		return p.updateClient(cmd.Context(), args[0], change, output.value)
	}
	return cmd
}

func (p *program) updateClient(ctx context.Context, id string, change store.ClientChange, format string) error {
	return p.withExistingStore(ctx, func(db store.Store) error {
		client, err := db.UpdateClient(ctx, id, change, p.operator, p.now())
		if err != nil {
			return err
		}
		if format == "json" {
			return printJSON(p.stdout, viewClient(client))
		}
		return clientListing.print(p.stdout, format, each(viewClient(client)))
	})
}
