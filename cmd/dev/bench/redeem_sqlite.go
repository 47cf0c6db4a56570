package main

import (
	"context"
	"errors"
	"path/filepath"
)

// measureRedeemSQLite compares redeeming one hot perk over SQLite at many connections with the same at one.
func measureRedeemSQLite(ctx context.Context, l *lab) (result *table, err error) {
	file := "sqlite:" + filepath.Join(l.folder, "redeem.db")
	rush, err := l.newRush(ctx, file)
	if err != nil {
		return nil, err
	}
	perksd, err := l.serve(ctx, file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, perksd.stop()) }()
	rates, err := l.inTurn(ctx, "redeem-sqlite",
		contender{"64 connections", rush.at(manyConnections, false, perksd)},
		contender{"1 connection", rush.at(1, false, perksd)},
	)
	if err != nil {
		return nil, err
	}
	if err := rush.check(ctx); err != nil {
		return nil, err
	}
	result = newTable("Redeeming on SQLite (`redeem-sqlite`)", "`synchronous=FULL`, one hot perk, limited stock", "64 connections", "1 connection")
	result.add(rates[0]/rates[1], target{3, atLeast}, "`POST /perks/{id}/redeem`", rate(rates[0]), rate(rates[1]))
	result.note("%s", rush.summary())
	return result, nil
}
