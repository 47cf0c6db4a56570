package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"example.com/perks/server/auth"
	"example.com/perks/store"
)

func (p *program) keysDropCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "drop ID",
		Short: "End a key that leaked, and all tokens that it signed",
		Long: "End a key that leaked, and all tokens that it signed.\n\n" +
			"Running servers refuse its tokens within 5s, and clients have to get new ones; those of this project do so by themselves.\n" +
			"If the newest key is dropped, another is made in its place, so that tokens can be had all the while.\n" +
			"On a terminal it asks first; elsewhere it needs --yes.",
		Example: "  perksd keys list\n  perksd keys drop 01900000-0000-7000-8000-000000000000",
		Args:    arguments("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !yes && !p.canAsk {
				return usagef(cmd, "there is nobody to ask here whether the key may be dropped: add --yes")
			}
			return p.dropKey(cmd.Context(), args[0], yes)
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

func (p *program) dropKey(ctx context.Context, id string, yes bool) error {
	return p.withExistingStore(ctx, func(db store.Store) error {
		keys, err := keyViews(ctx, db, p.now())
		if err != nil {
			return err
		}
		place := slices.IndexFunc(keys, func(k keyView) bool { return k.ID == id })
		if place < 0 {
			return store.SigningKeyNotFound(id)
		}
		if !yes {
			if err := p.confirm(ctx, whatDroppingDoes(keys[place])); err != nil {
				return err
			}
		}
		successor, err := auth.NewSigningKey(p.now())
		if err != nil {
			return err
		}
		succeeded, err := db.DropSigningKey(ctx, id, successor, p.operator)
		if err != nil {
			return err
		}
		fmt.Fprintf(p.stdout, "Key %s is gone; running servers refuse its tokens within 5s.\n", id)
		if succeeded {
			fmt.Fprintf(p.stdout, "Key %s is there in its place.\n", successor.ID)
		}
		return nil
	})
}

// whatDroppingDoes is said before it is done.
func whatDroppingDoes(k keyView) string {
	text := fmt.Sprintf("Key %s, made at %s, is %s. ", k.ID, timeText(k.CreatedAt), k.State)
	if k.State == auth.KeySettling {
		text += "It has signed no token yet."
	} else {
		text += "Every token that it signed dies at once, and clients have to get new ones."
	}
	if k.ExpiresAt == nil {
		text += " A new key takes its place."
	}
	return text
}
