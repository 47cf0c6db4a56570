package postgres

import (
	"context"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// defaultConnections is the size of each pool unless the address says pool_max_conns. Two cores at the database are
	// busy with fewer; more help when the network between is slow.
	defaultConnections = 16
	connectTimeout     = 5 * time.Second // of each host, unless the address says connect_timeout
)

// parseAddress reads a DSN. What it leaves open is chosen so that a failover is followed quickly.
func parseAddress(dsn string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, errAddress
	}
	given, err := pgconn.ParseConfig(dsn) // keeps what the pool takes out
	if err != nil {
		return nil, errAddress
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
	conn.OnNotice = rememberWarning
	return config, nil
}

// hasSeveralHosts tells hosts from the ways to reach one, with TLS and without.
func hasSeveralHosts(conn *pgconn.Config) bool {
	for _, other := range conn.Fallbacks {
		if other.Host != conn.Host || other.Port != conn.Port {
			return true
		}
	}
	return false
}

// dialer notices a host that is gone without a word within about twenty seconds. Statements have no time limit of their
// own: to give up one that waits for a standby would leave its connection waiting at the server, and to do so again and
// again would leave none.
func dialer(timeout time.Duration) *net.Dialer {
	return &net.Dialer{
		Timeout:         timeout,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 5 * time.Second, Count: 3},
		Control:         limitUnacknowledged,
	}
}

// goneAfter is how long sent data may stay unacknowledged.
const goneAfter = 20 * time.Second

// warnedKey marks a connection that got a warning since it was last asked.
const warnedKey = "warned"

// rememberWarning keeps that the server warned. A server that is told to stop waiting for its standby commits with no more
// than a warning, and its text is in the server's language.
func rememberWarning(conn *pgconn.PgConn, notice *pgconn.Notice) {
	if notice.SeverityUnlocalized == "WARNING" {
		conn.CustomData()[warnedKey] = true
	}
}

// takeWarning tells whether the server has warned, and forgets it.
func takeWarning(conn *pgconn.PgConn) bool {
	_, warned := conn.CustomData()[warnedKey]
	delete(conn.CustomData(), warnedKey)
	return warned
}

// openPool connects once, so that a wrong address is found at once and not at the first request.
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
