package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/store/postgres/cluster"
)

func TestARedemptionIsMadeOnceWhereverItsConnectionIsCut(t *testing.T) {
	for _, mode := range []string{"cache_statement", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			proxy, address := startProxy(t, cluster.Database(t))
			db := openAt(t, address+"&default_query_exec_mode="+mode)
			fill(t, db, 1, 1000)
			cuts := 0
			for variant := range 4 {
				answered, keyed := variant&1 == 1, variant&2 == 2
				for message := 1; ; message++ {
					id := fmt.Sprint(variant, "-", message)
					attempt := store.RedeemAttempt{ID: id, PerkID: "perk-0", UserID: newUser(t, db, id), ClientID: "client", At: time.Now()}
					if keyed {
						attempt.Key = &store.IdempotencyKey{Key: id}
					}
					proxy.cutAt(moment{message, answered})
					result, err := db.Redeem(t.Context(), attempt)
					if err != nil || result.Replayed || result.Redemption.ID != id {
						t.Fatalf("cut at %+v: %+v, %v", moment{message, answered}, result, err)
					}
					cuts++
					if !proxy.endCut() {
						break
					}
				}
			}
			t.Logf("%d cuts", cuts)
			requireExact(t, db)
		})
	}
}

func TestRedemptionsAreExactWhileTheServerCutsConnections(t *testing.T) {
	t.Parallel()
	const perks, users, stock = 4, 100, 60
	address := cluster.Database(t)
	replicas := []*DB{openAt(t, address), openAt(t, address)}
	fill(t, replicas[0], perks, stock)
	cutting, stop := context.WithCancel(t.Context())
	defer stop()
	var cutter sync.WaitGroup
	cutter.Go(func() { cutAgainAndAgain(cutting, t, address) })

	var callers sync.WaitGroup
	var mu sync.Mutex
	outcomes := map[api.Code]int{}
	for i := range perks * users {
		callers.Go(func() {
			user := i / perks
			_, err := replicas[user%2].Redeem(t.Context(), store.RedeemAttempt{ID: fmt.Sprint("r-", i), PerkID: fmt.Sprint("perk-", i%perks),
				UserID: fmt.Sprint("user-", user), ClientID: "client", At: time.Now()})
			mu.Lock()
			defer mu.Unlock()
			outcomes[api.CodeOf(err)]++
		})
	}
	callers.Wait()
	stop()
	cutter.Wait()
	if outcomes[""] != perks*stock || outcomes[api.CodeSoldOut] != perks*(users-stock) {
		t.Errorf("outcomes are %v", outcomes)
	}
	requireExact(t, replicas[0])
}

// cutAgainAndAgain ends sessions that are at work, over a connection that the driver knows nothing of.
func cutAgainAndAgain(ctx context.Context, t *testing.T, address string) {
	conn, err := pgx.Connect(context.Background(), address)
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close(context.Background())
	for ctx.Err() == nil {
		if _, err := conn.Exec(context.Background(), `
			SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle' AND random() < 0.2`); err != nil {
			t.Error(err)
			return
		}
	}
}

func TestOneKeyForTwoPerksAtOnceRedeemsOne(t *testing.T) {
	t.Parallel()
	db := openAt(t, cluster.Database(t))
	fill(t, db, 2, 100)
	for round := range 50 {
		var callers sync.WaitGroup
		outcomes := make([]api.Code, 2)
		for perk := range 2 {
			callers.Go(func() {
				key := &store.IdempotencyKey{Key: fmt.Sprint("key-", round)}
				key.Fingerprint[0] = byte(perk)
				_, err := db.Redeem(t.Context(), store.RedeemAttempt{ID: fmt.Sprint(round, "-", perk), PerkID: fmt.Sprint("perk-", perk),
					UserID: fmt.Sprint("user-", round), ClientID: "client", At: time.Now(), Key: key})
				outcomes[perk] = api.CodeOf(err)
			})
		}
		callers.Wait()
		if outcomes[0] == outcomes[1] || outcomes[0] != "" && outcomes[1] != "" || outcomes[0]+outcomes[1] != api.CodeIdempotencyKeyReused {
			t.Fatalf("round %d: outcomes are %q", round, outcomes)
		}
	}
	requireExact(t, db)
}

func TestADemotedServerIsLeft(t *testing.T) {
	t.Parallel()
	db := openAt(t, cluster.Database(t))
	fill(t, db, 1, 10)
	demote := func(to string) {
		t.Helper()
		if _, err := db.reads.Exec(t.Context(), `DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || quote_ident(current_database())
			|| ' SET default_transaction_read_only = `+to+`'; END $$`, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err)
		}
	}
	demote("on")
	db.writes.Reset()
	within, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := db.Ready(within); api.CodeOf(err) != api.CodeUnavailable {
		t.Errorf("a demoted server is ready: %v", err)
	}
	answered := make(chan error, 1)
	go func() {
		_, err := db.Redeem(t.Context(), store.RedeemAttempt{ID: "r", PerkID: "perk-0", UserID: "user-0", ClientID: "client", At: time.Now()})
		answered <- err
	}()
	if _, err := db.reads.Exec(t.Context(), `BEGIN READ WRITE; ALTER DATABASE `+pgx.Identifier{db.reads.Config().ConnConfig.Database}.Sanitize()+
		` RESET default_transaction_read_only; COMMIT`, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	if err := <-answered; err != nil {
		t.Errorf("the redemption did not follow: %v", err)
	}
	if err := db.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	requireExact(t, db)
}

func TestNothingIsAcknowledgedThatNoStandbyHas(t *testing.T) {
	t.Parallel()
	server, err := cluster.Start(t.Context(), cluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop() })
	db := openAt(t, server.DSN("postgres"))
	fill(t, db, 1, 10)
	operator, err := pgx.Connect(t.Context(), server.DSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer operator.Close(context.Background())
	exec(t, operator, `ALTER SYSTEM SET synchronous_standby_names = 'gone'`)
	exec(t, operator, `SELECT pg_reload_conf()`)
	// The server takes it up in its own time: when a write that is tried again and again waits.
	go func() {
		for db.Ready(t.Context()) == nil {
		}
	}()
	waiting := waitForSyncRep(t, operator, serverSession{})

	attempt := store.RedeemAttempt{ID: "r", PerkID: "perk-0", UserID: "user-0", ClientID: "client", At: time.Now()}
	within, cancel := context.WithCancel(t.Context())
	impatient, patient := make(chan error, 1), make(chan error, 1)
	go func() { _, err := db.Redeem(within, attempt); impatient <- err }()
	waiting = waitForSyncRep(t, operator, waiting)
	cancel()
	if err := <-impatient; api.CodeOf(err) != api.CodeUnavailable {
		t.Errorf("who does not wait for the standby is told %v", err)
	}
	// The same again, as a client does that got no answer.
	go func() { _, err := db.Redeem(t.Context(), attempt); patient <- err }()
	for range 3 {
		exec(t, operator, fmt.Sprintf(`SELECT pg_cancel_backend(%d)`, waiting.pid))
		waiting = waitForSyncRep(t, operator, waiting)
	}
	select {
	case err := <-patient:
		t.Errorf("no standby has the redemption, and the answer is %v", err)
	default:
	}
	exec(t, operator, `ALTER SYSTEM SET synchronous_standby_names = ''`)
	exec(t, operator, `SELECT pg_reload_conf()`)
	if err := <-patient; err != nil {
		t.Error(err)
	}
	requireExact(t, db)
}

func exec(t *testing.T, conn *pgx.Conn, statement string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// serverSession is a session of the server at the statement that it began at an instant.
type serverSession struct {
	pid   int
	since time.Time
}

// waitForSyncRep returns the session that waits for the standby with another statement than the one that is given.
func waitForSyncRep(t *testing.T, conn *pgx.Conn, other serverSession) (s serverSession) {
	t.Helper()
	within, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for s.pid == 0 {
		err := conn.QueryRow(within, `
			SELECT pid, query_start FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query_start > $1`, other.since).Scan(&s.pid, &s.since)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			t.Fatal(err)
		}
	}
	return s
}

func openAt(t *testing.T, address string) *DB {
	t.Helper()
	db, err := Open(t.Context(), address, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// fill adds perks called perk-0 and so on, each with the stock, and users called user-0 to user-99.
func fill(t *testing.T, db *DB, perks, stock int) {
	t.Helper()
	err := db.write(t.Context(), "fill the database", func(s *session) error {
		if err := s.exec(`INSERT INTO users SELECT 'user-' || i FROM generate_series(0, 99) AS i`); err != nil {
			return err
		}
		if err := s.exec(`
			INSERT INTO perks (id, created_at, updated_at, approval, title_fold, city_fold, title, city, description, words)
			SELECT 'perk-' || i, now(), now(), 'auto', 'tea', 'bath', 'Tea', 'Bath', 'Hot', '' FROM generate_series(0, $1::int - 1) AS i`, perks); err != nil {
			return err
		}
		return s.exec(`INSERT INTO perk_stock SELECT id, $1::bigint, 0 FROM perks`, stock)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func newUser(t *testing.T, db *DB, id string) string {
	t.Helper()
	if _, err := db.reads.Exec(t.Context(), `INSERT INTO users VALUES ($1)`, id); err != nil {
		t.Fatal(err)
	}
	return id
}

// requireExact holds what is counted against what was made: the units held, and the keys kept.
func requireExact(t *testing.T, db *DB) {
	t.Helper()
	var wrong int
	if err := db.reads.QueryRow(t.Context(), `
		SELECT count(*) FROM perk_stock AS s
		WHERE held <> (SELECT count(*) FROM redemptions AS r WHERE r.perk_id = s.perk_id) OR held > stock`).Scan(&wrong); err != nil {
		t.Fatal(err)
	}
	if wrong > 0 {
		t.Errorf("of %d perks the units held are not the redemptions made", wrong)
	}
	if err := db.reads.QueryRow(t.Context(), `
		SELECT count(*) FROM (SELECT FROM redemptions GROUP BY user_id, perk_id HAVING count(*) > 1) AS double`).Scan(&wrong); err != nil {
		t.Fatal(err)
	}
	if wrong > 0 {
		t.Errorf("%d users have redeemed a perk twice", wrong)
	}
}

// shortFolder is for sockets, whose paths may have about a hundred bytes.
func shortFolder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "perks")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	return folder
}
