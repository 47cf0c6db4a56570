package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"example.com/perks/store"
)

// clientSwitchCommand is disable or enable.
func (p *program) clientSwitchCommand(verb, short string, disabled bool) *cobra.Command {
	return &cobra.Command{
		Use:   verb + " ID",
		Short: short,
		Long:  short + ". Running servers notice it within seconds.",
		Args:  arguments("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.switchClient(cmd.Context(), args[0], disabled)
		},
	}
}

func (p *program) switchClient(ctx context.Context, id string, disabled bool) error {
	err := p.withExistingStore(ctx, func(db store.Store) error {
		return db.SetClientDisabled(ctx, id, disabled, p.operator, p.now())
	})
	if err != nil {
		return err
	}
	state := "enabled"
	if disabled {
		state = "disabled"
	}
	_, err = fmt.Fprintf(p.stdout, "Client %s is %s.\n", id, state)
	return err
}
