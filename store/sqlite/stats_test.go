package sqlite

import (
	"testing"

	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

func TestQueueStats(t *testing.T) {
	db := openTemporary(t)
	before := db.Stats().Queue.Batches
	release := holdWriter(t, db)
	first := enqueue(t, db, t.Context(), addUser("first"))
	second := enqueue(t, db, t.Context(), addUser("second"))
	storetest.Equal(t, "writes that wait, of which one runs", db.Stats().Queue.Waiting, 3)
	release()
	for _, j := range []*job{first, second} {
		noError(t, <-j.done)
	}
	broken := enqueue(t, db, t.Context(), func(s *session) error {
		return failing(func(s *session) error { return s.exec(`ROLLBACK`) }, store.ErrClosed)(s)
	})
	<-broken.done

	queue := db.Stats().Queue
	if queue.Waiting != 0 {
		t.Errorf("%d writes wait, want none", queue.Waiting)
	}
	b := queue.Batches
	if b.Finished-before.Finished != 2 || b.Writes-before.Writes != 3 || b.UpTo[0]-before.UpTo[0] != 1 ||
		b.Failed-before.Failed != 1 {
		t.Errorf("before %+v, after %+v: want a transaction of one write, one of two, and one that failed", before, b)
	}
}
