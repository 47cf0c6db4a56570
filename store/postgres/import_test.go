package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

var importDay = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestAnImportIsAtomicWhereverItsConnectionIsCut(t *testing.T) {
	for _, mode := range []string{"cache_statement", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			address := storetest.PostgresDatabase(t)
			proxy, through := startProxy(t, address)
			direct, db := openAt(t, address), openAt(t, through+"&default_query_exec_mode="+mode)
			importPerks(t, db, "p", "q") // warms the connection up
			for _, answered := range []bool{false, true} {
				for message, came := 1, true; came; message++ {
					at := cutPoint{message: message, answered: answered}
					want := fmt.Sprint("As of ", at)
					proxy.cutAt(at)
					_, err := db.ImportPerks(t.Context(), titled(want, "p", "q"), nil, store.Operator, importDay)
					came = proxy.endCut()
					titles := exportedTitles(t, direct)
					switch {
					case err == nil && slices.Equal(titles, []string{want, want}):
					// the cut was at the commit
					case errors.As(err, new(*store.OutcomeUnknownError)) && titles[0] == titles[1]:
					default:
						t.Errorf("cut at %+v: the import returned %v, and the titles are %q", at, err, titles)
					}
				}
			}
		})
	}
}

func TestConcurrentImportsLoseNothing(t *testing.T) {
	t.Parallel()
	const imports = 12
	address := storetest.PostgresDatabase(t)
	replicas := []*DB{openAt(t, address), openAt(t, address)}
	noError(t, replicas[0].CreateClient(t.Context(), store.Client{ID: "owner", CreatedAt: importDay}, store.Operator))
	var group errgroup.Group
	for i := range imports {
		db := replicas[i%2]
		ids := []string{"a", "b", "c", "d", "e"}
		if i%3 == 0 { // in reverse order
			slices.Reverse(ids)
		}
		for _, take := range []func() (store.Imported, error){
			func() (store.Imported, error) {
				return db.ImportPerks(t.Context(), titled(fmt.Sprint(i), ids...), nil, store.Operator, importDay)
			},
			func() (store.Imported, error) {
				return db.ImportCategories(t.Context(), recordsOf(ids,
					func(id string) api.Category { return api.Category{ID: id, Name: fmt.Sprint(id, i)} }),
					store.Operator, importDay)
			},
			func() (store.Imported, error) {
				return db.ImportUsers(t.Context(),
					recordsOf(ids, func(id string) store.User { return store.User{ID: id} }), store.Operator, importDay)
			},
			func() (store.Imported, error) {
				return db.ImportProperties(t.Context(), recordsOf(ids, func(id string) store.PropertyRecord {
					return store.PropertyRecord{Owner: "owner",
						Property: api.Property{ID: int64(id[0]), Title: fmt.Sprint(i)}}
				}), store.Operator, importDay)
			},
		} {
			group.Go(func() error {
				n, err := take()
				if err == nil && n.Count != int64(len(ids)) {
					err = fmt.Errorf("%d of %d records were taken", n.Count, len(ids))
				}
				return err
			})
		}
	}
	noError(t, group.Wait())
	storetest.Equal(t, "the catalog's version", read[int64](t, replicas[0], `SELECT version FROM catalog`), 2*imports)
	if titles := exportedTitles(t, replicas[1]); len(slices.Compact(titles)) != 1 {
		t.Errorf("the perks mix several imports: %q", titles)
	}
}

func TestNoTransactionIsOpenWhileRecordsArrive(t *testing.T) {
	t.Parallel()
	db := openAt(t, storetest.PostgresDatabase(t))
	open := func() int {
		return read[int](t, db, `
			SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND backend_type = 'client backend' -- not autovacuum
				AND pid <> pg_backend_pid() AND xact_start IS NOT NULL`)
	}
	_, err := db.ImportPerks(t.Context(), func(yield func(store.PerkRecord, error) bool) {
		for record := range titled("Tea", "p", "q") {
			if !yield(record, nil) {
				return
			}
			// A statement of the store's own upkeep ends by itself; a transaction of the import cannot until then.
			for late := time.After(10 * time.Second); open() > 0; {
				select {
				case <-late:
					t.Fatalf("%d transactions are open", open())
				default:
				}
			}
		}
	}, nil, store.Operator, importDay)
	noError(t, err)
}

func TestAnImportLocksNoStockThatItDoesNotChange(t *testing.T) {
	t.Parallel()
	db := openAt(t, storetest.PostgresDatabase(t))
	ten, twenty := int64(10), int64(20)
	perks := func(stock *int64) []store.PerkRecord {
		same, changed := newPerk("a same", "Tea"), newPerk("b changed", "Tea")
		same.Stock, changed.Stock = &ten, stock
		return []store.PerkRecord{same, changed}
	}
	importRows(t, db, perks(&ten)...)
	must(db.ImportUsers(t.Context(), storetest.Rows(store.User{ID: "ann"}), store.Operator, importDay))(t)
	other := begin(t, db, `SELECT 1 FROM perk_stock WHERE perk_id = 'b changed' FOR UPDATE`)
	imported := make(chan error, 1)
	go func() {
		_, err := db.ImportPerks(t.Context(), storetest.Rows(perks(&twenty)...), nil, store.Operator, importDay)
		imported <- err
	}()
	waitForLock(t, db)
	within, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := db.Redeem(within,
		store.RedeemAttempt{ID: "1", PerkID: "a same", UserID: "ann", ClientID: "shop", At: importDay}); err != nil {
		t.Errorf("while the import waits for another perk: %v", err)
	}
	commit(t, other)
	noError(t, <-imported)
	storetest.Equal(t, "the stock",
		read[int64](t, db, `SELECT stock FROM perk_stock WHERE perk_id = 'b changed'`), twenty)
}

// TestAnImportKeepsConcurrentChanges runs an import beside an open transaction that changes the same record. Fields
// that the row does not have must keep that transaction's values.
func TestAnImportKeepsConcurrentChanges(t *testing.T) {
	t.Parallel()
	title, city := "Imported", "York"
	tests := []struct {
		name, other string
		take        func(*DB) (store.Imported, error)
		found, want string
	}{
		{"a perk", `UPDATE catalog SET version = version + 1; UPDATE perks SET terms = 'New' WHERE id = 'p'`,
			func(db *DB) (store.Imported, error) {
				row := store.PerkRecord{Perk: api.Perk{ID: "p", Title: title},
					Row: store.Row{Absent: ^store.Fields(1 << 1)}}
				return db.ImportPerks(t.Context(), storetest.Rows(row), nil, store.Operator, importDay)
			}, `SELECT title || ', ' || terms FROM perks WHERE id = 'p'`, "Imported, New"},
		{"a property", `UPDATE properties SET title = 'New' WHERE id = 1`, func(db *DB) (store.Imported, error) {
			row := store.PropertyRecord{Property: api.Property{ID: 1, City: city},
				Row: store.Row{Absent: ^store.Fields(1 << 4)}}
			return db.ImportProperties(t.Context(), storetest.Rows(row), store.Operator, importDay)
		}, `SELECT title || ', ' || city FROM properties WHERE id = 1`, "New, York"},
		{"a property that another transaction adds", lockNewProperties + `; INSERT INTO properties
			SELECT 2, owner, 'Restored', description, address, city, postcode, images, price_pw, bedrooms, bathrooms,
				lat, lng, deposit, city_fold, words, price_key, word_bits
					FROM properties`, func(db *DB) (store.Imported, error) {
			row := store.PropertyRecord{Property: api.Property{ID: 2, City: city},
				Row: store.Row{Absent: ^store.Fields(1 << 4)}}
			return db.ImportProperties(t.Context(), storetest.Rows(row), store.Operator, importDay)
		}, `SELECT title || ', ' || city FROM properties WHERE id = 2`, "Restored, York"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			db := openAt(t, storetest.PostgresDatabase(t))
			importPerks(t, db, "p")
			withProperty(t, db)
			other := begin(t, db, test.other)
			imported := make(chan error, 1)
			go func() {
				_, err := test.take(db)
				imported <- err
			}()
			waitForLock(t, db)
			commit(t, other)
			noError(t, <-imported)
			storetest.Equal(t, "the record", read[string](t, db, test.found), test.want)
		})
	}
}

func TestAPropertyDeletedMeanwhileIsNotPartlyImported(t *testing.T) {
	t.Parallel()
	db := openAt(t, storetest.PostgresDatabase(t))
	withProperty(t, db)
	other := begin(t, db, `DELETE FROM properties WHERE id = 1`)
	imported := make(chan error, 1)
	go func() {
		row := store.PropertyRecord{Owner: "owner", Property: api.Property{ID: 1},
			Row: store.Row{Absent: ^store.OwnerField}}
		_, err := db.ImportProperties(t.Context(), storetest.Rows(row), store.Operator, importDay)
		imported <- err
	}()
	waitForLock(t, db)
	commit(t, other)
	if err := <-imported; !errors.As(err, new(*store.RowsRefused)) {
		t.Errorf("the import returned %v, want missing required fields", err)
	}
	if n := read[int](t, db, `SELECT count(*) FROM properties`); n > 0 {
		t.Errorf("there are %d properties, want none", n)
	}
}

func TestRestoringAPropertyWaitsForAnImport(t *testing.T) {
	t.Parallel()
	db := openAt(t, storetest.PostgresDatabase(t))
	withProperty(t, db)
	noError(t, db.DeleteProperty(t.Context(), 1, store.Operator, importDay,
		func(store.PropertyRecord) error { return nil }))
	other := begin(t, db, lockNewProperties) // as an import begins
	restored := make(chan error, 1)
	go func() {
		_, err := db.RestoreProperty(t.Context(), store.PropertyRestoration{ID: 1, By: store.Operator, At: importDay})
		restored <- err
	}()
	waitForLock(t, db)
	commit(t, other)
	noError(t, <-restored)
}

// withProperty adds property 1.
func withProperty(t *testing.T, db *DB) {
	t.Helper()
	noError(t, db.CreateClient(t.Context(), store.Client{ID: "owner", CreatedAt: importDay}, store.Operator))
	property := store.PropertyRecord{Owner: "owner", Property: api.Property{ID: 1, Title: "Flat"}}
	must(db.ImportProperties(t.Context(), storetest.Rows(property), store.Operator, importDay))(t)
}

func TestAnImportDoesNotRewriteUnchangedRows(t *testing.T) {
	t.Parallel()
	db := openAt(t, storetest.PostgresDatabase(t))
	foreign := newPerk("f", "Title")
	foreign.Description = "Heiß"
	take := func() { importRows(t, db, foreign, newPerk("p", "Title"), newPerk("q", "Title")) }
	take()
	const versions = `
		SELECT string_agg(concat_ws(' ', p.ctid, p.xmin, p.xmax, s.ctid, s.xmin, s.xmax, f.ctid, f.xmin, f.xmax), ', '
			ORDER BY p.id)
		FROM perks AS p JOIN perk_stock AS s ON s.perk_id = p.id LEFT JOIN perk_folds AS f ON f.perk_id = p.id`
	before := read[string](t, db, versions)
	take()
	storetest.Equal(t, "the versions of unchanged rows", read[string](t, db, versions), before)
	importRows(t, db, newPerk("p", "Another title"), newPerk("q", "Title"))
	if after := read[string](t, db, versions); after == before {
		t.Error("a changed title did not make a new version of the row")
	}
}

func TestAnImportLeavesNoFileBehind(t *testing.T) {
	db := openAt(t, storetest.PostgresDatabase(t))
	directory := t.TempDir()
	t.Setenv("TMPDIR", directory)
	requireEmpty := func(when string) {
		files, err := filepath.Glob(filepath.Join(directory, "*"))
		if err != nil || len(files) > 0 {
			t.Errorf("%s the directory holds %q (%v)", when, files, err)
		}
	}
	importPerks(t, db, "p")
	requireEmpty("after an import")
	if _, err := db.ImportPerks(t.Context(), func(yield func(store.PerkRecord, error) bool) {
		yield(store.PerkRecord{}, os.ErrInvalid)
	}, nil, store.Operator, importDay); err != os.ErrInvalid {
		t.Errorf("the import returned %v, want the error of the rows", err)
	}
	requireEmpty("after an import of nothing good")

	t.Setenv("TMPDIR", filepath.Join(directory, "missing"))
	_, err := db.ImportPerks(t.Context(), titled("Lost", "p"), nil, store.Operator, importDay)
	storetest.Fails(t, "an import without a directory", err, "TMPDIR")
}

func TestALargeImportIsVacuumedAndAnalyzed(t *testing.T) {
	t.Parallel()
	db := openAt(t, storetest.PostgresDatabase(t))
	users := storetest.Numbered(manyRecords, func(i int) store.User { return store.User{ID: fmt.Sprint(i)} })
	must(db.ImportUsers(t.Context(), users, store.Operator, importDay))(t)
	if isVacuumed := read[bool](t, db, `
		SELECT reltuples = $1 AND relallvisible = relpages FROM pg_class
			WHERE oid = 'users'::regclass`, manyRecords); !isVacuumed {
		t.Error("the table was not analyzed, or its pages are not all visible")
	}
}

// newPerk returns equal records for equal arguments.
func newPerk(id, title string) store.PerkRecord {
	return store.PerkRecord{Perk: api.Perk{ID: id, Title: title, Description: "Hot", City: "Bath", CreatedAt: importDay,
		UpdatedAt: importDay}}
}

// recordsOf makes a record of each name.
func recordsOf[T any](names []string, record func(name string) T) iter.Seq2[T, error] {
	return storetest.Numbered(len(names), func(i int) T { return record(names[i]) })
}

func titled(title string, ids ...string) iter.Seq2[store.PerkRecord, error] {
	return recordsOf(ids, func(id string) store.PerkRecord { return newPerk(id, title) })
}

func importPerks(t *testing.T, db *DB, ids ...string) {
	t.Helper()
	must(db.ImportPerks(t.Context(), titled("Title", ids...), nil, store.Operator, importDay))(t)
}

func importRows(t *testing.T, db *DB, perks ...store.PerkRecord) {
	t.Helper()
	must(db.ImportPerks(t.Context(), storetest.Rows(perks...), nil, store.Operator, importDay))(t)
}

// exportedTitles are the titles of all perks, in the order of their ids.
func exportedTitles(t *testing.T, db *DB) []string {
	t.Helper()
	var titles []string
	for perk, err := range db.ExportPerks(t.Context()) {
		noError(t, err)
		titles = append(titles, perk.Title)
	}
	return titles
}

// read returns the one value of a query.
func read[T any](t *testing.T, db *DB, text string, args ...any) T {
	t.Helper()
	return must(store.One(view{t.Context(), db.reads}, store.ScanValue[T], text, args...))(t)
}
