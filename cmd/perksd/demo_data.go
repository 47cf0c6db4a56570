package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"example.com/perks/cmd/perksd/sample"
	"example.com/perks/store"
)

type demoDataOptions struct {
	perks, users, properties int64
	owner                    string
	seed                     uint64
}

func (p *program) demoDataCommand() *cobra.Command {
	var o demoDataOptions
	cmd := &cobra.Command{
		Use:   "demo-data",
		Short: "Fill the database with sample records",
		Long: "Fill the database with sample records.\n\n" +
			"The same seed makes the same records on the same day, and records that are there already are updated, so that running it twice does no harm.\n" +
			"Among the perks are coffee-2for1, spa-day (approved by hand) and last-ticket (one in stock); among the users alice and bob; among the properties number 1.",
		Example: "  perksd demo-data --perks 2000 --users 200 --properties 20 --owner acme",
		Args:    arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.owner == "" {
				if cmd.Flags().Changed("properties") && o.properties > 0 {
					return usagef(cmd, "properties need an owner: name a client with --owner")
				}
				o.properties = 0
			}
			if min(o.perks, o.users, o.properties) < 0 {
				return usagef(cmd, "--perks, --users and --properties must not be negative")
			}
			return p.fillWithDemoData(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.Int64Var(&o.perks, "perks", 500, "how many perks")
	f.Int64Var(&o.users, "users", 100, "how many users")
	f.Int64Var(&o.properties, "properties", 50, "how many properties; without --owner there are none")
	f.StringVar(&o.owner, "owner", "", "the `CLIENT_ID` that the properties belong to")
	f.Uint64Var(&o.seed, "seed", 1, "which records")
	return cmd
}

func (p *program) fillWithDemoData(ctx context.Context, o demoDataOptions) error {
	data := sample.Data{Seed: o.seed, Day: p.now()}
	return p.withStore(ctx, func(db store.Store) error {
		// The properties come first, because an owner that is not known is found before anything is changed.
		properties, err := db.ImportProperties(ctx, data.Properties(o.properties, o.owner), p.operator, p.now())
		if err != nil {
			return err
		}
		users, err := db.ImportUsers(ctx, data.Users(o.users), p.operator, p.now())
		if err != nil {
			return err
		}
		perks, err := db.ImportPerks(ctx, data.Perks(o.perks), p.newID, p.operator, p.now())
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(p.stdout, "Imported %s, %s and %s.\n",
			count(perks, "perk", "perks"), count(users, "user", "users"), count(properties, "property", "properties"))
		return err
	})
}
