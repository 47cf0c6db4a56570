package postgres

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

// olderDatabase is a database of the first version, with connections of a server of that version.
func olderDatabase(t *testing.T, address string) *pgxpool.Pool {
	t.Helper()
	config, err := parseAddress(address)
	if err != nil {
		t.Fatal(err)
	}
	older, err := openPool(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(older.Close)
	if err := pgx.BeginFunc(t.Context(), older, func(tx pgx.Tx) error { return apply(t.Context(), tx, knownMigrations()[0]) }); err != nil {
		t.Fatal(err)
	}
	return older
}

// opened is a database that another program is opening.
type opened struct {
	t    *testing.T
	done chan error
	log  chan string // its lines about what it waits for
}

func openBeside(t *testing.T, address string) opened {
	o := opened{t, make(chan error, 1), make(chan string, 100)}
	go func() {
		db, err := Open(t.Context(), address, Options{Logger: slog.New(slog.NewTextHandler(o, nil))})
		if err == nil {
			err = db.Close()
		}
		o.done <- err
	}()
	return o
}

// Write takes a line of the log.
func (o opened) Write(line []byte) (int, error) {
	o.log <- string(line)
	return len(line), nil
}

func (o opened) wantLog(parts ...string) {
	o.t.Helper()
	select {
	case line := <-o.log:
		for _, part := range parts {
			if !strings.Contains(line, part) {
				o.t.Errorf("it logged %q, want %q in it", line, part)
			}
		}
	case err := <-o.done:
		o.t.Fatalf("it returned without a log line: %v", err)
	}
}

func (o opened) wait() {
	o.t.Helper()
	if err := <-o.done; err != nil {
		o.t.Fatal(err)
	}
}

// requireIndexes checks that every index of the migrations exists and is valid.
func requireIndexes(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	migrations := knownMigrations()
	for i, m := range migrations {
		for _, index := range scriptOf(m).indexes {
			isDropped := func(later store.Migration) bool { return dropsIndex(later.Script, index.name) }
			if slices.ContainsFunc(migrations[i+1:], isDropped) {
				continue
			}
			valid, err := store.One(view{t.Context(), pool}, store.ScanValue[bool], `SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1)`, index.name)
			if err != nil || !valid {
				t.Errorf("index %s is valid: %t, %v", index.name, valid, err)
			}
		}
	}
}

func dropsIndex(script, name string) bool {
	_, dropped, _ := strings.Cut(script, "DROP INDEX IF EXISTS ")
	dropped, _, _ = strings.Cut(dropped, ";")
	return slices.Contains(strings.FieldsFunc(dropped, func(r rune) bool { return strings.ContainsRune(" ,\n", r) }), name)
}

// TestRedemptionsContinueWhileAMigrationWaits has a long reader, such as pg_dump. A migration that queued for the reader's
// lock would block everyone behind it.
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
			older := olderDatabase(t, address)
			reader, err := older.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer reader.Rollback(t.Context())
			execute(t, reader, `LOCK TABLE redemptions IN ACCESS SHARE MODE`)
			o := openBeside(t, address)
			o.wantLog("a migration waits for others to end their transactions", "migration=0002_audit", "perksd of ")
			for n := range 20 {
				if err := pgx.BeginFunc(t.Context(), older, func(tx pgx.Tx) error {
					execute(t, tx, `SET LOCAL lock_timeout = '5s'`)
					execute(t, tx, fmt.Sprintf(`INSERT INTO redemptions (id, perk_id, user_id, client_id, redeemed_at, first_status, status, metadata)
						VALUES ('r%[1]d', 'p', 'u%[1]d', 'c', now(), 'approved', 'approved', '{}')`, n))
					execute(t, tx, `SELECT FROM redemptions`)
					return nil
				}); err != nil {
					t.Fatal(err)
				}
			}
			if err := reader.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
			o.wait()
			requireStatus(t, address, true)
			requireIndexes(t, older)
		})
	}
}

// TestAKilledMigrationIsRestarted terminates the connection that builds an index, as a crash would: what is left is an
// invalid index.
func TestAKilledMigrationIsRestarted(t *testing.T) {
	t.Parallel()
	address := storetest.PostgresDatabase(t)
	older := olderDatabase(t, address)
	reader, err := older.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Rollback(t.Context())
	execute(t, reader, `SELECT FROM users`) // an index waits for the end of every older snapshot
	o := openBeside(t, address)
	o.wantLog("a migration waits for others to end their transactions", "index=audit_by_arrival", "perksd of ")
	terminated, err := store.One(view{t.Context(), older}, store.ScanValue[int], `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
		WHERE datname = current_database() AND query LIKE 'CREATE INDEX CONCURRENTLY%'`)
	if err != nil || terminated != 1 {
		t.Fatalf("%d connections built an index, %v", terminated, err)
	}
	if err := <-o.done; err == nil {
		t.Fatal("opening the database succeeded")
	}
	left, err := store.One(view{t.Context(), older}, store.ScanValue[string], `
		SELECT coalesce(string_agg(relname, ' '), '') FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid WHERE NOT indisvalid`)
	if err != nil || left != "audit_by_arrival" {
		t.Fatalf("the invalid indexes are %q, %v, so this test shows nothing", left, err)
	}
	if err := reader.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	var group errgroup.Group
	for range 3 { // several replicas at once
		group.Go(func() error {
			db, err := Open(t.Context(), address, Options{})
			if err != nil {
				return err
			}
			return db.Close()
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	requireStatus(t, address, true)
	requireIndexes(t, older)
}

// TestAMigrationRunsBesideADecision has a server of the first version decide a redemption while a newer one starts.
func TestAMigrationRunsBesideADecision(t *testing.T) {
	t.Parallel()
	address := storetest.PostgresDatabase(t)
	older := olderDatabase(t, address)
	decision, err := older.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer decision.Rollback(t.Context())
	execute(t, decision, `UPDATE redemptions SET status = 'approved' WHERE id = 'r'`)
	o := openBeside(t, address)
	awaitLock(t, older)
	execute(t, decision, `INSERT INTO audit (at, actor, action, subject) VALUES (now(), 'operator', 'redemption.approve', 'redemption/r')`)
	if err := decision.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.wait()
}

// TestOrdersAreRightAfterAnUpgrade has perks that are older than the table of folded texts.
func TestOrdersAreRightAfterAnUpgrade(t *testing.T) {
	t.Parallel()
	address := storetest.PostgresDatabase(t)
	older := olderDatabase(t, address)
	if _, err := older.Exec(t.Context(), `
		INSERT INTO perks (id, created_at, updated_at, approval, title_fold, city_fold, title, city, description, terms, words)
		SELECT id, now(), now(), 'auto', 't', 'c', 'T', 'C', description, terms, ''::tsvector
		FROM (VALUES ('many', 'ÄC', NULL), ('upper', 'ÄB', 'Z'), ('lower', 'äa', 'a'), ('ascii', 'Z', 'B')) AS p (id, description, terms)
		UNION ALL SELECT 'n' || n, now(), now(), 'auto', 't', 'c', 'T', 'C', 'éa' || n, NULL, ''::tsvector FROM generate_series(1000, 2100) AS n`); err != nil {
		t.Fatal(err)
	}
	db, err := Open(t.Context(), address, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for sort, want := range map[string][]string{
		"description":  {"ascii", "lower", "upper", "many", "n1000"},
		"-description": {"n2100", "n2099", "n2098", "n2097", "n2096"},
		"terms":        {"lower", "ascii", "upper", "many", "n1000"},
	} {
		list, err := db.ListPerks(t.Context(), store.PerkQuery{Sort: sortedBy(t, sort), Window: store.Window{Page: 1, PerPage: 5}})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, perk := range list.Items {
			ids = append(ids, perk.ID)
		}
		if !slices.Equal(ids, want) {
			t.Errorf("sorted by %s they are %q, want %q", sort, ids, want)
		}
	}
}

// TestTextsAreFoldedWithoutLaterColumns drops a column that folding does not need, and so stands for one that a later migration adds.
func TestTextsAreFoldedWithoutLaterColumns(t *testing.T) {
	t.Parallel()
	older := olderDatabase(t, storetest.PostgresDatabase(t))
	if _, err := older.Exec(t.Context(), `
		ALTER TABLE perks DROP COLUMN merchant_name;
		INSERT INTO perks (id, created_at, updated_at, approval, title_fold, city_fold, title, city, description, words)
		VALUES ('p', now(), now(), 'auto', 't', 'c', 'T', 'C', 'ÄB', ''::tsvector)`, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	for _, m := range knownMigrations()[1:3] {
		if err := upgrade(t.Context(), older, nil, m, slog.New(slog.DiscardHandler)); err != nil {
			t.Fatalf("%s: %v", m.Name, err)
		}
	}
	folded, err := store.One(view{t.Context(), older}, store.ScanValue[string], `SELECT string_agg(concat_ws(' ', perk_id, description), ', ') FROM perk_folds`)
	if err != nil || folded != "p äb" {
		t.Errorf("folded is %q, %v, want %q", folded, err, "p äb")
	}
}

// TestAUserRedeemsAPerkOnceAfterAnUpgrade has a server of the first version go on after a newer one has replaced its indexes.
func TestAUserRedeemsAPerkOnceAfterAnUpgrade(t *testing.T) {
	t.Parallel()
	address := storetest.PostgresDatabase(t)
	older := olderDatabase(t, address)
	redeem := func(id, status string) string {
		_, err := older.Exec(t.Context(), `INSERT INTO redemptions (id, perk_id, user_id, client_id, redeemed_at, first_status, status, metadata)
			VALUES ($1, 'p', 'u', 'c', now(), 'pending', $2, '{}')`, id, status)
		return sqlState(err)
	}
	for id, status := range map[string]string{"r1": "rejected", "r2": "rejected", "live": "pending"} {
		if state := redeem(id, status); state != "" {
			t.Fatalf("%s: %s", id, state)
		}
	}
	openAt(t, address)
	for _, test := range []struct{ id, status, want string }{
		{"second", "pending", stateUniqueViolation}, {"second", "approved", stateUniqueViolation}, {"r3", "rejected", ""},
	} {
		if state := redeem(test.id, test.status); state != test.want {
			t.Errorf("a redemption %q that is %s: state %q, want %q", test.id, test.status, state, test.want)
		}
	}
	if _, err := older.Exec(t.Context(), `UPDATE redemptions SET status = 'rejected' WHERE id = 'live'`); err != nil {
		t.Fatal(err)
	}
	if state := redeem("second", "approved"); state != "" {
		t.Errorf("after a rejection: state %q", state)
	}
	indexes, err := store.One(view{t.Context(), older}, store.ScanValue[string], `
		SELECT string_agg(indexname, ' ' ORDER BY indexname) FROM pg_indexes WHERE tablename = 'redemptions' AND indexdef LIKE '%(user_id%'`)
	if err != nil || indexes != "redemptions_of_user_and_perk" {
		t.Errorf("the indexes of users are %q, %v", indexes, err)
	}
}

// TestPropertiesOfAnOlderServerAreListed has a server of the first version write listings before and after a newer one has opened the database.
func TestPropertiesOfAnOlderServerAreListed(t *testing.T) {
	t.Parallel()
	address := storetest.PostgresDatabase(t)
	older := olderDatabase(t, address)
	write := func(text string) {
		t.Helper()
		if _, err := older.Exec(t.Context(), text, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err)
		}
	}
	write(`
		INSERT INTO clients VALUES ('owner', 'Owner', '', '', false, false, now());
		INSERT INTO audit (at, actor, action, subject) VALUES (now(), 'operator', 'property.delete', 'property/9000'), (now(), 'operator', 'property.delete', 'property/7');
		INSERT INTO properties SELECT n, 'owner', 'Flat ' || n, '', '', 'Köln', '', '{}', '100.50', 1, 1, NULL, NULL, 0 FROM generate_series(1, 2100) AS n`)
	db := openAt(t, address)
	listed := func(filter api.PropertyFilter) (ids []int64) {
		t.Helper()
		list, err := db.ListProperties(t.Context(), store.PropertyQuery{PropertyFilter: filter, Window: store.Window{Page: 1, PerPage: 5}})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range list.Items {
			ids = append(ids, p.ID)
		}
		return ids
	}
	requireIDs := func(what string, got, want []int64) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	unkeyed := func() int {
		t.Helper()
		n, err := store.One(view{t.Context(), older}, store.ScanValue[int], `SELECT count(*) FROM properties WHERE words IS NULL OR city_fold IS NULL OR word_bits IS NULL`)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := unkeyed(); n > 0 {
		t.Errorf("the migration left %d listings without keys", n)
	}
	requireIDs("a city", listed(api.PropertyFilter{City: "KÖLN"}), []int64{1, 2, 3, 4, 5})
	requireIDs("a word", listed(api.PropertyFilter{Query: "2099"}), []int64{2099})
	write(`
		UPDATE properties SET city = 'Ähren', title = 'Changed' WHERE id = 3;
		UPDATE properties SET bedrooms = 5 WHERE id = 4;
		UPDATE properties SET price_pw = '7.50' WHERE id = 6;
		INSERT INTO properties VALUES (8000, 'owner', 'Changed', '', '', 'ÄHREN', '', '{}', '100.50', 1, 1, NULL, NULL, 0)`)
	if n := unkeyed(); n != 3 {
		t.Errorf("the older server left %d listings without keys, want 3", n)
	}
	cheap, err := api.ParsePrice("10")
	if err != nil {
		t.Fatal(err)
	}
	requireIDs("the older server's price", listed(api.PropertyFilter{MaxPrice: &cheap}), []int64{6})
	requireIDs("its city", listed(api.PropertyFilter{City: "ähren"}), []int64{3, 8000})
	requireIDs("the city it changed", listed(api.PropertyFilter{City: "köln"}), []int64{1, 2, 4, 5, 6})
	requireIDs("its word", listed(api.PropertyFilter{Query: "changed"}), []int64{3, 8000})
	// A server of the version that knew words, but not their bits.
	write(`UPDATE properties SET title = 'Renamed', words = '''renamed''' WHERE id = 5;
		INSERT INTO properties SELECT 8001, owner, 'Renamed', description, address, city, postcode, images, price_pw, bedrooms, bathrooms, lat, lng, deposit,
			city_fold, '''renamed''', price_key FROM properties WHERE id = 1`)
	if n := unkeyed(); n != 2 {
		t.Errorf("the server before left %d listings without bits, want 2", n)
	}
	requireIDs("its new words", listed(api.PropertyFilter{Query: "renam"}), []int64{5, 8001})
	created, err := db.CreateProperty(t.Context(), store.PropertyCreation{Property: api.Property{Title: "New"}, Owner: "owner", At: asOf})
	if err != nil || created.Property.ID != 9001 {
		t.Errorf("the new listing has the id %d, %v, want one above that of the deleted one", created.Property.ID, err)
	}
	write(`DELETE FROM properties WHERE id = 9001`)
	if created, err = db.CreateProperty(t.Context(), store.PropertyCreation{Property: api.Property{Title: "New"}, Owner: "owner", At: asOf}); err != nil || created.Property.ID != 9002 {
		t.Errorf("after the older server deleted the last listing, the next has the id %d, %v", created.Property.ID, err)
	}
}

// awaitLock returns when a session waits for a lock of the database.
func awaitLock(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	for {
		waits, err := store.One(view{t.Context(), pool}, store.ScanValue[bool], `
			SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')`)
		if err != nil {
			t.Fatal(err)
		}
		if waits {
			return
		}
	}
}

func TestEntriesAreWholeWhileServersOfTheVersionBeforeMayReadThem(t *testing.T) {
	t.Parallel()
	address := storetest.PostgresDatabase(t)
	openAt(t, address)
	executeAt(t, address, `UPDATE migrations SET applied_at = applied_at - interval '1 hour' WHERE version = 1`)
	storetest.UpdatesAreWholeForADay(t, openAt(t, address))
}
