package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/perks/store"
)

// standbys are the servers that reads may go to instead of the primary. One is read only if it has everything that the
// primary had MaxBehind ago, and everything up to the position that the reader asks for. The primary is asked again
// whenever a standby does not return a result, so none of them is ever the reason for an error.
//
// A position is a timeline and a place in the log. A server that follows a former primary is on a lower timeline, so it
// is below all positions of the new one, however much it was sent.
type standbys struct {
	primary *watch
	reads   *readPool // of the primary
	all     []*standby
	next    atomic.Uint32 // where the search for one begins
	running sync.WaitGroup
	stop    context.CancelFunc
}

const (
	watchEvery  = 250 * time.Millisecond // unless somebody waits
	watchTime   = time.Second            // in which a server must answer
	standbyWait = 50 * time.Millisecond  // for a standby that is almost there
)

const primaryPosition = `
	SELECT lower(substr(pg_walfile_name(l), 1, 8)) || lpad(to_hex((l - '0/0')::bigint), 16, '0'), 0
	FROM pg_current_wal_flush_lsn() AS l`

// standbyPosition has the highest timeline that the server certainly follows: a role without pg_read_all_stats sees it
// only after the next restart point. There is no row on a primary.
const standbyPosition = `
	SELECT lpad(to_hex(greatest((SELECT timeline_id FROM pg_control_checkpoint()),
			(SELECT min_recovery_end_timeline FROM pg_control_recovery()),
			(SELECT received_tli FROM pg_stat_wal_receiver))), 8, '0')
		|| lpad(to_hex((pg_last_wal_replay_lsn() - '0/0')::bigint), 16, '0'),
		` + startOfServer + `
	WHERE pg_is_in_recovery()`

// startOfServer tells a server from others behind the same address.
const startOfServer = `(extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint`

var (
	errOtherDatabase = errors.New("it has another database")
	errOtherServer   = errors.New("the address leads to several servers: name each of them, and no load balancer")
)

// watch asks one server again and again how far it is, over a connection of its own.
type watch struct {
	pool   *pgxpool.Pool
	query  string
	demand chan struct{} // has a value if somebody waits

	mu      sync.Mutex
	last    observation
	good    observation   // the last one without an error
	changed chan struct{} // closed after the next observation
}

// observation is how far a server was at some time after began.
type observation struct {
	began    time.Time
	position store.Position
	started  int64 // of a standby: startOfServer
	err      error
}

func newWatch(config *pgxpool.Config, query string) (*watch, error) {
	config.MaxConns, config.MinConns, config.MinIdleConns = 1, 0, 0
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	return &watch{pool: pool, query: query, demand: make(chan struct{}, 1), changed: make(chan struct{})}, err
}

// run observes until ctx ends. note sees an observation before those who wait for it.
func (w *watch) run(ctx context.Context, note func(observation)) {
	ticks := time.NewTicker(watchEvery)
	defer ticks.Stop()
	for {
		o := w.observe(ctx)
		if ctx.Err() != nil {
			return
		}
		note(o)
		w.mu.Lock()
		w.last = o
		if o.err == nil {
			w.good = o
		}
		close(w.changed)
		w.changed = make(chan struct{})
		w.mu.Unlock()
		select {
		case <-w.demand:
		case <-ticks.C:
		case <-ctx.Done():
			return
		}
	}
}

func (w *watch) observe(ctx context.Context) (o observation) {
	ctx, cancel := context.WithTimeout(ctx, watchTime)
	defer cancel()
	o.began = time.Now()
	o.err = w.pool.QueryRow(ctx, w.query).Scan(&o.position, &o.started)
	return o
}

// after returns an observation that was begun after the instant.
func (w *watch) after(ctx context.Context, at time.Time) (observation, error) {
	for {
		w.mu.Lock()
		last, changed := w.last, w.changed
		w.mu.Unlock()
		if last.began.After(at) {
			return last, last.err
		}
		select {
		case w.demand <- struct{}{}:
		default: // somebody else waits, too
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return observation{}, ctx.Err()
		}
	}
}

func (w *watch) lastGood() observation {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.good
}

// standby is one server of them.
type standby struct {
	name  string
	log   *slog.Logger
	reads *readPool
	watch *watch
	perks *perkReader

	mu       sync.Mutex
	goal     observation // of the primary; the standby has not been seen to have reached it
	caughtUp time.Time   // it has everything that was written before
	why      string      // it is not read; "" if it is
	alive    context.Context
	leave    context.CancelFunc // ends the reads that wait for it
}

// openStandbys connects to the servers at the address in the background: one that is down now is used when it is back.
func openStandbys(address string, primary *pgxpool.Config, identity Identity, db *DB) (*standbys, error) {
	config, err := parseAddress(address)
	if err != nil {
		return nil, err
	}
	for _, name := range timeouts {
		if value := primary.ConnConfig.RuntimeParams[name]; value != "" && !isSetIn(config.ConnConfig, name) {
			config.ConnConfig.RuntimeParams[name] = value
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &standbys{reads: db.reads, stop: cancel}
	if s.primary, err = newWatch(primary.Copy(), primaryPosition); err != nil {
		cancel()
		return nil, err
	}
	for _, one := range eachHost(config) {
		follower, err := newStandby(one, identity, db)
		if err != nil {
			s.close()
			return nil, err
		}
		s.all = append(s.all, follower)
	}
	s.running.Go(func() { s.primary.run(ctx, func(observation) {}) })
	for _, one := range s.all {
		s.running.Go(func() { one.watch.run(ctx, func(o observation) { one.note(o, s.primary.lastGood()) }) })
	}
	return s, nil
}

// eachHost returns a configuration for each host, whatever its role: that is asked again and again.
func eachHost(config *pgxpool.Config) (each []*pgxpool.Config) {
	first := &pgconn.FallbackConfig{Host: config.ConnConfig.Host, Port: config.ConnConfig.Port,
		TLSConfig: config.ConnConfig.TLSConfig}
	byHost := map[string]*pgxpool.Config{}
	for _, host := range append([]*pgconn.FallbackConfig{first}, config.ConnConfig.Fallbacks...) {
		name := hostName(host.Host, host.Port)
		if known := byHost[name]; known != nil { // with and without TLS
			known.ConnConfig.Fallbacks = append(known.ConnConfig.Fallbacks, host)
			continue
		}
		one := config.Copy()
		one.ConnConfig.Host, one.ConnConfig.Port, one.ConnConfig.TLSConfig = host.Host, host.Port, host.TLSConfig
		one.ConnConfig.Fallbacks, one.ConnConfig.ValidateConnect = nil, nil
		byHost[name] = one
		each = append(each, one)
	}
	return each
}

func hostName(host string, port uint16) string {
	if filepath.IsAbs(host) {
		return host
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

func newStandby(config *pgxpool.Config, identity Identity, db *DB) (s *standby, err error) {
	s = &standby{name: hostName(config.ConnConfig.Host, config.ConnConfig.Port), log: db.log,
		why: "it was not asked yet"}
	s.alive, s.leave = context.WithCancel(context.Background())
	s.perks = &perkReader{db: db, standby: s}
	watched := config.Copy()
	watched.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		found, err := identityIn(view{ctx, conn})
		if err == nil && !found.IsSame(identity) {
			err = errOtherDatabase
		}
		return err
	}
	if s.watch, err = newWatch(watched, standbyPosition); err != nil {
		return nil, err
	}
	adjust := config.AfterConnect
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		if err := adjust(ctx, conn); err != nil {
			return err
		}
		started, err := store.One(view{ctx, conn}, store.ScanValue[int64], `SELECT `+startOfServer)
		if err == nil && started != s.watch.lastGood().started {
			err = errOtherServer
		}
		return err
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err == nil {
		s.reads = newReadPool(pool)
	}
	return s, err
}

// note judges an observation of the standby by the primary's last one.
func (s *standby) note(o, primary observation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.err == nil && s.watch.lastGood().started != o.started {
		s.reads.Reset() // the server was started again, or is another
	}
	if o.err == nil && o.position >= s.goal.position {
		s.caughtUp, s.goal = s.goal.began, primary
		if o.position >= primary.position {
			s.caughtUp = primary.began
		}
	}
	why := ""
	switch behind := o.began.Sub(s.caughtUp); {
	case errors.Is(o.err, pgx.ErrNoRows):
		why = "it is the primary"
	case o.err != nil:
		why = o.err.Error()
	case s.caughtUp.IsZero():
		why = "it has not caught up yet"
	case behind > store.MaxBehind:
		why = fmt.Sprintf("it is more than %s behind the primary, or the primary does not answer", store.MaxBehind)
	}
	s.judge(why, o.err != nil)
}

// judge logs when the standby begins or ceases to be read. isGone ends the reads that it has not answered.
func (s *standby) judge(why string, isGone bool) {
	switch {
	case why == "" && s.why != "":
		s.log.Info("reading from a standby", "standby", s.name)
	case why != "" && s.why == "":
		s.log.Warn("not reading from a standby any more", "standby", s.name, "why", why)
	case why != s.why:
		s.log.Debug("not reading from a standby", "standby", s.name, "why", why)
	}
	s.why = why
	switch {
	case isGone:
		s.leave()
	case s.alive.Err() != nil:
		s.alive, s.leave = context.WithCancel(context.Background())
	}
}

// stats tells how far behind the standby is, and whether that is at most MaxBehind and it is up.
func (s *standby) stats(at time.Time) store.StandbyStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	behind := at.Sub(s.caughtUp)
	return store.StandbyStats{Name: s.name, IsRead: s.why == "" && behind <= store.MaxBehind, Behind: behind}
}

// choose returns a standby for reads under the context, or nil for the primary, which also helps when all connections
// to standbys are busy.
func (s *standbys) choose(ctx context.Context) *standby {
	if s == nil {
		return nil
	}
	after, allowed := store.Behind(ctx)
	if !allowed || after == store.AfterAll {
		return nil
	}
	now := time.Now()
	var almost, busy *standby
	for i, first := 0, int(s.next.Add(1)); i < len(s.all); i++ {
		one := s.all[(first+i)%len(s.all)]
		switch {
		case !one.stats(now).IsRead:
		case one.watch.lastGood().position < after:
			almost = one
		case !one.reads.isBusy(ctx):
			return one
		default:
			busy = one
		}
	}
	switch {
	case busy != nil && s.reads.isBusy(ctx):
		return busy
	case busy != nil, almost == nil:
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, standbyWait)
	defer cancel()
	if o, err := almost.watch.after(waiting, now); err != nil || o.position < after {
		return nil
	}
	return almost
}

// do runs work under a context that ends when the standby is found to be gone.
func (s *standby) do(ctx context.Context, work func(context.Context) error) error {
	s.mu.Lock()
	alive := s.alive
	s.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(alive, cancel)()
	return work(ctx)
}

func (s *standbys) close() {
	if s == nil {
		return
	}
	s.stop()
	s.running.Wait()
	s.primary.pool.Close()
	for _, one := range s.all {
		one.leave()
		one.watch.pool.Close()
		one.reads.Close()
	}
}

// Position waits for an answer of the primary, which those who ask at the same time share.
func (db *DB) Position(ctx context.Context) (store.Position, error) {
	if db.standbys == nil {
		return "", nil
	}
	o, err := db.standbys.primary.after(ctx, time.Now())
	return o.position, fault("read the position", err)
}
