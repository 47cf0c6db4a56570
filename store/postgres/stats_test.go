package postgres

import (
	"runtime"
	"testing"

	"example.com/perks/api"
	"example.com/perks/store/storetest"
)

// TestQueueStats holds the perk's lock, so that the first attempt runs and the others wait behind it.
func TestQueueStats(t *testing.T) {
	t.Parallel()
	db := openAt(t, storetest.PostgresDatabase(t))
	commit(t, begin(t, db, addPerk+`; UPDATE perk_stock SET stock = 10; INSERT INTO users VALUES ('a'), ('b'), ('c')`))
	other := begin(t, db, `SELECT 1 FROM perk_stock FOR UPDATE`)
	answers := make(chan error, 3)
	redeem := func(user string) { answers <- errOf(db.Redeem(t.Context(), attempt("of-"+user, "p", user))) }
	go redeem("a")
	waitForLock(t, db)
	for _, user := range []string{"b", "c"} {
		go redeem(user)
	}
	for queued(db.redeemer) < 2 {
		runtime.Gosched()
	}
	storetest.Equal(t, "attempts that wait, of which one runs", db.Stats().Queue.Waiting, 3)
	if writes := db.Stats().Pools[1]; writes.InUse != 2 {
		t.Errorf("%d connections of the pool of writes are in use, want the lock's and the redemption's", writes.InUse)
	}
	commit(t, other)
	for range 3 {
		if err := <-answers; api.CodeOf(err) != "" {
			t.Error(err)
		}
	}
	queue := db.Stats().Queue
	if queue.Waiting != 0 || queue.Batches.Finished != 2 || queue.Batches.Writes != 3 || queue.Batches.UpTo[0] != 1 ||
		queue.Batches.Failed != 0 {
		t.Errorf("%+v: want a transaction of one attempt and one of two", queue)
	}
}

func queued(r *redeemer) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if queue := r.queues["p"]; queue != nil {
		return len(queue.attempts)
	}
	return 0
}
