package cluster_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"

	"example.com/perks/store/postgres/cluster"
)

func TestAServerBeginsWithWhatAnotherSaved(t *testing.T) {
	first, err := cluster.Start(t.Context(), cluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, first)
	if err := first.CreateDatabase(t.Context(), "kept"); err != nil {
		t.Fatal(err)
	}
	execute(t, first.DSN("kept"), `CREATE TABLE colours AS SELECT 'blue' AS name`)
	saved := filepath.Join(t.TempDir(), "saved")
	if err := first.Save(t.Context(), saved); err != nil {
		t.Fatal(err)
	}

	for range 2 { // the second finds nothing of the first's
		second, err := cluster.StartFrom(t.Context(), saved, cluster.Options{})
		if err != nil {
			t.Fatal(err)
		}
		execute(t, second.DSN("kept"), `INSERT INTO colours VALUES ('red')`)
		if count := count(t, second.DSN("kept"), `SELECT count(*) FROM colours`); count != 2 {
			t.Errorf("there are %d colours, want the saved one and a new one", count)
		}
		stop(t, second)
	}
}

func stop(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	if err := c.Stop(); err != nil {
		t.Errorf("stopping a server: %v", err)
	}
}

func execute(t *testing.T, address, statement string) {
	t.Helper()
	with(t, address, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, statement)
		return err
	})
}

func count(t *testing.T, address, query string) (n int) {
	t.Helper()
	with(t, address, func(ctx context.Context, conn *pgx.Conn) error { return conn.QueryRow(ctx, query).Scan(&n) })
	return n
}

func with(t *testing.T, address string, do func(context.Context, *pgx.Conn) error) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if err := do(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
}
