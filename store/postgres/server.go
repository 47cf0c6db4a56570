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
