package endurance

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"example.com/perks/api"
	"example.com/perks/cmd/dev/programs"
	"example.com/perks/store/storetest"
)

// In each round the clients redeem three perks for users of that round, and less often those of the rounds before.
// Meanwhile a server crashes.
const (
	historyUsers    = 50 // in a round
	historyClients  = 8
	historyRequests = 450 // in a round
	historySeed     = 1   // of the requests, and of when the servers crash
)

// historyPerk is a perk of every round.
type historyPerk struct {
	name, columns string // its stock and approval in the file of perks
	perkModel
}

var historyPerks = []historyPerk{
	{"limited", "30,auto", perkModel{stock: 30, status: api.StatusApproved}},
	{"unlimited", ",auto", perkModel{stock: unlimited, status: api.StatusApproved}},
	{"reviewed", "4,manual", perkModel{stock: 4, status: api.StatusPending}}, // an operator rejects some
}

func (p historyPerk) id(round int) string { return fmt.Sprintf("%s-%d", p.name, round) }

func TestRedemptionsAreLinearizableOverSQLite(t *testing.T) {
	parallel(t)
	checkHistory(t, programs.InstallOver(t, "sqlite:"+filepath.Join(t.TempDir(), "perks.db")), 1, nil)
}

func TestRedemptionsAreLinearizableOverPostgreSQL(t *testing.T) {
	parallel(t)
	database := startPostgres(t)
	checkHistory(t, programs.InstallOver(t, database.DSN("perks")), 2, database)
}

// history is what clients sent and what they got, while servers crash.
type history struct {
	*testing.T
	installed *programs.Installation
	database  *storetest.PostgresServer // that crashes too, or nil
	replicas  []*replica
	redeemer  *redeemer
	events    *eventReaders
	rounds    int
	began     time.Time
	pace      <-chan time.Time // a client sends a request whenever it gets something from here
	stop      chan struct{}    // closed when the clients send no more

	databaseFails bool // so that a command of the operator may fail

	begun, ended atomic.Int64       // requests of the clients
	crashes      map[int64]struct{} // a server crashes once that many requests have ended
	crash        chan struct{}
	pending      chan request // redemptions to reject

	mu       sync.Mutex
	perks    map[string][]porcupine.Operation // by the id
	outcomes map[api.Code]int
}

// replica is a server that crashes and restarts.
type replica struct {
	running sync.RWMutex // held for writing while it is not
	*programs.Server
}

// checkHistory has clients redeem, list and reject while servers crash, and checks every response, and that each
// redemption was delivered as an event once. In every third round it is the
// database that crashes, unless it is nil.
func checkHistory(t *testing.T, i *programs.Installation, replicas int, database *storetest.PostgresServer) {
	rounds := 3
	if isLong() {
		rounds = 45
	}
	h := newHistory(t, i, replicas, rounds)
	h.database, h.databaseFails = database, database != nil
	h.events = followEvents(t, h.redeemer.token, h.servers())
	h.run()
	h.check()
	h.events.check(i.Redemptions())
	for _, r := range h.replicas {
		r.Terminate()
	}
}

// newHistory starts servers with what that many rounds need.
func newHistory(t *testing.T, i *programs.Installation, replicas, rounds int) *history {
	t.Helper()
	always := make(chan time.Time)
	close(always)
	h := &history{T: t, installed: i, rounds: rounds, pace: always, stop: make(chan struct{}),
		pending: make(chan request, 1),
		crashes: map[int64]struct{}{}, perks: map[string][]porcupine.Operation{}, outcomes: map[api.Code]int{}}
	i.ImportCSV("users", usersCSV(h.rounds*historyUsers))
	i.ImportCSV("perks", h.perksCSV())
	for _, server := range i.StartTogether(replicas) {
		h.replicas = append(h.replicas, &replica{Server: server})
	}
	// Over a connection that was used before, net/http repeats a request that has a key by itself.
	transport := &http.Transport{DisableKeepAlives: true}
	h.redeemer = &redeemer{client: &http.Client{Transport: transport, Timeout: replyTimeout},
		token: i.Token(h.replicas[0].URL)}
	return h
}

// run has the clients send all their requests, and crashes a server in each round.
func (h *history) run() {
	h.Helper()
	random := rand.New(rand.NewPCG(historySeed, historyClients))
	h.Logf("seed %d, %d rounds", historySeed, h.rounds)
	for round := range int64(h.rounds) {
		h.crashes[round*historyRequests+historyRequests/4+random.Int64N(historyRequests/2)] = struct{}{}
	}
	h.crash = make(chan struct{}, h.rounds)
	wait := h.start(historySeed)
	for round := range h.rounds {
		select {
		case <-h.crash:
		case <-time.After(atLast):
			h.Fatalf("the clients got no replies for %s", atLast)
		}
		if h.database != nil && round%3 == 2 {
			h.crashDatabase()
		} else {
			h.replicas[round%len(h.replicas)].crash(h.installed)
			h.events.move(h.servers())
		}
	}
	wait()
}

// start starts the clients. The returned function waits until they have sent all their requests, or were stopped, and
// then lists the redemptions of all users.
func (h *history) start(seed uint64) (wait func()) {
	h.began = time.Now()
	var clients, operator sync.WaitGroup
	for n := range historyClients {
		clients.Go(func() { h.request(n, rand.New(rand.NewPCG(seed, uint64(n)))) })
	}
	operator.Go(h.rejectPending)
	h.Cleanup(clients.Wait)
	return func() {
		clients.Wait()
		close(h.pending)
		operator.Wait()
		for n := range min(int(h.begun.Load())/historyRequests+1, h.rounds) * historyUsers {
			h.send(0, request{verb: listing, attempt: attempt{user: userNumber(n)}, round: n / historyUsers})
		}
	}
}

func (h *history) servers() (all []*programs.Server) {
	for _, r := range h.replicas {
		all = append(all, r.Server)
	}
	return all
}

func (h *history) perksCSV() string {
	text := "id,title,description,city,stock,approval\n"
	for round := range h.rounds {
		for _, p := range historyPerks {
			text += fmt.Sprintf("%s,Rush,For the first,Bath,%s\n", p.id(round), p.columns)
		}
	}
	return text
}

// crash kills the server and starts another. New requests wait, or go to another replica.
func (r *replica) crash(i *programs.Installation) {
	r.running.Lock()
	defer r.running.Unlock()
	r.Kill()
	r.Server = i.Start()
}

// crashDatabase kills the database and restarts it. New requests wait.
func (h *history) crashDatabase() {
	h.Helper()
	for _, r := range h.replicas {
		r.running.Lock()
		defer r.running.Unlock()
	}
	if err := errors.Join(h.database.Kill(), h.database.Restart(h.Context())); err != nil {
		h.Fatal(err)
	}
}

// url is the address of a running server, if possible of the given one.
func (h *history) url(n int64) string {
	r := h.replicas[n%int64(len(h.replicas))]
	if !r.running.TryRLock() {
		r = h.replicas[(n+1)%int64(len(h.replicas))]
		r.running.RLock()
	}
	defer r.running.RUnlock()
	return r.URL
}

// request sends one client's requests. After an unknown outcome it sends the same request again, and often after one
// with a key.
func (h *history) request(client int, random *rand.Rand) {
	var repeated *request
	for n := h.begun.Add(1); n <= int64(h.rounds*historyRequests); n = h.begun.Add(1) {
		select {
		case <-h.stop:
			return
		case <-h.pace:
		}
		r := h.choose(random, int(n-1))
		if repeated != nil {
			r, repeated = *repeated, nil
		}
		got := h.send(client, r)
		if got.unknown {
			client += historyClients // the client of the lost request is still waiting
		}
		if got.unknown || r.key != "" && random.IntN(4) == 0 {
			repeated = &r
		}
		if got.made.Status == api.StatusPending && !got.replayed {
			select {
			case h.pending <- request{verb: rejecting, attempt: r.attempt, id: got.made.ID}:
			default: // the operator is busy
			}
		}
		if _, crash := h.crashes[h.ended.Add(1)]; crash {
			h.crash <- struct{}{}
		}
	}
}

// choose returns a random request. Requests that are sent at the same time are mostly about one perk. Each user has two
// keys for it; now and then another user sends one of them.
func (h *history) choose(random *rand.Rand, number int) request {
	round, perk := number/historyRequests, historyPerks[number/historyClients%len(historyPerks)]
	if random.IntN(4) == 0 {
		round, perk = random.IntN(round+1), historyPerks[random.IntN(len(historyPerks))]
	}
	anyUser := func() string { return userNumber(round*historyUsers + random.IntN(historyUsers)) }
	user, kind := anyUser(), random.IntN(8)
	if kind < 2 {
		return request{verb: listing, attempt: attempt{user: user}, round: round}
	}
	r := request{verb: redeeming, attempt: attempt{perk: perk.id(round), user: user}}
	if kind == 2 {
		user = anyUser()
	}
	if kind < 5 {
		r.key = fmt.Sprintf("key-%d-of-%s-for-%s", random.IntN(2), user, r.perk)
	}
	return r
}

// rejectPending is the operator.
func (h *history) rejectPending() {
	const operator = 1 << 20 // no client has this number
	for r := range h.pending {
		h.send(operator, r)
	}
}

// send sends a request, and records it with its response.
func (h *history) send(client int, r request) (got response) {
	var err error
	url := h.url(h.ended.Load())
	sent := time.Since(h.began)
	switch r.verb {
	case redeeming:
		got.reply, err = h.redeemer.redeem(url, r.attempt)
	case listing:
		got.listed, err = h.redeemer.list(url, r.user)
	case rejecting:
		if _, err = programs.Output(h.installed.Command("redemption", "reject", r.id)); err != nil && h.databaseFails {
			err = errors.Join(errNoReply, err)
		}
	}
	replied := time.Since(h.began)
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil && !errors.Is(err, errNoReply) {
		h.Errorf("%s: %v", r, err)
	}
	if err != nil && r.verb == listing {
		return got // it changed nothing
	}
	got.unknown = err != nil
	h.outcomes[got.outcome(r)]++
	perks := []string{r.perk}
	if r.verb == listing { // a list of several perks is one of each
		perks = nil
		for _, p := range historyPerks {
			perks = append(perks, p.id(r.round))
		}
	}
	for _, perk := range perks {
		of := got
		of.listed = slices.DeleteFunc(slices.Clone(got.listed), func(l api.Redemption) bool { return l.PerkID != perk })
		h.perks[perk] = append(h.perks[perk],
			porcupine.Operation{ClientId: client, Input: r, Output: of, Call: int64(sent), Return: int64(replied)})
	}
	return got
}

// list returns a user's redemptions.
func (r *redeemer) list(url, user string) ([]api.Redemption, error) {
	response, body, err := r.send(http.MethodGet,
		url+"/v2/partners/perks/users/"+user+"?type=redeemed&per_page=100", "", nil)
	switch {
	case err != nil || response.StatusCode == http.StatusServiceUnavailable:
		return nil, errors.Join(errNoReply, err)
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("status %d with %s", response.StatusCode, body)
	}
	var page api.Page[api.Redemption]
	err = json.Unmarshal(body, &page)
	return page.Data, err
}

// contradicting is what check says of responses that no order explains.
const contradicting = "contradict each other"

// check checks the responses about each perk, and that all kinds of them occurred.
func (h *history) check() {
	h.Helper()
	checked, began := 0, time.Now()
	for round := range h.rounds {
		for _, p := range historyPerks {
			result, ordered, info := p.check(h.perks[p.id(round)])
			checked += len(ordered)
			switch result {
			case porcupine.Unknown:
				h.Errorf("Checking the responses about the perk %s takes longer than %s.", p.id(round), checkWithin)
			case porcupine.Illegal:
				h.Errorf("The responses about the perk %s %s: %s", p.id(round), contradicting,
					p.contradiction(ordered, info))
				h.visualize(p.perkModel, info)
			}
		}
	}
	h.Logf("%d operations took %s, and checking them %s; outcomes: %v", checked,
		began.Sub(h.began).Round(time.Millisecond),
		time.Since(began).Round(time.Millisecond), h.outcomes)
	for _, code := range []api.Code{api.Code(rejecting), api.Code(listing), outcomeUnknown, outcomeMade,
		outcomeReplayed,
		api.CodeAlreadyRedeemed, api.CodeSoldOut, api.CodeIdempotencyKeyReused} {
		mayBeMissing := code == outcomeUnknown && !isLong() // if replies are fast, a few kills may lose none
		if h.outcomes[code] == 0 && !mayBeMissing {
			h.Errorf("no request had the outcome %s", code)
		}
	}
}

// contradiction names the first response that the longest order found does not explain.
func (p perkModel) contradiction(ordered []porcupine.Operation, info porcupine.LinearizationInfo) string {
	var longest []int // indexes of operations
	for _, partial := range info.PartialLinearizations()[0] {
		if len(partial) > len(longest) {
			longest = partial
		}
	}
	state, explained := perkState{}, map[int]bool{}
	for _, n := range longest {
		explained[n] = true
		_, state = p.step(state, ordered[n].Input.(request), ordered[n].Output.(response))
	}
	var first porcupine.Operation
	for n, o := range ordered {
		if !explained[n] && (first.Input == nil || o.Return < first.Return) {
			first = o
		}
	}
	user := first.Input.(request).user
	has := state.count(func(k knownRedemption) bool { return k.user == user })
	return fmt.Sprintf("after %d of %d requests in the best order, with %s, and %d by %s, the next response cannot "+
		"be explained: %s: %s",
		len(longest), len(ordered), p.describe(state), has, user, first.Input, first.Output)
}

// visualize writes a page that outlives the test.
func (h *history) visualize(p perkModel, info porcupine.LinearizationInfo) {
	h.Helper()
	page, err := os.CreateTemp("", "perks-history-*.html")
	if err == nil {
		err = errors.Join(porcupine.Visualize(p.porcupine(), info, page), page.Close())
	}
	if err != nil {
		h.Error(err)
		return
	}
	h.Logf("The history is in %s. Open it in a browser.", page.Name())
}
