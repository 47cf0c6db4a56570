package postgres

import (
	"errors"
	"path/filepath"
	"testing"

	"example.com/perks/store/storetest"
)

// TestCopiesAreToldFromTheirOriginal has a physical copy, a standby, a copy by PostgreSQL within the server, and other
// ways to the original.
func TestCopiesAreToldFromTheirOriginal(t *testing.T) {
	t.Parallel()
	server := startServer(t, storetest.PostgresOptions{})
	noError(t, server.CreateDatabase(t.Context(), "perks"))
	original := server.DSN("perks")
	noError(t, openAt(t, original).Close())
	saved := filepath.Join(shortDirectory(t), "saved")
	noError(t, server.Save(t.Context(), saved))
	recovered := must(storetest.StartPostgresFrom(t.Context(), saved, storetest.PostgresOptions{}))(t)
	storetest.AtEnd(t, recovered.Stop)
	bouncer := must(server.StartPgBouncer(t.Context()))(t)
	storetest.AtEnd(t, bouncer.Stop)
	standby := must(server.Standby(t.Context()))(t)
	storetest.AtEnd(t, standby.Stop)
	storetest.Execute(t, server.DSN("postgres"), `CREATE DATABASE copied TEMPLATE perks`,
		`CREATE ROLE other LOGIN SUPERUSER`)

	requireSame := func(what, other string, want bool, wantErr error) {
		t.Helper()
		for _, pair := range [][2]string{{original, other}, {other, original}} {
			if same, err := AreSame(t.Context(), pair[0], pair[1]); same != want || !errors.Is(err, wantErr) {
				t.Errorf("%s: same is %t, %v; want %t, %v", what, same, err, want, wantErr)
			}
		}
	}
	requireSame("itself", original, true, nil)
	requireSame("itself for another role", original+"&user=other", true, nil)
	requireSame("itself behind PgBouncer", bouncer.DSN("perks"), true, nil)
	requireSame("a physical copy", recovered.DSN("perks"), false, nil)
	requireSame("a copy within the server", server.DSN("copied"), false, nil)
	requireSame("a standby", standby.DSN("perks"), false, ErrStandby)
	if err := bouncer.Stop(); err != nil { // it keeps connections
		t.Fatal(err)
	}
	storetest.Execute(t, server.DSN("postgres"), `ALTER DATABASE perks RENAME TO renamed`)
	original = server.DSN("renamed")
	requireSame("a renamed original", recovered.DSN("perks"), false, nil)
}
