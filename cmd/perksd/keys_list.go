package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"example.com/perks/server/auth"
	"example.com/perks/store"
)

// keyView is a signing key as it is printed, which is without its secret.
type keyView struct {
	ID        string        `json:"key_id"`
	State     auth.KeyState `json:"state"`
	CreatedAt time.Time     `json:"created_at"`
	ExpiresAt *time.Time    `json:"expires_at"`
}

var keyListing = listing[keyView]{
	columns: []string{"KEY_ID", "STATE", "CREATED_AT", "EXPIRES_AT"},
	cells: func(k keyView) []string {
		expires := "-"
		if k.ExpiresAt != nil {
			expires = timeText(*k.ExpiresAt)
		}
		return []string{k.ID, string(k.State), timeText(k.CreatedAt), expires}
	},
}

func (p *program) keysListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the keys that verify tokens, newest first",
		Long: "List the keys that verify tokens, newest first, without their secrets.\n\n" +
			"One is signing. A settling one is new and signs as soon as every server knows it. The others only verify, until they expire, what they have signed.\n" +
			"Keys that have expired are not listed; running servers remove them from the database.",
		Args: arguments(),
	}
	output := outputFlag(cmd, "table", "json", "jsonl")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return p.listKeys(cmd.Context(), output.value) }
	return cmd
}

func (p *program) listKeys(ctx context.Context, format string) error {
	return p.withExistingStore(ctx, func(db store.Store) error {
		views, err := keyViews(ctx, db, p.now())
		if err != nil {
			return err
		}
		return keyListing.print(p.stdout, format, each(views...))
	})
}

func keyViews(ctx context.Context, db store.Store, at time.Time) ([]keyView, error) {
	keys, err := db.SigningKeys(ctx, at)
	if err != nil {
		return nil, err
	}
	var views []keyView
	for i, state := range auth.KeyStates(keys, at) {
		view := keyView{ID: keys[i].ID, State: state, CreatedAt: keys[i].CreatedAt.UTC()}
		if !keys[i].ExpiresAt.IsZero() {
			expires := keys[i].ExpiresAt.UTC()
			view.ExpiresAt = &expires
		}
		views = append(views, view)
	}
	return views, nil
}
