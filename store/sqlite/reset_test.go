package sqlite

import (
	"testing"
	"time"

	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

func TestAFailedResetChangesNothing(t *testing.T) {
	db := openTemporary(t)
	execute(t, db, `INSERT INTO users (id) VALUES ('ann')`,
		`CREATE TRIGGER stays BEFORE DELETE ON users BEGIN SELECT RAISE(ABORT, 'it stays'); END`)
	if emptied, err := db.Reset(t.Context(), store.Operator, time.Now()); err == nil || emptied != (store.Emptied{}) {
		t.Errorf("the reset returned %+v, %v", emptied, err)
	}
	storetest.Equal(t, "users", users(t, db), []string{"ann"})
}
