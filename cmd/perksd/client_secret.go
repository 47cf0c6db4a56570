package main

import (
	"context"

	"github.com/spf13/cobra"

	"example.com/perks/store"
)

func (p *program) clientRotateSecretCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rotate-secret ID",
		Short: "Give a client a new secret and print it, this once",
		Long: "Give a client a new secret and print it, this once.\n\n" +
			"The old secret no longer gets tokens. Tokens that the client has got already live on until they expire; 'perksd client disable' ends those too.",
		Args: arguments("ID"),
	}
	output := outputFlag(cmd, "table", "json")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return p.rotateSecret(cmd.Context(), args[0], output.value)
	}
	return cmd
}

func (p *program) rotateSecret(ctx context.Context, id, format string) error {
	secret, hash, err := p.newSecret()
	if err != nil {
		return err
	}
	return p.withExistingStore(ctx, func(db store.Store) error {
		client, err := db.Client(ctx, id)
		if err != nil {
			return err
		}
		// Nothing that can fail stands between the change and the printing: the old secret is gone by then.
		if err := db.SetClientSecret(ctx, id, hash, p.operator, p.now()); err != nil {
			return err
		}
		return p.printSecret(format, client, secret)
	})
}
