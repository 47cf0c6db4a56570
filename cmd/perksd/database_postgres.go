package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"example.com/perks/store"
	"example.com/perks/store/postgres"
)

// postgresDatabase is a PostgreSQL database by its address.
type postgresDatabase struct {
	address string // may hold a password
	user    string
	hosts   []postgresHost
	dbname  string
}

// postgresHost is a server's name, or the folder of its socket, and its port.
type postgresHost struct{ host, port string }

func (h postgresHost) String() string {
	if filepath.IsAbs(h.host) {
		return h.host
	}
	return net.JoinHostPort(h.host, h.port)
}

// newPostgresDatabase reads the address as libpq would, with what the environment adds to it.
func newPostgresDatabase(address string) (*postgresDatabase, error) {
	config, err := pgconn.ParseConfig(address)
	var file *fs.PathError
	switch {
	case errors.As(err, &file):
		return nil, fmt.Errorf("reading a file that the address of the database names: %w", file)
	case err != nil:
		return nil, usageError{errors.New("the address of the database cannot be read; it must be of the form postgres://USER@HOST:PORT/DATABASE, " +
			"with %XX in place of characters such as / and @ in a password")}
	}
	d := &postgresDatabase{address: address, user: config.User, dbname: cmp.Or(config.Database, config.User)}
	d.addHost(config.Host, config.Port)
	for _, other := range config.Fallbacks {
		d.addHost(other.Host, other.Port)
	}
	return d, nil
}

// addHost leaves out what is there: pgx tries a host with TLS and without.
func (d *postgresDatabase) addHost(host string, port uint16) {
	h := postgresHost{host, strconv.Itoa(int(port))}
	if !slices.Contains(d.hosts, h) {
		d.hosts = append(d.hosts, h)
	}
}

func (d *postgresDatabase) name() string { return fmt.Sprintf("%q at %s", d.dbname, d.where()) }

func (d *postgresDatabase) where() string {
	var names []string
	for _, h := range d.hosts {
		names = append(names, h.String())
	}
	return strings.Join(names, ", ")
}

func (d *postgresDatabase) open(ctx context.Context, log *slog.Logger) (store.Store, error) {
	db, err := postgres.Open(ctx, d.address, postgres.Options{Logger: log})
	if err != nil {
		return nil, d.explain(err)
	}
	return db, nil
}

func (d *postgresDatabase) migrations(ctx context.Context) ([]migration, error) {
	known, err := postgres.Status(ctx, d.address)
	list := make([]migration, len(known))
	for i, m := range known {
		list[i] = newMigration(m.Version, m.Name, m.AppliedAt)
	}
	return list, d.explain(err)
}

func (d *postgresDatabase) is(ctx context.Context, other database) (bool, error) {
	otherDatabase, isPostgres := other.(*postgresDatabase)
	if !isPostgres {
		return false, nil
	}
	a, err := postgres.Identity(ctx, d.address)
	if err != nil {
		return false, d.explain(err)
	}
	b, err := postgres.Identity(ctx, otherDatabase.address)
	return a == b, otherDatabase.explain(err)
}

// backup leaves the work to PostgreSQL's own program, and says how it is called here.
func (d *postgresDatabase) backup(_ context.Context, path string) error {
	return usageError{fmt.Errorf("perksd backup copies a file of SQLite; back PostgreSQL up with: pg_dump --format=custom --file=%s %s %s",
		shellWord(path), d.clientFlags(), shellWord(d.dbname))}
}

// clientFlags is how PostgreSQL's own programs are told where to connect. They ask for the password, or find it where
// perksd finds it.
func (d *postgresDatabase) clientFlags() string {
	var hosts, ports []string
	for _, h := range d.hosts {
		hosts, ports = append(hosts, h.host), append(ports, h.port)
	}
	return fmt.Sprintf("--host=%s --port=%s --username=%s", shellWord(strings.Join(hosts, ",")), strings.Join(ports, ","), shellWord(d.user))
}

// shellWord quotes a text so that a shell takes it for one word.
func shellWord(text string) string {
	isPlain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./,:@%+", r)
	}
	if text != "" && !strings.ContainsFunc(text, func(r rune) bool { return !isPlain(r) }) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
