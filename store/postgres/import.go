package postgres

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

// staging says how the records of one kind are brought in.
type staging[T any] struct {
	columns []column      // of the temporary table "staged", beside the place of the record; one is the id
	values  func(T) []any // in the order of columns
	merge   func(*session) error
	changes string // the tables that merge writes to
	entry   store.Import
}

// importRecords collects the records in a file, and then brings all of them into the database in one transaction: a copy
// to a temporary table, which no one else sees or waits for, and a merge. A temporary table and one transaction, because
// behind a pooler the next transaction may have another session.
func importRecords[T any](ctx context.Context, db *DB, doing string, staging staging[T], records iter.Seq2[T, error]) (int64, error) {
	spool, err := collect(ctx, doing, staging, records)
	if err != nil {
		return 0, err
	}
	defer spool.close() // what a caller who leaves has begun to copy, fails then
	err = db.write(ctx, doing, func(s *session) error {
		if err := s.stage(spool); err != nil {
			return err
		}
		if err := staging.merge(s); err != nil {
			return err
		}
		return s.auditImport(staging.entry, spool.count)
	})
	if err != nil {
		return 0, err
	}
	if spool.count >= manyRecords {
		db.tidy(ctx, staging.changes)
	}
	return spool.count, nil
}

// collect puts the records into a file. Their own errors are returned as they are.
func collect[T any](ctx context.Context, doing string, staging staging[T], records iter.Seq2[T, error]) (*spool, error) {
	spool, err := newSpool(staging.columns)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	for record, err := range records {
		if err != nil {
			spool.close()
			return nil, err
		}
		if err := cmp.Or(ctx.Err(), spool.add(staging.values(record))); err != nil {
			spool.close()
			return nil, fmt.Errorf("%s: %w", doing, err)
		}
	}
	if err := spool.finish(); err != nil {
		spool.close()
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	return spool, nil
}

// stage makes the temporary table of what is in the spool, with the last record of each id.
func (s *session) stage(spool *spool) error {
	var names, definitions []string
	for _, c := range spool.columns {
		names, definitions = append(names, c.name), append(definitions, c.name+" "+c.definition)
	}
	if err := s.exec(`CREATE TEMP TABLE staged (` + strings.Join(definitions, ", ") + `) ON COMMIT DROP`); err != nil {
		return err
	}
	text := `COPY staged (` + strings.Join(names, ", ") + `) FROM STDIN (FORMAT binary)`
	if _, err := s.tx.Conn().PgConn().CopyFrom(s.ctx, spool.reader(), text); err != nil {
		return err
	}
	return s.runAll(
		`DELETE FROM staged AS s
			USING (SELECT id, max(place) AS place FROM staged GROUP BY id HAVING count(*) > 1) AS last
			WHERE s.id = last.id AND s.place < last.place`,
		`ANALYZE staged`,
	)
}

func (s *session) runAll(statements ...string) error {
	for _, statement := range statements {
		if err := s.exec(statement); err != nil {
			return err
		}
	}
	return nil
}

// ImportUsers adds the users that are not known yet.
func (db *DB) ImportUsers(ctx context.Context, rows iter.Seq2[store.User, error], by store.Actor, at time.Time) (int64, error) {
	return importRecords(ctx, db, "import users", staging[store.User]{
		entry:   store.Import{Action: store.ActionImportUsers, Subject: store.UsersSubject, By: by, At: at},
		columns: []column{textColumn("id")},
		values:  func(user store.User) []any { return []any{user.ID} },
		merge: func(s *session) error {
			return s.exec(`INSERT INTO users (id) SELECT id FROM staged ORDER BY id ON CONFLICT (id) DO NOTHING`)
		},
		changes: `users`,
	}, rows)
}

// ImportCategories adds categories and renames those that are known.
func (db *DB) ImportCategories(ctx context.Context, rows iter.Seq2[api.Category, error], by store.Actor, at time.Time) (int64, error) {
	return importRecords(ctx, db, "import categories", staging[api.Category]{
		entry:   store.Import{Action: store.ActionImportCategories, Subject: store.CategoriesSubject, By: by, At: at},
		columns: []column{textColumn("id"), textColumn("name"), textColumn("name_fold")},
		values: func(category api.Category) []any {
			return []any{category.ID, category.Name, store.Fold(category.Name)}
		},
		merge:   mergeCategories,
		changes: `categories, perks`,
	}, rows)
}

// mergeCategories lets perks follow their category to its new name. Of several categories of one name, perks belong to
// the one with the lowest id.
func mergeCategories(s *session) error {
	return s.runAll(
		raiseVersion,
		`CREATE TEMP TABLE renamed ON COMMIT DROP AS
			SELECT old.name_fold AS old_fold, new.name, new.name_fold
			FROM categories AS old JOIN staged AS new ON new.id = old.id
			WHERE new.name <> old.name AND old.id = (SELECT min(id) FROM categories WHERE name_fold = old.name_fold)`,
		`INSERT INTO categories (id, name, name_fold) SELECT id, name, name_fold FROM staged
			ON CONFLICT (id) DO UPDATE SET name = excluded.name, name_fold = excluded.name_fold`,
		`UPDATE perks SET category = renamed.name, category_fold = renamed.name_fold
			FROM renamed WHERE perks.category_fold = renamed.old_fold`,
	)
}

// raiseVersion begins every change of perks or categories. The version's row stays locked until the transaction ends, so
// one such change goes on at a time: the ids of new categories are free to take, and no two imports wait for each other's
// rows in a circle.
const raiseVersion = `UPDATE catalog SET version = version + 1`

// ImportProperties adds properties and updates those that are known, or returns ClientNotFound for an owner that is not.
func (db *DB) ImportProperties(ctx context.Context, rows iter.Seq2[store.PropertyRecord, error], by store.Actor, at time.Time) (int64, error) {
	return importRecords(ctx, db, "import properties", staging[store.PropertyRecord]{
		entry: store.Import{Action: store.ActionImportProperties, Subject: store.PropertiesSubject, By: by, At: at},
		columns: []column{
			integerColumn("id"), textColumn("owner"), textColumn("title"), textColumn("description"), textColumn("address"),
			textColumn("city"), textColumn("postcode"), textsColumn("images"), textColumn("price_pw"), integerColumn("bedrooms"),
			integerColumn("bathrooms"), numberColumn("lat"), numberColumn("lng"), numberColumn("deposit"),
		},
		values:  propertyValues,
		merge:   mergeProperties,
		changes: `properties`,
	}, rows)
}

// mergeProperties takes the rows' locks in the order of their ids, so that two imports never wait for each other's.
func mergeProperties(s *session) error {
	strangers, err := all(s, scanValue[string], `SELECT owner FROM staged WHERE owner NOT IN (SELECT id FROM clients) ORDER BY id LIMIT 1`)
	if err != nil {
		return err
	}
	for _, owner := range strangers {
		return store.ClientNotFound(owner)
	}
	return s.exec(`
		INSERT INTO properties (` + propertyColumns + `) SELECT ` + propertyColumns + ` FROM staged ORDER BY id` + replaceProperty)
}

// manyRecords is how many are worth the time to tidy up after.
const manyRecords = 10_000

// tidy lets the server count what is in the tables now, and mark the pages that everyone can see, without which lists
// read more than an index. The import is done by then, and autovacuum would do this too, only later.
func (db *DB) tidy(ctx context.Context, tables string) {
	if _, err := db.writes.Exec(ctx, `VACUUM (ANALYZE) `+tables); err != nil {
		db.log.Warn("the tables of an import were not tidied up; autovacuum will", "tables", tables, "error", err)
	}
}
