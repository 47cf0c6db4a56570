package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/perks/store/postgres/cluster"
)

// inserts is pgbench at one INSERT, the least that a redemption could be: a row with an id, a user, a perk and a time, under
// a primary key and nothing else.
type inserts struct {
	cluster *cluster.Cluster
	script  string
}

func (l *lab) newInserts(ctx context.Context, c *cluster.Cluster) (*inserts, error) {
	conn, err := pgx.Connect(ctx, c.DSN(database))
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, `CREATE TABLE plain_inserts (
		id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, user_id text NOT NULL, perk_id text NOT NULL, redeemed_at timestamptz NOT NULL)`); err != nil {
		return nil, fmt.Errorf("making the table of plain inserts: %w", err)
	}
	i := &inserts{cluster: c, script: filepath.Join(l.folder, "insert.sql")}
	return i, os.WriteFile(i.script, []byte(fmt.Sprintf("\\set user random(1, %d)\n"+
		"INSERT INTO plain_inserts (user_id, perk_id, redeemed_at) VALUES ('u-' || :user, 'hot', now());\n", redeemers)), 0o644)
}

// run has pgbench insert for some time and returns how many rows it inserted in a second.
func (i *inserts) run(ctx context.Context, time time.Duration) (float64, error) {
	command := exec.CommandContext(ctx, "pgbench", "--no-vacuum", "--protocol", "prepared", "--client", "16", "--jobs", "2",
		"--time", strconv.Itoa(max(1, int(time.Seconds()))), "--file", i.script, i.cluster.DSN(database))
	output, err := command.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("pgbench, which comes with PostgreSQL: %w: %s", err, output)
	}
	return readPgbench(output)
}

var pgbenchRate = regexp.MustCompile(`tps = ([0-9.]+) \(without initial connection time\)`)

// readPgbench takes the rate from what pgbench prints.
func readPgbench(output []byte) (float64, error) {
	found := pgbenchRate.FindSubmatch(output)
	if found == nil {
		return 0, fmt.Errorf("pgbench printed no rate: %s", output)
	}
	return strconv.ParseFloat(string(found[1]), 64)
}
