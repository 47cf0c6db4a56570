package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/spf13/cobra"

	"example.com/perks/cli/command"
	"example.com/perks/store"
	"example.com/perks/store/postgres"
	"example.com/perks/store/sqlite"
)

// database is the target of an address. Nothing connects before a method is called, and no error contains the address,
// in which there may be a password.
type database interface {
	// name is its name in messages.
	name() string
	// open connects to it, creates it if possible, and applies pending migrations.
	open(ctx context.Context, log *slog.Logger) (store.Store, error)
	// migrations lists its applied and pending migrations, and changes nothing.
	migrations(ctx context.Context) ([]store.Migration, error)
	// settings checks what the database's server and the role are set to. It changes nothing.
	settings(ctx context.Context) ([]store.Finding, error)
	// inspect checks what else may break a promise: the server or the file, the role, the disk. It changes nothing.
	inspect(ctx context.Context) ([]store.Finding, error)
	// serve marks it as served by this process until end is called, or refuses that.
	serve(ctx context.Context, log *slog.Logger) (end func(), err error)
	// sameAs tells for certain whether both addresses, opened before, lead to the same tables, or fails.
	sameAs(ctx context.Context, other database) (bool, error)
	// liveRecords counts the records that only a live database has, and changes nothing. The database must be set up.
	liveRecords(ctx context.Context) (store.LiveRecords, error)
	// backup makes a consistent copy in a new file.
	backup(ctx context.Context, path string) error
	// restore replaces it with a backup, with the clients and keys of r, and returns where the former one is now.
	restore(ctx context.Context, backup string, r *restoration) (former string, err error)
}

// parseDatabase parses an address such as sqlite:perks.db or postgres://perks@localhost/perks.
func parseDatabase(address string) (database, error) {
	kind, rest, _ := strings.Cut(address, ":")
	switch {
	case kind == "sqlite" && rest != "":
		return sqliteFile(rest), nil
	case (kind == "postgres" || kind == "postgresql") && strings.HasPrefix(rest, "//"):
		return newPostgresDatabase(address)
	}
	return nil, command.Usagef("a database must be of the form sqlite:PATH or postgres://USER@HOST:PORT/DATABASE")
}

// requireMigrated fails unless the database exists and has this program's version. Commands that only read or change
// records call it first: to create an empty database for a misspelled name and find nothing in it would be misleading,
// and a command that lists clients must not migrate a database that servers use.
func requireMigrated(ctx context.Context, db database) error {
	migrations, err := db.migrations(ctx)
	if err != nil {
		return err
	}
	flag, option := "--database", ""
	if _, isSandbox := db.(sandboxDatabase); isSandbox {
		flag, option = "--sandbox-database", " --sandbox"
	}
	pending := slices.IndexFunc(migrations, func(m store.Migration) bool { return !isApplied(m) })
	switch {
	case pending < 0:
		return nil
	case !slices.ContainsFunc(migrations, isApplied):
		return fmt.Errorf("perksd was never set up in the database %s; name another with %s, or set this one up with "+
			"'perksd migrate%s'", db.name(), flag, option)
	}
	return fmt.Errorf("the database %s lacks migration %s; apply it with 'perksd migrate%s'", db.name(),
		migrations[pending].Name, option)
}

// requireSafeSettings logs each setting of the database that may break a promise, and fails if one surely does.
func requireSafeSettings(ctx context.Context, db database, allowFsyncOff bool, log *slog.Logger) error {
	findings, err := db.settings(ctx)
	if err != nil {
		return err
	}
	for _, f := range findings {
		switch {
		case f.Outcome == store.Failed && !allowFsyncOff:
			return fmt.Errorf("the database %s has %s. Set it: %s. For a trial whose data may be lost, add "+
				"--allow-fsync-off", db.name(), f.Found, f.Advice)
		case f.Outcome != store.OK:
			log.Warn("a setting of the database is not safe: "+f.Found, "database", db.name(), "advice", f.Advice)
		}
	}
	return nil
}

// isSetUp tells whether any migration is applied. It changes nothing.
func isSetUp(ctx context.Context, db database) (bool, error) {
	migrations, err := db.migrations(ctx)
	return slices.ContainsFunc(migrations, isApplied), err
}

func isApplied(m store.Migration) bool { return !m.AppliedAt.IsZero() }

// withStore calls do with the command's database, which it creates or migrates if needed.
func (p *program) withStore(ctx context.Context, do func(store.Store) error) error {
	db, err := p.target(ctx)
	if err != nil {
		return err
	}
	// A migration may wait for a transaction as long as a dump, which the log on stderr says.
	return withOpen(ctx, db, slog.New(slog.NewTextHandler(p.Err, nil)), do)
}

// withExistingStore is withStore for a database that must exist and be migrated.
func (p *program) withExistingStore(ctx context.Context, do func(store.Store) error) error {
	db, err := p.target(ctx)
	if err != nil {
		return err
	}
	if err := requireMigrated(ctx, db); err != nil {
		return err
	}
	return withOpen(ctx, db, slog.New(slog.DiscardHandler), do)
}

// onStore makes a command of a function that needs an existing, migrated database.
func (p *program) onStore(
	do func(ctx context.Context, db store.Store, args []string) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return p.withExistingStore(cmd.Context(), func(db store.Store) error { return do(cmd.Context(), db, args) })
	}
}

func withOpen(ctx context.Context, db database, log *slog.Logger, do func(store.Store) error) error {
	opened, err := db.open(ctx, log)
	if err != nil {
		return err
	}
	return errors.Join(do(opened), opened.Close())
}

// migrationView is a migration as it is printed; AppliedAt is null while it is pending.
type migrationView struct {
	Version   int        `json:"version"`
	Name      string     `json:"name"`
	AppliedAt *time.Time `json:"applied_at"`
}

var migrationTable = table[migrationView]{
	columns: []string{"VERSION", "NAME", "APPLIED_AT"},
	cells: func(m migrationView) []string {
		applied := "pending"
		if m.AppliedAt != nil {
			applied = timeText(*m.AppliedAt)
		}
		return []string{strconv.Itoa(m.Version), m.Name, applied}
	},
}

func (p *program) migrateCommand() *cobra.Command {
	var status bool
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Set up the database, or migrate it to this program's version",
		Long: "Set up the database, or migrate it to this program's version, and list its migrations.\n\n" +
			"It creates a missing SQLite file; a PostgreSQL database has to be created with createdb. If several\n" +
			"processes migrate at once, one does the work and the others wait. With --status it changes nothing.",
		Args: command.NoArgs,
	}
	cmd.Flags().BoolVar(&status, "status", false, "only list the migrations, applied and pending")
	output := outputFlag(cmd, "table", "json", "jsonl")
	p.sandboxFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if !status {
			if err := p.withStore(cmd.Context(), func(store.Store) error { return nil }); err != nil {
				return err
			}
		}
		db, err := p.target(cmd.Context())
		if err != nil {
			return err
		}
		list, err := db.migrations(cmd.Context())
		if err != nil {
			return err
		}
		views := make([]migrationView, len(list))
		for i, m := range list {
			views[i] = migrationView{Version: m.Version, Name: m.Name}
			if isApplied(m) {
				views[i].AppliedAt = &m.AppliedAt
			}
		}
		err = migrationTable.print(p.Out, output.value, sequence(views, nil))
		if err == nil && p.sandbox && output.value == "table" {
			_, err = fmt.Fprintf(p.Out, "This is the sandbox %s.\n", db.name())
		}
		return err
	}
	return cmd
}

type sqliteFile string

func (f sqliteFile) name() string { return string(f) }

func (f sqliteFile) open(ctx context.Context, log *slog.Logger) (store.Store, error) {
	return sqlite.Open(ctx, string(f), sqlite.Options{Logger: log})
}

func (f sqliteFile) migrations(ctx context.Context) ([]store.Migration, error) {
	return sqlite.Status(ctx, string(f))
}

// settings has nothing to check: SQLite has none but those of each connection.
func (f sqliteFile) settings(context.Context) ([]store.Finding, error) { return nil, nil }

func (f sqliteFile) inspect(ctx context.Context) ([]store.Finding, error) {
	return sqlite.Inspect(ctx, string(f))
}

func (f sqliteFile) serve(ctx context.Context, log *slog.Logger) (end func(), err error) {
	host, err := os.Hostname()
	if err != nil {
		host = "this machine"
	}
	return sqlite.Serve(ctx, string(f), fmt.Sprintf("process %d on %s", os.Getpid(), host), log)
}

func (f sqliteFile) sameAs(_ context.Context, other database) (bool, error) {
	otherFile, isFile := other.(sqliteFile)
	if !isFile {
		return false, nil
	}
	a, errA := os.Stat(string(f))
	b, errB := os.Stat(string(otherFile))
	return os.SameFile(a, b), errors.Join(errA, errB)
}

func (f sqliteFile) liveRecords(ctx context.Context) (store.LiveRecords, error) {
	return sqlite.LiveRecordsAt(ctx, string(f))
}

func (f sqliteFile) backup(ctx context.Context, path string) error {
	if err := requireMigrated(ctx, f); err != nil {
		return err
	}
	db, err := sqlite.Open(ctx, string(f), sqlite.Options{})
	if err != nil {
		return err
	}
	return errors.Join(db.Backup(ctx, path), db.Close())
}

// postgresDatabase is a PostgreSQL database by its address.
type postgresDatabase struct {
	address    string // may contain a password
	user       string
	hosts      []postgresHost
	dbname     string
	parameters url.Values // of the address; may contain a password
	standbys   string     // the address of servers to read from; "" if there are none
}

// postgresHost is a host name or the directory of a socket, and a port.
type postgresHost struct{ host, port string }

func (h postgresHost) String() string {
	if filepath.IsAbs(h.host) {
		return h.host
	}
	return net.JoinHostPort(h.host, h.port)
}

var errAddress = command.Usagef("the address of the database cannot be read; it must be of the form " +
	"postgres://USER@HOST:PORT/DATABASE, with %%XX instead of characters such as / and @ in a password")

// newPostgresDatabase parses the address as libpq does, with what the environment adds to it.
func newPostgresDatabase(address string) (*postgresDatabase, error) {
	config, err := pgconn.ParseConfig(address)
	var file *fs.PathError
	switch {
	case errors.As(err, &file):
		return nil, fmt.Errorf("reading a file that the address of the database names: %w", file)
	case err != nil:
		return nil, explainService(address, err)
	}
	if err := postgres.ReadParameters(config); err != nil {
		return nil, command.Usagef("%s", err)
	}
	_, query, _ := strings.Cut(address, "?")
	parameters, err := url.ParseQuery(query)
	if err != nil {
		return nil, errAddress
	}
	d := &postgresDatabase{address: address, user: config.User, dbname: cmp.Or(config.Database, config.User),
		parameters: parameters}
	d.hosts = []postgresHost{{config.Host, strconv.Itoa(int(config.Port))}}
	for _, other := range config.Fallbacks {
		h := postgresHost{other.Host, strconv.Itoa(int(other.Port))}
		if !slices.Contains(d.hosts, h) { // pgx tries a host with TLS and without
			d.hosts = append(d.hosts, h)
		}
	}
	return d, nil
}

// explainService names the service and its file if one of them is wrong.
func explainService(address string, err error) error {
	_, query, _ := strings.Cut(address, "?")
	parameters, _ := url.ParseQuery(query)
	home, _ := os.UserHomeDir()
	service := cmp.Or(parameters.Get("service"), os.Getenv("PGSERVICE"))
	file := cmp.Or(parameters.Get("servicefile"), os.Getenv("PGSERVICEFILE"), filepath.Join(home, ".pg_service.conf"))
	switch text := fmt.Sprint(errors.Unwrap(err)); {
	case strings.HasPrefix(text, "failed to read service file"):
		return command.Usagef("the address of the database names the service %q, and the file of services %s cannot "+
			"be read", service, file)
	case strings.HasPrefix(text, "unable to find service"):
		return command.Usagef("the address of the database names the service %q, which is not in %s", service, file)
	}
	return errAddress
}

func (d *postgresDatabase) name() string { return fmt.Sprintf("%q at %s", d.dbname, d.servers()) }

func (d *postgresDatabase) servers() string {
	var names []string
	for _, h := range d.hosts {
		names = append(names, h.String())
	}
	return strings.Join(names, ", ")
}

func (d *postgresDatabase) open(ctx context.Context, log *slog.Logger) (store.Store, error) {
	db, err := postgres.Open(ctx, d.address, postgres.Options{Logger: log, Standbys: d.standbys})
	return db, d.explain(err)
}

// readFrom makes the database read from the standbys at an address.
func readFrom(main database, address string) error {
	primary, isPostgres := main.(*postgresDatabase)
	standbys, err := parseDatabase(address)
	if _, both := standbys.(*postgresDatabase); err == nil && (!isPostgres || !both) {
		return command.Usagef("--read-database needs PostgreSQL: it and --database must be of the form " +
			"postgres://USER@HOST:PORT/DATABASE")
	}
	if err != nil {
		return fmt.Errorf("--read-database: %w", err)
	}
	primary.standbys = address
	return nil
}

func (d *postgresDatabase) migrations(ctx context.Context) ([]store.Migration, error) {
	known, err := postgres.Status(ctx, d.address)
	return known, d.explain(err)
}

func (d *postgresDatabase) settings(ctx context.Context) ([]store.Finding, error) {
	found, err := postgres.Settings(ctx, d.address)
	return found, d.explain(err)
}

func (d *postgresDatabase) inspect(ctx context.Context) ([]store.Finding, error) {
	found, err := postgres.Inspect(ctx, d.address)
	return found, d.explain(err)
}

// serve allows any number of servers.
func (d *postgresDatabase) serve(context.Context, *slog.Logger) (end func(), err error) {
	return func() {}, nil
}

func (d *postgresDatabase) sameAs(ctx context.Context, other database) (bool, error) {
	otherDatabase, isPostgres := other.(*postgresDatabase)
	if !isPostgres {
		return false, nil
	}
	same, err := postgres.AreSame(ctx, d.address, otherDatabase.address)
	return same, d.explain(err)
}

func (d *postgresDatabase) liveRecords(ctx context.Context) (store.LiveRecords, error) {
	found, err := postgres.LiveRecordsAt(ctx, d.address)
	return found, d.explain(err)
}

// backup leaves the work to pg_dump, and prints how to call it.
func (d *postgresDatabase) backup(ctx context.Context, path string) error {
	ofServer, only := "that is not older than the server", ""
	direct, advice, server, err := d.direct(ctx)
	if err == nil {
		ofServer = fmt.Sprintf("of version %d or newer, as the server is of version %[1]d", server.Version)
		if server.Schema != "" && server.Schema != "public" {
			only = " --schema=" + shellWord(server.Schema) // the rest of the database is somebody else's
		}
	}
	return command.Usagef("perksd backup copies a file of SQLite; back PostgreSQL up with a pg_dump %s, "+
		"%swith: pg_dump --format=custom%s --file=%s --dbname=%s", ofServer, advice, only,
		shellWord(path), shellWord(direct.addressOf(d.dbname, false)))
}

// direct is the database without a pooler in between, which can carry neither a dump nor a restore. The advice says
// what to replace in its address.
func (d *postgresDatabase) direct(ctx context.Context) (
	direct *postgresDatabase, advice string, server postgres.Server, err error,
) {
	server, err = postgres.Describe(ctx, d.address)
	if err != nil || !server.IsPooled {
		return d, "", server, err
	}
	past := *d
	past.hosts = []postgresHost{{cmp.Or(server.Host, "HOST"), server.Port}}
	advice = "past the pooler at " + d.servers() + ", and so with the address at which the pooler reaches PostgreSQL "
	if server.Host == "" {
		advice = "past the pooler at " + d.servers() +
			", and so with PostgreSQL's own host (or the directory of its socket) in place of HOST, "
	}
	return &past, advice, server, nil
}

// addressOf is the address of another database on the same servers, for perksd or for PostgreSQL's own programs. It has
// no password: they ask for it, or find it where perksd does.
func (d *postgresDatabase) addressOf(dbname string, forPerksd bool) string {
	u := url.URL{Scheme: "postgres", User: url.User(d.user), Path: "/" + dbname}
	parameters := url.Values{}
	for name, values := range d.parameters {
		if (forPerksd || isForPostgres(name)) && !slices.Contains(omittedParameters, name) {
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

// omittedParameters are those that addressOf writes elsewhere, and the passwords.
var omittedParameters = []string{"host", "port", "user", "dbname", "database", "password", "sslpassword"}

// isForPostgres reports whether PostgreSQL's own programs need the parameter, because it says how to connect.
func isForPostgres(parameter string) bool {
	return strings.HasPrefix(parameter, "ssl") ||
		slices.Contains([]string{"service", "passfile", "channel_binding", "require_auth", "krbsrvname", "gssencmode",
			"target_session_attrs", "connect_timeout"}, parameter)
}

// shellWord quotes a text for a shell if needed.
func shellWord(text string) string { return command.Quote([]string{text}) }

// explain says in one sentence why the database can't be used, and what to do. Unknown errors stay as they are.
func (d *postgresDatabase) explain(err error) error {
	var refused *pgconn.ConnectError
	notConnected := errors.As(err, &refused)
	var failure *pgconn.PgError
	if !errors.As(err, &failure) {
		if notConnected {
			return d.explainNotConnected(refused)
		}
		return err
	}
	switch failure.Code { // the SQLSTATEs that a person can do something about
	case "3D000": // no such database
		return fmt.Errorf("there is no database %s; make it with: createdb --maintenance-db=%s %s", d.name(),
			shellWord(d.addressOf("postgres", false)), shellWord(d.dbname))
	case "28P01": // wrong password
		return fmt.Errorf("the password of %q for the database %s is wrong or missing; give it in PGPASSWORD or in "+
			"~/.pgpass", d.user, d.name())
	case "28000": // invalid authorization
		return fmt.Errorf("PostgreSQL does not let %q connect to the database %s: %s", d.user, d.name(),
			failure.Message)
	case "42501": // insufficient privilege
		return fmt.Errorf("%q lacks a privilege in the database %s (%s); make it the owner of that database", d.user,
			d.name(), failure.Message)
	case "25006": // read only
		return d.readOnlyError()
	case "26000", "42P05": // a prepared statement is not there, or already is
		return fmt.Errorf("the database %s is behind a pooler of transactions such as PgBouncer, which keeps no "+
			"prepared statements: add default_query_exec_mode=simple_protocol to its address", d.name())
	case "57014": // cancelled
		return fmt.Errorf("PostgreSQL cut off a statement in the database %s (%s): try again; "+
			"if a timeout did it, set that of the role to 0 with ALTER ROLE", d.name(), failure.Message)
	case "42703": // undefined column
		return fmt.Errorf(
			"the database %s has a table migrations that is not perksd's; give perksd a database of its own", d.name())
	}
	if notConnected {
		return fmt.Errorf("PostgreSQL refuses the connection to the database %s: %s (SQLSTATE %s)", d.name(),
			failure.Message, failure.Code)
	}
	return err
}

func (d *postgresDatabase) readOnlyError() error {
	return fmt.Errorf("PostgreSQL at %s is read-only; is it a standby? Name its primary", d.servers())
}

// explainNotConnected explains an error without a reply from PostgreSQL.
func (d *postgresDatabase) explainNotConnected(refused *pgconn.ConnectError) error {
	var unknown *net.DNSError
	var noMessage *pgproto3.ExceededMaxBodyLenErr
	switch {
	case errors.As(refused, &unknown):
		return fmt.Errorf("there is no host %q; is the name in the address of the database right?", unknown.Name)
	case errors.Is(refused, syscall.ECONNREFUSED), errors.Is(refused, fs.ErrNotExist):
		return fmt.Errorf("nothing listens at %s; is PostgreSQL running, and are host and port right?", d.servers())
	case errors.Is(refused, fs.ErrPermission):
		return fmt.Errorf("permission denied for PostgreSQL's socket at %s", d.servers())
	case pgconn.Timeout(refused):
		return fmt.Errorf("%s did not respond in time; are host and port right, and does a firewall let perksd "+
			"through?", d.servers())
	case errors.Is(refused, pgconn.ErrReadOnlyConnection):
		return d.readOnlyError()
	case errors.Is(refused, io.EOF), errors.Is(refused, io.ErrUnexpectedEOF), errors.Is(refused, syscall.ECONNRESET):
		return fmt.Errorf("%s closed the connection without a word; if it is a proxy such as HAProxy, "+
			"no server behind it takes writes now: try again. Otherwise, is it PostgreSQL?", d.servers())
	case errors.As(refused, &noMessage):
		return fmt.Errorf("the server at %s is not PostgreSQL; are host and port right?", d.servers())
	}
	return fmt.Errorf("connecting to the database %s: %s", d.name(),
		strings.Join(strings.Fields(refused.Unwrap().Error()), " "))
}
