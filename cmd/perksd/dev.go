package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/cli/command"
	"example.com/perks/cmd/perksd/sample"
	"example.com/perks/server/listen"
	"example.com/perks/store"
)

// devClient is the id of the client that a server for development makes.
const devClient = "dev"

// The files of a server for development. Their names keep it from filling the database of a server in use.
const (
	devDatabase = "dev.db"
	devSandbox  = "dev-sandbox.db"
	devSecret   = "dev.secret"
	devLock     = "dev.lock"
)

func (p *program) devCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dev [DIRECTORY]",
		Short: "Serve sample data on this computer, for development",
		Long: "Serve sample data on this computer, for development: a sandbox too, and a client that has every\n" +
			"scope and owns the properties.\n\n" +
			"It prints the command that logs perksctl in, and serves until Ctrl+C. It keeps the data in DIRECTORY\n" +
			"for the next start; without DIRECTORY, it deletes the data when it stops. If port 8080 is in use, it\n" +
			"takes the next free one. It ignores --database and --sandbox-database.",
		Example: "  perksd dev\n  perksd dev .dev",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return command.Exactly("DIRECTORY")(cmd, args)
		},
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return p.dev(cmd.Context(), args[0])
		}
		directory, err := os.MkdirTemp("", "perksd-dev-*")
		if err != nil {
			return fmt.Errorf("no temporary directory can be made: %w", err)
		}
		fmt.Fprintln(p.Out,
			"The data will be deleted when the server stops. To keep it, name a directory: perksd dev DIRECTORY")
		return errors.Join(p.dev(cmd.Context(), directory), os.RemoveAll(directory))
	}
	return cmd
}

func (p *program) dev(ctx context.Context, directory string) error {
	directory, err := filepath.Abs(directory) // the other terminal may be elsewhere
	if err != nil {
		return fmt.Errorf("the directory cannot be found: %w", err)
	}
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return fmt.Errorf("the directory cannot be made: %w", err)
	}
	lock := flock.New(filepath.Join(directory, devLock), flock.SetPermissions(0o600))
	switch isFree, err := lock.TryLock(); {
	case err != nil:
		return fmt.Errorf("the directory cannot be locked: %w", err)
	case !isFree:
		return fmt.Errorf("another perksd dev serves %s. Stop it, or name another directory", directory)
	}
	defer lock.Close()
	listener, err := devListener()
	if err != nil {
		return err
	}
	defer listener.Close()
	p.database, p.sandboxDatabase = "sqlite:"+filepath.Join(directory, devDatabase),
		"sqlite:"+filepath.Join(directory, devSandbox)
	secret := filepath.Join(directory, devSecret)
	_, err = os.Stat(secret)
	if errors.Is(err, fs.ErrNotExist) {
		err = p.fillDev(ctx, secret)
	}
	if err != nil {
		return err
	}
	if port := listener.Addr().(*net.TCPAddr).Port; port != devPort {
		fmt.Fprintf(p.Out, "Port %d is in use, so this server has port %d.\n", devPort, port)
	}
	fmt.Fprintf(p.Out, "Log in from another terminal, and redeem a perk:\n"+
		"  perksctl login --api-url http://%s/v2 --client-id %s --secret-stdin < %s\n"+
		"  perksctl perk redeem coffee-2for1 --user alice\n"+
		"Ctrl+C stops the server.\n", listener.Addr(), devClient, display.Text(shellWord(secret)))
	options := serveDefaults(listener)
	options.SearchMetadata = []string{"ticket"}
	options.WebhookAllow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	return p.serve(ctx, options)
}

// fillDev sets up the databases, and then writes the client's secret, whose file shows that the rest is there.
func (p *program) fillDev(ctx context.Context, path string) error {
	secret, hash, err := p.newSecret()
	if err != nil {
		return err
	}
	client := store.Client{ID: devClient, Name: "Development", Scopes: api.AllScopes(), Secret: hash,
		CreatedAt: p.now()}
	err = p.withStore(ctx, func(db store.Store) error {
		err := db.CreateClient(ctx, client, p.operator)
		if api.CodeOf(err) == api.CodeConflict { // a start that was interrupted
			_, err = db.ChangeClient(ctx, devClient, p.operator, p.now(), store.Rotation(hash, time.Time{}, p.now()))
		}
		return err
	})
	if err != nil {
		return err
	}
	o := defaultDemoData
	o.owner = devClient
	if err := p.fillWithDemoData(ctx, o); err != nil {
		return err
	}
	p.sandbox, o.owner = true, ""
	err = p.fillWithDemoData(ctx, o)
	p.sandbox = false
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(secret+"\n"), 0o600)
}

// devPort is the first port that a server for development tries, and devPorts how many it tries.
const (
	devPort  = 8080
	devPorts = 20
)

// devListener listens on the first free port of this computer alone.
func devListener() (listener net.Listener, err error) {
	for port := devPort; port < devPort+devPorts; port++ {
		listener, err = listen.Take(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
		if !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	return listener, err
}

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
		Args: command.NoArgs,
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
			_, err = fmt.Fprintf(p.Out, "Imported %s and %s into the sandbox, which has no properties.\n", madePerks,
				madeUsers)
			return err
		}
		_, err = fmt.Fprintf(p.Out, "Imported %s, %s and %s, and made %s.\n", madePerks, madeUsers,
			display.Plural(properties.Count, "property", "properties"),
			display.Plural(redemptions, "redemption", "redemptions"))
		return err
	})
}

// redeemDemoData redeems many perks at once, so that they are committed together. Redemptions that exist stay.
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
