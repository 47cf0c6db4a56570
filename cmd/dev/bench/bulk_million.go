package main

import (
	"context"
	"errors"
	"io"
	"path/filepath"
)

// manyRows is how many rows the largest file has.
const manyRows = 1_000_000

// measureBulkMillion measures what it takes perksctl to work through a million rows, and to find that all are done.
func measureBulkMillion(ctx context.Context, l *lab) (result *table, err error) {
	database := "sqlite:" + filepath.Join(l.folder, "bulk-million.db")
	rush, err := l.newRushOf(ctx, database, manyRows)
	if err != nil {
		return nil, err
	}
	perksd, err := l.serve(ctx, database)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, perksd.stop()) }()
	perk, file := hotPerk(0), filepath.Join(l.folder, "million.csv")
	if err := writeRedemptions(file, perk, manyRows, func(n int64) int64 { return n + 1 }); err != nil {
		return nil, err
	}

	result = newMemoryTable("A file of a million rows (`bulk-million`)", "`perksctl perk redeem --file` over SQLite", "rows", "time", "processor's time")
	for _, work := range []string{"every row redeemed", "the same again, with nothing left to do"} {
		l.say("bulk-million: %s", work)
		cost, err := l.perksctl(ctx, perksd, io.Discard, "perk", "redeem", "--file", file)
		if err != nil {
			return nil, err
		}
		result.add(float64(cost.peak), mostMemory, work, grouped(manyRows), seconds(cost.time), seconds(cost.cpu))
	}
	rush.acknowledged[perk] = manyRows
	if err := rush.check(ctx); err != nil {
		return nil, err
	}
	result.note("%d at once. %s", bulkCases[0], rush.summary())
	return result, nil
}
