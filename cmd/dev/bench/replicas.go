package main

import (
	"context"
	"errors"
)

// measureReplicas compares redeeming one hot perk at two servers over one database with the same at one of them.
func measureReplicas(ctx context.Context, l *lab) (result *table, err error) {
	c, err := startPostgres(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	rush, err := l.newRush(ctx, address(c))
	if err != nil {
		return nil, err
	}
	var replicas []*service
	for range 2 {
		replica, err := l.serve(ctx, address(c))
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, replica.stop()) }()
		replicas = append(replicas, replica)
	}
	rates, err := l.inTurn(ctx, "replicas",
		contender{"two replicas", rush.at(manyConnections, false, replicas...)},
		contender{"one", rush.at(manyConnections, false, replicas[0])},
	)
	if err != nil {
		return nil, err
	}
	if err := rush.check(ctx); err != nil {
		return nil, err
	}
	result = newTable("Replicas that share a hot perk (`replicas`)", "over PostgreSQL, 64 connections, limited stock", "two replicas", "one")
	result.add(rates[0]/rates[1], target{}, "`POST /perks/{id}/redeem`", rate(rates[0]), rate(rates[1]))
	result.note("All on the same machine: the second replica brings no processors of its own. %s", rush.summary())
	return result, nil
}
