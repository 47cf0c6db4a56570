package sqlite

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

// manyPerks yields perks whose title and stock tell the round. Every other one needs approval.
func manyPerks(from, n int, round int64) iter.Seq2[store.PerkRecord, error] {
	category := fmt.Sprintf("Round %d", round)
	return storetest.Numbered(n, func(i int) store.PerkRecord {
		i += from
		approval := [2]store.Approval{store.ApprovalAuto, store.ApprovalManual}[i%2]
		return store.PerkRecord{Stock: &round, Approval: approval, Lat: &aTown.Lat, Lng: &aTown.Lng,
			Perk: api.Perk{ID: fmt.Sprint(i), Title: fmt.Sprintf("Round%d of %d", round, i), Description: "Some words",
				City: "Leeds", Category: &category}}
	})
}

func importMany(t *testing.T, db *DB, perks iter.Seq2[store.PerkRecord, error], want store.Imported) {
	t.Helper()
	if imported, err := db.ImportPerks(t.Context(), perks, nil, store.Operator, asOf); err != nil || imported != want {
		t.Fatalf("the import returned %+v, %v, want %+v", imported, err, want)
	}
}

func value[T any](t *testing.T, db *DB, text string) T {
	t.Helper()
	return must(store.One(db.latest(t.Context()), store.ScanValue[T], text))(t)
}

func countOf(t *testing.T, db *DB, query string) int64 {
	t.Helper()
	list := must(db.ListPerks(t.Context(), store.PerkQuery{PerkFilter: api.PerkFilter{Query: query}, At: asOf,
		Sort: []api.SortKey{{Field: "title"}}, Window: store.Window{Page: 1, PerPage: 1}}))(t)
	return list.Total
}

// requireLists reads lists that name indexes, and the page after the first one.
func requireLists(t *testing.T, db *DB) {
	t.Helper()
	for _, query := range []store.PerkQuery{
		{Sort: []api.SortKey{{Field: "title"}}},
		{Sort: []api.SortKey{{Field: "created_at"}}, PerkFilter: api.PerkFilter{Near: aTown}},
	} {
		query.At, query.Window = asOf, store.Window{Page: 1, PerPage: 1}
		for range 2 {
			list, err := db.ListPerks(t.Context(), query)
			if err != nil || len(list.Items) != 1 {
				t.Fatalf("a list by %s has %d perks (%v)", query.Sort[0].Field, len(list.Items), err)
			}
			query.After = list.Next
		}
	}
}

// manyMore perks are several times fewRows, which is how many are written in one transaction of these tests.
const (
	fewRows  = 200
	manyMore = 1100
)

// schemaOf is the schema without the differences that a large import makes.
func schemaOf(t *testing.T, db *DB) string {
	return value[string](t, db, `
		SELECT group_concat(definition, char(10) ORDER BY definition)
		FROM (SELECT replace(replace(replace(sql, '"', ''), '`+secondName+` ON', ' ON'), ' ', '') AS definition
			FROM sqlite_schema WHERE name NOT GLOB 'perk_words_*')`)
}

// requireSound checks that the schema is as before a large import, and the file as SQLite wants it.
func requireSound(t *testing.T, db *DB, schema string) {
	t.Helper()
	storetest.Equal(t, "the schema", schemaOf(t, db), schema)
	storetest.Equal(t, "references that lead nowhere",
		value[int64](t, db, `SELECT count(*) FROM pragma_foreign_key_check`), 0)
	storetest.Equal(t, "what SQLite finds", value[string](t, db, `PRAGMA integrity_check`), "ok")
	execute(t, db, `INSERT INTO perk_words (perk_words) VALUES ('integrity-check')`)
}

// TestALargeImportIsAsASmallOne imports into an empty catalog, over all perks, over some, and beside them, from another
// process's view: a second DB, whose connections know the schema from before.
func TestALargeImportIsAsASmallOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "perks.db")
	importing, serving := openPath(t, path), openPath(t, path)
	schema := schemaOf(t, serving)
	must(serving.ImportUsers(t.Context(), storetest.Rows(store.User{ID: "ann"}), store.Operator, asOf))(t)
	all := int64(manyMore)
	for _, step := range []struct {
		from    int
		round   int64
		want    store.Imported
		entries int64 // about single perks, so far
		counts  map[string]int64
	}{
		{0, 1, store.Imported{Count: all, Created: all}, 0, map[string]int64{"": all, "round1": all}},
		{0, 1, store.Imported{Count: all, Unchanged: all}, 0, map[string]int64{"": all, "round1": all}},
		{0, 2, store.Imported{Count: all, Changed: all}, all, map[string]int64{"": all, "round1": 0, "round2": all}},
		{300, 3, store.Imported{Count: all, Created: 300, Changed: all - 300}, 2*all - 300,
			map[string]int64{"": all + 300, "round2": 300, "round3": all}},
		{100_000, 4, store.Imported{Count: all, Created: all}, 2*all - 300,
			map[string]int64{"": 2*all + 300, "round2": 300, "round3": all, "round4": all, "round4 100000": 1}},
		{100_000, 5, store.Imported{Count: all, Changed: all}, 3*all - 300,
			map[string]int64{"": 2*all + 300, "round4": 0, "round5": all}},
	} {
		importMany(t, importing, manyPerks(step.from, manyMore, step.round), step.want)
		for query, want := range step.counts {
			storetest.Equal(t, fmt.Sprintf("round %d: perks by %q", step.round, query),
				countOf(t, serving, query), want)
		}
		storetest.Equal(t, fmt.Sprintf("round %d: entries about perks", step.round), value[int64](t, serving,
			`SELECT count(*) FROM audit WHERE action = 'perk.update'`), step.entries)
		storetest.Equal(t, fmt.Sprintf("round %d: the last entry", step.round), value[string](t, serving,
			`SELECT action FROM audit ORDER BY row DESC LIMIT 1`), store.ActionImportPerks)
		if wrong := value[int64](t, serving,
			fmt.Sprintf(`SELECT count(*) FROM perks AS p LEFT JOIN perk_stock AS s ON s.perk = p.row
			WHERE p.title LIKE 'Round%d %%' AND s.stock IS NOT %d`, step.round, step.round)); wrong > 0 {
			t.Errorf("round %d: %d perks have another stock", step.round, wrong)
		}
		attempt := store.RedeemAttempt{ID: fmt.Sprint(step.round), PerkID: fmt.Sprint(step.from + int(step.round)),
			UserID: "ann", ClientID: "shop", At: asOf}
		if _, err := serving.Redeem(t.Context(), attempt); err != nil && step.want.Unchanged == 0 {
			t.Errorf("round %d: %v", step.round, err)
		}
		requireSound(t, serving, schema)
		requireLists(t, serving)
	}
	storetest.Equal(t, "units held", value[int64](t, serving, `SELECT sum(held) FROM perk_stock`), 5)
}

// TestOthersWriteDuringALargeImport redeems, decides and appends to the audit log in the course of an import: its
// context says when it waits between two slices.
func TestOthersWriteDuringALargeImport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "perks.db")
	importing, serving := openPath(t, path), openPath(t, path)
	importMany(t, importing, manyPerks(0, manyMore, 1), store.Imported{Count: manyMore, Created: manyMore})
	users := storetest.Numbered(500, func(i int) store.User { return store.User{ID: fmt.Sprint(i)} })
	must(serving.ImportUsers(t.Context(), users, store.Operator, asOf))(t)
	var waits, rejected atomic.Int64
	ctx := betweenSlices{t.Context(), func() {
		slices := waits.Add(1)
		if before := slices - 1; before%2 == 1 { // it waits for approval
			status := api.StatusApproved
			if before%4 == 1 {
				status = api.StatusRejected
				rejected.Add(1)
			}
			if _, err := serving.DecideRedemption(t.Context(), fmt.Sprint(before), store.Decision{Status: status},
				store.Operator, asOf); err != nil {
				t.Errorf("a decision after slice %d: %v", slices, err)
			}
		}
		attempt := store.RedeemAttempt{ID: fmt.Sprint(slices), PerkID: fmt.Sprint(slices), UserID: fmt.Sprint(slices),
			ClientID: "shop", At: asOf}
		if _, err := serving.Redeem(t.Context(), attempt); err != nil {
			t.Errorf("a redemption after slice %d: %v", slices, err)
		}
		client := store.Client{ID: fmt.Sprint("client ", slices), CreatedAt: asOf}
		if err := serving.CreateClient(t.Context(), client, store.Operator); err != nil {
			t.Errorf("a new client after slice %d: %v", slices, err)
		}
	}}
	must(importing.ImportPerks(ctx, manyPerks(0, manyMore, 2), nil, store.Operator, asOf))(t)
	slices := waits.Load()
	if slices < 20 {
		t.Errorf("others could write %d times", slices)
	}
	for what, test := range map[string]struct {
		text string
		want int64
	}{
		"redemptions":           {`SELECT count(*) FROM redemptions`, slices},
		"units held":            {`SELECT sum(held) FROM perk_stock`, slices - rejected.Load()},
		"entries about clients": {`SELECT count(*) FROM audit WHERE action = 'client.create'`, slices},
	} {
		storetest.Equal(t, what, value[int64](t, serving, test.text), test.want)
	}
}

// betweenSlices is a context that calls a function when somebody begins to wait for it, other than for the import's own
// writes.
type betweenSlices struct {
	context.Context
	wait func()
}

func (c betweenSlices) Done() <-chan struct{} {
	c.wait()
	return c.Context.Done()
}

func TestALargeImportThatDiesLeavesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "perks.db")
	db := openPath(t, path)
	schema := schemaOf(t, db)
	importMany(t, db, manyPerks(0, manyMore, 1), store.Imported{Count: manyMore, Created: manyMore})
	before := value[int64](t, db, `SELECT version FROM catalog`)
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	var n atomic.Int64
	if _, err := db.ImportPerks(betweenSlices{ctx, func() {
		if n.Add(1) == 60 {
			cancel()
		}
	}}, manyPerks(0, manyMore, 2), nil, store.Operator, asOf); err == nil {
		t.Error("an import whose context ended succeeded")
	}
	requireSound(t, db, schema)
	if after := value[int64](t, db, `SELECT version FROM catalog`); after != before ||
		countOf(t, db, "round1") != manyMore {
		t.Errorf("the import changed the catalog: its version was %d and is %d", before, after)
	}
	execute(t, db, `CREATE TABLE next_dead_perks (row INTEGER PRIMARY KEY)`)
	importMany(t, db, manyPerks(0, manyMore, 3), store.Imported{Count: manyMore, Changed: manyMore})
	requireSound(t, db, schema)
}

func TestALargeImportThatIsOvertakenChangesNothing(t *testing.T) {
	for name, test := range map[string]struct {
		overtake func(t *testing.T, db *DB)
		left     int64 // perks
	}{
		"by a small import": {func(t *testing.T, db *DB) {
			importMany(t, db, manyPerks(5, 1, 9), store.Imported{Count: 1, Created: 1})
		}, 1},
		"by a reset": {func(t *testing.T, db *DB) {
			if _, err := db.Reset(t.Context(), store.Operator, asOf); err != nil {
				t.Error(err)
			}
		}, 0},
		"by a migration": {func(t *testing.T, db *DB) {
			execute(t, db, `INSERT INTO migrations SELECT max(version) + 1, 'later', 0 FROM migrations`)
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "perks.db")
			importing, serving := openPath(t, path), openPath(t, path)
			var n atomic.Int64
			_, err := importing.ImportPerks(betweenSlices{t.Context(), func() {
				if n.Add(1) == 40 {
					test.overtake(t, serving)
				}
			}}, manyPerks(0, manyMore, 1), nil, store.Operator, asOf)
			if !isOvertaken(err) {
				t.Errorf("the import returned %v", err)
			}
			storetest.Equal(t, "perks", countOf(t, serving, ""), test.left)
		})
	}
}

// TestNoSinglePerkIsChangedDuringALargeImport changes one from another process at each step of an import, which is
// refused until the import has ended, or has written nothing for so long that it must be dead.
func TestNoSinglePerkIsChangedDuringALargeImport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "perks.db")
	importing, serving := openPath(t, path), openPath(t, path)
	importMany(t, importing, manyPerks(0, 1, 1), store.Imported{Count: 1, Created: 1})
	change := func() error {
		_, err := serving.UpdatePerk(t.Context(), "0", store.Operator, asOf, func(p *store.PerkRecord) error {
			p.Title += "!"
			return nil
		})
		return err
	}
	var refused atomic.Int64 // a goroutine of database/sql may wait too
	imported, err := importing.ImportPerks(betweenSlices{t.Context(), func() {
		isImporting := func() bool { return value[bool](t, serving, `SELECT count(*) > 0 FROM large_import`) }
		if isImporting() {
			if err := change(); api.CodeOf(err) == api.CodeUnavailable {
				refused.Add(1)
			} else if isImporting() {
				t.Errorf("a change during an import returned %v", err)
			}
		}
	}}, manyPerks(0, manyMore, 2), nil, store.Operator, asOf)
	if err != nil || imported.Created != manyMore-1 || imported.Changed != 1 || refused.Load() < 10 {
		t.Errorf("the import returned %+v, %v, and %d changes were refused", imported, err, refused.Load())
	}
	if err := change(); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		age  time.Duration
		code api.Code
	}{{30 * time.Second, api.CodeUnavailable}, {2 * time.Minute, ""}} {
		execute(t, serving, fmt.Sprintf(`INSERT OR REPLACE INTO large_import VALUES (1, 'token', %d)`,
			time.Now().Add(-c.age).UnixMicro()))
		if err := change(); api.CodeOf(err) != c.code {
			t.Errorf("a change %s after an import has written returned %v", c.age, err)
		}
	}
}

func isOvertaken(err error) bool {
	return err != nil && strings.Contains(err.Error(), errOvertaken.Error())
}

func openPath(t *testing.T, path string) *DB {
	t.Helper()
	db := must(Open(t.Context(), path, Options{SliceRows: fewRows}))(t)
	t.Cleanup(func() { db.Close() })
	return db
}

// TestReadsSurviveChangesOfTheSchema searches while another process creates and drops tables, as a large import does.
// SQLite refuses a table of words that is first used at such a moment.
func TestReadsSurviveChangesOfTheSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "perks.db")
	reading, changing := openPath(t, path), openPath(t, path)
	done := make(chan struct{})
	var searches sync.WaitGroup
	for range 2 {
		searches.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if _, err := store.One(reading.latest(t.Context()), store.ScanValue[int64],
					`SELECT count(*) FROM property_words WHERE property_words MATCH 'loft'`); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 300 {
		if err := changing.write(t.Context(), "change the schema", func(s *session) error {
			return s.script(`CREATE TABLE passing (a); DROP TABLE passing`)
		}); err != nil {
			t.Error(err)
			break
		}
	}
	close(done)
	searches.Wait()
}
