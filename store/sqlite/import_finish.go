package sqlite

import (
	"context"
	"errors"
	"strings"
	"time"

	"example.com/perks/store"
)

// anyToken is a pattern that those of all imports match.
const anyToken = "*"

// deadAfter is when an import is dead that has written nothing since.
const deadAfter = 10 * time.Minute

// finishOrWarn is finishImports where an error changes nothing of the outcome.
func (db *DB) finishOrWarn(ctx context.Context, dead string) {
	if err := db.finishImports(ctx, dead); err != nil {
		db.log.Warn("an import has left tables that cannot be dropped now; the server tries again each hour, and "+
			"when it starts", "error", err)
	}
}

// finishImports does what large imports leave for later: it moves the entries of those that were published to the audit
// log, and drops the tables that nobody reads. Of an import that was not published they stay while it may live, unless
// its token matches the pattern dead. It uses a connection of its own, because that of a failed import holds a lock.
func (db *DB) finishImports(ctx context.Context, dead string) (err error) {
	since := time.Now().Add(-deadAfter)
	if dead == "" {
		if tables, err := leftTables(db.latest(ctx), dead, since); err != nil || len(tables) == 0 { // without a lock
			return err
		}
	}
	s, err := db.file.session(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	// they would be checked row by row
	if err := s.script(`PRAGMA foreign_keys = OFF; PRAGMA busy_timeout = ` + patience); err != nil {
		return err
	}
	if err := db.slice(ctx, s, func() error { // an import that lives after all must not publish what is being dropped
		return s.exec(`DELETE FROM large_import WHERE token GLOB $1 OR written_at < $2`, dead, since)
	}); err != nil {
		return err
	}
	tables, err := leftTables(s, dead, since)
	if err != nil {
		return err
	}
	for _, table := range tables {
		if strings.HasPrefix(table, unlogged) {
			err = db.logEntries(ctx, s, table)
		} else {
			err = db.dropTable(ctx, s, table)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// leftTables are those that finishImports moves or drops.
func leftTables(q store.Querier, dead string, since time.Time) ([]string, error) {
	return store.All(q, store.ScanValue[string], `
		SELECT name FROM sqlite_schema WHERE type = 'table'
			AND (name GLOB '`+beingBuilt+`*' OR name GLOB '`+replaced+`*' OR name GLOB '`+unlogged+`*')
			AND (name GLOB '*_perks' OR name GLOB '*_perk_stock' OR name GLOB '*_perk_words' OR name GLOB '*_audit')
			AND NOT EXISTS (SELECT 1 FROM large_import
				WHERE name GLOB '`+beingBuilt+`' || token || '*' AND NOT token GLOB $1 AND written_at >= $2)
		ORDER BY name GLOB '`+unlogged+`*' DESC`, dead, since)
}

// PurgeIdempotencyKeys also finishes imports that died: a server calls it each hour.
func (db *DB) PurgeIdempotencyKeys(ctx context.Context, before time.Time) (int64, error) {
	db.finishOrWarn(ctx, "")
	return db.Operations.PurgeIdempotencyKeys(ctx, before)
}

// logEntries moves the entries of a table to the audit log, and drops the table. Another process may be doing the same.
func (db *DB) logEntries(ctx context.Context, s *session, table string) error {
	for isThere := true; isThere; {
		err := db.slice(ctx, s, func() (err error) {
			if isThere, err = s.hasTable(table); err != nil || !isThere {
				return err
			}
			last, err := store.One(s, store.ScanValue[*int64],
				`SELECT max(row) FROM (SELECT row FROM `+table+` ORDER BY rowid LIMIT $1)`, db.sliceRows)
			if err != nil {
				return err
			}
			if last == nil {
				return s.script(`DROP TABLE ` + table)
			}
			return store.Run(s.Exec,
				store.Step{Args: []any{last}, Text: `
					INSERT INTO audit (at, actor, action, subject, before, after)
					SELECT at, actor, action, subject, before, after FROM ` + table + ` WHERE row <= $1 ORDER BY row`},
				store.Step{Args: []any{last}, Text: `DELETE FROM ` + table + ` WHERE row <= $1`},
			)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// dropTable drops a table and before it its indexes, each in a transaction. Another process may be doing the same, and
// then use the names of the indexes again.
func (db *DB) dropTable(ctx context.Context, s *session, table string) error {
	for isThere := true; isThere; {
		err := db.slice(ctx, s, func() error {
			drop, err := store.One(s, store.ScanValue[string], `
				SELECT 'DROP ' || type || ' ' || name FROM sqlite_schema WHERE tbl_name = $1 AND sql IS NOT NULL
					ORDER BY type LIMIT 1`, table)
			if isThere = !errors.Is(err, store.ErrNoRow); !isThere {
				return nil
			}
			if err != nil {
				return err
			}
			return s.script(drop)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *session) hasTable(name string) (bool, error) {
	return store.One(s, store.ScanValue[bool], `SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = $1)`, name)
}
