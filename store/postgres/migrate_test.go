package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"example.com/perks/store/storetest"
)

func TestManyOpenANewDatabaseAtOnce(t *testing.T) {
	for _, openers := range []int{2, 10} {
		for _, mode := range []string{"cache_statement", "simple_protocol"} {
			t.Run(fmt.Sprint(openers, " in ", mode), func(t *testing.T) {
				t.Parallel()
				address := storetest.PostgresDatabase(t)
				var group errgroup.Group
				for range openers {
					group.Go(func() error {
						db, err := Open(context.Background(), address+"&default_query_exec_mode="+mode, Options{})
						if err != nil {
							return err
						}
						return errors.Join(db.Ready(context.Background()), db.Close())
					})
				}
				noError(t, group.Wait())
				requireStatus(t, address, true)
				db := openAt(t, address)
				if rows, want := read[int](t, db, `SELECT count(*) FROM migrations`),
					len(knownMigrations()); rows != want {
					t.Errorf("%d migrations were applied, want %d, each once", rows, want)
				}
			})
		}
	}
}

func TestANewerDatabaseIsRefusedUnlessItFits(t *testing.T) {
	t.Parallel()
	address := storetest.PostgresDatabase(t)
	db := openAt(t, address)
	execute(t, db.writes, `INSERT INTO migrations VALUES (2, '0002_tomorrow.fits1', now())`)
	if status, err := Status(t.Context(), address); err != nil || len(status) != 2 || status[1].AppliedAt.IsZero() {
		t.Errorf("with a migration that this program passes over: %d migrations, %v", len(status), err)
	}
	openAt(t, address)

	execute(t, db.writes, `INSERT INTO migrations VALUES (3, '0003_the_day_after.fits2', now())`)
	const want = "it is at version 3, and this program knows versions up to 1: use a newer perksd"
	if _, err := Open(t.Context(), address, Options{}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("opening it: %v, want %q", err, want)
	}
	if _, err := Status(t.Context(), address); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("its status: %v, want %q", err, want)
	}
}

func TestStatusChangesNothing(t *testing.T) {
	t.Parallel()
	address := storetest.PostgresDatabase(t)
	requireStatus(t, address, false)
	requireStatus(t, address, false)
	db := openAt(t, address)
	requireStatus(t, address, true)
	before := read[string](t, db,
		`SELECT string_agg(concat_ws(' ', version, name, xmin), ', ' ORDER BY version) FROM migrations`)
	requireStatus(t, address, true)
	if after := read[string](t, db, `SELECT string_agg(concat_ws(' ', version, name, xmin), ', ' ORDER BY version)
		FROM migrations`); after != before {
		t.Errorf("the migrations are now %s, and were %s", after, before)
	}
}

func requireStatus(t *testing.T, address string, applied bool) {
	t.Helper()
	migrations := must(Status(t.Context(), address))(t)
	if len(migrations) == 0 {
		t.Fatal("no migration is known")
	}
	for i, m := range migrations {
		if prefix := fmt.Sprintf("%04d_", i+1); m.Version != i+1 || !strings.HasPrefix(m.Name, prefix) {
			t.Errorf("migration %d is %d, %q, want a name that begins with %q", i+1, m.Version, m.Name, prefix)
		}
		if m.AppliedAt.IsZero() == applied {
			t.Errorf("migration %q was applied at %v, want applied: %t", m.Name, m.AppliedAt, applied)
		}
	}
}

func TestErrorsDoNotShowThePassword(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	for _, address := range []string{
		"postgres://perks:" + secret + "@127.0.0.1:1/perks",
		"postgres://perks:" + secret + "@127.0.0.1:1,127.0.0.1:2/perks?target_session_attrs=read-write",
		"postgres://perks:" + secret + "@127.0.0.1:port/perks",
		"postgres://perks:" + secret + "@[/perks",
		"host=127.0.0.1 port=1 user=perks password='" + secret,
		"host=127.0.0.1 port=1 user=perks password=" + secret + " connect_timeout=soon",
		secret,
	} {
		_, opening := Open(t.Context(), address, Options{})
		_, asking := Status(t.Context(), address)
		_, naming := readAt(t.Context(), "read the identity", address, identityIn)
		for _, err := range []error{opening, asking, naming} {
			if err == nil || strings.Contains(err.Error(), secret) {
				t.Errorf("%q: %v, want an error without the password", address, err)
			}
		}
	}
}
