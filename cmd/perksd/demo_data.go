package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"example.com/perks/api/display"
	"example.com/perks/cmd/perksd/sample"
	"example.com/perks/store"
)

type demoDataOptions struct {
	perks, users, properties int64
	owner                    string
	seed                     uint64
}

// defaultDemoData has no properties, which need an owner.
var defaultDemoData = demoDataOptions{perks: 500, users: 100, seed: 1}

func (p *program) demoDataCommand() *cobra.Command {
	var o demoDataOptions
	cmd := &cobra.Command{
		Use:   "demo-data",
		Short: "Fill the database with sample records",
		Long: "Fill the database with sample records.\n\n" +
			"The same seed makes the same records on the same day, and existing records are updated, so running it twice is harmless.\n" +
			"The perks include coffee-2for1, spa-day (needs approval) and last-ticket (one in stock), the users alice and bob, the properties number 1.",
		Example: "  perksd demo-data --perks 2000 --users 200 --properties 20 --owner acme",
		Args:    arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			asked := cmd.Flags().Changed("properties")
			switch {
			case p.sandbox && (o.owner != "" || asked && o.properties != 0):
				return usagef(cmd, "the sandbox has no properties: leave --owner and --properties out")
			case o.owner == "" && asked && o.properties > 0:
				return usagef(cmd, "properties need an owner: name a client with --owner")
			case o.owner == "":
				o.properties = 0
			}
			if min(o.perks, o.users, o.properties) < 0 {
				return usagef(cmd, "--perks, --users and --properties must not be negative")
			}
			return p.fillWithDemoData(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.Int64Var(&o.perks, "perks", defaultDemoData.perks, "number of perks")
	f.Int64Var(&o.users, "users", defaultDemoData.users, "number of users")
	f.Int64Var(&o.properties, "properties", 50, "number of properties; without --owner there are none")
	f.StringVar(&o.owner, "owner", "", "the `CLIENT_ID` that owns the properties")
	f.Uint64Var(&o.seed, "seed", defaultDemoData.seed, "another seed makes other records")
	p.sandboxFlag(cmd)
	return cmd
}

func (p *program) fillWithDemoData(ctx context.Context, o demoDataOptions) error {
	data := sample.Data{Seed: o.seed, Day: p.now()}
	return p.withStore(ctx, func(db store.Store) error {
		// Properties come first, so that an unknown owner fails before anything has changed.
		var properties store.Imported
		var err error
		if o.properties > 0 {
			if properties, err = db.ImportProperties(ctx, data.Properties(o.properties, o.owner), p.operator, p.now()); err != nil {
				return err
			}
		}
		users, err := db.ImportUsers(ctx, data.Users(o.users), p.operator, p.now())
		if err != nil {
			return err
		}
		perks, err := db.ImportPerks(ctx, data.Perks(o.perks), p.newID, p.operator, p.now())
		if err != nil {
			return err
		}
		madePerks, madeUsers := display.Plural(perks.Count, "perk", "perks"), display.Plural(users.Count, "user", "users")
		if p.sandbox {
			_, err = fmt.Fprintf(p.stdout, "Imported %s and %s into the sandbox, which has no properties.\n", madePerks, madeUsers)
		} else {
			_, err = fmt.Fprintf(p.stdout, "Imported %s, %s and %s.\n", madePerks, madeUsers, display.Plural(properties.Count, "property", "properties"))
		}
		return err
	})
}
