package postgres

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/perks/store"
)

// The versions that the tests run on. An older one lacks what the statements need; a newer one is likely to work.
const (
	oldestVersion = 14
	newestVersion = 18
)

// checkVersion refuses a server that is too old, and logs if it is newer than any that was tested.
func checkVersion(q store.Querier, log *slog.Logger) error {
	major, err := majorVersion(q)
	switch {
	case err != nil:
		return err
	case major < oldestVersion:
		return fmt.Errorf("it runs on PostgreSQL %d, and perksd needs PostgreSQL %d or newer: upgrade the server, or "+
			"name another", major, oldestVersion)
	case major > newestVersion:
		log.Warn("this PostgreSQL is newer than the versions that perksd was tested with", "version", major, "tested",
			fmt.Sprintf("%d to %d", oldestVersion, newestVersion))
	}
	return nil
}

func majorVersion(q store.Querier) (int, error) {
	return store.One(q, store.ScanValue[int], `SELECT current_setting('server_version_num')::integer / 10000`)
}

// Server is what PostgreSQL's own programs need to know of a server and of the role that asks.
type Server struct {
	Version   int    // such as 15
	IsPooled  bool   // a pooler is in between
	Host      string // at which it was reached, by the pooler if there is one; "" if by a socket
	Port      string
	Schema    string // of the role's tables
	MayCreate bool   // the role may create databases
	Creator   string // a superuser, which may; "" if there is none, as at a managed service
}

// Describe asks the server at the address.
func Describe(ctx context.Context, address string) (Server, error) {
	config, err := parseAddress(address)
	if err != nil {
		return Server{}, err
	}
	return withConnection(ctx, "describe the server", config, func(conn *pgxpool.Conn) (Server, error) {
		var backend string
		s, err := store.One(view{ctx, conn}, func(r row) (s Server, err error) {
			return s, r.Scan(&s.Version, &backend, &s.Host, &s.Port, &s.Schema, &s.MayCreate, &s.Creator)
		}, `SELECT current_setting('server_version_num')::integer / 10000, pg_backend_pid()::text,
			coalesce(host(inet_server_addr()), ''), current_setting('port'), coalesce(current_schema(), ''),
			(SELECT rolsuper OR rolcreatedb FROM pg_roles WHERE rolname = current_user),
			coalesce((SELECT rolname::text FROM pg_roles WHERE rolsuper AND rolcanlogin ORDER BY oid LIMIT 1), '')`)
		s.IsPooled = isOfAPooler(conn.Conn(), backend)
		return s, err
	})
}
