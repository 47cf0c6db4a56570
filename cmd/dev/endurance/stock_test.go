package endurance

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/cmd/dev/programs"
	"example.com/perks/store"
)

// stockRun is a load of two perks: one is redeemed at once, and one waits for approval and expires if nobody decides.
// Meanwhile others change their stock, and decide and void redemptions, and perksd is killed again and again.
type stockRun struct {
	*load
	installed *programs.Installation
	pending   chan api.Redemption
	held      map[string]*atomic.Int64 // of each perk, as was read last
	order     map[string][]string      // of each perk, who changed it, as was read last
	watched   int                      // how often the stock was read
	restarts  int

	mu      sync.Mutex
	changes map[string]*stockChange         // by the name of who made it, whom the audit log names
	decided map[string]api.RedemptionStatus // acknowledged, by the id of the redemption
}

// stockChange is one request to change the stock of a perk.
type stockChange struct {
	perk, field string // add or set
	n           int64
	left        *api.PerkStock // as the reply says, or nil
	isRefused   bool
}

// stockStart is the stock of each perk at first.
var stockStart = map[string]int64{"rush": 50, "reviewed": 20}

const (
	stockWorkers  = 64
	stockChangers = 8
	stockDeciders = 16
	stockPace     = 100 * time.Millisecond // of each of them
	stockUsers    = stockWorkers * 10      // in a second, at most
)

func TestStockIsExactWhileItChanges(t *testing.T) {
	overEachStore(t, func(t *testing.T, i *programs.Installation, servers int) {
		lasts, between := 3*time.Second, 60
		if isLong() {
			lasts, between = 5*time.Minute, 1000
		}
		i.ImportCSV("users", usersCSV(stockUsers*int((lasts+atLast).Seconds())))
		i.ImportCSV("perks", fmt.Sprintf("id,title,description,city,stock,approval,hold_for\n"+
			"rush,Rush,For the first,Bath,%d,auto,\nreviewed,Rush,For the first,Bath,%d,manual,1s\n",
			stockStart["rush"], stockStart["reviewed"]))
		r := startStockRun(t, i, i.StartTogether(servers))
		for until := time.Now().Add(lasts); time.Now().Before(until); r.restarts++ {
			r.awaitReplies(between/2 + rand.IntN(between))
			for _, server := range *r.servers.Load() {
				server.Kill()
			}
			restarted := i.StartTogether(servers) // to which nobody sends before all is checked
			r.check(restarted[0])
			r.move(restarted)
		}
		eventually(t, atLast, "the stock is added to, set and sold out", func() bool {
			return r.hasMade("add") && r.hasMade("set") && r.replies.copy().refused[api.CodeSoldOut] > 0
		})
		r.finish()
		r.checkAll()
	})
}

func startStockRun(t *testing.T, i *programs.Installation, servers []*programs.Server) *stockRun {
	id, secret := i.Client("Desk", "--actors",
		"--scope", "perks:read,perks:redeem,perks:write,redemptions:read,redemptions:decide,redemptions:void")
	token := programs.TokenOf(t, http.DefaultClient, servers[0].URL, id, secret).AccessToken
	r := &stockRun{load: newLoad(t, token, stockWorkers+stockChangers+stockDeciders+1, servers), installed: i,
		pending: make(chan api.Redemption, stockDeciders), held: map[string]*atomic.Int64{},
		order: map[string][]string{}, changes: map[string]*stockChange{}, decided: map[string]api.RedemptionStatus{}}
	for perk := range stockStart {
		r.held[perk] = new(atomic.Int64)
	}
	r.perks, r.made = []string{"rush", "rush", "rush", "reviewed"}, r.pending
	r.start(stockWorkers, stockPace, r.redeemNext)
	r.start(stockChangers, stockPace, r.changeStock)
	r.start(stockDeciders, stockPace, r.decide)
	r.start(1, pollInterval, r.watch)
	return r
}

// post sends a body to an address below /v2/partners until there is a reply, which is a record or a conflict.
func (r *stockRun) post(worker int, path, body string, header map[string]string, into any) (isMade bool, err error) {
	var text []byte
	response := untilReply(r.load, worker, func(url string) (response *http.Response, err error) {
		response, text, err = r.redeemer.send(http.MethodPost, url+"/v2/partners"+path, body, header)
		if err == nil && response.StatusCode == http.StatusServiceUnavailable {
			err = errNoReply
		}
		return response, err
	})
	switch response.StatusCode {
	case http.StatusOK:
		return true, json.Unmarshal(text, into)
	case http.StatusConflict:
		return false, nil
	}
	return false, fmt.Errorf("%s %s: %d %s", path, body, response.StatusCode, text)
}

// changeStock makes a change in the name of somebody who makes only this one. Some would leave less than is held, and
// are refused. Additions are often sent again, as if their replies were lost.
func (r *stockRun) changeStock(worker int) error {
	c := &stockChange{perk: r.perks[worker%len(r.perks)], field: "add", n: 1 + rand.Int64N(20)}
	switch chance := rand.IntN(100); {
	case chance < 25:
		c.field, c.n = "set", max(0, r.held[c.perk].Load()-5+rand.Int64N(30))
	case chance < 40:
		c.n = -c.n
	}
	r.mu.Lock()
	name := fmt.Sprintf("change-%d", len(r.changes))
	r.changes[name] = c
	r.mu.Unlock()
	var left api.PerkStock
	send := func() (isMade bool, err error) {
		return r.post(worker, "/perks/"+c.perk+"/stock", fmt.Sprintf(`{%q:%d}`, c.field, c.n),
			map[string]string{"Idempotency-Key": name, "Perks-Actor": name}, &left)
	}
	isMade, err := send()
	if err == nil && c.field == "add" && rand.IntN(4) == 0 {
		isMade, err = send()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.isRefused = !isMade; isMade {
		c.left = &left
	}
	return err
}

// hasMade tells whether a change of this kind was acknowledged.
func (r *stockRun) hasMade(field string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.changes {
		if c.field == field && c.left != nil {
			return true
		}
	}
	return false
}

// decide leaves some redemptions as they are, of which the pending ones expire.
func (r *stockRun) decide(worker int) error {
	var redemption api.Redemption
	select {
	case redemption = <-r.pending:
	case <-r.stop:
		return nil
	}
	verb, status := "void", api.StatusVoided
	if redemption.Status == api.StatusPending {
		verb, status = "approve", api.StatusApproved
		if rand.IntN(2) == 0 {
			verb, status = "reject", api.StatusRejected
		}
	}
	body := `{"reason":"No show"}`
	if verb == "approve" {
		body = `{}`
	}
	if rand.IntN(3) == 0 {
		return nil
	}
	isMade, err := r.post(worker, "/redemptions/"+redemption.ID+"/"+verb, body, nil, new(api.RedemptionRecord))
	if isMade {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.decided[redemption.ID] = status
	}
	return err
}

// stock reads the stock of a perk. Nothing is oversold at any moment.
func (r *stockRun) stock(url, perk string) (stock api.PerkStock, err error) {
	response, body, err := r.redeemer.send(http.MethodGet, url+"/v2/partners/perks/"+perk+"/stock", "", nil)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%d %s", response.StatusCode, body)
	}
	if err == nil {
		err = json.Unmarshal(body, &stock)
	}
	if err == nil && !isSound(stock) {
		r.Errorf("the stock of %s is %s", perk, body)
	}
	return stock, err
}

// isSound reports whether no more is held than there is.
func isSound(s api.PerkStock) bool {
	return s.Stock != nil && s.Left != nil && s.Held >= 0 && s.Held <= *s.Stock && *s.Left == *s.Stock-s.Held
}

func (r *stockRun) watch(int) error {
	for perk, held := range r.held {
		url := (*r.servers.Load())[0].URL
		if stock, err := r.stock(url, perk); err == nil { // otherwise the server is being replaced
			held.Store(stock.Held)
			r.watched++
		}
	}
	return nil
}

// check compares what was acknowledged so far with the audit log, and both with the stock that a server shows. In
// PostgreSQL a commit of a server that was killed may still come, and redemptions expire: figures become equal soon, if
// nothing was lost.
func (r *stockRun) check(server *programs.Server) (stored []api.RedemptionRecord) {
	r.Helper()
	acknowledged := r.replies.copy()
	var problem error
	for begun := time.Now(); time.Since(begun) < 10*time.Second; {
		log := programs.Lines[store.AuditEntry](r.installed, "audit", "--action", store.ActionChangePerkStock)
		stored = r.installed.Redemptions()
		problem = nil
		for perk := range stockStart {
			left, err := r.follow(server, perk, log)
			problem = errors.Join(problem, err, r.compare(server, perk, left, stored))
		}
		if problem == nil {
			break
		}
	}
	if problem != nil {
		r.Errorf("after restart %d: %v", r.restarts+1, problem)
	}
	acknowledged.check(r.T, stored, math.MaxInt)
	if r.Failed() {
		r.FailNow()
	}
	return stored
}

// compare compares the stock of a perk with what the audit log leaves, and what is held with the redemptions.
func (r *stockRun) compare(
	server *programs.Server, perk string, left int64, stored []api.RedemptionRecord,
) error {
	live := int64(0)
	for _, redemption := range stored {
		isLive := redemption.Status == api.StatusApproved || redemption.Status == api.StatusPending
		if redemption.PerkID == perk && isLive {
			live++
		}
	}
	stock, err := r.stock(server.URL, perk)
	if err == nil && (*stock.Stock != left || stock.Held != live) {
		err = fmt.Errorf("%s has a stock of %d, of which %d are held, but the audit log ends with a stock of %d, and "+
			"%d redemptions are live", perk, *stock.Stock, stock.Held, left, live)
	}
	return err
}

// changesOf returns the names of those who changed a perk, in the order of their commits. The audit log has that of
// their times.
func (r *stockRun) changesOf(server *programs.Server, perk string) ([]string, error) {
	service, err := client.New(client.Config{BaseURL: server.URL + "/v2", Tokens: client.StaticToken(r.redeemer.token)})
	if err != nil {
		return nil, err
	}
	known, newest := r.order[perk], []string{}
	for page, err := range service.PerkHistoryPages(r.Context(), perk, client.ListOptions{PerPage: 100}) {
		if err != nil {
			return nil, err
		}
		for _, version := range page.Data {
			if len(known) > 0 && *version.Actor == known[len(known)-1] {
				slices.Reverse(newest)
				r.order[perk] = append(known, newest...)
				return r.order[perk], nil
			}
			newest = append(newest, *version.Actor)
		}
	}
	slices.Reverse(newest)
	r.order[perk] = newest
	return newest, nil
}

// follow applies the changes of a perk one after the other, and returns the stock that they leave. Each has one entry
// in the audit log, which says the same as its reply. A change that was refused has none, nor has one to what the stock
// was.
func (r *stockRun) follow(server *programs.Server, perk string, log []store.AuditEntry) (stock int64, err error) {
	r.Helper()
	names, err := r.changesOf(server, perk)
	if err != nil {
		return 0, err
	}
	entries := map[string]store.AuditEntry{}
	for _, entry := range log {
		if entry.Subject != store.PerkSubject(perk) {
			continue
		}
		_, name, _ := entry.Actor.Client()
		if _, isTwice := entries[name]; isTwice {
			return 0, fmt.Errorf("two entries of %s, the second one with %s", name, entry.After)
		}
		entries[name] = entry
	}
	if len(entries) != len(names) {
		return 0, fmt.Errorf("%s has %d entries, and its history %d", perk, len(entries), len(names))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	stock = stockStart[perk]
	stocks := map[int64]bool{stock: true}
	for _, name := range names {
		c, entry := r.changes[name], entries[name]
		if c == nil || c.perk != perk || c.isRefused || entry.After == nil {
			return 0, fmt.Errorf("%s changed the stock of %s by %+v, and has the entry %s", name, perk, c, entry.After)
		}
		var before, after api.PerkStock
		if err := errors.Join(json.Unmarshal(entry.Before, &before), json.Unmarshal(entry.After, &after)); err != nil {
			return 0, err
		}
		want := c.n
		if c.field == "add" {
			want += stock
		}
		isWrong := !isSound(before) || !isSound(after) || before.Held != after.Held
		if isWrong || *before.Stock != stock || *after.Stock != want || c.left != nil && !cmp.Equal(*c.left, after) {
			return 0, fmt.Errorf("to a stock of %d of %s, %s made the change %+v with the reply %+v: its entry leads "+
				"from %s to %s", stock, perk, name, *c, c.left, entry.Before, entry.After)
		}
		stock = want
		stocks[stock] = true
	}
	for name, c := range r.changes {
		_, isSeen := entries[name]
		if c.perk != perk || c.left == nil || isSeen {
			continue
		}
		// The stock had this value already. If the reply was lost, the next one says what the stock is by then.
		if c.field == "add" || !stocks[c.n] || !stocks[*c.left.Stock] {
			return 0, fmt.Errorf("%s was acknowledged with a stock of %d, but has no entry: %+v", name, *c.left.Stock, *c)
		}
	}
	return stock, nil
}

// checkAll waits until nothing is pending, and checks that each attempt and each decision is stored once.
func (r *stockRun) checkAll() {
	r.Helper()
	server := (*r.servers.Load())[0]
	eventually(r.T, atLast, "everything that nobody has decided has expired", func() bool {
		return r.installed.Must("", "redemption", "list", "--status", "pending", "-o", "jsonl") == ""
	})
	stored := r.check(server)
	entries := map[string]int{} // by the subject and the action
	for _, entry := range programs.Lines[store.AuditEntry](r.installed, "audit", "--action", "redemption.*") {
		entries[entry.Subject+" "+entry.Action]++
	}
	want, statuses, expired := map[string]int{}, map[api.RedemptionStatus]int{}, 0
	for _, redemption := range stored {
		subject := store.RedemptionSubject(redemption.ID) + " "
		want[subject+store.ActionRedeem]++
		statuses[redemption.Status]++
		switch {
		case redemption.Status == api.StatusVoided:
			want[subject+store.ActionVoid]++
		case redemption.Status == api.StatusRejected:
			want[subject+store.ActionReject]++
		case redemption.PerkID == "reviewed":
			want[subject+store.ActionApprove]++
		}
		if redemption.Reason != nil && *redemption.Reason == "expired" {
			expired++
		}
		if acknowledged, isDecided := r.decided[redemption.ID]; isDecided && acknowledged != redemption.Status {
			r.Errorf("redemption %s was acknowledged as %s, and is %s", redemption.ID, acknowledged, redemption.Status)
		}
	}
	if difference := cmp.Diff(want, entries); difference != "" {
		r.Errorf("the entries about redemptions (-want +got):\n%s", difference)
	}
	refused := 0
	for _, n := range r.replies.refused {
		refused += n
	}
	if begun := int(r.begun.Load()); len(stored) != r.replies.count() || r.replies.count()+refused != begun {
		r.Errorf("of %d attempts %d were acknowledged and %d refused, and %d are stored", begun, r.replies.count(),
			refused, len(stored))
	}
	r.replies.onlyRefused(r.T, api.CodeSoldOut)
	kinds := map[string]int{}
	for _, c := range r.changes {
		kind := c.field
		if c.isRefused {
			kind += " refused"
		}
		kinds[kind]++
	}
	r.Logf("%d restarts; %d redemptions, %v, of which %d expired; %d attempts were sold out; %d changes of the stock, "+
		"%v; it was read %d times", r.restarts, len(stored), statuses, expired, refused, len(r.changes), kinds,
		r.watched)
	for what, n := range map[string]int{"expired": expired, "was voided": statuses[api.StatusVoided],
		"was sold out": refused, "was added": kinds["add"], "was set": kinds["set"], "was restarted": r.restarts} {
		if n == 0 {
			r.Errorf("nothing %s", what)
		}
	}
}
