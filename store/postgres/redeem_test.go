package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

func TestARedemptionIsMadeOnceWhereverItsConnectionIsCut(t *testing.T) {
	for _, mode := range []string{"cache_statement", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			proxy, address := startProxy(t, storetest.PostgresDatabase(t))
			db := openAt(t, address+"&default_query_exec_mode="+mode)
			fill(t, db, 1, 1000)
			cuts, keys := 0, 0
			for variant := range 4 {
				answered, keyed := variant&1 == 1, variant&2 == 2
				for message := 1; ; message++ {
					id := fmt.Sprint(variant, "-", message)
					attempt := attempt(id, "perk-0", newUser(t, db, id))
					if keyed {
						attempt.Key = &store.IdempotencyKey{Key: id}
						keys++
					}
					cut := cutPoint{message: message, answered: answered}
					proxy.cutAt(cut)
					result, err := db.Redeem(t.Context(), attempt)
					if err != nil || result.Replayed || result.Redemption.ID != id {
						t.Fatalf("cut at %+v: %+v, %v", cut, result, err)
					}
					cuts++
					if !proxy.endCut() {
						break
					}
				}
			}
			t.Logf("%d cuts", cuts)
			requireExact(t, db, keys)
		})
	}
}

// waitingFor takes a slot of the queue for each attempt, at perk-0 if it names none.
func waitingFor(t *testing.T, r *redeemer, attempts ...store.RedeemAttempt) []*queuedAttempt {
	t.Helper()
	var batch []*queuedAttempt
	for _, attempt := range attempts {
		attempt.PerkID, attempt.ClientID, attempt.At = cmp.Or(attempt.PerkID, "perk-0"), "client", time.Now()
		must(r.db.join())(t)
		r.slots <- struct{}{}
		batch = append(batch, &queuedAttempt{ctx: t.Context(), attempt: attempt, reply: make(chan redeemReply, 1)})
	}
	return batch
}

// decideWaiting decides a batch, and what is left of it because the stock was locked.
func decideWaiting(r *redeemer, batch []*queuedAttempt, supposed map[string]*eligibility) {
	if locked := r.process(batch, supposed, false); len(locked) > 0 {
		r.process(locked, nil, true)
	}
}

func TestAnAttemptThatTheDatabaseRejectsFailsNoOther(t *testing.T) {
	t.Parallel()
	db := openAt(t, storetest.PostgresDatabase(t))
	fill(t, db, 1, 10)
	batch := waitingFor(t, db.redeemer,
		store.RedeemAttempt{ID: "1", UserID: "user-1"},
		store.RedeemAttempt{ID: "2", UserID: "user-2",
			Key: &store.IdempotencyKey{Key: "no text of PostgreSQL's: \x00"}},
		store.RedeemAttempt{ID: "3", UserID: "user-3"})
	decideWaiting(db.redeemer, batch, nil)
	for i, want := range []api.Code{"", api.CodeInternal, ""} {
		if a := <-batch[i].reply; api.CodeOf(a.err) != want {
			t.Errorf("attempt %d: %v, want code %q", i+1, a.err, want)
		}
	}
	requireExact(t, db, 0)
}

func TestAttemptsOfOneUserOrUnderOneKeyShareNoTransaction(t *testing.T) {
	t.Parallel()
	db := openAt(t, storetest.PostgresDatabase(t))
	key := &store.IdempotencyKey{Key: "key"}
	r := db.redeemer
	queue := &perkQueue{perkID: "perk-0", attempts: waitingFor(t, r,
		store.RedeemAttempt{ID: "1", UserID: "user-1", Key: key},
		store.RedeemAttempt{ID: "2", UserID: "user-1"},
		store.RedeemAttempt{ID: "3", UserID: "user-2"},
		store.RedeemAttempt{ID: "4", UserID: "user-3", Key: key},
		store.RedeemAttempt{ID: "5", UserID: "user-4"})}
	var batches [][]string
	for len(queue.attempts) > 0 {
		r.ready = []*perkQueue{queue}
		batch, _ := r.next()
		var ids []string
		for _, w := range batch {
			ids = append(ids, w.attempt.ID)
			r.reply(w, redeemReply{})
		}
		batches = append(batches, ids)
	}
	if want := [][]string{{"1", "3", "5"}, {"2", "4"}}; !slices.EqualFunc(batches, want, slices.Equal) {
		t.Errorf("the batches are %q, want %q", batches, want)
	}
}

// TestAttemptsThatWaitForALockHoldUpNoOthers has another transaction lock the stock of some perks, and create the users
// of attempts at others.
func TestAttemptsThatWaitForALockHoldUpNoOthers(t *testing.T) {
	t.Parallel()
	const blocked = 2 * (maxRunning + 1)
	db := openAt(t, storetest.PostgresDatabase(t))
	fill(t, db, blocked+1, 10)
	var lock strings.Builder
	for i := range blocked {
		if i%2 == 0 {
			fmt.Fprintf(&lock, `SELECT 1 FROM perk_stock WHERE perk_id = 'perk-%d' FOR UPDATE;`, i)
		} else {
			fmt.Fprintf(&lock, `INSERT INTO users VALUES ('new-%d');`, i)
		}
	}
	other := begin(t, db, lock.String())
	redeem := func(i int, user string) error {
		return errOf(db.Redeem(t.Context(), newcomer("of-"+user, fmt.Sprint("perk-", i), user)))
	}
	waiting := make(chan error, blocked)
	for i := range blocked {
		go func() { waiting <- redeem(i, fmt.Sprint("new-", i)) }()
	}
	for read[int](t, db, `SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'`) < blocked {
		runtime.Gosched()
	}
	for i := range 10 {
		storetest.Equal(t, "at a perk that nobody has locked", redeem(blocked, fmt.Sprint("user-", i)), nil)
	}
	select {
	case err := <-waiting:
		t.Errorf("an attempt did not wait: %v", err)
	default:
	}
	commit(t, other)
	for range blocked {
		storetest.Equal(t, "after waiting", <-waiting, nil)
	}
	requireExact(t, db, 0)
}

func TestABatchDecidesAttemptsAtUnlockedPerks(t *testing.T) {
	t.Parallel()
	db := openAt(t, storetest.PostgresDatabase(t))
	fill(t, db, 3, 2)
	batch := waitingFor(t, db.redeemer,
		store.RedeemAttempt{ID: "1", PerkID: "perk-0", UserID: "user-0"},
		store.RedeemAttempt{ID: "2", PerkID: "perk-1", UserID: "user-1"},
		store.RedeemAttempt{ID: "3", PerkID: "perk-2", UserID: "user-2"},
		store.RedeemAttempt{ID: "4", PerkID: "perk-2", UserID: "user-3"},
		store.RedeemAttempt{ID: "5", PerkID: "perk-2", UserID: "user-4"},
		store.RedeemAttempt{ID: "6", PerkID: "gone", UserID: "user-5"})
	other := begin(t, db, `SELECT 1 FROM perk_stock WHERE perk_id = 'perk-1' FOR UPDATE`)
	locked := db.redeemer.process(batch, nil, false)
	if len(locked) != 1 || locked[0] != batch[1] {
		t.Fatalf("%d attempts have to wait", len(locked))
	}
	commit(t, other)
	db.redeemer.process(locked, nil, true)
	for i, want := range []api.Code{"", "", "", "", api.CodeSoldOut, api.CodeNotFound} {
		if a := <-batch[i].reply; api.CodeOf(a.err) != want ||
			want == "" && a.result.Redemption.PerkID != batch[i].attempt.PerkID {
			t.Errorf("attempt %d got %+v, %v", i+1, a.result, a.err)
		}
	}
	all := waitingFor(t, db.redeemer,
		store.RedeemAttempt{ID: "7", PerkID: "perk-0", UserID: "user-6"},
		store.RedeemAttempt{ID: "8", PerkID: "perk-1", UserID: "user-7"})
	reset := begin(t, db, `LOCK TABLE perk_stock IN EXCLUSIVE MODE`)
	if locked := db.redeemer.process(all, nil, false); len(locked) != len(all) {
		t.Errorf("%d attempts have to wait for the table, want all", len(locked))
	}
	commit(t, reset)
	if locked := db.redeemer.process(all, nil, false); locked != nil {
		t.Errorf("%d attempts have to wait, want none", len(locked))
	}
	if got, want := fmt.Sprint(db.redeemer.supposed.Keys()), "[perk-0 perk-1]"; got != want &&
		got != "[perk-1 perk-0]" {
		t.Errorf("attempts at %s are supposed to be new, want %s: perk-2 is sold out", got, want)
	}
	requireExact(t, db, 0)
}

func TestRedemptionsAreExactWhileTheServerCutsConnections(t *testing.T) {
	t.Parallel()
	const perks, users, stock = 4, 100, 60
	address := storetest.PostgresDatabase(t)
	replicas := []*DB{openAt(t, address), openAt(t, address)}
	fill(t, replicas[0], perks, stock)
	cutting, stop := context.WithCancel(t.Context())
	defer stop()
	var cutter sync.WaitGroup
	ended := make(chan struct{}, 1)
	cutter.Go(func() { terminateSessions(cutting, t, address, ended) })

	var callers sync.WaitGroup
	var mu sync.Mutex
	outcomes := map[api.Code]int{}
	for i := range perks * users {
		callers.Go(func() {
			user := i / perks
			_, err := replicas[user%2].Redeem(t.Context(),
				attempt(fmt.Sprint("r-", i), fmt.Sprint("perk-", i%perks), fmt.Sprint("user-", user)))
			select {
			case ended <- struct{}{}:
			default:
			}
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
	requireExact(t, replicas[0], 0)
}

// terminateSessions terminates busy sessions each time that a redemption has ended, over a connection that the driver
// does not know. Without waiting for one, it would leave none the time to end on a slow machine.
func terminateSessions(ctx context.Context, t *testing.T, address string, ended <-chan struct{}) {
	conn, err := pgx.Connect(context.Background(), address)
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close(context.Background())
	for {
		select {
		case <-ended:
		case <-ctx.Done():
			return
		}
		if _, err := conn.Exec(context.Background(), `
			SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'
				AND random() < 0.2`); err != nil {
			t.Error(err)
			return
		}
	}
}

func TestOneKeyForTwoPerksAtOnceRedeemsOne(t *testing.T) {
	t.Parallel()
	db := openAt(t, storetest.PostgresDatabase(t))
	fill(t, db, 2, 100)
	const rounds = 50
	for round := range rounds {
		var callers sync.WaitGroup
		outcomes := make([]api.Code, 2)
		for perk := range 2 {
			callers.Go(func() {
				keyed := attempt(fmt.Sprint(round, "-", perk), fmt.Sprint("perk-", perk), fmt.Sprint("user-", round))
				keyed.Key = &store.IdempotencyKey{Key: fmt.Sprint("key-", round), Fingerprint: [32]byte{byte(perk)}}
				outcomes[perk] = api.CodeOf(errOf(db.Redeem(t.Context(), keyed)))
			})
		}
		callers.Wait()
		if outcomes[0] == outcomes[1] || outcomes[0] != "" && outcomes[1] != "" ||
			outcomes[0]+outcomes[1] != api.CodeIdempotencyKeyReused {
			t.Fatalf("round %d: outcomes are %q", round, outcomes)
		}
	}
	requireExact(t, db, rounds)
}

func TestADemotedServerIsNotUsed(t *testing.T) {
	t.Parallel()
	db := openAt(t, storetest.PostgresDatabase(t))
	fill(t, db, 1, 10)
	demote := func(to string) {
		t.Helper()
		must(db.reads.Exec(t.Context(),
			`DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || quote_ident(current_database())
			|| ' SET default_transaction_read_only = `+to+`'; END $$`, pgx.QueryExecModeSimpleProtocol))(t)
	}
	demote("on")
	db.writes.Reset()
	within, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	storetest.Fails(t, "a demoted server", db.Ready(within), api.CodeUnavailable)
	answered := make(chan error, 1)
	go func() { answered <- errOf(db.Redeem(t.Context(), attempt("r", "perk-0", "user-0"))) }()
	must(db.reads.Exec(t.Context(),
		`BEGIN READ WRITE; ALTER DATABASE `+pgx.Identifier{db.reads.Config().ConnConfig.Database}.Sanitize()+
			` RESET default_transaction_read_only; COMMIT`, pgx.QueryExecModeSimpleProtocol))(t)
	storetest.Equal(t, "the redemption did not follow", <-answered, nil)
	noError(t, db.Ready(t.Context()))
	requireExact(t, db, 0)
}

func TestNothingIsAcknowledgedWithoutTheStandby(t *testing.T) {
	t.Parallel()
	server := startServer(t, storetest.PostgresOptions{})
	db := openAt(t, server.DSN("postgres"))
	fill(t, db, 1, 10)
	operator := must(pgx.Connect(t.Context(), server.DSN("postgres")))(t)
	defer operator.Close(context.Background())
	execute(t, operator, `ALTER SYSTEM SET synchronous_standby_names = 'gone'`)
	execute(t, operator, `SELECT pg_reload_conf()`)
	// The server applies the setting with a delay: repeat a write until one waits.
	go func() {
		for db.Ready(t.Context()) == nil {
		}
	}()
	waiting := waitForSyncRep(t, operator, serverSession{})

	attempt := attempt("r", "perk-0", "user-0")
	within, cancel := context.WithCancel(t.Context())
	impatient, patient := make(chan error, 1), make(chan error, 1)
	go func() { impatient <- errOf(db.Redeem(within, attempt)) }()
	waiting = waitForSyncRep(t, operator, waiting)
	cancel()
	if err := <-impatient; api.CodeOf(err) != api.CodeUnavailable ||
		!strings.Contains(err.Error(), "The outcome is unknown") {
		t.Errorf("the caller that does not wait for the standby got %v", err)
	}
	// Retry, as a client does whose reply was lost.
	go func() { patient <- errOf(db.Redeem(t.Context(), attempt)) }()
	for range 3 {
		execute(t, operator, fmt.Sprintf(`SELECT pg_cancel_backend(%d)`, waiting.pid))
		waiting = waitForSyncRep(t, operator, waiting)
	}
	select {
	case err := <-patient:
		t.Errorf("no standby has the redemption, and the call returned %v", err)
	default:
	}
	execute(t, operator, `ALTER SYSTEM SET synchronous_standby_names = ''`)
	execute(t, operator, `SELECT pg_reload_conf()`)
	noError(t, <-patient)
	requireExact(t, db, 0)
}

// serverSession is a session of the server and the start of its statement.
type serverSession struct {
	pid   int
	since time.Time
}

// waitForSyncRep returns the session that waits for the standby with a later statement than the given one. PostgreSQL
// reads wait_event after the start of the statement, and the session may begin another in between, so that only two
// equal looks tell which statement waits.
func waitForSyncRep(t *testing.T, conn *pgx.Conn, other serverSession) serverSession {
	t.Helper()
	within, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for last := (serverSession{}); ; {
		var s serverSession
		err := conn.QueryRow(within, `
			SELECT pid, query_start FROM pg_stat_activity WHERE wait_event = 'SyncRep'
				AND query_start > $1`, other.since).Scan(&s.pid, &s.since)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			t.Fatal(err)
		}
		if s.pid != 0 && s == last {
			return s
		}
		last = s
	}
}

func openAt(t *testing.T, address string) *DB {
	t.Helper()
	return openWith(t, address, Options{})
}

func openWith(t *testing.T, address string, options Options) *DB {
	t.Helper()
	db := must(Open(t.Context(), address, options))(t)
	storetest.AtEnd(t, db.Close)
	return db
}

// fill adds perks called perk-0 and so on, each with the stock, and users called user-0 to user-99.
func fill(t *testing.T, db *DB, perks, stock int) {
	t.Helper()
	noError(t, db.write(t.Context(), "fill the database", func(s *session) error {
		if err := s.exec(`INSERT INTO users SELECT 'user-' || i FROM generate_series(0, 99) AS i`); err != nil {
			return err
		}
		if err := s.exec(`
			INSERT INTO perks (id, created_at, updated_at, approval, title_fold, city_fold, title, city, description,
				words)
			SELECT 'perk-' || i, now(), now(), 'auto', 'tea', 'bath', 'Tea', 'Bath', 'Hot', '' FROM generate_series(0,
				$1::int - 1) AS i`, perks); err != nil {
			return err
		}
		return s.exec(`INSERT INTO perk_stock SELECT id, $1::bigint, 0 FROM perks`, stock)
	}))
}

func newUser(t *testing.T, db *DB, id string) string {
	t.Helper()
	must(db.reads.Exec(t.Context(), `INSERT INTO users VALUES ($1)`, id))(t)
	return id
}

// requireExact compares the counters with the redemptions: the units held, and the number of idempotency keys, each of
// which has a redemption of the same client.
func requireExact(t *testing.T, db *DB, keys int) {
	t.Helper()
	storetest.Equal(t, "perks whose units held differ from the redemptions", read[int](t, db, `
		SELECT count(*) FROM perk_stock AS s
		WHERE held <> (SELECT count(*) FROM redemptions AS r WHERE r.perk_id = s.perk_id) OR held > stock`), 0)
	storetest.Equal(t, "users who have redeemed a perk twice", read[int](t, db, `
		SELECT count(*) FROM (SELECT FROM redemptions GROUP BY user_id, perk_id HAVING count(*) > 1) AS double`), 0)
	storetest.Equal(t, "idempotency keys", read[int](t, db, `
		SELECT count(*) FROM idempotency_keys AS k JOIN redemptions AS r ON r.id = k.redemption_id
			AND r.client_id = k.client_id`), keys)
}

func TestAStoredFingerprintOfTheWrongLengthIsAnError(t *testing.T) {
	t.Parallel()
	db := openAt(t, storetest.PostgresDatabase(t))
	fill(t, db, 1, 10)
	redeem := func(id, key string) error {
		keyed := attempt(id, "perk-0", "user-"+id)
		keyed.Key = &store.IdempotencyKey{Key: key}
		return errOf(db.Redeem(t.Context(), keyed))
	}
	noError(t, redeem("1", "k"))
	for _, kept := range []string{"", "00", "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff00"} {
		must(db.reads.Exec(t.Context(), `UPDATE idempotency_keys SET fingerprint = decode($1, 'hex')`, kept))(t)
		if err := redeem("1", "k"); api.CodeOf(err) != api.CodeInternal ||
			!strings.Contains(err.Error(), `the fingerprint of the idempotency key "k" has`) {
			t.Errorf("with the fingerprint %q kept: %v", kept, err)
		}
	}
	storetest.Equal(t, "another attempt at the perk", redeem("2", "another"), nil)
}

func TestACallCancelledBeforeItsWriteRedeemsNothing(t *testing.T) {
	t.Parallel()
	db := openAt(t, storetest.PostgresDatabase(t))
	fill(t, db, 1, 10)
	redeem := func(ctx context.Context, user string) <-chan error {
		answer := make(chan error, 1)
		go func() { answer <- errOf(db.Redeem(ctx, attempt("of-"+user, "perk-0", user))) }()
		return answer
	}
	other := begin(t, db, `SELECT 1 FROM perk_stock FOR UPDATE`)
	impatient, cancel := context.WithCancel(t.Context())
	left := redeem(impatient, "user-0")
	waitForLock(t, db)
	stayed := redeem(t.Context(), "user-1")
	cancel()
	if err := <-left; api.CodeOf(err) != api.CodeUnavailable || !strings.Contains(err.Error(), "Nothing was started") {
		t.Errorf("the cancelled caller got %v", err)
	}
	commit(t, other)
	if err := <-stayed; err != nil {
		t.Errorf("the other caller got %v", err)
	}
	storetest.Equal(t, "the users who have redeemed",
		read[string](t, db, `SELECT string_agg(user_id, ' ') FROM redemptions`), "user-1")
	requireExact(t, db, 0)
}

func TestAPermanentUniqueViolationIsNotRetriedForLong(t *testing.T) {
	t.Parallel()
	db := openAt(t, storetest.PostgresDatabase(t))
	fill(t, db, 1, 10)
	commit(t, begin(t, db, `
		CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'taken' USING ERRCODE =
			'23505'; END $$;
		CREATE TRIGGER refuse BEFORE INSERT
			ON redemptions FOR EACH ROW WHEN (NEW.user_id = 'user-1') EXECUTE FUNCTION refuse()`))
	within, cancel := context.WithTimeout(t.Context(), 15*time.Second) // as long as a caller of the service waits
	defer cancel()
	other := begin(t, db, `SELECT 1 FROM perk_stock FOR UPDATE`)
	answers := map[string]chan error{}
	for _, user := range []string{"user-0", "user-1", "user-2", "user-3"} {
		answer := make(chan error, 1)
		answers[user] = answer
		go func() { answer <- errOf(db.Redeem(within, attempt("of-"+user, "perk-0", user))) }()
	}
	for db.Stats().Queue.Waiting < len(answers) {
		runtime.Gosched()
	}
	commit(t, other)
	for user, answer := range answers {
		want := api.Code("")
		if user == "user-1" {
			want = api.CodeInternal
		}
		storetest.Fails(t, user, <-answer, want)
	}
	requireExact(t, db, 0)
}

// shortDirectory is for sockets, whose paths may have about a hundred bytes.
func shortDirectory(t *testing.T) string {
	t.Helper()
	directory := must(os.MkdirTemp("", "perks"))(t)
	t.Cleanup(func() { os.RemoveAll(directory) })
	return directory
}
