package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"example.com/perks/cli/command"
	"example.com/perks/server"
	"example.com/perks/store"
)

// keyView is a signing key as it is printed, without its secret.
type keyView struct {
	ID        string          `json:"key_id"`
	State     server.KeyState `json:"state"`
	CreatedAt time.Time       `json:"created_at"`
	ExpiresAt *time.Time      `json:"expires_at"`
}

var keyTable = table[keyView]{
	columns: []string{"KEY_ID", "STATE", "CREATED_AT", "EXPIRES_AT"},
	cells: func(k keyView) []string {
		return []string{k.ID, string(k.State), timeText(k.CreatedAt), timeOrDash(k.ExpiresAt)}
	},
}

func keyViews(ctx context.Context, db store.Store, at time.Time) ([]keyView, error) {
	keys, err := db.SigningKeys(ctx, at)
	if err != nil {
		return nil, err
	}
	var views []keyView
	for i, state := range server.KeyStates(keys, at) {
		views = append(views, keyView{ID: keys[i].ID, State: state, CreatedAt: keys[i].CreatedAt.UTC(),
			ExpiresAt: orNull(keys[i].ExpiresAt)})
	}
	return views, nil
}

func (p *program) keysCommand() *cobra.Command {
	return group("keys", "Manage the keys that sign tokens", p.keysListCommand(), p.keysRotateCommand(),
		p.keysDropCommand())
}

func (p *program) keysListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the keys that verify tokens, newest first",
		Long: "List the keys that verify tokens, newest first, without their secrets.\n\n" +
			"One key signs. A settling one is new, and signs as soon as every server knows it. The others only\n" +
			"verify the tokens they signed, until they expire. Expired keys are not listed; running servers delete\n" +
			"them.",
		Args: command.NoArgs,
	}
	output := outputFlag(cmd, "table", "json", "jsonl")
	cmd.RunE = p.onStore(func(ctx context.Context, db store.Store, _ []string) error {
		return keyTable.print(p.Out, output.value, sequence(keyViews(ctx, db, p.now())))
	})
	return cmd
}

func (p *program) keysRotateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "rotate",
		Short: "Sign new tokens with a new key",
		Long: "Sign new tokens with a new key.\n\n" +
			fmt.Sprintf("Older keys verify their tokens for another %s, longer than any token is valid. ",
				server.KeyOverlap) +
			fmt.Sprintf("Running servers switch to the new key together, %s from now; with --hourly, at the next "+
				"clock hour after that.", server.KeyActivationDelay),
		Args: command.NoArgs,
		RunE: p.onStore(func(ctx context.Context, db store.Store, _ []string) error {
			key := server.NewSigningKey(p.now())
			oldExpire := key.CreatedAt.Add(server.KeyOverlap)
			if err := db.RotateSigningKey(ctx, key, oldExpire, p.operator); err != nil {
				return err
			}
			_, err := fmt.Fprintf(p.Out,
				"Key %s signs new tokens from %s on. Older keys expire at %s at the latest.\n",
				key.ID, timeText(key.CreatedAt.Add(server.KeyActivationDelay)), timeText(oldExpire))
			return err
		}),
	}
}

func (p *program) keysDropCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "drop ID",
		Short: "Drop a leaked key, and with it all tokens that it signed",
		Long: "Drop a leaked key, and with it all tokens that it signed.\n\n" +
			"Running servers refuse its tokens within 5s, and clients have to get new ones; perksctl does so\n" +
			"automatically. If you drop the newest key, a new one replaces it at once. It asks for confirmation on\n" +
			"a terminal; elsewhere it needs --yes.",
		Example: "  perksd keys list\n  perksd keys drop 01900000-0000-7000-8000-000000000000",
		Args:    command.Exactly("ID"),
		RunE: p.onStore(func(ctx context.Context, db store.Store,
			args []string) error {
			return p.dropKey(ctx, db, args[0])
		}),
	}
	p.yesFlag(cmd, "drop the key")
	return cmd
}

func (p *program) dropKey(ctx context.Context, db store.Store, id string) error {
	keys, err := keyViews(ctx, db, p.now())
	if err != nil {
		return err
	}
	i := slices.IndexFunc(keys, func(k keyView) bool { return k.ID == id })
	if i < 0 {
		return store.SigningKeyNotFound(id)
	}
	if err := p.confirm(ctx, describeDrop(keys[i])); err != nil {
		return err
	}
	successor := server.NewSigningKey(p.now())
	succeeded, err := db.DropSigningKey(ctx, id, successor, p.operator)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.Out, "Dropped key %s; running servers refuse its tokens within 5s.\n", id)
	if succeeded {
		fmt.Fprintf(p.Out, "Key %s replaces it.\n", successor.ID)
	}
	return nil
}

func describeDrop(k keyView) string {
	text := fmt.Sprintf("Key %s, made at %s, is %s. ", k.ID, timeText(k.CreatedAt), k.State)
	if k.State == server.KeySettling {
		text += "It has not signed any token yet."
	} else {
		text += "All tokens that it signed become invalid at once, and clients have to get new ones."
	}
	if k.ExpiresAt == nil {
		text += " A new key will replace it."
	}
	return text
}
