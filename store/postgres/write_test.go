package postgres

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

// A write happens once or, where its outcome is unknown, at most once: nothing else would notice a repetition.
func TestAWriteIsDoneOnceWhereverItsConnectionIsCut(t *testing.T) {
	t.Parallel()
	proxy, address := startProxy(t, storetest.PostgresDatabase(t))
	db := openAt(t, address)
	fill(t, db, 1, 0)
	for _, cut := range []cutPoint{{}, {answered: true}, {answered: true, fatal: true}} {
		acknowledged, unknown, done := 0, 0, stockOf(t, db)
		for cut.message = 1; ; cut.message++ {
			proxy.cutAt(cut)
			err := db.write(t.Context(), "add a unit",
				func(s *session) error { return s.exec(`UPDATE perk_stock SET stock = stock + 1`) })
			came := proxy.endCut()
			before := done
			done = stockOf(t, db)
			switch added := done - before; {
			case err == nil && added == 1:
				acknowledged++
			case api.CodeOf(err) == api.CodeUnavailable && added <= 1:
				unknown += added
			default:
				t.Fatalf("cut at %+v: the unit was added %d times, and the call returned %v", cut, added, err)
			}
			if !came {
				break
			}
		}
		if acknowledged == 0 || cut.answered == (unknown == 0) {
			t.Errorf("%+v: %d writes acknowledged, and %d done but unknown", cut, acknowledged, unknown)
		}
	}
}

func stockOf(t *testing.T, db *DB) int {
	t.Helper()
	return read[int](t, db, `SELECT stock FROM perk_stock`)
}

func TestACommitWithAnUnknownOutcomeIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"40003", "08007"} {
		db := openAt(t, storetest.PostgresDatabase(t))
		commit(t, begin(t, db, `
			CREATE SEQUENCE commits;
			CREATE FUNCTION doubt() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
				PERFORM nextval('commits');
				RAISE EXCEPTION 'in doubt' USING ERRCODE = '`+state+`';
			END $$;
			CREATE CONSTRAINT TRIGGER doubt AFTER INSERT
				ON clients DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION doubt()`))
		within, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		err := db.CreateClient(within, store.Client{ID: "a", CreatedAt: time.Now()}, store.Operator)
		if api.CodeOf(err) != api.CodeUnavailable || !errors.As(err, new(*store.OutcomeUnknownError)) {
			t.Errorf("%s: %v, want an unknown outcome", state, err)
		}
		storetest.Equal(t, state+": tries of the write", read[int](t, db, `SELECT last_value FROM commits`), 1)
	}
}
