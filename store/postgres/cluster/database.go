package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// createDatabase makes a database on the server that has the one at the address. It comes from template0, which is empty
// on any server; another template may hold what its owner put there.
func createDatabase(ctx context.Context, address, name string) error {
	return execute(ctx, "create the database "+name, address, "CREATE DATABASE "+quote(name)+" TEMPLATE template0")
}

// dropDatabase removes a database, whoever is still connected to it.
func dropDatabase(ctx context.Context, address, name string) error {
	return execute(ctx, "drop the database "+name, address, "DROP DATABASE IF EXISTS "+quote(name)+" WITH (FORCE)")
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }

// execute runs statements one after the other over one new connection.
func execute(ctx context.Context, doing, address string, statements ...string) error {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", doing, err), conn.Close(ctx))
		}
	}
	return conn.Close(ctx)
}
