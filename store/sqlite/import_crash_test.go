package sqlite

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

// importLarge names the environment variable that turns this test program into one that imports round 2 into the named
// database.
const importLarge = "IMPORT_LARGE"

func importRound2(path string) error {
	db, err := Open(context.Background(), path, Options{SliceRows: fewRows})
	if err != nil {
		return err
	}
	_, err = db.ImportPerks(context.Background(), manyPerks(0, manyMore, 2), nil, store.Operator, asOf)
	return err
}

// TestALargeImportThatIsKilledIsWholeOrNothing kills an import when its traces in the file show how far it is.
func TestALargeImportThatIsKilledIsWholeOrNothing(t *testing.T) {
	const updates = `(SELECT count(*) FROM audit WHERE action = 'perk.update')`
	for _, test := range []struct {
		name, reached string // SQL
		isWhole       bool   // otherwise it is either
	}{
		{"building", `EXISTS (SELECT 1 FROM sqlite_schema WHERE name GLOB 'next_*_perk_words')`, false},
		{"making indexes", `EXISTS (SELECT 1 FROM sqlite_schema WHERE tbl_name GLOB 'next_*_perks' AND type = 'index'
			AND sql IS NOT NULL)`, false},
		{"queueing entries", `EXISTS (SELECT 1 FROM sqlite_schema WHERE name GLOB 'next_*_audit')`, false},
		{"published", `EXISTS (SELECT 1 FROM sqlite_schema WHERE name GLOB 'pending_*')`, true},
		{"moving entries", updates + ` > 0`, true},
		{"dropping", updates + ` > 0 AND NOT EXISTS (SELECT 1 FROM sqlite_schema WHERE name GLOB 'pending_*')`, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "perks.db")
			before := openPath(t, path)
			schema := schemaOf(t, before)
			importMany(t, before, manyPerks(0, manyMore, 1), store.Imported{Count: manyMore, Created: manyMore})
			must(before.ImportUsers(t.Context(), storetest.Rows(store.User{ID: "ann"}), store.Operator, asOf))(t)
			must(before.Redeem(t.Context(),
				store.RedeemAttempt{ID: "r", PerkID: "7", UserID: "ann", ClientID: "shop", At: asOf}))(t)
			killWhen(t, before, path, test.reached)
			after := openPath(t, path)
			rounds := [2]int64{countOf(t, after, "round1"), countOf(t, after, "round2")}
			switch entries := value[int64](t, after, `SELECT `+updates); {
			case rounds == [2]int64{manyMore, 0} && entries == 0 && !test.isWhole:
			case rounds == [2]int64{0, manyMore} && entries == manyMore:
			default:
				t.Errorf("there are %d perks as before, %d as imported, and %d entries", rounds[0], rounds[1], entries)
			}
			importMany(t, after, manyPerks(0, manyMore, 3), store.Imported{Count: manyMore, Changed: manyMore})
			requireSound(t, after, schema)
			storetest.Equal(t, "units held", value[int64](t, after, `SELECT sum(held) FROM perk_stock`), 1)
		})
	}
}

// killWhen starts an import, and kills it as soon as the condition holds, unless it has ended by then.
func killWhen(t *testing.T, db *DB, path, condition string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0])
	command.Env = append(os.Environ(), importLarge+"="+path)
	noError(t, command.Start())
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	for !value[bool](t, db, `SELECT `+condition) {
		select {
		case <-ended:
			return // it was faster
		default:
		}
	}
	_ = command.Process.Kill() // unless it has just ended
	<-ended
}
