package endurance

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"testing"

	"example.com/perks/api"
	"example.com/perks/server/servertest"
)

// listings are the properties of one owner, which perksctl changes by a query, while others change some of them.
type listings struct {
	*job
	server *servertest.Server
	token  string // of somebody else in the owner's office
	random *rand.Rand
	theirs map[int64]api.PropertyPatch // what others have changed
}

func newListings(t *testing.T, rows int) *listings {
	t.Helper()
	program, err := perksctl()
	if err != nil {
		t.Fatal(err)
	}
	server := servertest.Start(t)
	root, err := url.Parse(server.Root())
	if err != nil {
		t.Fatal(err)
	}
	s := service{proxy: newFaultProxy(t, httputil.NewSingleHostReverseProxy(root))}
	s.id, s.secret = server.Client()
	l := &listings{server: server, token: server.TokenFor(s.id, s.secret), theirs: map[int64]api.PropertyPatch{},
		random: rand.New(rand.NewPCG(uint64(rows), 0)),
		job:    &job{T: t, service: s, program: program, dir: t.TempDir(), rows: rowSet{rows: rows}}}
	var all []api.Property
	for n := range rows {
		p := api.Property{ID: int64(n + 1), Title: fmt.Sprintf("Flat %d", n), City: "Leeds", Images: []string{},
			Bedrooms: n % 5, Deposit: float64(n) / 8}
		if p.PricePW, err = api.ParsePrice(fmt.Sprintf("%d.%02d", 50+n%400, n%100)); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	server.ImportProperties(s.id, all...)
	return l
}

// all reads every listing.
func (l *listings) all() map[int64]api.Property {
	l.Helper()
	l.proxy.awaitIdle()
	all := map[int64]api.Property{}
	for p, err := range l.server.Live.ExportProperties(l.Context()) {
		if err != nil {
			l.Fatal(err)
		}
		all[p.ID] = p.Property
	}
	return all
}

// othersChange changes some listings that others have not changed yet: of every other one also the price.
func (l *listings) othersChange(count int) {
	l.Helper()
	for range count {
		id := int64(1 + l.random.IntN(l.rows.rows))
		for !l.theirs[id].IsEmpty() {
			id = id%int64(l.rows.rows) + 1
		}
		patch := api.PropertyPatch{Description: api.Some("theirs")}
		if len(l.theirs)%2 == 0 {
			one, _ := api.ParsePrice("1.00")
			patch.PricePW = api.Some(one)
		}
		body, err := api.EncodeJSON(patch)
		if err != nil {
			l.Fatal(err)
		}
		address := fmt.Sprintf("%s/update-property/%d", l.server.URL, id)
		if status := l.server.Status(l.token, "PATCH", address, string(body)); status != 200 {
			l.Fatalf("changing %d: %d", id, status)
		}
		l.theirs[id] = patch
	}
}

// judge compares each listing with how it is wanted. One that others have changed may also be as before or as raised,
// but has what they wrote.
func (l *listings) judge(wanted, before, raised map[int64]api.Property) {
	l.Helper()
	for id, now := range l.all() {
		theirs := l.theirs[id]
		isOne := theirs.IsAppliedTo(now) &&
			(isSameListing(now, before[id].With(theirs)) || isSameListing(now, raised[id].With(theirs)))
		if isWanted := isSameListing(now, wanted[id]); theirs.IsEmpty() && !isWanted || !theirs.IsEmpty() && !isOne {
			l.Errorf("%d is %+v, want %+v with %v", id, now, wanted[id], theirs.Fields())
		}
	}
}

// killRepeatedly kills the command at random points while others change a few listings, and then lets it finish.
func (l *listings) killRepeatedly(kills, others int, words ...string) {
	l.Helper()
	l.words = append(words, "--yes", "--results", l.dir, "--job", "rise")
	atMost := l.rows.rows * 9 / 10 / kills
	for range kills {
		l.startWith(1+l.random.IntN(atMost), randomFaultPoint(l.random), (*process).kill).must(-1)
		l.othersChange(others / kills)
	}
	l.start().must(7).wantStderr(" failed")
}

// TestWhatAQueryChangesIsTakenBack raises prices by a query and undoes that, both killed again and again, while others
// change some listings. No price is raised twice, what others changed stays, and in the end each other listing is as it
// was.
func TestWhatAQueryChangesIsTakenBack(t *testing.T) {
	t.Parallel()
	s, others := scaleOf(scale{400, 3}), 21
	if isLong() {
		others = 100
	}
	l := newListings(t, s.rows)
	before := l.all()
	words := []string{"property", "update", "--query", "city:leeds", "--set", "price_pw=+5%", "--set", "deposit=*1.5",
		"--round", "0.50", "--max", fmt.Sprint(s.rows)}
	changes, err := api.PropertyAmounts.Parse([]api.Member{{Name: "price_pw", Value: api.TextValue("+5%")},
		{Name: "deposit", Value: api.TextValue("*1.5")}}, "0.50")
	if err != nil {
		t.Fatal(err)
	}
	raised := map[int64]api.Property{}
	for id, p := range before {
		patch, err := changes.Of(p)
		if err != nil {
			t.Fatal(err)
		}
		raised[id] = p.With(patch)
	}

	// killed while it freezes: nothing is sent
	l.words = append(slices.Clone(words), "--yes", "--results", l.dir, "--job", "rise")
	p := l.start()
	eventually(t, atLast, "perksctl reads the listings", func() bool {
		_, requests, _ := l.proxy.counts()
		return requests > s.rows/4
	})
	p.kill()
	if sent, _, _ := l.proxy.counts(); sent > 0 || !maps.EqualFunc(before, l.all(), isSameListing) {
		t.Fatalf("%d changes were sent while the listings were read", sent)
	}
	if plans, _ := filepath.Glob(filepath.Join(l.dir, "rise.plan.csv")); len(plans) > 0 {
		t.Fatal("half of a plan is there")
	}

	l.killRepeatedly(s.kills, others, words...)
	l.judge(raised, before, raised)
	l.othersChange(others)
	l.killRepeatedly(s.kills, 0, "bulk", "undo")
	l.judge(before, before, raised)
}

func isSameListing(a, b api.Property) bool {
	textA, errA := api.EncodeJSON(a)
	textB, errB := api.EncodeJSON(b)
	return errA == nil && errB == nil && string(textA) == string(textB)
}
