package main

import (
	"context"
	"errors"
	"fmt"

	"example.com/perks/store/postgres/cluster"
)

// connections is the size of the pool on both sides of a comparison.
const connections = 16

// serverOptions makes PostgreSQL what an operator would run: every commit on the disk, and memory and log sized so that
// neither a working set of a million perks nor a checkpoint gets in the way.
var serverOptions = cluster.Options{Durable: true, Settings: map[string]string{
	"shared_buffers": "1GB",
	"max_wal_size":   "8GB",
}}

const database = "perks"

// address is where perksd and others find the database of a cluster.
func address(c *cluster.Cluster) string {
	return fmt.Sprintf("%s&pool_max_conns=%d", c.DSN(database), connections)
}

// startPostgres starts a server with an empty database.
func startPostgres(ctx context.Context) (*cluster.Cluster, error) {
	c, err := cluster.Start(ctx, serverOptions)
	if err != nil {
		return nil, err
	}
	if err := c.CreateDatabase(ctx, database); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}
