package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
)

// Options is how a server differs from the usual one.
type Options struct {
	Settings map[string]string // settings of postgresql.conf by name; they win over all others
	Durable  bool              // a commit reaches the disk; without it one survives a crash of the server, but not of the machine
}

// Cluster is one PostgreSQL server and the folder in which it lives. Its methods may be called from several goroutines.
type Cluster struct {
	programs programs
	folder   *folder
	options  Options

	mu     sync.Mutex
	server *process // nil after Kill and Stop
}

// port names the socket. Each server has a folder of its own, so all may have the same.
const port = 5432

const superuser = "postgres"

// Start makes a new server and returns it once it takes connections. It runs until Stop or the end of this process. The
// context bounds the starting only.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	c, err := newCluster(options)
	if err != nil {
		return nil, err
	}
	if err := c.initialise(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("make a PostgreSQL server: %w", err), c.Stop())
	}
	if err := c.Restart(ctx); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

func newCluster(options Options) (*Cluster, error) {
	programs, err := findPostgres()
	if err != nil {
		return nil, err
	}
	account, err := unprivileged()
	if err != nil {
		return nil, err
	}
	folder, err := newFolder(account)
	if err != nil {
		return nil, err
	}
	return &Cluster{programs: programs, folder: folder, options: options}, nil
}

// initialise makes the files of a server whose text sorts as people in America expect: a production server may be set so,
// and what leans on the order of bytes shows. ICU's locales are there whichever the machine has.
func (c *Cluster) initialise(ctx context.Context) error {
	return c.folder.run(ctx, c.programs.path("initdb"), "--pgdata", c.data(), "--no-sync", "--auth", "trust", "--username", superuser,
		"--encoding", "UTF8", "--locale", "C", "--locale-provider", "icu", "--icu-locale", "en-US")
}

func (c *Cluster) data() string { return filepath.Join(c.folder.path, "data") }

// settings is what the server is started with.
func (c *Cluster) settings() map[string]string {
	settings := map[string]string{
		"listen_addresses":        "",
		"unix_socket_directories": c.folder.path,
		"port":                    strconv.Itoa(port),
		"max_connections":         "500",
		"shared_buffers":          "64MB",
		// Files in the folder vanish with it; in /dev/shm they would outlive a crash.
		"dynamic_shared_memory_type": "mmap",
		// As the locale: what leans on UTC shows.
		"timezone": "Asia/Kathmandu",
	}
	if !c.options.Durable {
		settings["fsync"] = "off"
		settings["full_page_writes"] = "off"
	}
	maps.Copy(settings, c.options.Settings)
	return settings
}

// Restart starts the server again after Kill, and returns once it has recovered and takes connections.
func (c *Cluster) Restart(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server != nil {
		return errors.New("start the PostgreSQL server: it is running")
	}
	args := []string{"-D", c.data()}
	settings := c.settings()
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-c", name+"="+settings[name])
	}
	server, err := c.folder.start("QUIT", c.programs.path("postgres"), args...)
	if err != nil {
		return err
	}
	c.server = server
	return server.awaitConnections(ctx, c.DSN(superuser))
}

// Kill ends the server and all its children at once, as a crash of its machine would. Its files stay for Restart.
func (c *Cluster) Kill() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server == nil {
		return nil
	}
	if err := c.server.kill(); err != nil {
		return err
	}
	c.server = nil
	return c.forgetProcess()
}

// Stop ends the server without ceremony and removes its folder. Another call does nothing. Standbys and bouncers of the
// server go on and have a Stop of their own.
func (c *Cluster) Stop() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server != nil {
		c.server.stop()
		c.server = nil
	}
	return c.folder.remove()
}

// DSN is the address of a database of the server: a postgres:// URL, for the superuser.
func (c *Cluster) DSN(database string) string {
	return dsn(database, url.Values{"host": {c.folder.path}, "port": {strconv.Itoa(port)}})
}

func dsn(database string, parameters url.Values) string {
	address := url.URL{Scheme: "postgres", User: url.User(superuser), Path: "/" + database, RawQuery: parameters.Encode()}
	return address.String()
}

// Host is the folder of the server's socket and its port, for addresses that name several servers.
func (c *Cluster) Host() (socketFolder string, number int) { return c.folder.path, port }

// CreateDatabase makes a new, empty database.
func (c *Cluster) CreateDatabase(ctx context.Context, name string) error {
	return createDatabase(ctx, c.DSN(superuser), name)
}
