package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"example.com/perks/server/auth"
	"example.com/perks/store"
)

func (p *program) keysCommand() *cobra.Command {
	return group("keys", "Look after the keys that tokens are signed with", p.keysListCommand(), p.keysRotateCommand(), p.keysDropCommand())
}

func (p *program) keysRotateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "rotate",
		Short: "Sign new tokens with a new key",
		Long: "Sign new tokens with a new key.\n\n" +
			fmt.Sprintf("Older keys go on verifying the tokens that they signed for %s, longer than any token lives. ", auth.KeyOverlap) +
			fmt.Sprintf("Running servers change to the new key together, %s from now; with --hourly, at the next clock hour after that.", auth.KeySettles),
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error { return p.rotateKeys(cmd.Context()) },
	}
}

func (p *program) rotateKeys(ctx context.Context) error {
	key, err := auth.NewSigningKey(p.now())
	if err != nil {
		return err
	}
	oldExpire := key.CreatedAt.Add(auth.KeyOverlap)
	err = p.withExistingStore(ctx, func(db store.Store) error { return db.RotateSigningKey(ctx, key, oldExpire, p.operator) })
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "New tokens are signed with key %s from %s on. Older keys expire at %s at the latest.\n",
		key.ID, timeText(key.CreatedAt.Add(auth.KeySettles)), timeText(oldExpire))
	return err
}
