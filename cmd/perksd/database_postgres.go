package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/url"
	"os"
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
	address    string // may hold a password
	user       string
	hosts      []postgresHost
	dbname     string
	parameters url.Values // of the address; may hold a password
}

// postgresHost is a server's name, or the folder of its socket, and its port.
type postgresHost struct{ host, port string }

func (h postgresHost) String() string {
	if filepath.IsAbs(h.host) {
		return h.host
	}
	return net.JoinHostPort(h.host, h.port)
}

var errAddress = errors.New("the address of the database cannot be read; it must be of the form postgres://USER@HOST:PORT/DATABASE, " +
	"with %XX in place of characters such as / and @ in a password")

// newPostgresDatabase reads the address as libpq would, with what the environment adds to it.
func newPostgresDatabase(address string) (*postgresDatabase, error) {
	config, err := pgconn.ParseConfig(address)
	var file *fs.PathError
	switch {
	case errors.As(err, &file):
		return nil, fmt.Errorf("reading a file that the address of the database names: %w", file)
	case err != nil:
		return nil, usageError{explainService(address, err)}
	}
	if err := postgres.ReadParameters(config); err != nil {
		return nil, usageError{err}
	}
	_, query, _ := strings.Cut(address, "?")
	parameters, err := url.ParseQuery(query)
	if err != nil {
		return nil, usageError{errAddress}
	}
	d := &postgresDatabase{address: address, user: config.User, dbname: cmp.Or(config.Database, config.User), parameters: parameters}
	d.addHost(config.Host, config.Port)
	for _, other := range config.Fallbacks {
		d.addHost(other.Host, other.Port)
	}
	return d, nil
}

// explainService names the service and its file if that is why the address cannot be read.
func explainService(address string, err error) error {
	_, query, _ := strings.Cut(address, "?")
	parameters, _ := url.ParseQuery(query)
	home, _ := os.UserHomeDir()
	service := cmp.Or(parameters.Get("service"), os.Getenv("PGSERVICE"))
	file := cmp.Or(parameters.Get("servicefile"), os.Getenv("PGSERVICEFILE"), filepath.Join(home, ".pg_service.conf"))
	switch text := fmt.Sprint(errors.Unwrap(err)); {
	case strings.HasPrefix(text, "failed to read service file"):
		return fmt.Errorf("the address of the database names the service %q, and the file of services %s cannot be read", service, file)
	case strings.HasPrefix(text, "unable to find service"):
		return fmt.Errorf("the address of the database names the service %q, which is not in %s", service, file)
	}
	return errAddress
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

func (d *postgresDatabase) liveRecords(ctx context.Context) (store.LiveRecords, error) {
	found, err := postgres.LiveRecordsAt(ctx, d.address)
	return found, d.explain(err)
}

// backup leaves the work to PostgreSQL's own program, and says how it is called here.
func (d *postgresDatabase) backup(ctx context.Context, path string) error {
	ofServer := "that is not older than the server"
	if major, err := postgres.MajorVersion(ctx, d.address); err == nil {
		ofServer = fmt.Sprintf("of version %d or newer, as the server is of version %[1]d", major)
	}
	return usageError{fmt.Errorf("perksd backup copies a file of SQLite; back PostgreSQL up with a pg_dump "+ofServer+", with: pg_dump --format=custom --file=%s --dbname=%s",
		shellWord(path), shellWord(d.clientAddress(d.dbname)))}
}

// clientAddress is what PostgreSQL's own programs connect to. They ask for the password, or find it where perksd finds it.
func (d *postgresDatabase) clientAddress(dbname string) string {
	return d.addressOf(dbname, isForPostgres)
}

// ownAddress is the address of another database beside this one for perksd itself, without the password.
func (d *postgresDatabase) ownAddress(dbname string) string {
	return d.addressOf(dbname, func(string) bool { return true })
}

// addressOf is the address of a database beside this one, with the wanted parameters but no password.
func (d *postgresDatabase) addressOf(dbname string, isWanted func(parameter string) bool) string {
	u := url.URL{Scheme: "postgres", User: url.User(d.user), Path: "/" + dbname}
	parameters := url.Values{}
	for name, values := range d.parameters {
		if isWanted(name) && !slices.Contains(notRepeated, name) {
			parameters.Set(name, values[len(values)-1])
		}
	}
	if len(d.hosts) == 1 && !filepath.IsAbs(d.hosts[0].host) {
		u.Host = d.hosts[0].String()
	} else {
		var hosts, ports []string
		for _, h := range d.hosts {
			hosts, ports = append(hosts, h.host), append(ports, h.port)
		}
		parameters.Set("host", strings.Join(hosts, ","))
		parameters.Set("port", strings.Join(ports, ","))
	}
	u.RawQuery = strings.ReplaceAll(parameters.Encode(), "+", "%20") // libpq reads a + as itself
	return u.String()
}

// notRepeated are the parameters that addressOf writes elsewhere, and the passwords.
var notRepeated = []string{"host", "port", "user", "dbname", "database", "password", "sslpassword"}

// isForPostgres reports whether PostgreSQL's own programs need the parameter: it says how to connect, not what perksd does
// with the connection.
func isForPostgres(parameter string) bool {
	return strings.HasPrefix(parameter, "ssl") || slices.Contains([]string{"service", "passfile", "channel_binding", "require_auth", "krbsrvname", "gssencmode",
		"target_session_attrs", "connect_timeout"}, parameter)
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
