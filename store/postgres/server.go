package postgres

import (
	"context"
	"fmt"
	"log/slog"

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
		return fmt.Errorf("it runs on PostgreSQL %d, and perksd needs PostgreSQL %d or newer: upgrade the server, or name another", major, oldestVersion)
	case major > newestVersion:
		log.Warn("this PostgreSQL is newer than the versions that perksd was tested with", "version", major, "tested", fmt.Sprintf("%d to %d", oldestVersion, newestVersion))
	}
	return nil
}

func majorVersion(q store.Querier) (int, error) {
	return store.One(q, store.ScanValue[int], `SELECT current_setting('server_version_num')::integer / 10000`)
}

// MajorVersion is that of the server at the address, for example 15.
func MajorVersion(ctx context.Context, address string) (int, error) {
	return readAt(ctx, "read the version", address, majorVersion)
}

// Identity tells the tables at an address from others.
type Identity struct {
	server string // the number that initdb gave it and its standbys; "" if the role may not read it
	tables string
}

// IdentityOf reads the identity of the tables at the address. The database must be migrated.
func IdentityOf(ctx context.Context, address string) (Identity, error) {
	return readAt(ctx, "read the identity", address, identityIn)
}

func identityIn(q store.Querier) (i Identity, err error) {
	i.tables, err = store.One(q, store.ScanValue[string], `
		SELECT concat_ws('/', d.oid, 'migrations'::regclass::oid, (SELECT extract(epoch FROM min(applied_at)) FROM migrations))
		FROM pg_database AS d WHERE d.datname = current_database()`)
	if err != nil {
		return i, err
	}
	i.server, err = store.One(q, store.ScanValue[string], `SELECT system_identifier::text FROM pg_control_system()`)
	if sqlState(err) != "" && !isTransient(err) { // managed services may not let anybody call it
		return i, nil
	}
	return i, err
}

// IsSame reports whether both are of the same tables of the same server or its standbys, however the addresses are written. One of the
// roles may not know its server. Then a copy of a database on another server is taken for the original if it has the same numbers, as a
// physical copy has in any case: what asks refuses to work on two that are the same.
func (i Identity) IsSame(other Identity) bool {
	return i.tables == other.tables && (i.server == other.server || i.server == "" || other.server == "")
}
