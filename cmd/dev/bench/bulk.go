package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"
)

const bulkRows = 10_000

// bulkCases are how many rows are sent at once. Eight is perksctl's default.
var bulkCases = []int{8, manyConnections}

// measureBulk compares redeeming the rows of a file with the same requests by the load generator, on both stores.
func measureBulk(ctx context.Context, l *harness) (*table, error) {
	result := newTable("Redeeming from a file (`bulk`)", "`perksctl perk redeem --file`", "perksctl",
		"bare load generator")
	for _, kind := range []string{"SQLite", "PostgreSQL"} {
		if err := l.addBulk(ctx, result, kind); err != nil {
			return nil, err
		}
	}
	result.note("%s rows each, from the start of perksctl to its exit; all on the same machine.", grouped(bulkRows))
	return result, nil
}

// addBulk is measureBulk on one store.
func (l *harness) addBulk(ctx context.Context, result *table, store string) error {
	database, err := l.newDatabase(ctx, store, "bulk")
	if err != nil {
		return err
	}
	load, err := l.newRedeemLoad(ctx, database, redeemUsers)
	if err != nil {
		return err
	}
	var spent []time.Duration // of processors, on a row
	for _, atOnce := range bulkCases {
		rates, err := load.alternate(ctx, fmt.Sprintf("bulk on %s at %d", store, atOnce),
			contender{"perksctl", load.fromFile(atOnce, &spent)},
			contender{"load generator", load.fromGenerator(atOnce)},
		)
		if err != nil {
			return err
		}
		result.add(rates[0]/rates[1], target{0.9, atLeast}, fmt.Sprintf("%s, %d at once", store, atOnce),
			rate(rates[0]), rate(rates[1]))
	}
	result.note("%s: %s perksctl spent %d µs of the processors on a row (median).", store, load.summary(),
		median(spent).Microseconds())
	return nil
}

// fromFile makes a measurement: each call of it has perksctl redeem the next perk for the users of a new file, and adds
// what perksctl spent of the processors on a row.
func (r *redeemLoad) fromFile(atOnce int, spent *[]time.Duration) func(context.Context) (float64, error) {
	return func(ctx context.Context) (float64, error) {
		perk := r.nextPerk()
		file := filepath.Join(r.Dir, perk+".csv")
		if err := writeRedemptions(file, perk, bulkRows, shuffled); err != nil {
			return 0, err
		}
		cost, err := r.perksctl(ctx, r.service, io.Discard, "perk", "redeem", "--file", file, "--concurrency",
			fmt.Sprint(atOnce))
		if err != nil {
			return 0, err
		}
		r.acknowledged[perk] = bulkRows
		*spent = append(*spent, cost.cpu/bulkRows)
		return bulkRows / cost.time.Seconds(), errors.Join(os.Remove(file), os.Remove(file+".results.jsonl"))
	}
}

// fromGenerator makes a measurement: each call of it sends what perksctl would send for the same file of the next perk.
func (r *redeemLoad) fromGenerator(atOnce int) func(context.Context) (float64, error) {
	return func(ctx context.Context) (float64, error) {
		perk := r.nextPerk()
		report, err := Run(ctx, Plan{
			Address: r.service.address, Connections: atOnce, Count: bulkRows, Status: 201,
			Request: fileRequest(r.service, perk),
		})
		r.acknowledged[perk] = report.Responses
		return report.Rate(), err
	}
}

// writeRedemptions writes a file of rows that redeem a perk, each for the user that number names.
func writeRedemptions(path, perk string, rows int64, number func(int64) int64) error {
	text := []byte("perk_id,user_id\n")
	for n := range rows {
		text = fmt.Appendf(text, "%s,u-%06d\n", perk, number(n))
	}
	return os.WriteFile(path, text, 0o600)
}

// fileRequest is the requests that perksctl sends for a file of writeRedemptions.
func fileRequest(s *service, perk string) func([]byte, int64) []byte {
	const body, length = `{"user_id":"u-%06d"}`, len(`{"user_id":"u-123456"}`)
	head := fmt.Sprintf("POST /v2/partners/perks/%s/redeem HTTP/1.1\r\nHost: %s\r\nUser-Agent: "+
		"perksctl/dev\r\nContent-Length: %d\r\nAccept: application/json, application/problem+json\r\nAuthorization: "+
		"Bearer %s\r\nContent-Type: application/json\r\nAccept-Encoding: gzip\r\nIdempotency-Key: ", perk,
		s.address, length, s.token)
	batch := uuid.New()
	sum := binary.BigEndian.Uint32(batch[:]) // with the user it stands for the sum that perksctl makes of a row
	return func(buffer []byte, n int64) []byte {
		user := shuffled(n)
		buffer = append(buffer, head...)
		// line 1 is the header
		buffer = fmt.Appendf(buffer, "%s-%d-%08x\r\n\r\n", batch, n+2, sum^uint32(user)*2654435761)
		return fmt.Appendf(buffer, body, user)
	}
}

// manyRows is how many rows the largest file has.
const manyRows = 1_000_000

// measureBulkMillion measures what it takes perksctl to work through a million rows, and to find that all are done.
func measureBulkMillion(ctx context.Context, l *harness) (*table, error) {
	database := "sqlite:" + filepath.Join(l.Dir, "bulk-million.db")
	load, err := l.newRedeemLoad(ctx, database, manyRows)
	if err != nil {
		return nil, err
	}
	perk, file := load.nextPerk(), filepath.Join(l.Dir, "million.csv")
	if err := writeRedemptions(file, perk, manyRows, func(n int64) int64 { return n + 1 }); err != nil {
		return nil, err
	}

	result := newTableOf("peak MiB", "A file of a million rows (`bulk-million`)",
		"`perksctl perk redeem --file` over SQLite", "rows", "time", "processor's time")
	for _, work := range []string{"every row redeemed", "the same again, with nothing left to do"} {
		l.logf("bulk-million: %s", work)
		cost, err := l.perksctl(ctx, load.service, io.Discard, "perk", "redeem", "--file", file)
		if err != nil {
			return nil, err
		}
		result.add(float64(cost.peak), memoryLimit, work, grouped(manyRows), seconds(cost.time), seconds(cost.cpu))
	}
	load.acknowledged[perk] = manyRows
	if err := load.check(ctx); err != nil {
		return nil, err
	}
	result.note("%d at once. %s", bulkCases[0], load.summary())
	return result, nil
}
