package sqlite

import (
	"context"
	"fmt"
	"iter"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

// staging says how the records of one kind are laid down before they are merged.
type staging[T any] struct {
	table string // makes the temporary table "staged", in which a record replaces an earlier one of its id
	add   func(*session, T) error
	merge func(*session) error // runs in one transaction and brings what is staged into the database
	entry store.Import
}

// importRecords lays the records down in a temporary table of a connection of its own, which locks nothing however slowly
// they come, and merges them in one transaction.
func importRecords[T any](ctx context.Context, db *DB, doing string, staging staging[T], records iter.Seq2[T, error]) (count int64, err error) {
	s, err := db.file.session(ctx)
	if err != nil {
		return 0, fault(doing, err)
	}
	defer func() {
		if closeErr := s.close(); closeErr != nil {
			db.log.Warn("the connection of an import did not close", "error", closeErr)
		}
	}()
	if count, err = stage(ctx, s, staging, records); err != nil {
		return 0, fault(doing, err)
	}
	err = db.writer.doAlone(ctx, func() error {
		return s.inTransaction(func() error {
			if err := staging.merge(s); err != nil {
				return err
			}
			return s.auditImport(staging.entry, count)
		})
	})
	if err != nil {
		return 0, fault(doing, err)
	}
	return count, nil
}

func stage[T any](ctx context.Context, s *session, staging staging[T], records iter.Seq2[T, error]) (int64, error) {
	if err := s.script(staging.table); err != nil {
		return 0, err
	}
	if err := s.exec(`BEGIN`); err != nil {
		return 0, err
	}
	var count int64
	for record, err := range records {
		if err != nil {
			return 0, err
		}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if err := staging.add(s, record); err != nil {
			return 0, fmt.Errorf("take record %d: %w", count+1, err)
		}
		count++
	}
	return count, s.exec(`COMMIT`)
}

// ImportUsers adds the users that are not known yet.
func (db *DB) ImportUsers(ctx context.Context, rows iter.Seq2[store.User, error], by store.Actor, at time.Time) (int64, error) {
	return importRecords(ctx, db, "import users", staging[store.User]{
		entry: store.Import{Action: store.ActionImportUsers, Subject: store.UsersSubject, By: by, At: at},
		table: `CREATE TEMP TABLE staged (id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID`,
		add: func(s *session, user store.User) error {
			return s.exec(`INSERT OR REPLACE INTO staged VALUES (?)`, user.ID)
		},
		merge: func(s *session) error {
			return s.exec(`INSERT INTO users SELECT id FROM staged WHERE true ON CONFLICT (id) DO NOTHING`)
		},
	}, rows)
}

// ImportCategories adds categories and renames those that are known.
func (db *DB) ImportCategories(ctx context.Context, rows iter.Seq2[api.Category, error], by store.Actor, at time.Time) (int64, error) {
	return importRecords(ctx, db, "import categories", staging[api.Category]{
		entry: store.Import{Action: store.ActionImportCategories, Subject: store.CategoriesSubject, By: by, At: at},
		table: `CREATE TEMP TABLE staged (id TEXT PRIMARY KEY, name TEXT NOT NULL, name_fold TEXT NOT NULL) STRICT`,
		add: func(s *session, category api.Category) error {
			return s.exec(`INSERT OR REPLACE INTO staged VALUES (?, ?, ?)`, category.ID, category.Name, store.Fold(category.Name))
		},
		merge: mergeCategories,
	}, rows)
}

// mergeCategories lets perks follow their category to its new name. Of several categories of one name, perks belong to
// the one with the lowest id.
func mergeCategories(s *session) error {
	return runAll(s,
		`CREATE TEMP TABLE renamed AS
			SELECT old.name_fold AS old_fold, new.name, new.name_fold
			FROM categories AS old JOIN staged AS new ON new.id = old.id
			WHERE new.name <> old.name AND old.id = (SELECT min(id) FROM categories WHERE name_fold = old.name_fold)`,
		`INSERT INTO categories (id, name, name_fold) SELECT id, name, name_fold FROM staged WHERE true
			ON CONFLICT (id) DO UPDATE SET name = excluded.name, name_fold = excluded.name_fold`,
		`UPDATE perks SET category = renamed.name, category_fold = renamed.name_fold
			FROM renamed WHERE perks.category_fold = renamed.old_fold`,
		raiseVersion,
	)
}

// raiseVersion ends every change of perks or categories.
const raiseVersion = `UPDATE catalog SET version = version + 1`

// ImportProperties adds properties and updates those that are known, or returns ClientNotFound for an owner that is not.
func (db *DB) ImportProperties(ctx context.Context, rows iter.Seq2[store.PropertyRecord, error], by store.Actor, at time.Time) (int64, error) {
	return importRecords(ctx, db, "import properties", staging[store.PropertyRecord]{
		entry: store.Import{Action: store.ActionImportProperties, Subject: store.PropertiesSubject, By: by, At: at},
		table: `CREATE TEMP TABLE staged AS SELECT * FROM properties WHERE false;
			CREATE UNIQUE INDEX temp.staged_by_id ON staged (id)`,
		add: func(s *session, property store.PropertyRecord) error {
			return s.exec(`INSERT OR REPLACE INTO staged (`+propertyColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
				propertyValues(property)...)
		},
		merge: mergeProperties,
	}, rows)
}

func mergeProperties(s *session) error {
	strangers, err := all(s, scanValue[string], `SELECT owner FROM staged WHERE owner NOT IN (SELECT id FROM clients) ORDER BY id LIMIT 1`)
	if err != nil {
		return err
	}
	for _, owner := range strangers {
		return store.ClientNotFound(owner)
	}
	return s.exec(`
		INSERT INTO properties (` + propertyColumns + `) SELECT ` + propertyColumns + ` FROM staged WHERE true
		` + replaceProperty)
}

func runAll(s *session, statements ...string) error {
	for _, statement := range statements {
		if err := s.exec(statement); err != nil {
			return err
		}
	}
	return nil
}
