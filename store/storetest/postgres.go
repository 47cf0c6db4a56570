// Package storetest runs throwaway PostgreSQL servers for tests and benchmarks, from the installed programs. Its own
// tests check that every driver follows the contract of store.Store.
//
// A server lives in a temporary directory of its own, listens on a socket in it and nowhere else, and is gone with its
// directory when the process that started it ends, even by kill -9. It can crash, recover, be followed by a synchronous
// standby and be reached through PgBouncer, so that a test can see what happens then. The package knows nothing of what
// is in its databases.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"github.com/jackc/pgx/v5"
)

// PostgresOptions changes a server's defaults.
type PostgresOptions struct {
	Settings map[string]string // settings of postgresql.conf by name; they override all others
	// a commit reaches the disk; without it one survives a crash of the server, but not of the machine
	Durable bool
}

// PostgresServer is one PostgreSQL server and the directory in which it lives. Its methods may be called from several
// goroutines.
type PostgresServer struct {
	programs  programs
	directory *directory
	options   PostgresOptions

	mu     sync.Mutex
	server *process // nil after Kill and Stop
}

// port names the socket. Each server has a directory of its own, so all may have the same.
const port = 5432

const superuser = "postgres"

// StartPostgres makes a new server and returns it once it takes connections. It runs until Stop or the end of this
// process. The context bounds the start only. Its text sorts by an American locale, as on some production servers, so
// code that relies on byte order fails here, except on PostgreSQL 14. ICU's locales exist on every machine.
func StartPostgres(ctx context.Context, options PostgresOptions) (*PostgresServer, error) {
	return startFilled(ctx, options, "make a PostgreSQL server", func(c *PostgresServer) error {
		initial, err := initialData()
		if err != nil {
			return err
		}
		return c.directory.run(ctx, "cp", "-R", initial.path+"/data", c.data())
	})
}

// initialData is a directory with the data of a server that never ran, until this process exits. initdb takes several
// times as long as a copy.
var initialData = sync.OnceValues(func() (*directory, error) {
	programs, err := findPostgres()
	if err != nil {
		return nil, err
	}
	directory, err := newDirectory()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), stepTimeout)
	defer cancel()
	args := []string{"--pgdata", directory.path + "/data", "--no-sync", "--auth", "trust", "--username", superuser,
		"--encoding", "UTF8", "--locale", "C"}
	major, err := programs.major()
	if err != nil {
		return nil, err
	}
	if major >= 15 { // a database of an older one cannot sort by ICU's locales
		args = append(args, "--locale-provider", "icu", "--icu-locale", "en-US")
	}
	return directory, directory.run(ctx, programs.path("initdb"), args...)
})

// startFilled starts a server whose data directory fill makes.
func startFilled(
	ctx context.Context, options PostgresOptions, doing string, fill func(*PostgresServer) error,
) (*PostgresServer, error) {
	programs, err := findPostgres()
	if err != nil {
		return nil, err
	}
	directory, err := newDirectory()
	if err != nil {
		return nil, err
	}
	c := &PostgresServer{programs: programs, directory: directory, options: options}
	if err := fill(c); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", doing, err), c.Stop())
	}
	if err := c.Restart(ctx); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

func (c *PostgresServer) data() string { return filepath.Join(c.directory.path, "data") }

// Restart starts the server again after Kill, and returns once it has recovered and takes connections.
func (c *PostgresServer) Restart(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server != nil {
		return errors.New("start the PostgreSQL server: it is running")
	}
	settings := map[string]string{
		"listen_addresses": "", "unix_socket_directories": c.directory.path, "port": strconv.Itoa(port),
		"max_connections": "500", "shared_buffers": "64MB",
		// files in the directory vanish with it; in /dev/shm they would outlive a crash
		"dynamic_shared_memory_type": "mmap",
		"timezone":                   "Asia/Kathmandu", // as with the locale: code that relies on UTC fails
	}
	if !c.options.Durable {
		settings["fsync"], settings["full_page_writes"] = "off", "off"
	}
	maps.Copy(settings, c.options.Settings)
	args := []string{"-D", c.data()}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-c", name+"="+settings[name])
	}
	server, err := c.directory.start("QUIT", c.programs.path("postgres"), args...)
	if err != nil {
		return err
	}
	c.server = server
	return server.awaitConnections(ctx, c.DSN(superuser))
}

// Kill kills the server and all its children at once, as a crash of its machine would. Its files stay for Restart.
func (c *PostgresServer) Kill() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server == nil {
		return nil
	}
	if err := c.server.kill(); err != nil {
		return err
	}
	c.server = nil
	return c.removePID()
}

// Stop stops the server at once and removes its directory. Another call does nothing. Standbys and PgBouncers of the
// server keep running and have a Stop of their own.
func (c *PostgresServer) Stop() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server != nil {
		c.server.stop()
		c.server = nil
	}
	return c.directory.remove()
}

// DSN is the address of a database of the server: a postgres:// URL, for the superuser.
func (c *PostgresServer) DSN(database string) string {
	return dsn(database, url.Values{"host": {c.directory.path}, "port": {strconv.Itoa(port)}})
}

func dsn(database string, parameters url.Values) string {
	address := url.URL{Scheme: "postgres", User: url.User(superuser), Path: "/" + database,
		RawQuery: parameters.Encode()}
	return address.String()
}

// Host is the directory of the server's socket and its port, for addresses that name several servers.
func (c *PostgresServer) Host() (socketDirectory string, number int) { return c.directory.path, port }

// CreateDatabase makes a new, empty database.
func (c *PostgresServer) CreateDatabase(ctx context.Context, name string) error {
	return createDatabase(ctx, c.DSN(superuser), name)
}

// CreateSchema makes a role, and a schema of the same name in the database. The role owns nothing else, and has only
// the rights that everybody has. The address returned is for that role, in its schema.
func (c *PostgresServer) CreateSchema(ctx context.Context, database, name string) (address string, err error) {
	quoted := pgx.Identifier{name}.Sanitize()
	err = execute(ctx, "create the schema "+name, c.DSN(database), "CREATE ROLE "+quoted+" LOGIN",
		"CREATE SCHEMA "+quoted+" AUTHORIZATION "+quoted)
	u := url.URL{Scheme: "postgres", User: url.User(name), Path: "/" + database}
	u.RawQuery = url.Values{"host": {c.directory.path}, "port": {strconv.Itoa(port)}, "search_path": {name}}.Encode()
	return u.String(), err
}

// account is the user that runs the servers. PostgreSQL and PgBouncer both refuse root.
type account struct {
	uid, gid int
	other    bool // another user than that of this process
}

var errNoAccount = errors.New(`PostgreSQL refuses to run as root, ` +
	`and there is neither a user "postgres" nor "nobody" to run it instead`)

func unprivileged() (account, error) {
	if os.Geteuid() != 0 {
		return account{}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.Atoi(found.Uid)
		gid, gidErr := strconv.Atoi(found.Gid)
		if uidErr == nil && gidErr == nil {
			return account{uid: uid, gid: gid, other: true}, nil
		}
	}
	return account{}, errNoAccount
}

// own gives a file or directory to the account.
func (a account) own(path string) error {
	if !a.other {
		return nil
	}
	return os.Chown(path, a.uid, a.gid)
}

// canEnter tries it: a directory above may be closed to the account for reasons that its mode does not show.
func (a account) canEnter(path string) bool {
	enter := exec.Command("sh", "-c", `cd "$1"`, "enter", path)
	enter.Dir, enter.SysProcAttr = "/", detached(a)
	return enter.Run() == nil
}
