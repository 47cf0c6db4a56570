package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

const (
	redeemers  = 400_000    // users; each redeems a perk once at most
	rushPerks  = 96         // one for each measurement
	rushStock  = 10_000_000 // limited, but enough
	rushWarmup = 500        // requests
)

// rush is redeeming one hot perk: each measurement has a perk of its own, and each request another user.
type rush struct {
	lab          *lab
	database     string
	acknowledged map[string]int64 // redemptions by perk
}

// newRush fills a database with redeemers and hot perks.
func (l *lab) newRush(ctx context.Context, database string) (*rush, error) {
	return l.newRushOf(ctx, database, redeemers)
}

// newRushOf fills a database with so many users and hot perks.
func (l *lab) newRushOf(ctx context.Context, database string, users int64) (*rush, error) {
	if _, err := l.operate(ctx, database, nil, "demo-data", "--perks", "0", "--users", fmt.Sprint(users+2)); err != nil { // alice and bob come first
		return nil, err
	}
	var perks strings.Builder
	for i := range rushPerks {
		fmt.Fprintf(&perks, `{"id":%q,"title":"Hot","description":"For whoever is first","city":"Bath","stock":%d}`+"\n", hotPerk(i), rushStock)
	}
	if _, err := l.operate(ctx, database, strings.NewReader(perks.String()), "import", "perks", "--format", "jsonl", "-"); err != nil {
		return nil, err
	}
	return &rush{lab: l, database: database, acknowledged: map[string]int64{}}, nil
}

func hotPerk(i int) string { return fmt.Sprintf("hot-%02d", i) }

// at makes a measurement: each call of it redeems the next perk at the services, which share the database.
func (r *rush) at(connections int, withKeys bool, services ...*service) func(context.Context) (float64, error) {
	plan := Plan{Connections: connections, Warmup: rushWarmup, Time: r.lab.time, Count: redeemers - rushWarmup, Status: 201}
	for _, s := range services {
		plan.Addresses = append(plan.Addresses, s.address)
	}
	return func(ctx context.Context) (float64, error) {
		perk := hotPerk(len(r.acknowledged))
		plan.Request = redeemRequest(services[0].token, perk, withKeys)
		report, err := Run(ctx, plan)
		r.acknowledged[perk] = report.Answers
		return report.Rate(), err
	}
}

// redeemRequest has another user redeem the perk in every request. Users come in no order, as they do.
func redeemRequest(token, perk string, withKeys bool) func([]byte, int64) []byte {
	const body, length = `{"user_id":"u-%06d"}`, len(`{"user_id":"u-123456"}`)
	head := fmt.Sprintf("POST /v2/partners/perks/%s/redeem HTTP/1.1\r\nHost: perks\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n", perk, token, length)
	return func(buffer []byte, n int64) []byte {
		buffer = append(buffer, head...)
		if withKeys {
			buffer = fmt.Appendf(buffer, "Idempotency-Key: %s-%d\r\n", perk, n)
		}
		return fmt.Appendf(append(buffer, "\r\n"...), body, shuffled(n))
	}
}

// shuffled gives each n below the number of users another user from 1 on.
func shuffled(n int64) int64 { return n*7919%redeemers + 1 } // 7919 is prime and divides no number of users here

// check fails unless the database has just as many redemptions of each perk as were acknowledged.
func (r *rush) check(ctx context.Context) error {
	kept, err := r.lab.operate(ctx, r.database, nil, "export", "redemptions", "-o", "csv")
	if err != nil {
		return err
	}
	stored, err := countBy("perk_id", bytes.NewReader(kept))
	if err != nil {
		return fmt.Errorf("reading the redemptions: %w", err)
	}
	for perk, acknowledged := range r.acknowledged {
		if stored[perk] != acknowledged {
			return fmt.Errorf("%d redemptions of %s were acknowledged, and %d are stored", acknowledged, perk, stored[perk])
		}
	}
	return nil
}

// countBy counts the records of a CSV file by the value of a column.
func countBy(column string, r io.Reader) (map[string]int64, error) {
	rows := csv.NewReader(r)
	rows.ReuseRecord = true
	header, err := rows.Read()
	if err != nil {
		return nil, err
	}
	at := slices.Index(header, column)
	if at < 0 {
		return nil, fmt.Errorf("there is no column %s", column)
	}
	counts := map[string]int64{}
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return counts, nil
		}
		if err != nil {
			return nil, err
		}
		counts[row[at]]++
	}
}
