package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/cmd/perksd/sample"
	"example.com/perks/store"
)

type demoDataOptions struct {
	perks, users, properties, redemptions int64
	owner                                 string // of properties and redemptions, without which there are none
	seed                                  uint64
}

// defaultDemoData has more of everything than the service counts of a list.
var defaultDemoData = demoDataOptions{perks: 500, users: 1200, properties: 400, redemptions: 600, seed: 1}

func (p *program) demoDataCommand() *cobra.Command {
	var o demoDataOptions
	cmd := &cobra.Command{
		Use:   "demo-data",
		Short: "Fill the database with sample records",
		Long: "Fill the database with sample records.\n\n" +
			"The same seed makes the same records on the same day, and existing records are updated, so running it\n" +
			"twice is harmless. The perks include coffee-2for1, spa-day (needs approval) and last-ticket (one in\n" +
			"stock), the users alice and bob, the properties number 1.",
		Example: "  perksd demo-data --owner acme\n" +
			"  perksd demo-data --perks 2000 --users 200 --properties 20 --redemptions 0 --owner acme",
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			asked := cmd.Flags().Changed("properties") && o.properties != 0 ||
				cmd.Flags().Changed("redemptions") && o.redemptions != 0
			switch {
			case p.sandbox && (o.owner != "" || asked):
				return usagef(cmd, "the sandbox has no properties: leave --owner, --properties and --redemptions out")
			case min(o.perks, o.users, o.properties, o.redemptions) < 0:
				return usagef(cmd, "--perks, --users, --properties and --redemptions must not be negative")
			case o.owner == "" && asked:
				return usagef(cmd, "properties and redemptions need an owner: name a client with --owner")
			}
			return p.fillWithDemoData(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.Int64Var(&o.perks, "perks", defaultDemoData.perks, "number of perks")
	f.Int64Var(&o.users, "users", defaultDemoData.users, "number of users")
	f.Int64Var(&o.properties, "properties", defaultDemoData.properties,
		"number of properties; without --owner there are none")
	f.Int64Var(&o.redemptions, "redemptions", defaultDemoData.redemptions,
		"number of redemptions, or fewer if there are few perks and users; without --owner there are none")
	f.StringVar(&o.owner, "owner", "", "the `CLIENT_ID` that owns the properties and makes the redemptions")
	f.Uint64Var(&o.seed, "seed", defaultDemoData.seed, "another seed makes other records")
	p.sandboxFlag(cmd)
	return cmd
}

func (p *program) fillWithDemoData(ctx context.Context, o demoDataOptions) error {
	if o.owner == "" {
		o.properties, o.redemptions = 0, 0
	}
	data := sample.Data{Seed: o.seed, Day: p.now()}
	return p.withStore(ctx, func(db store.Store) error {
		// Properties come first, so that an unknown owner fails before anything has changed.
		var properties store.Imported
		var err error
		if o.properties > 0 {
			if properties, err = db.ImportProperties(ctx, data.Properties(o.properties, o.owner), p.operator,
				p.now()); err != nil {
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
		redemptions, err := p.redeemDemoData(ctx, db, data, o)
		if err != nil {
			return err
		}
		madePerks, madeUsers := display.Plural(perks.Count, "perk", "perks"),
			display.Plural(users.Count, "user", "users")
		if p.sandbox {
			_, err = fmt.Fprintf(p.stdout, "Imported %s and %s into the sandbox, which has no properties.\n", madePerks,
				madeUsers)
			return err
		}
		_, err = fmt.Fprintf(p.stdout, "Imported %s, %s and %s, and made %s.\n", madePerks, madeUsers,
			display.Plural(properties.Count, "property", "properties"),
			display.Plural(redemptions, "redemption", "redemptions"))
		return err
	})
}

// redeemDemoData redeems many perks at once, so that they are committed together, and returns how many. What is there
// already stays.
func (p *program) redeemDemoData(
	ctx context.Context, db store.Store, data sample.Data, o demoDataOptions,
) (int, error) {
	if o.redemptions == 0 {
		return 0, nil
	}
	made := data.Redemptions(o.redemptions, o.perks, o.users, o.owner, p.now())
	var group errgroup.Group
	group.SetLimit(64)
	for _, r := range made {
		group.Go(func() error {
			result, err := db.Redeem(ctx, r.Attempt)
			if api.CodeOf(err) == api.CodeAlreadyRedeemed {
				return nil
			}
			if err != nil || result.Redemption.Status == r.Status {
				return err
			}
			decision := store.Decision{Status: r.Status, Reason: r.Reason}
			_, err = db.DecideRedemption(ctx, r.Attempt.ID, decision, p.operator, r.Attempt.At)
			return err
		})
	}
	return len(made), group.Wait()
}
