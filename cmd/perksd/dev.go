package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gofrs/flock"
	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/server/listen"
	"example.com/perks/store"
)

// devClient is the id of the client that a server for development makes.
const devClient = "dev"

// The files of a server for development. Their names differ from those of a server in use, so that it never fills that
// one's database.
const (
	devDatabase = "dev.db"
	devSandbox  = "dev-sandbox.db"
	devSecret   = "dev.secret"
	devLock     = "dev.lock"
)

func (p *program) devCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dev [FOLDER]",
		Short: "Serve sample data on this computer, for development",
		Long: "Serve sample data on this computer, for development: a sandbox too, and a client that has every\n" +
			"scope and owns the properties.\n\n" +
			"It prints the command that logs perksctl in, and serves until Ctrl+C. It keeps the data in FOLDER for\n" +
			"the next start; without FOLDER, it deletes the data when it stops. If port 8080 is in use, it takes\n" +
			"the next free one. It ignores --database and --sandbox-database.",
		Example: "  perksd dev\n  perksd dev .dev",
		Args:    cobra.ArbitraryArgs,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return usagef(cmd, "unexpected argument %q", args[1])
		}
		if len(args) == 1 {
			return p.dev(cmd.Context(), args[0])
		}
		folder, err := os.MkdirTemp("", "perksd-dev-*")
		if err != nil {
			return fmt.Errorf("no temporary folder can be made: %w", err)
		}
		fmt.Fprintln(p.stdout,
			"The data will be deleted when the server stops. To keep it, name a folder: perksd dev FOLDER")
		return errors.Join(p.dev(cmd.Context(), folder), os.RemoveAll(folder))
	}
	return cmd
}

func (p *program) dev(ctx context.Context, folder string) error {
	folder, err := filepath.Abs(folder) // the other terminal may be elsewhere
	if err != nil {
		return fmt.Errorf("the folder cannot be found: %w", err)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("the folder cannot be made: %w", err)
	}
	lock := flock.New(filepath.Join(folder, devLock), flock.SetPermissions(0o600))
	switch isFree, err := lock.TryLock(); {
	case err != nil:
		return fmt.Errorf("the folder cannot be locked: %w", err)
	case !isFree:
		return fmt.Errorf("another perksd dev serves %s. Stop it, or name another folder", folder)
	}
	defer lock.Close()
	listener, err := devListener()
	if err != nil {
		return err
	}
	defer listener.Close()
	p.database, p.sandboxDatabase = "sqlite:"+filepath.Join(folder, devDatabase),
		"sqlite:"+filepath.Join(folder, devSandbox)
	secret := filepath.Join(folder, devSecret)
	_, err = os.Stat(secret)
	if errors.Is(err, fs.ErrNotExist) {
		err = p.fillDev(ctx, secret)
	}
	if err != nil {
		return err
	}
	if port := listener.Addr().(*net.TCPAddr).Port; port != devPort {
		fmt.Fprintf(p.stdout, "Port %d is in use, so this server has port %d.\n", devPort, port)
	}
	fmt.Fprintf(p.stdout, "Log in from another terminal, and redeem a perk:\n"+
		"  perksctl login --api-url http://%s/v2 --client-id %s --secret-stdin < %s\n"+
		"  perksctl perk redeem coffee-2for1 --user alice\n"+
		"Ctrl+C stops the server.\n", listener.Addr(), devClient, display.Text(shellWord(secret)))
	return p.serve(ctx, serveDefaults(listener))
}

// fillDev sets up the databases, and writes the client's secret. The secret's file is the last, so that it shows that
// the rest is there.
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
			err = db.SetClientSecret(ctx, devClient, hash, p.operator, p.now())
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
