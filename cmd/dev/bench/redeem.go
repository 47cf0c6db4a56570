package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/perks/store/storetest"
)

const (
	manyConnections = 64

	redeemUsers    = 400_000    // users; each redeems a perk once at most
	hotPerks       = 96         // one for each measurement
	manyPerks      = 1_000      // redeemed at once, in all measurements of that kind
	hotPerkStock   = 10_000_000 // limited, but enough
	warmupRequests = 500        // requests
)

// redeemLoad redeems hot perks: each measurement has a perk of its own, and each request another user. Or it redeems
// many perks at once.
type redeemLoad struct {
	*harness
	database     string
	service      *service
	used         int              // hot perks
	acknowledged map[string]int64 // redemptions by perk
}

// measureRedeemHot compares redeeming one hot perk over HTTP with plain inserts into the same PostgreSQL.
func measureRedeemHot(ctx context.Context, l *harness) (*table, error) {
	c, err := l.postgres(ctx)
	if err != nil {
		return nil, err
	}
	load, err := l.newRedeemLoad(ctx, address(c), redeemUsers)
	if err != nil {
		return nil, err
	}
	inserts, err := l.newInserts(ctx, c)
	if err != nil {
		return nil, err
	}

	rates, err := load.alternate(ctx, "redeem-hot",
		contender{"pgbench", func(ctx context.Context) (float64, error) { return inserts.run(ctx, l.time) }},
		contender{"redeem", load.at(manyConnections, false)},
		contender{"redeem with keys", load.at(manyConnections, true)},
		contender{"redeem many perks", load.atManyPerks(manyConnections)},
	)
	if err != nil {
		return nil, err
	}
	result := newTable("Redeeming one hot perk (`redeem-hot`)", "over PostgreSQL, 64 connections, limited stock",
		"perksd", "pgbench, one plain INSERT")
	result.add(rates[1]/rates[0], target{1, atLeast}, "`POST /perks/{id}/redeem`", rate(rates[1]), rate(rates[0]))
	result.add(rates[2]/rates[0], target{0.9, atLeast}, "the same with an `Idempotency-Key`", rate(rates[2]),
		rate(rates[0]))
	result.add(rates[3]/rates[0], target{1, atLeast}, fmt.Sprintf("the same over %s perks at once", grouped(manyPerks)),
		rate(rates[3]), rate(rates[0]))
	result.note("%s", load.summary())
	return result, nil
}

// measureRedeemSQLite compares redeeming one hot perk over SQLite at many connections with the same at one, and with
// writing the same rows and nothing more.
func measureRedeemSQLite(ctx context.Context, l *harness) (*table, error) {
	file := "sqlite:" + filepath.Join(l.Dir, "redeem.db")
	load, err := l.newRedeemLoad(ctx, file, redeemUsers)
	if err != nil {
		return nil, err
	}
	bare, err := load.newGroupCommit(ctx)
	if err != nil {
		return nil, err
	}
	rates, err := load.alternate(ctx, "redeem-sqlite",
		contender{"64 connections", load.at(manyConnections, false)},
		contender{"1 connection", load.at(1, false)},
		contender{"group commit", bare.run},
	)
	if err == nil {
		err = bare.check(ctx)
	}
	if err != nil {
		return nil, err
	}
	result := newTable("Redeeming on SQLite (`redeem-sqlite`)", "`synchronous=FULL`, one hot perk, limited stock",
		"perksd", "beside it")
	result.add(rates[0]/rates[1], target{3, atLeast}, "64 connections, against 1 connection", rate(rates[0]),
		rate(rates[1]))
	result.add(rates[0]/rates[2], target{0.7, atLeast},
		"64 connections, against a bare group-commit loop of the same rows in Go", rate(rates[0]), rate(rates[2]))
	result.note("%s", load.summary())
	return result, nil
}

// newRedeemLoad fills a database with that many users and all perks, and starts a service on it.
func (l *harness) newRedeemLoad(ctx context.Context, database string, users int64) (*redeemLoad, error) {
	// alice and bob come first
	if _, err := l.runPerksd(ctx, database, nil, "demo-data", "--perks", "0", "--users",
		fmt.Sprint(users+2)); err != nil {
		return nil, err
	}
	var perks strings.Builder
	for i := range hotPerks + manyPerks {
		fmt.Fprintf(&perks, `{"id":%q,"title":"Hot","description":"For the first","city":"Bath","stock":%d}`+"\n",
			hotPerk(i), hotPerkStock)
	}
	if _, err := l.runPerksd(ctx, database, strings.NewReader(perks.String()), "import", "perks", "--format", "jsonl",
		"-"); err != nil {
		return nil, err
	}
	s, err := l.serve(ctx, database)
	return &redeemLoad{harness: l, database: database, service: s, acknowledged: map[string]int64{}}, err
}

// hotPerk is a perk of one measurement, or from hotPerks on one of many that are redeemed at once.
func hotPerk(i int) string { return fmt.Sprintf("hot-%04d", i) }

// nextPerk is a hot perk that was not redeemed yet.
func (r *redeemLoad) nextPerk() string {
	r.used++
	return hotPerk(r.used - 1)
}

// at makes a measurement: each call of it redeems the next perk.
func (r *redeemLoad) at(connections int, withKeys bool) func(context.Context) (float64, error) {
	plan := r.plan(connections)
	return func(ctx context.Context) (float64, error) {
		perk := r.nextPerk()
		plan.Request = redeemRequest(r.service.token, func(int64) string { return perk }, withKeys)
		report, err := Run(ctx, plan)
		r.acknowledged[perk] = report.Responses
		return report.Rate(), err
	}
}

// atManyPerks makes a measurement: each call of it redeems all of many perks in rotation. A user gets another perk in
// each call.
func (r *redeemLoad) atManyPerks(connections int) func(context.Context) (float64, error) {
	plan := r.plan(connections)
	var perks []string
	for i := range manyPerks {
		perks = append(perks, hotPerk(hotPerks+i))
	}
	var call int64
	return func(ctx context.Context) (float64, error) {
		var sent [manyPerks]atomic.Int64
		perkOf := func(n int64) string {
			i := (n + call) % manyPerks
			sent[i].Add(1)
			return perks[i]
		}
		plan.Request = redeemRequest(r.service.token, perkOf, false)
		report, err := Run(ctx, plan)
		for i := range sent { // and acknowledged, or Run has failed
			r.acknowledged[perks[i]] += sent[i].Load()
		}
		call++
		return report.Rate(), err
	}
}

// plan is one in which each user redeems once.
func (r *redeemLoad) plan(connections int) Plan {
	return Plan{Address: r.service.address, Connections: connections, Warmup: warmupRequests, Time: r.time,
		Count: redeemUsers - warmupRequests, Status: http.StatusCreated}
}

// redeemRequest has another user redeem a perk in every request. Users come in no order, as they do.
func redeemRequest(token string, perkOf func(n int64) string, withKeys bool) func([]byte, int64) []byte {
	const body, length = `{"user_id":"u-%06d"}`, len(`{"user_id":"u-123456"}`)
	head := fmt.Sprintf("/redeem HTTP/1.1\r\nHost: perks\r\nAuthorization: Bearer %s\r\nContent-Type: "+
		"application/json\r\nContent-Length: %d\r\n", token, length)
	return func(buffer []byte, n int64) []byte {
		perk := perkOf(n)
		buffer = append(append(append(buffer, "POST /v2/partners/perks/"...), perk...), head...)
		if withKeys {
			buffer = fmt.Appendf(buffer, "Idempotency-Key: %s-%d\r\n", perk, n)
		}
		return fmt.Appendf(append(buffer, "\r\n"...), body, shuffled(n))
	}
}

// shuffled gives each n below the number of users another user from 1 on.
func shuffled(n int64) int64 { return n*7919%redeemUsers + 1 } // 7919 is prime and divides no number of users here

// alternate measures the contenders, and checks.
func (r *redeemLoad) alternate(ctx context.Context, work string, contenders ...contender) ([]float64, error) {
	rates, err := r.harness.alternate(ctx, work, contenders...)
	if err != nil {
		return nil, err
	}
	return rates, r.check(ctx)
}

// check fails unless the database has just as many redemptions of each perk as were acknowledged.
func (r *redeemLoad) check(ctx context.Context) error {
	exported, err := r.runPerksd(ctx, r.database, nil, "export", "redemptions", "-o", "csv")
	if err != nil {
		return err
	}
	stored, err := countBy("perk_id", strings.NewReader(exported))
	if err != nil {
		return fmt.Errorf("reading the redemptions: %w", err)
	}
	for perk, acknowledged := range r.acknowledged {
		if stored[perk] != acknowledged {
			return fmt.Errorf("%d redemptions of %s were acknowledged, and %d are stored", acknowledged, perk,
				stored[perk])
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

// summary says what check found.
func (r *redeemLoad) summary() string {
	var acknowledged int64
	for _, n := range r.acknowledged {
		acknowledged += n
	}
	return fmt.Sprintf("%s redemptions were acknowledged, and as many are stored.", grouped(acknowledged))
}

// inserts is pgbench at one INSERT, the least that a redemption could be: a row with an id, a user, a perk and a time,
// under a primary key and nothing else.
type inserts struct {
	cluster *storetest.PostgresServer
	script  string
}

func (l *harness) newInserts(ctx context.Context, c *storetest.PostgresServer) (*inserts, error) {
	conn, err := pgx.Connect(ctx, c.DSN(database))
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, `CREATE TABLE plain_inserts (
		id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, user_id text NOT NULL,
		perk_id text NOT NULL, redeemed_at timestamptz NOT NULL)`); err != nil {
		return nil, fmt.Errorf("making the table of plain inserts: %w", err)
	}
	i := &inserts{cluster: c, script: filepath.Join(l.Dir, "insert.sql")}
	return i, os.WriteFile(i.script, []byte(fmt.Sprintf("\\set user random(1, %d)\n"+
		"INSERT INTO plain_inserts (user_id, perk_id, redeemed_at) VALUES ('u-' || :user, 'hot', now());\n",
		redeemUsers)), 0o644)
}

// run has pgbench insert for some time and returns how many rows it inserted in a second.
func (i *inserts) run(ctx context.Context, time time.Duration) (float64, error) {
	command := exec.CommandContext(ctx, "pgbench", "--no-vacuum", "--protocol", "prepared", "--client", "16", "--jobs",
		"2",
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
