package sqlite

import (
	"context"
	"errors"
	"strings"

	"example.com/perks/store"
)

// anyToken stands for those of all imports.
const anyToken = "*"

// finishOrWarn is finishImports where an error changes nothing of the outcome.
func (db *DB) finishOrWarn(ctx context.Context, drop string) {
	if err := db.finishImports(context.WithoutCancel(ctx), drop); err != nil {
		db.log.Warn("tables that an import has left are still there; the next import of perks drops them", "error", err)
	}
}

// finishImports does what large imports leave for later: it moves their entries to the audit log, and drops the tables that nobody reads
// and whose token matches. Among those may be some that another process is building, whose import then fails. It uses a connection of its
// own, because that of a failed import holds a lock.
func (db *DB) finishImports(ctx context.Context, drop string) (err error) {
	tables, err := store.All(db.latest(ctx), store.ScanValue[string], leftTables)
	if err != nil || len(tables) == 0 {
		return err
	}
	s, err := db.file.session(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.script(`PRAGMA foreign_keys = OFF; PRAGMA busy_timeout = ` + patience); err != nil { // they would be checked row by row
		return err
	}
	for _, table := range tables {
		_, name, _ := strings.Cut(table, "_")
		switch {
		case strings.HasPrefix(table, unlogged):
			err = db.logEntries(ctx, s, table)
		case drop == anyToken || drop != "" && strings.HasPrefix(name, drop):
			err = db.dropTable(ctx, s, table)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

const leftTables = `
	SELECT name FROM sqlite_schema WHERE type = 'table'
		AND (name GLOB '` + beingBuilt + `*' OR name GLOB '` + replaced + `*' OR name GLOB '` + unlogged + `*')
		AND (name GLOB '*_perks' OR name GLOB '*_perk_stock' OR name GLOB '*_perk_words' OR name GLOB '*_audit')`

// logEntries moves the entries of a table to the audit log, and drops the table. Another process may be doing the same.
func (db *DB) logEntries(ctx context.Context, s *session, table string) error {
	for isThere := true; isThere; {
		err := db.slice(ctx, s, func() (err error) {
			if isThere, err = s.hasTable(table); err != nil || !isThere {
				return err
			}
			last, err := store.One(s, store.ScanValue[*int64], `SELECT max(row) FROM (SELECT row FROM `+table+` ORDER BY rowid LIMIT $1)`, db.sliceRows)
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

// dropTable drops a table and before it its indexes, each in a transaction. Another process may be doing the same, and then use the names of
// the indexes again.
func (db *DB) dropTable(ctx context.Context, s *session, table string) error {
	for isThere := true; isThere; {
		err := db.slice(ctx, s, func() error {
			drop, err := store.One(s, store.ScanValue[string], `
				SELECT 'DROP ' || type || ' ' || name FROM sqlite_schema WHERE tbl_name = $1 AND sql IS NOT NULL ORDER BY type LIMIT 1`, table)
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
