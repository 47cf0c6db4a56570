package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/perks/store/postgres/cluster"
)

// fill makes a database with so many sample perks.
func (l *lab) fill(ctx context.Context, database string, perks int64) error {
	begun := time.Now()
	if _, err := l.operate(ctx, database, nil, "demo-data", "--perks", fmt.Sprint(perks), "--users", "0"); err != nil {
		return err
	}
	kind, _, _ := strings.Cut(database, ":")
	l.say("filled a new %s database with %s perks in %s", kind, grouped(perks), time.Since(begun).Round(time.Second))
	return nil
}

// fillPostgres is fill, with the indexes of perks made when the perks are there: entry by entry, ten million take most of
// an hour.
func (l *lab) fillPostgres(ctx context.Context, c *cluster.Cluster, perks int64) (err error) {
	if _, err := l.operate(ctx, address(c), nil, "migrate"); err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, c.DSN(database))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	rows, err := conn.Query(ctx, `SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'perks' AND indexname <> 'perks_pkey'`)
	if err != nil {
		return err
	}
	indexes, err := pgx.CollectRows(rows, pgx.RowToStructByPos[index])
	if err != nil {
		return fmt.Errorf("reading the indexes of perks: %w", err)
	}
	for _, index := range indexes {
		if _, err := conn.Exec(ctx, `DROP INDEX `+index.Name); err != nil {
			return fmt.Errorf("dropping %s: %w", index.Name, err)
		}
	}
	if err := l.fill(ctx, address(c), perks); err != nil {
		return err
	}
	l.say("making its %d indexes", len(indexes))
	if _, err := conn.Exec(ctx, `SET maintenance_work_mem = '1GB'`); err != nil {
		return err
	}
	for _, index := range indexes {
		if _, err := conn.Exec(ctx, index.Definition); err != nil {
			return fmt.Errorf("making %s: %w", index.Name, err)
		}
	}
	return nil
}

// index is an index and the statement that makes it.
type index struct{ Name, Definition string }
