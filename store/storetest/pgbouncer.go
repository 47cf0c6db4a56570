package storetest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// PgBouncer is a PgBouncer in transaction mode before a server: a client has a connection of the server for as long as
// a transaction lasts, and the next one may get another.
type PgBouncer struct {
	directory *directory
	server    *process
}

const bouncerPort = 6432

// PgBouncerPoolSize is how many connections a PgBouncer opens to one database.
const PgBouncerPoolSize = 20

// StartPgBouncer starts a PgBouncer before the server, for all its databases. It runs until its Stop or the end of this
// process.
func (c *PostgresServer) StartPgBouncer(ctx context.Context) (*PgBouncer, error) {
	return startPgBouncer(ctx, c.DSN(superuser))
}

// startPgBouncer starts a PgBouncer before the server that has the database at the address.
func startPgBouncer(ctx context.Context, address string) (*PgBouncer, error) {
	program, err := findPgBouncer()
	if err != nil {
		return nil, err
	}
	directory, err := newDirectory()
	if err != nil {
		return nil, err
	}
	b := &PgBouncer{directory: directory}
	start := func() error {
		server, err := pgconn.ParseConfig(address)
		if err != nil {
			return errAddress
		}
		configuration := filepath.Join(directory.path, "pgbouncer.ini")
		if err := os.WriteFile(configuration, []byte(b.configuration(server)), 0o600); err != nil {
			return err
		}
		if err := directory.account.own(configuration); err != nil {
			return err
		}
		// No signal but this one ends every version at once, and there is nothing to save.
		if b.server, err = directory.start("KILL", program, configuration); err != nil {
			return err
		}
		return b.server.awaitConnections(ctx, b.DSN(server.Database))
	}
	if err := start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start a PgBouncer: %w", err), b.Stop())
	}
	return b, nil
}

// configuration lets everyone who can enter the directory connect to any database, as the server's own user.
func (b *PgBouncer) configuration(server *pgconn.Config) string {
	return fmt.Sprintf(`[databases]
* = %s

[pgbouncer]
unix_socket_dir = %s
listen_port = %d
auth_type = any
pool_mode = transaction
default_pool_size = %d
max_client_conn = 500
server_tls_sslmode = prefer
log_connections = 0
log_disconnections = 0
`, upstream(server), b.directory.path, bouncerPort, PgBouncerPoolSize)
}

// upstream is the server in the syntax of PgBouncer, which takes ” for a quote and never for an empty value.
func upstream(server *pgconn.Config) string {
	var words []string
	for _, word := range []struct{ name, value string }{
		{"host", server.Host}, {"port", strconv.Itoa(int(server.Port))}, {"user", server.User},
		{"password", server.Password},
	} {
		if word.value != "" {
			words = append(words, word.name+"='"+strings.ReplaceAll(word.value, "'", "''")+"'")
		}
	}
	return strings.Join(words, " ")
}

// DSN is the address of a database behind the PgBouncer. It keeps pgx from preparing statements, which would stay
// behind on a connection that the next client gets.
func (b *PgBouncer) DSN(database string) string {
	return dsn(database, url.Values{
		"host": {b.directory.path}, "port": {strconv.Itoa(bouncerPort)}, "default_query_exec_mode": {"simple_protocol"},
	})
}

// Stop stops the PgBouncer and removes its directory. Another call does nothing.
func (b *PgBouncer) Stop() error {
	if b.server != nil {
		b.server.stop()
	}
	return b.directory.remove()
}
