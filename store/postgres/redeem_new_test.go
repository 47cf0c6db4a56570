package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

// current is the perks as a batch that is looked up finds them, or nil if there is an unknown one.
func current(t *testing.T, db *DB, batch []*queuedAttempt) map[string]*eligibility {
	t.Helper()
	conn := must(db.writes.Acquire(t.Context()))(t)
	defer conn.Release()
	var attempts []store.RedeemAttempt
	for _, w := range batch {
		attempts = append(attempts, w.attempt)
	}
	b := &pgx.Batch{}
	queueBegin(b, nil)
	found := must(lockAndRead(t.Context(), conn, b, attempts, true))(t)
	must(conn.Exec(t.Context(), `ROLLBACK`))(t)
	for _, attempt := range attempts {
		if found.perks[attempt.PerkID] == nil {
			return nil
		}
	}
	return found.perks
}

// redeemSupposed is redeemNew for a batch. It fails unless that finds out whether the attempts are new. Violations of a
// unique index would be in the log of the server.
func redeemSupposed(
	t *testing.T, db *DB, batch []*queuedAttempt, supposed map[string]*eligibility, areNew, violates bool,
) {
	t.Helper()
	var attempts []store.RedeemAttempt
	for _, w := range batch {
		attempts = append(attempts, w.attempt)
	}
	d, err := db.redeemNew(t.Context(), attempts, supposed, func(int) bool { return true })
	if violates != (sqlState(err) == stateUniqueViolation) || err != nil && !violates && !errors.Is(err, errNotNew) {
		t.Fatalf("%s: %v", attempts[0].PerkID, err)
	}
	if areNew != (err == nil && d.undecided == 0) {
		t.Errorf("%s: new %t: %v", attempts[0].PerkID, areNew, err)
	}
	for i, attempt := range attempts {
		isMade := read[bool](t, db, `SELECT EXISTS (SELECT FROM redemptions WHERE id = $1 AND user_id = $2
			AND client_id = $3)`, attempt.ID, attempt.UserID, "client")
		if before := strings.HasSuffix(attempt.ID, " made"); !before &&
			isMade != (err == nil && d.replies[i].err == nil) {
			t.Errorf("%s: attempt %d is made %t: %v", attempt.PerkID, i, isMade, err)
		}
	}
}

// TestABatchSupposedToBeNewIsDecidedLikeOthers decides batches that are looked up, with a supposition from before the
// perk was changed, and with one that is right, in a database each. In the fourth, redeemNew comes first, as if its
// reply were lost.
func TestABatchSupposedToBeNewIsDecidedLikeOthers(t *testing.T) {
	t.Parallel()
	key := func(name string, fingerprint byte) *store.IdempotencyKey {
		return &store.IdempotencyKey{Key: name, Fingerprint: [32]byte{fingerprint}}
	}
	two := []store.RedeemAttempt{{ID: "first", UserID: "user-10"}, {ID: "second", UserID: "user-11"}}
	besides := func(another store.RedeemAttempt) []store.RedeemAttempt { return []store.RedeemAttempt{two[0], another} }
	tests := []struct {
		name   string
		batch  []store.RedeemAttempt
		before string // executed first; %[1]s is the perk
		isNew  bool
		fails  bool // with a unique violation
	}{
		{name: "all new", batch: two, isNew: true},
		{name: "a key", batch: besides(store.RedeemAttempt{ID: "second", UserID: "user-11", Key: key("k", 1)}),
			isNew: true},
		{name: "an unknown user", batch: besides(store.RedeemAttempt{ID: "second", UserID: "nobody"})},
		{name: "a user to be created",
			batch: besides(store.RedeemAttempt{ID: "second", UserID: "another", CreateUser: true})},
		{name: "a user who has it", batch: besides(store.RedeemAttempt{ID: "second", UserID: "user-0"})},
		{name: "a user who has it, a new key",
			batch: besides(store.RedeemAttempt{ID: "second", UserID: "user-0", Key: key("k", 1)})},
		{name: "a user who was rejected", batch: besides(store.RedeemAttempt{ID: "second", UserID: "user-1"}),
			isNew: true},
		{name: "an attempt made before", batch: besides(store.RedeemAttempt{ID: "made", UserID: "user-0"})},
		{name: "the id of another attempt", batch: besides(store.RedeemAttempt{ID: "made", UserID: "user-11"}),
			fails: true},
		{name: "a replay", batch: besides(store.RedeemAttempt{ID: "second", UserID: "user-0", Key: key("used", 1)})},
		{name: "a reused key", batch: besides(store.RedeemAttempt{ID: "second", UserID: "user-11",
			Key: key("used", 2)})},
		{name: "an expired key", batch: besides(store.RedeemAttempt{ID: "second", UserID: "user-11",
			Key: key("expired", 2)})},
		{name: "another client's key",
			batch: besides(store.RedeemAttempt{ID: "second", UserID: "user-11", Key: key("foreign", 2)}), isNew: true},
		{name: "one unit left", batch: two, before: `UPDATE perk_stock SET stock = held + 1 WHERE perk_id = '%[1]s'`},
		{name: "two units left", batch: two, before: `UPDATE perk_stock SET stock = held + 2 WHERE perk_id = '%[1]s'`,
			isNew: true},
		{name: "sold out", batch: two, before: `UPDATE perk_stock SET stock = held WHERE perk_id = '%[1]s'`},
		{name: "unlimited", batch: two, before: `UPDATE perk_stock SET stock = NULL WHERE perk_id = '%[1]s'`,
			isNew: true},
		{name: "expired", batch: two, before: `UPDATE perks SET valid_to = '2026-01-01' WHERE id = '%[1]s'`},
		{name: "not started", batch: two, before: `UPDATE perks SET valid_from = '2100-01-01' WHERE id = '%[1]s'`},
		{name: "manual approval", batch: two, before: `UPDATE perks SET approval = 'manual' WHERE id = '%[1]s'`,
			isNew: true},
		{name: "within its dates", batch: two, before: `UPDATE perks SET valid_from = '2026-01-01',
			valid_to = '2100-01-01' WHERE id = '%[1]s'`, isNew: true},
		{name: "an unknown perk", batch: two, before: `DELETE FROM perk_stock WHERE perk_id = '%[1]s'`},
	}
	modes := []string{"looked up", "outdated", "right", "repeated"}
	outcomes := map[string][]string{}
	for _, mode := range modes {
		db := openAt(t, storetest.PostgresDatabase(t))
		fill(t, db, len(tests), 10)
		for i, test := range tests {
			perk := fmt.Sprint("perk-", i)
			commit(t, begin(t, db, fmt.Sprintf(`
				INSERT INTO redemptions (id, perk_id, user_id, client_id, redeemed_at, first_status, status, metadata)
					VALUES
					('%[1]s made', '%[1]s', 'user-0', 'client', '2026-01-01', 'pending', 'approved', '{}'),
					('%[1]s rejected', '%[1]s', 'user-1', 'client', '2026-01-01', 'pending', 'rejected', '{}');
				UPDATE perk_stock SET held = 1 WHERE perk_id = '%[1]s';
				INSERT INTO idempotency_keys SELECT client, '%[1]s ' || key, decode('01' || repeat('00', 31), 'hex'),
					'%[1]s made', now() - age::interval
					FROM (VALUES ('client', 'used', '0'), ('client', 'expired', '2 days'), ('another', 'foreign',
						'0')) AS k (client, key, age);
				`+test.before, perk)))
			batch := waitingFor(t, db.redeemer, test.batch...)
			for _, w := range batch {
				w.attempt.PerkID, w.attempt.ID = perk, perk+" "+w.attempt.ID
				if w.attempt.Key != nil {
					w.attempt.Key = &store.IdempotencyKey{Key: perk + " " + w.attempt.Key.Key,
						Fingerprint: w.attempt.Key.Fingerprint}
				}
			}
			var supposed map[string]*eligibility
			switch mode {
			case "outdated":
				supposed = map[string]*eligibility{perk: {Eligibility: store.Eligibility{Approval: store.ApprovalAuto},
					locked: true}}
			case "right":
				supposed = current(t, db, batch)
			case "repeated":
				if perks := current(t, db, batch); perks != nil {
					redeemSupposed(t, db, batch, perks, test.isNew, test.fails)
				}
			}
			decideWaiting(db.redeemer, batch, supposed)
			outcome := ""
			for _, w := range batch {
				a := <-w.reply
				outcome += fmt.Sprintln(a.result.Redemption.ID, a.result.Redemption.UserID, a.result.Redemption.Status,
					a.result.Replayed, a.err)
			}
			for _, query := range []string{
				`SELECT string_agg(concat_ws(' ', id, user_id, client_id, first_status, status, metadata), ', '
					ORDER BY id) FROM redemptions WHERE perk_id = $1`,
				`SELECT string_agg(concat_ws(' ', client_id, key, fingerprint, redemption_id,
					created_at > now() - interval '1 day'), ', ' ORDER BY client_id, key)
					FROM idempotency_keys WHERE starts_with(key, $1 || ' ')`,
				`SELECT coalesce(string_agg(concat_ws(' ', held, sold_out), ', '), '') FROM perk_stock
					WHERE perk_id = $1`,
				`SELECT coalesce(string_agg(concat_ws(' ', actor, action, subject, after), ', ' ORDER BY entry), '')
					FROM audit WHERE after LIKE '%' || $1 || ' %'`,
			} {
				outcome += read[string](t, db, query, perk) + "\n"
			}
			outcomes[mode] = append(outcomes[mode], outcome)
		}
	}
	for i, test := range tests {
		for _, mode := range modes {
			if want, got := outcomes[modes[0]][i], outcomes[mode][i]; got != want {
				t.Errorf("%s, %s:\n%s\n%s:\n%s", test.name, modes[0], want, mode, got)
			}
		}
	}
}

// TestABatchSupposedToBeNewAtSeveralPerksWritesWhatIs has one perk changed, another locked, and a user who has a third.
func TestABatchSupposedToBeNewAtSeveralPerksWritesWhatIs(t *testing.T) {
	t.Parallel()
	db := openAt(t, storetest.PostgresDatabase(t))
	r := db.redeemer
	fill(t, db, 4, 10)
	commit(t, begin(t, db, `
		INSERT INTO redemptions (id, perk_id, user_id, client_id, redeemed_at, first_status, status, metadata)
			VALUES ('made', 'perk-1', 'user-3', 'client', now(), 'approved', 'approved', '{}');
		UPDATE perk_stock SET held = 1 WHERE perk_id = 'perk-1'`))
	batch := waitingFor(t, r,
		store.RedeemAttempt{ID: "1", PerkID: "perk-0", UserID: "user-0"},
		store.RedeemAttempt{ID: "2", PerkID: "perk-0", UserID: "user-1"},
		store.RedeemAttempt{ID: "3", PerkID: "perk-1", UserID: "user-2"},
		store.RedeemAttempt{ID: "4", PerkID: "perk-1", UserID: "user-3"},
		store.RedeemAttempt{ID: "5", PerkID: "perk-2", UserID: "user-4"},
		store.RedeemAttempt{ID: "6", PerkID: "perk-3", UserID: "user-5"})
	supposed := current(t, db, batch)
	commit(t, begin(t, db, `UPDATE perk_stock SET stock = 0 WHERE perk_id = 'perk-2'`))
	other := begin(t, db, `SELECT 1 FROM perk_stock WHERE perk_id = 'perk-3' FOR UPDATE`)
	before := r.batches.Stats()
	left := r.process(batch, supposed, false)
	if after := r.batches.Stats(); after.Finished != before.Finished+1 || after.Writes != before.Writes+3 {
		t.Errorf("one transaction with three replies was expected: %+v, then %+v", before, after)
	}
	if !slices.Equal(left, batch[3:]) {
		t.Fatalf("%d attempts are left, want the last three", len(left))
	}
	storetest.Equal(t, "the perks at which the next attempts are supposed to be new",
		fmt.Sprint(r.supposed.Keys()), "[perk-0]")
	for _, test := range []struct {
		attempts int
		perks    []*perkQueue
		want     bool
	}{
		{2, []*perkQueue{{perkID: "perk-0"}}, true},
		{1, []*perkQueue{{perkID: "perk-0"}}, false},
		{2, []*perkQueue{{perkID: "perk-0"}, {perkID: "perk-1"}}, false},
	} {
		if got := r.optimistic(batch[:test.attempts], test.perks) != nil; got != test.want {
			t.Errorf("%d attempts at %d perks are supposed to be new: %t, want %t", test.attempts, len(test.perks), got,
				test.want)
		}
	}
	if err := batch[5].claim.abandon(context.Canceled); !strings.Contains(err.Error(), "Nothing was started") {
		t.Errorf("the caller who left got %v", err)
	}
	commit(t, other)
	r.process(left, nil, true)
	for i, want := range []api.Code{"", "", "", api.CodeAlreadyRedeemed, api.CodeSoldOut} {
		if a := <-batch[i].reply; api.CodeOf(a.err) != want ||
			want == "" && a.result.Redemption.ID != batch[i].attempt.ID {
			t.Errorf("attempt %d got %+v, %v, want code %q", i+1, a.result, a.err, want)
		}
	}
	storetest.Equal(t, "the redemptions",
		read[string](t, db, `SELECT string_agg(id, ' ' ORDER BY id) FROM redemptions`), "1 2 3 made")
	requireExact(t, db, 0)
}

func TestABatchSupposedToBeNewIsMadeOnceWhereverItsConnectionIsCut(t *testing.T) {
	for _, mode := range []string{"cache_statement", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			proxy, address := startProxy(t, storetest.PostgresDatabase(t))
			db := openAt(t, address+"&default_query_exec_mode="+mode)
			fill(t, db, 3, 1000)
			cuts, keys := 0, 0
			for variant := range 16 {
				answered, keyed, isKnown, isMixed := variant&1 == 1, variant&2 == 2, variant&4 == 0, variant&8 == 8
				for message := 1; ; message++ {
					var attempts []store.RedeemAttempt
					for n := range 3 {
						id := fmt.Sprint(variant, "-", message, "-", n)
						attempt := store.RedeemAttempt{ID: id, UserID: id, CreateUser: true}
						if isMixed {
							attempt.PerkID = fmt.Sprint("perk-", n)
						}
						if n < 2 || isKnown {
							newUser(t, db, id)
						}
						if keyed {
							attempt.Key = &store.IdempotencyKey{Key: id}
							keys++
						}
						attempts = append(attempts, attempt)
					}
					batch := waitingFor(t, db.redeemer, attempts...)
					cut := cutPoint{message: message, answered: answered}
					var supposed map[string]*eligibility
					if isKnown || !isMixed {
						supposed = current(t, db, batch)
					}
					proxy.cutAt(cut)
					decideWaiting(db.redeemer, batch, supposed)
					for i, w := range batch {
						if a := <-w.reply; a.err != nil || a.result.Replayed ||
							a.result.Redemption.ID != attempts[i].ID {
							t.Fatalf("cut at %+v: attempt %d: %+v, %v", cut, i, a.result, a.err)
						}
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

// TestACallerWhoLeavesABatchSupposedToBeNew leaves while the batch waits for the stock.
func TestACallerWhoLeavesABatchSupposedToBeNew(t *testing.T) {
	t.Parallel()
	db := openAt(t, storetest.PostgresDatabase(t))
	fill(t, db, 1, 10)
	batch := waitingFor(t, db.redeemer, store.RedeemAttempt{ID: "left", UserID: "user-0"},
		store.RedeemAttempt{ID: "stayed", UserID: "user-1"})
	supposed := current(t, db, batch)
	other := begin(t, db, `SELECT 1 FROM perk_stock FOR UPDATE`)
	go decideWaiting(db.redeemer, batch, supposed)
	waitForLock(t, db)
	if err := batch[0].claim.abandon(context.Canceled); !strings.Contains(err.Error(), "Nothing was started") {
		t.Errorf("the caller who left got %v", err)
	}
	commit(t, other)
	if a := <-batch[1].reply; a.err != nil {
		t.Errorf("the other caller got %v", a.err)
	}
	storetest.Equal(t, "the redemptions", read[string](t, db, `SELECT string_agg(id, ' ') FROM redemptions`), "stayed")
	requireExact(t, db, 0)
}

// TestAKeyUsedForAnotherPerkMeanwhile has another transaction use a key of a batch that is supposed to be new.
func TestAKeyUsedForAnotherPerkMeanwhile(t *testing.T) {
	t.Parallel()
	db := openAt(t, storetest.PostgresDatabase(t))
	fill(t, db, 2, 10)
	batch := waitingFor(t, db.redeemer, store.RedeemAttempt{ID: "1", UserID: "user-1"},
		store.RedeemAttempt{ID: "2", UserID: "user-2", Key: &store.IdempotencyKey{Key: "k"}})
	supposed := current(t, db, batch)
	other := begin(t, db, `
		INSERT INTO redemptions (id, perk_id, user_id, client_id, redeemed_at, first_status, status, metadata) VALUES
			('first', 'perk-1', 'user-2', 'client', now(), 'approved', 'approved', '{}');
		UPDATE perk_stock SET held = 1 WHERE perk_id = 'perk-1';
		INSERT INTO idempotency_keys VALUES ('client', 'k', decode(repeat('00', 32), 'hex'), 'first', now())`)
	go decideWaiting(db.redeemer, batch, supposed)
	waitForLock(t, db)
	commit(t, other)
	if a := <-batch[0].reply; a.err != nil || a.result.Redemption.ID != "1" {
		t.Errorf("the attempt without the key: %+v, %v", a.result, a.err)
	}
	if a := <-batch[1].reply; a.err != nil || !a.result.Replayed || a.result.Redemption.ID != "first" {
		t.Errorf("the attempt under the key: %+v, %v", a.result, a.err)
	}
	requireExact(t, db, 1)
}
