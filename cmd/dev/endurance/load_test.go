package endurance

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/cmd/dev/programs"
)

// load redeems perks continuously from several workers, each time for another user. A worker that gets no reply retries
// with the same idempotency key at the next server, until there is one.
type load struct {
	*testing.T
	perks    []string // one after the other
	servers  atomic.Pointer[[]*programs.Server]
	redeemer *redeemer
	replies  *replies
	events   *eventReaders         // or nil
	made     chan<- api.Redemption // some of those that were acknowledged; or nil

	begun   atomic.Int64 // attempts, not counting retries
	stop    chan struct{}
	working sync.WaitGroup
}

const (
	loadWorkers = 8
	loadUsers   = 20_000 // more than the longest of the tests needs
	retryPace   = 50 * time.Millisecond
)

// loadPace is the time between two attempts of a worker. The short form leaves the processors to the tests beside it.
func loadPace() time.Duration {
	if isLong() {
		return 10 * time.Millisecond
	}
	return 40 * time.Millisecond
}

// startLoad redeems the perk "rush" until finish.
func startLoad(t *testing.T, i *programs.Installation, servers ...*programs.Server) *load {
	t.Helper()
	i.ImportCSV("users", usersCSV(loadUsers))
	i.ImportCSV("perks", perkCSV("rush", loadUsers))
	l := newLoad(t, i.Token(servers[0].URL), 2*loadWorkers, servers)
	l.events = followEvents(t, l.redeemer.token, servers)
	l.start(loadWorkers, loadPace(), l.redeemNext)
	return l
}

// newLoad has no workers yet. Their users are those of usersCSV.
func newLoad(t *testing.T, token string, connections int, servers []*programs.Server) *load {
	l := &load{T: t, perks: []string{"rush"}, redeemer: newRedeemer(t, token, connections), replies: newReplies(),
		stop: make(chan struct{})}
	own := slices.Clone(servers)
	l.servers.Store(&own)
	return l
}

// start starts workers, each of which works at the pace until finish.
func (l *load) start(workers int, pace time.Duration, work func(worker int) error) {
	for n := range workers {
		l.working.Go(func() {
			pace := time.NewTicker(pace)
			defer pace.Stop()
			for {
				select {
				case <-l.stop:
					return
				case <-pace.C:
				}
				if err := work(n); err != nil {
					l.Error(err)
					return
				}
			}
		})
	}
}

func (l *load) redeemNext(worker int) error { return l.redeemUntilReply(l.nextAttempt(), worker) }

// nextAttempt returns an attempt for a user who has none yet.
func (l *load) nextAttempt() attempt {
	n := int(l.begun.Add(1)) - 1
	return attempt{perk: l.perks[n%len(l.perks)], user: userNumber(n), key: "key-of-" + userNumber(n)}
}

// redeemUntilReply tries the servers one by one, starting with the given one.
func (l *load) redeemUntilReply(a attempt, first int) error {
	answer := untilReply(l, first, func(url string) (reply, error) { return l.redeemer.redeem(url, a) })
	if answer.status == http.StatusCreated {
		select {
		case l.made <- answer.made:
		default:
		}
	}
	return l.replies.record(a, answer)
}

// untilReply sends a request to the servers one by one, starting with the given one, until it gets a reply.
func untilReply[R any](l *load, first int, send func(url string) (R, error)) R {
	pace := time.NewTicker(retryPace)
	defer pace.Stop()
	for try := first; ; try++ {
		servers := *l.servers.Load()
		answer, err := send(servers[try%len(servers)].URL)
		if err == nil {
			return answer
		}
		<-pace.C
	}
}

// move goes on with servers of which some are new.
func (l *load) move(servers []*programs.Server) {
	moved := slices.Clone(servers)
	l.servers.Store(&moved)
	if l.events != nil {
		l.events.move(moved)
	}
}

// awaitReplies waits until that many more redemptions are acknowledged.
func (l *load) awaitReplies(more int) {
	l.Helper()
	target := l.replies.count() + more
	eventually(l.T, atLast, fmt.Sprintf("%d more redemptions were acknowledged", more),
		func() bool { return l.replies.count() >= target })
}

// finish starts no further attempt, and returns when all have a reply.
func (l *load) finish() {
	close(l.stop)
	l.working.Wait()
}

// check compares the replies with the database: each user has one redemption, the acknowledged one.
func (l *load) check(i *programs.Installation) {
	l.Helper()
	stored := i.Redemptions()
	l.replies.check(l.T, stored, loadUsers)
	if begun := int(l.begun.Load()); len(stored) != begun || l.replies.count() != begun {
		l.Errorf("there were %d attempts, %d redemptions were acknowledged, and %d are in the database", begun,
			l.replies.count(), len(stored))
	}
	l.replies.onlyRefused(l.T)
	l.events.check(stored)
}

// attempt is a request to redeem a perk.
type attempt struct{ perk, user, key string } // the key is "" without one

// reply is the server's response to an attempt.
type reply struct {
	status   int
	made     api.Redemption // with status 201
	replayed bool           // it was made by an earlier request
	code     api.Code       // with any other status
}

// errNoReply says that the outcome is unknown: there was no reply, or the server itself does not know.
var errNoReply = errors.New("there was no reply")

// redeemer redeems perks over HTTP.
type redeemer struct {
	client *http.Client
	token  string
}

// replyTimeout is longer than any server takes to reply, even with an unknown outcome.
const replyTimeout = 20 * time.Second

// newRedeemer opens up to that many connections to each server.
func newRedeemer(t *testing.T, token string, connections int) *redeemer {
	transport := &http.Transport{MaxConnsPerHost: connections, MaxIdleConnsPerHost: connections}
	t.Cleanup(transport.CloseIdleConnections)
	return &redeemer{client: &http.Client{Transport: transport, Timeout: replyTimeout}, token: token}
}

// asClient is a redeemer with the connections of this process.
func asClient(token string) *redeemer { return &redeemer{client: http.DefaultClient, token: token} }

// send sends one request with the token, and reads the whole response.
func (r *redeemer) send(method, url, body string, header map[string]string) (*http.Response, []byte, error) {
	return programs.Send(r.client, method, url, r.token, body, header)
}

// redeem sends one attempt to the server at the address.
func (r *redeemer) redeem(url string, a attempt) (reply, error) {
	header := map[string]string{}
	if a.key != "" {
		header["Idempotency-Key"] = a.key
	}
	response, body, err := r.send(http.MethodPost, url+"/v2/partners/perks/"+a.perk+"/redeem",
		`{"user_id":"`+a.user+`"}`, header)
	switch {
	case err != nil:
		return reply{}, errors.Join(errNoReply, err)
	case response.StatusCode == http.StatusServiceUnavailable:
		return reply{}, errors.Join(errNoReply, fmt.Errorf("status 503 with %s", body))
	}
	answer := reply{status: response.StatusCode, replayed: response.Header.Get("Idempotent-Replayed") == "true"}
	if answer.status == http.StatusCreated {
		return answer, json.Unmarshal(body, &answer.made)
	}
	var refusal api.ErrorBody
	err = json.Unmarshal(body, &refusal)
	answer.code = refusal.Code
	return answer, err
}

// usersCSV returns a file of n users, from u-0000 on.
func usersCSV(n int) string {
	var text strings.Builder
	text.WriteString("id\n")
	for number := range n {
		text.WriteString(userNumber(number) + "\n")
	}
	return text.String()
}

func userNumber(n int) string { return fmt.Sprintf("u-%04d", n) }

// perkCSV returns a file of one perk with the stock.
func perkCSV(id string, stock int) string {
	return fmt.Sprintf("id,title,description,city,stock\n%s,Rush,For the first,Bath,%d\n", id, stock)
}

// replies are recorded replies, for comparison with the database.
type replies struct {
	mu        sync.Mutex
	made      map[string]string // the user by the redemption
	underKeys map[string]string // the redemption by the key
	refused   map[api.Code]int
}

func newReplies() *replies {
	return &replies{made: map[string]string{}, underKeys: map[string]string{}, refused: map[api.Code]int{}}
}

// record adds a reply. One that contradicts its request or an earlier reply is an error.
func (r *replies) record(a attempt, answer reply) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if answer.status != http.StatusCreated {
		r.refused[answer.code]++
		return nil
	}
	if answer.made.UserID != a.user || answer.made.PerkID != a.perk {
		return fmt.Errorf("%+v got %+v", a, answer.made)
	}
	if first := r.underKeys[a.key]; a.key != "" && first != "" && first != answer.made.ID {
		return fmt.Errorf("the key %s got redemption %s, and then %s", a.key, first, answer.made.ID)
	}
	if a.key != "" {
		r.underKeys[a.key] = answer.made.ID
	}
	r.made[answer.made.ID] = a.user
	return nil
}

// copy returns a copy of the replies so far.
func (r *replies) copy() *replies {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &replies{made: maps.Clone(r.made), underKeys: maps.Clone(r.underKeys), refused: maps.Clone(r.refused)}
}

// count returns how many redemptions were acknowledged.
func (r *replies) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.made)
}

// check compares the replies with the database: nothing acknowledged is lost, no user has two redemptions, and no more
// is redeemed than the stock.
func (r *replies) check(t *testing.T, stored []api.RedemptionRecord, stock int) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	byID, users := map[string]string{}, map[string]bool{}
	for _, k := range stored {
		byID[k.ID] = k.UserID
		if users[k.UserID] {
			t.Errorf("user %s has more than one redemption", k.UserID)
		}
		users[k.UserID] = true
	}
	var lost []string
	for id, user := range r.made {
		if byID[id] != user {
			lost = append(lost, id+" of user "+user)
		}
	}
	if len(lost) > 0 {
		t.Errorf("%d redemptions were acknowledged, but are missing, such as %s", len(lost), slices.Min(lost))
	}
	if len(stored) > stock {
		t.Errorf("%d redemptions of a stock of %d", len(stored), stock)
	}
}

// onlyRefused checks that no attempt was refused for another reason.
func (r *replies) onlyRefused(t *testing.T, reasons ...api.Code) {
	t.Helper()
	for code, n := range r.refused {
		if !slices.Contains(reasons, code) {
			t.Errorf("%d attempts were refused as %s", n, code)
		}
	}
}
