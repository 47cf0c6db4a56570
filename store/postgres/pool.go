package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/perks/store"
)

const (
	// defaultConnections is the size of each pool unless the address has pool_max_conns. Fewer keep two cores of a
	// server busy; more help with a slow network.
	defaultConnections = 16
	connectTimeout     = 5 * time.Second // of each host, unless the address has connect_timeout
	// maxMessage is far above the largest row, and below what the greeting of another program says as a length: pgx
	// would allocate that much.
	maxMessage = 128 << 20
)

// parseAddress parses a DSN. Its defaults follow a failover quickly.
func parseAddress(dsn string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, errUnreadableAddress
	}
	given, err := pgconn.ParseConfig(dsn) // keeps the parameters that the pool removes
	if err != nil {
		return nil, errUnreadableAddress
	}
	if given.RuntimeParams["pool_max_conns"] == "" {
		config.MaxConns = defaultConnections
	}
	conn := &config.ConnConfig.Config
	if err := ReadParameters(conn); err != nil {
		return nil, err
	}
	if conn.ConnectTimeout == 0 {
		conn.ConnectTimeout = connectTimeout
	}
	conn.DialFunc = dialer(conn.ConnectTimeout).DialContext
	if conn.ValidateConnect == nil && hasSeveralHosts(conn) {
		conn.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	if conn.RuntimeParams["application_name"] == "" {
		conn.RuntimeParams["application_name"] = "perksd"
	}
	conn.MaxProtocolMessageBodyLen = maxMessage
	conn.OnNotice = rememberWarning
	// pgx scans times in the machine's zone by default
	config.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		codec := &pgtype.TimestamptzCodec{ScanLocation: time.UTC}
		conn.TypeMap().RegisterType(&pgtype.Type{Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: codec})
		return nil
	}
	return config, nil
}

// hasSeveralHosts ignores fallbacks that differ only in TLS.
func hasSeveralHosts(conn *pgconn.Config) bool {
	for _, other := range conn.Fallbacks {
		if other.Host != conn.Host || other.Port != conn.Port {
			return true
		}
	}
	return false
}

// dialer detects a host that is down within about twenty seconds. Statements have no timeout of their own: an abandoned
// one that waits for a standby would leave its connection waiting at the server, and repeated ones would use up all
// connections.
func dialer(timeout time.Duration) *net.Dialer {
	return &net.Dialer{
		Timeout:         timeout,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 5 * time.Second, Count: 3},
		Control:         setUserTimeout,
	}
}

// unacknowledgedTimeout is how long sent data may stay unacknowledged.
const unacknowledgedTimeout = 20 * time.Second

// warnedKey marks a connection that has received a warning.
const warnedKey = "warned"

// rememberWarning records a warning of the server. A server that is told to stop waiting for its standby commits with
// only a warning, whose text is in the server's language.
func rememberWarning(conn *pgconn.PgConn, notice *pgconn.Notice) {
	if notice.SeverityUnlocalized == "WARNING" {
		conn.CustomData()[warnedKey] = true
	}
}

// takeWarning tells whether there was a warning, and resets that.
func takeWarning(conn *pgconn.PgConn) bool {
	_, warned := conn.CustomData()[warnedKey]
	delete(conn.CustomData(), warnedKey)
	return warned
}

// openPool connects once, so that a wrong address fails now and not at the first request.
func openPool(ctx context.Context, config *pgxpool.Config) (*pgxpool.Pool, error) {
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	return pool, nil
}

// view reads committed data: a snapshot in a transaction, or the latest for each query.
type view struct {
	ctx  context.Context
	from interface {
		Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
	}
}

func (v view) Query(text string, args ...any) (store.Rows, error) {
	for i, arg := range args {
		if named, ok := arg.(store.Named); ok {
			args[i] = pgx.NamedArgs(named)
		}
	}
	found, err := v.from.Query(v.ctx, text, args...)
	return rows{found}, err
}

// customPlanView is a view in which each query is planned for its arguments.
type customPlanView struct{ view }

func (p customPlanView) Query(text string, args ...any) (store.Rows, error) {
	return p.view.Query(text, append([]any{customPlan}, args...)...)
}

// rows adapts pgx.Rows.
type rows struct{ pgx.Rows }

func (r rows) Close() error {
	r.Rows.Close()
	return nil
}

// inOrder are settings that keep PostgreSQL from collecting rows in another order than that of the index. It does so
// where its statistics say that there are few, which may have changed since: all redemptions of a perk are approved
// until it needs approval.
const inOrder = `SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off`

// snapshot runs work with a consistent view, after settings in the same round trip as BEGIN. Where a standby may be
// read it runs work there, and runs it again on the primary if that fails: what a standby does not find, the primary
// may have.
func (db *DB) snapshot(ctx context.Context, settings string, work func(view) error) error {
	within, isLimited := store.ListTime(ctx)
	if !isLimited {
		return db.readWith(ctx, settings, work)
	}
	// The limit is left to the server, because a context that ends costs the connection.
	settings = fmt.Sprintf("SET LOCAL statement_timeout = %d; ", max(1, within.Milliseconds())) + settings
	limited, cancel := context.WithTimeout(ctx, within+connectTimeout) // of all statements, and of a server that hangs
	defer cancel()
	begin := time.Now()
	err := db.readWith(limited, settings, work)
	if sqlState(err) != stateCancelled || time.Since(begin) < within { // a person may cancel, too
		return err
	}
	if waiting := db.waits.explain(context.DeadlineExceeded); waiting != context.DeadlineExceeded {
		return waiting // the list would take little time, but for a lock
	}
	return store.ErrTimeLimit
}

func (db *DB) readWith(ctx context.Context, settings string, work func(view) error) error {
	settings = strings.Join(slices.Concat(db.settings, []string{settings}), `; `)
	if from := db.standbys.choose(ctx); from != nil {
		err := from.do(ctx, func(ctx context.Context) error { return readFrom(ctx, from.reads, settings, work) })
		if err == nil || ctx.Err() != nil || sqlState(err) == stateCancelled || errors.Is(err, store.ErrCostly) {
			return err
		}
	}
	return readFrom(ctx, db.reads, settings, work)
}

func readFrom(ctx context.Context, from *readPool, settings string, work func(view) error) error {
	done, err := from.join(ctx)
	if err != nil {
		return err
	}
	defer done()
	begin := pgx.TxOptions{BeginQuery: `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ` + settings}
	return pgx.BeginTxFunc(ctx, from, begin, func(tx pgx.Tx) error {
		return work(view{ctx, tx})
	})
}

// readPool is connections for reads. Lists have half of them, so that all other reads find some, whatever lists cost.
type readPool struct {
	*pgxpool.Pool
	lists chan struct{} // one value for each list that runs
}

func newReadPool(pool *pgxpool.Pool) *readPool {
	return &readPool{pool, make(chan struct{}, max(1, pool.Stat().MaxConns()/2))}
}

// isBusy tells whether a read under the context would have to wait.
func (p *readPool) isBusy(ctx context.Context) bool {
	if _, isList := store.ListTime(ctx); isList {
		return len(p.lists) == cap(p.lists)
	}
	stat := p.Stat()
	return stat.AcquiredConns() == stat.MaxConns()
}

// join waits until a read under the context may have a connection. done must be called at its end.
func (p *readPool) join(ctx context.Context) (done func(), err error) {
	if _, isList := store.ListTime(ctx); !isList {
		return func() {}, nil
	}
	select {
	case p.lists <- struct{}{}:
		return func() { <-p.lists }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// snapshotWithin leaves the limit to the server, because a context that ends costs the connection.
func (db *DB) snapshotWithin(ctx context.Context, within time.Duration, work func(store.Querier) error) error {
	err := db.readWith(ctx, "", func(v view) error {
		_, err := store.One(v, store.ScanValue[string], `
			SELECT set_config('statement_timeout', $1, true)
				|| set_config('max_parallel_workers_per_gather', '0', true)`, fmt.Sprint(max(1, within.Milliseconds())))
		if err != nil {
			return err
		}
		return work(customPlanView{v})
	})
	if sqlState(err) == stateCancelled {
		return store.ErrTimeLimit
	}
	return err
}

// session is one transaction that writes.
type session struct {
	ctx context.Context // does not end with the caller's
	tx  pgx.Tx
}

func (s *session) Query(text string, args ...any) (store.Rows, error) {
	return view{s.ctx, s.tx}.Query(text, args...)
}

func (s *session) exec(text string, args ...any) error {
	_, err := s.Exec(text, args...)
	return err
}

func (s *session) Exec(text string, args ...any) (int64, error) {
	tag, err := s.tx.Exec(s.ctx, text, args...)
	return tag.RowsAffected(), err
}

// row is one row of a result, to be scanned.
type row = store.Scanner

// pgx sends unknown parameters to the server, which refuses those of libpq. Ignore those without effect here, apply
// those that pgx can apply, and refuse the others.

// ignoredParameters of libpq ask for what happens anyway, or concern only libpq itself.
var ignoredParameters = []string{
	"keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout", // see dialer
	"load_balance_hosts", // the pool picks the host that takes writes
	"gssdelegation", "gsslib", "sslcompression",
}

// refusedParameters are those that pgx cannot apply, with the reason or the alternative.
var refusedParameters = map[string]string{
	"hostaddr":         "name the address as host",
	"replication":      "perksd does not read replication streams",
	"requirepeer":      "perksd does not check which user runs the server",
	"requiressl":       "write sslmode=require",
	"scram_client_key": "perksd logs in with the password", "scram_server_key": "perksd logs in with the password",
	"sslcrl":        "perksd reads no lists of revoked certificates",
	"sslcrldir":     "perksd reads no lists of revoked certificates",
	"sslkeylogfile": "perksd does not log TLS keys",
}

var tlsVersions = map[string]uint16{"": 0, "TLSv1": tls.VersionTLS10, "TLSv1.1": tls.VersionTLS11,
	"TLSv1.2": tls.VersionTLS12, "TLSv1.3": tls.VersionTLS13}

// ReadParameters removes the parameters of libpq from those for the server, and applies them to the configuration. The
// error names an unsupported one.
func ReadParameters(config *pgconn.Config) error {
	given := config.RuntimeParams
	for name := range given {
		why, isRefused := refusedParameters[name]
		if strings.HasPrefix(name, "oauth_") {
			why, isRefused = "perksd does not support OAuth", true
		}
		if isRefused {
			return fmt.Errorf("the address of the database has the parameter %s: %s", name, why)
		}
		if slices.Contains(ignoredParameters, name) {
			delete(given, name)
		}
	}
	if err := checkSynchronousCommit(given["synchronous_commit"]); err != nil {
		return err
	}
	if mode := removeParameter(given, "gssencmode"); mode == "require" {
		return fmt.Errorf("the address of the database has gssencmode=require: perksd encrypts with TLS, so use " +
			"sslmode=verify-full")
	}
	if name := removeParameter(given, "fallback_application_name"); given["application_name"] == "" && name != "" {
		given["application_name"] = name
	}
	return limitTLS(config, removeParameter(given, "ssl_min_protocol_version"),
		removeParameter(given, "ssl_max_protocol_version"))
}

// removeParameter removes a parameter and returns its value.
func removeParameter(parameters map[string]string, name string) string {
	value := parameters[name]
	delete(parameters, name)
	return value
}

func limitTLS(config *pgconn.Config, oldest, newest string) error {
	for name, value := range map[string]string{"ssl_min_protocol_version": oldest, "ssl_max_protocol_version": newest} {
		if _, known := tlsVersions[value]; !known {
			return fmt.Errorf("the address of the database has the parameter %s, which must be TLSv1, TLSv1.1, "+
				"TLSv1.2 or TLSv1.3", name)
		}
	}
	configs := []*tls.Config{config.TLSConfig}
	for _, fallback := range config.Fallbacks {
		configs = append(configs, fallback.TLSConfig)
	}
	for _, c := range configs {
		if c != nil {
			c.MinVersion, c.MaxVersion = tlsVersions[oldest], tlsVersions[newest]
		}
	}
	return nil
}
