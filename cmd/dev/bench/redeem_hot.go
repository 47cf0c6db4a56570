package main

import (
	"context"
	"errors"
	"fmt"
)

const manyConnections = 64

// measureRedeemHot compares redeeming one hot perk over HTTP with plain inserts into the same PostgreSQL.
func measureRedeemHot(ctx context.Context, l *lab) (result *table, err error) {
	c, err := startPostgres(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	rush, err := l.newRush(ctx, address(c))
	if err != nil {
		return nil, err
	}
	perksd, err := l.serve(ctx, address(c))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, perksd.stop()) }()
	inserts, err := l.newInserts(ctx, c)
	if err != nil {
		return nil, err
	}

	rates, err := l.inTurn(ctx, "redeem-hot",
		contender{"pgbench", func(ctx context.Context) (float64, error) { return inserts.run(ctx, l.time) }},
		contender{"redeem", rush.at(manyConnections, false, perksd)},
		contender{"redeem with keys", rush.at(manyConnections, true, perksd)},
	)
	if err != nil {
		return nil, err
	}
	if err := rush.check(ctx); err != nil {
		return nil, err
	}
	result = newTable("Redeeming one hot perk (`redeem-hot`)", "over PostgreSQL, 64 connections, limited stock", "perksd", "pgbench, one plain INSERT")
	atLeastOne := target{1, atLeast}
	result.add(rates[1]/rates[0], atLeastOne, "`POST /perks/{id}/redeem`", rate(rates[1]), rate(rates[0]))
	result.add(rates[2]/rates[0], atLeastOne, "the same with an `Idempotency-Key`", rate(rates[2]), rate(rates[0]))
	result.note("%s", rush.summary())
	return result, nil
}

// summary says what check has proven.
func (r *rush) summary() string {
	var acknowledged int64
	for _, n := range r.acknowledged {
		acknowledged += n
	}
	return fmt.Sprintf("%s redemptions were acknowledged in all, and just as many are stored.", grouped(acknowledged))
}
