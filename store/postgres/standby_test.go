package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

// pair is a primary with a standby whose replay can be paused, and a DB that reads from the standby.
type pair struct {
	*testing.T
	primary, standby *storetest.PostgresServer
	db               *DB
}

func newPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{T: t, primary: startServer(t, storetest.PostgresOptions{})}
	p.standby = must(p.primary.Standby(t.Context()))(t)
	storetest.AtEnd(t, p.standby.Stop)
	p.db = p.open(p.standby.DSN("postgres"))
	return p
}

func (p *pair) open(standbys string) *DB {
	p.Helper()
	return openWith(p.T, p.primary.DSN("postgres"), Options{Standbys: standbys})
}

// on executes a statement on a server.
func (p *pair) on(server *storetest.PostgresServer, statement string) {
	p.Helper()
	storetest.Execute(p, server.DSN("postgres"), statement)
}

// behind is the context of a read that may come from a standby.
func (p *pair) behind(after store.Position) context.Context {
	return store.MayBeBehind(p.Context(), after)
}

// await waits until reads after the position come from the standby, or from the primary.
func (p *pair) await(after store.Position, fromStandby bool) {
	p.Helper()
	for start := time.Now(); (p.db.standbys.choose(p.behind(after)) != nil) != fromStandby; {
		if time.Since(start) > time.Minute {
			p.Fatalf("after a minute, reads from the standby: %v", !fromStandby)
		}
		if _, err := p.db.standbys.all[0].watch.after(p.Context(), time.Now()); errors.Is(err, context.Canceled) {
			p.Fatal(err)
		}
	}
}

// addPerk returns the position after the write.
func (p *pair) addPerk(id string) store.Position {
	p.Helper()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	perk := store.PerkRecord{Perk: api.Perk{ID: id, Title: id, Description: "Of the day", City: "Berlin"}}
	must(p.db.ImportPerks(p.Context(), storetest.Rows(perk), nil, store.Operator, at))(p)
	return must(p.db.Position(p.Context()))(p)
}

func (p *pair) list(ctx context.Context) (ids []string) {
	p.Helper()
	list, err := p.db.ListPerks(ctx,
		store.PerkQuery{At: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC), Window: store.Window{Page: 1, PerPage: 9}})
	noError(p, err)
	if int64(len(list.Items)) != list.Total {
		p.Errorf("%d perks, and a total of %d", len(list.Items), list.Total)
	}
	for _, perk := range list.Items {
		ids = append(ids, perk.ID)
	}
	slices.Sort(ids)
	return ids
}

func (p *pair) wantList(what string, ctx context.Context, want ...string) {
	p.Helper()
	if got := p.list(ctx); !slices.Equal(got, want) {
		p.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func TestAReadIncludesWhatItsClientHasWritten(t *testing.T) {
	p := newPair(t)
	old := p.addPerk("old")
	p.await(old, true)
	p.on(p.standby, `SELECT pg_wal_replay_pause()`)
	audited := must(p.db.NextAudit(p.behind(""), store.AuditPlace{}, "", many))(t)
	recent := p.addPerk("recent")
	if recent <= old {
		t.Errorf("the position after a later write is %s, not above %s", recent, old)
	}

	p.wantList("any data", p.behind(""), "old")
	p.wantList("after the first write", p.behind(old), "old")
	p.wantList("after the second write", p.behind(recent), "old", "recent")
	p.wantList("with an unknown position", p.behind(store.AfterAll), "old", "recent")
	p.wantList("the latest", t.Context(), "old", "recent")
	storetest.Equal(t, "a perk that the standby lacks must come from the primary",
		errOf(p.db.Perk(p.behind(""), "recent")), nil)

	if batch, err := p.db.NextAudit(p.behind(""), audited.Next, "", many); err != nil || len(batch.Entries) == 0 {
		t.Errorf("the audit log must come from the primary: %d entries, %v", len(batch.Entries), err)
	}

	p.on(p.standby, `SELECT pg_wal_replay_resume()`)
	p.await(recent, true)
	p.wantList("from the standby after the second write", p.behind(recent), "old", "recent")
}

func TestTheHistoryOfAListingIncludesWhatItsClientHasWritten(t *testing.T) {
	p := newPair(t)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	noError(t, p.db.CreateClient(t.Context(), store.Client{ID: "owner", Name: "owner", CreatedAt: at}, store.Operator))
	must(p.db.CreateProperty(t.Context(), store.PropertyCreation{Property: api.Property{Title: "Flat"}, Owner: "owner",
		At: at}))(t)
	old := must(p.db.Position(t.Context()))(t)
	p.await(old, true)
	p.on(p.standby, `SELECT pg_wal_replay_pause()`)
	noError(t, p.db.UpdateProperty(t.Context(), 1, store.ClientActor("owner", ""), at,
		func(record *store.PropertyRecord) error { record.Title = "Loft"; return nil }))
	recent := must(p.db.Position(t.Context()))(t)

	all := func(string) error { return nil }
	query := store.PropertyHistoryQuery{ID: 1, Window: store.Window{Page: 1, PerPage: 9}, Check: all}
	for after, want := range map[store.Position]int{old: 1, recent: 2} {
		history := must(p.db.PropertyHistory(p.behind(after), query))(t)
		storetest.Equal(t, "versions after "+string(after), len(history.Items), want)
	}
	then := must(p.db.PropertyAsOf(p.behind(old), 1, at, all))(t)
	storetest.Equal(t, "what it was a moment ago comes from the primary", then.Title, "Loft")
}

func TestAStandbyThatHangsOrDiesIsLeftWithoutAnError(t *testing.T) {
	for _, fault := range []struct {
		name        string
		begin, mend func(*storetest.PostgresServer) error
	}{
		{"hangs", (*storetest.PostgresServer).Freeze, (*storetest.PostgresServer).Thaw},
		{"dies", (*storetest.PostgresServer).Kill,
			func(s *storetest.PostgresServer) error { return s.Restart(context.Background()) }},
	} {
		t.Run(fault.name, func(t *testing.T) {
			p := newPair(t)
			p.on(p.primary, `ALTER SYSTEM SET synchronous_standby_names = ''`)
			p.on(p.primary, `SELECT pg_reload_conf()`)
			position := p.addPerk("old")
			p.await(position, true)
			p.wantList("from the standby", p.behind(""), "old")
			noError(t, fault.begin(p.standby))
			began := time.Now()
			for range 20 { // on connections that were open before, and on new ones
				p.wantList("while it is gone", p.behind(""), "old")
				if _, err := p.db.Perk(p.behind(""), "old"); err != nil {
					t.Error(err)
				}
			}
			if took := time.Since(began); took > connectTimeout-time.Second {
				t.Errorf("the reads took %s", took)
			}
			noError(t, fault.mend(p.standby))
			p.await(p.addPerk("recent"), true)
		})
	}
}

func TestOnlyStandbysOfTheSameDatabaseAreRead(t *testing.T) {
	p := newPair(t)
	other := startServer(t, storetest.PostgresOptions{})
	noError(t, p.primary.CreateDatabase(t.Context(), "other"))
	db := must(Open(t.Context(), p.primary.DSN("other"), Options{}))(t)
	noError(t, db.Close())
	p.await(p.addPerk("old"), true) // then the standby has the other database too
	for name, test := range map[string]struct {
		standbys string
		why      string
	}{
		"the primary itself":          {p.primary.DSN("postgres"), pgx.ErrNoRows.Error()},
		"a server without our tables": {other.DSN("postgres"), `"migrations" does not exist`},
		"another database":            {p.standby.DSN("other"), errOtherDatabase.Error()},
	} {
		db := p.open(test.standbys)
		_, err := db.standbys.all[0].watch.after(t.Context(), time.Now())
		storetest.Fails(t, name, err, test.why)
		if db.standbys.choose(p.behind("")) != nil {
			t.Errorf("%s: it is chosen", name)
		}
	}
}

// TestAStandbyIsReadWhileItIsAtMostMaxBehind has observations of both servers, each at a second.
func TestAStandbyIsReadWhileItIsAtMostMaxBehind(t *testing.T) {
	start := time.Now()
	at := func(second float64) time.Time { return start.Add(time.Duration(second * float64(time.Second))) }
	seen := func(second float64, timeline, place int) observation {
		return observation{began: at(second), position: store.Position(fmt.Sprintf("%08d%016d", timeline, place))}
	}
	type step struct {
		primary, standby observation
		read             bool
	}
	for name, steps := range map[string][]step{
		"it keeps up": {
			{seen(0, 1, 10), seen(0, 1, 10), true},
			{seen(60, 1, 20), seen(60, 1, 20), true},
		},
		"it was not compared yet": {{observation{}, seen(0, 1, 10), false}},
		"it is four seconds behind all the time": {
			{seen(0, 1, 0), seen(0, 1, 0), true},
			{seen(4, 1, 4), seen(4, 1, 0), true},
			{seen(8, 1, 8), seen(8, 1, 4), true},
			{seen(12, 1, 12), seen(12, 1, 8), true},
		},
		"it falls behind and catches up": {
			{seen(0, 1, 0), seen(0, 1, 0), true},
			{seen(3, 1, 3), seen(3, 1, 1), true},
			{seen(9, 1, 9), seen(9, 1, 2), false},
			{seen(10, 1, 10), seen(10, 1, 9), false}, // it is known to have what there was at 3
			{seen(11, 1, 11), seen(11, 1, 10), true},
		},
		"the primary has not answered for six seconds": {
			{seen(0, 1, 5), seen(0, 1, 5), true},
			{seen(0, 1, 5), seen(4, 1, 5), true},
			{seen(0, 1, 5), seen(6, 1, 5), false},
		},
		"it follows a former primary, which has written more": {
			{seen(0, 1, 5), seen(0, 1, 5), true},
			{seen(6, 2, 7), seen(6, 1, 9), false},
			{seen(7, 2, 8), seen(7, 2, 8), true},
		},
		"it does not answer": {
			{seen(0, 1, 5), seen(0, 1, 5), true},
			{seen(1, 1, 5), observation{began: at(1), err: context.DeadlineExceeded}, false},
			{seen(2, 1, 5), seen(2, 1, 5), true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &standby{log: slog.New(slog.DiscardHandler), why: "it was not asked yet", watch: &watch{}}
			s.alive, s.leave = context.WithCancel(t.Context())
			for i, step := range steps {
				s.note(step.standby, step.primary)
				storetest.Equal(t, fmt.Sprintf("step %d: it is read, %s", i+1, s.why),
					s.stats(step.standby.began).IsRead, step.read)
			}
		})
	}
}

// TestListsLeaveHalfOfTheConnections runs as many lists as may at once, which fill a half of the standby first, then of
// the primary.
func TestListsLeaveHalfOfTheConnections(t *testing.T) {
	p := newPair(t)
	position := p.addPerk("one")
	p.await(position, true)
	list := store.LimitList(p.behind(position), time.Minute, 0)
	onStandby, end := make(chan bool), make(chan struct{})
	var running sync.WaitGroup
	defer running.Wait()
	defer close(end)
	half := cap(p.db.reads.lists)
	for i := range 2 * half {
		running.Go(func() {
			if err := p.db.snapshot(list, "", func(v view) error {
				is, err := store.One(v, store.ScanValue[bool], `SELECT pg_is_in_recovery()`)
				onStandby <- is
				<-end
				return err
			}); err != nil {
				t.Error(err)
			}
		})
		storetest.Equal(t, fmt.Sprintf("list %d is read from the standby", i+1), <-onStandby, i < half)
	}
	brief, cancel := context.WithTimeout(list, 100*time.Millisecond)
	defer cancel()
	nothing := func(view) error { return nil }
	storetest.Fails(t, "another list", p.db.snapshot(brief, "", nothing), context.DeadlineExceeded)
	storetest.Equal(t, "a single record cannot be read", p.db.snapshot(p.behind(position), "", nothing), nil)
	storetest.Equal(t, "connections for reads", p.db.Stats().ReadConnections(), 4*half)
}
