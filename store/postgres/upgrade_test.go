package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

// later is a migration of the next version. It takes a lock, and builds indexes while others write.
var later = store.Migration{Version: len(knownMigrations()) + 1, Name: "9999_later", Script: `
ALTER TABLE redemptions ADD COLUMN IF NOT EXISTS later text;
CREATE INDEX CONCURRENTLY redemptions_later ON redemptions (later);
CREATE UNIQUE INDEX CONCURRENTLY users_later ON users (lower(id));
`}

func withLater() []store.Migration { return append(knownMigrations(), later) }

// migrateLater does what opening the database with the next version does.
func migrateLater(ctx context.Context, address string, log *slog.Logger) error {
	return migrateTo(ctx, address, withLater(), log)
}

func migrateTo(ctx context.Context, address string, known []store.Migration, log *slog.Logger) error {
	config, err := parseAddress(address)
	if err != nil {
		return err
	}
	settings, err := own(ctx, config.ConnConfig)
	if err != nil {
		return err
	}
	pool, err := openPool(ctx, config)
	if err != nil {
		return err
	}
	defer pool.Close()
	return migrate(ctx, pool, settings, known, log)
}

// migrating is a program of the next version that migrates a database.
type migrating struct {
	t    *testing.T
	done chan error
	log  chan string // its lines about what it waits for
}

func migrateBeside(t *testing.T, address string) migrating {
	m := migrating{t, make(chan error, 1), make(chan string, 100)}
	go func() { m.done <- migrateLater(t.Context(), address, slog.New(slog.NewTextHandler(m, nil))) }()
	return m
}

// Write takes a line of the log.
func (m migrating) Write(line []byte) (int, error) {
	m.log <- string(line)
	return len(line), nil
}

func (m migrating) wantLog(parts ...string) {
	m.t.Helper()
	select {
	case line := <-m.log:
		for _, part := range parts {
			if !strings.Contains(line, part) {
				m.t.Errorf("it logged %q, want %q in it", line, part)
			}
		}
	case err := <-m.done:
		m.t.Fatalf("it returned without a log line: %v", err)
	}
}

// requireLater checks that the migration was applied once, and that its indexes are valid.
func requireLater(t *testing.T, db *DB) {
	t.Helper()
	applied, err := appliedMigrations(view{t.Context(), db.writes}, withLater())
	if err != nil || len(store.Pending(applied)) > 0 {
		t.Errorf("the migrations are %v, %v", applied, err)
	}
	const indexes = `SELECT count(*) FROM pg_index WHERE indisvalid AND indexrelid::regclass::text LIKE '%_later'`
	storetest.Equal(t, "valid indexes", read[int](t, db, indexes), 2)
}

// TestRedemptionsContinueWhileAMigrationWaits has a long reader, such as pg_dump. A migration that queued for the
// reader's lock would block everyone behind it.
func TestRedemptionsContinueWhileAMigrationWaits(t *testing.T) {
	for name, database := range map[string]func(testing.TB) string{
		"directly": storetest.PostgresDatabase,
		"behind PgBouncer": func(t testing.TB) string {
			return storetest.PgBouncerDatabase(t) + "&default_query_exec_mode=simple_protocol"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := database(t)
			db := openAt(t, address)
			reader := begin(t, db, `LOCK TABLE redemptions IN ACCESS SHARE MODE`)
			m := migrateBeside(t, address)
			m.wantLog("a migration waits for others to end their transactions", "migration=9999_later", "perksd of ")
			for n := range 20 {
				commit(t, begin(t, db, fmt.Sprintf(`SET LOCAL lock_timeout = '5s';
					INSERT INTO redemptions (id, perk_id, user_id, client_id, redeemed_at, first_status, status,
						metadata)
					VALUES ('r%[1]d', 'p', 'u%[1]d', 'c', now(), 'approved', 'approved', '{}');
					SELECT FROM redemptions`, n)))
			}
			commit(t, reader)
			noError(t, <-m.done)
			requireLater(t, db)
		})
	}
}

// TestAKilledMigrationIsRestarted terminates the connection that builds an index, as a crash would: what is left is an
// invalid index.
func TestAKilledMigrationIsRestarted(t *testing.T) {
	t.Parallel()
	address := storetest.PostgresDatabase(t)
	db := openAt(t, address)
	// An index waits for the end of every older snapshot.
	reader := begin(t, db, `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT FROM users`)
	m := migrateBeside(t, address)
	m.wantLog("a migration waits for others to end their transactions", "index=redemptions_later", "perksd of ")
	const terminate = `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
		WHERE datname = current_database() AND query LIKE 'CREATE INDEX CONCURRENTLY%'`
	if terminated := read[int](t, db, terminate); terminated != 1 {
		t.Fatalf("%d connections built an index", terminated)
	}
	if err := <-m.done; err == nil {
		t.Fatal("migrating the database succeeded")
	}
	const invalid = `SELECT coalesce(string_agg(indexrelid::regclass::text, ' '), '') FROM pg_index
		WHERE NOT indisvalid`
	if left := read[string](t, db, invalid); left != "redemptions_later" {
		t.Fatalf("the invalid indexes are %q, so this test shows nothing", left)
	}
	commit(t, reader)
	var group errgroup.Group
	for range 3 { // several replicas at once
		group.Go(func() error { return migrateLater(t.Context(), address, slog.New(slog.DiscardHandler)) })
	}
	noError(t, group.Wait())
	requireLater(t, db)
}

// TestADatabaseOfTheFirstVersionIsUpgraded also has the version before it open what this one has upgraded.
func TestADatabaseOfTheFirstVersionIsUpgraded(t *testing.T) {
	t.Parallel()
	address, log := storetest.PostgresDatabase(t), slog.New(slog.DiscardHandler)
	first := knownMigrations()[:1]
	noError(t, migrateTo(t.Context(), address, first, log))
	db := openAt(t, address)
	storetest.AddListings(t, db, 1)
	storetest.Equal(t, "entries", read[int](t, db, `SELECT count(*) FROM imported_properties`), 1)
	noError(t, migrateTo(t.Context(), address, first, log))
}

func TestTheAgeOfASecretMadeBeforeTheMigrationIsThatInTheAuditLog(t *testing.T) {
	address := storetest.PostgresDatabase(t)
	noError(t, migrateTo(t.Context(), address, knownMigrations()[:2], slog.New(slog.DiscardHandler)))
	storetest.Execute(t, address, storetest.FormerClients(`decode(repeat('00', 32), 'hex')`, "to_timestamp(1)",
		"to_timestamp(2)"))
	storetest.RequireSecretAges(t, openAt(t, address))
}
