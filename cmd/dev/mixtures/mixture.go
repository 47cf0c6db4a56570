// Package mixtures runs our client at servers that take random mixtures of what the specification leaves open, and that
// fail at random. The server's record judges the client: nothing is done twice that was not asked for twice, nothing is
// reported done that is not, and nothing is reported failed that was done.
//
// A mixture follows from the seed and its number alone, so that one that fails can be repeated.
package mixtures

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/operation"
	"example.com/perks/cmd/dev/specserver"
)

// mixture is a client at a server, the steps that it takes there, and what is wrong with what it says of them.
type mixture struct {
	r      *rand.Rand
	server *specserver.Server
	clock  clock
	client *client.Client
	token  string
	log    io.Writer // nil is silent

	config  client.Config
	intents []*intent
	changed int // how many changes were tried: each has a title of its own
	claims  []claim
	tally   map[string]int
	wrong   []string
}

// claim says that a step has changed nothing. It is judged in the end, when late work is done.
type claim struct {
	what string
	span
	isOurs func(specserver.Request) bool
}

// span is the requests from one number to another.
type span struct{ from, to int }

func (s span) has(number int) bool { return number >= s.from && number <= s.to }

// clock goes on by a millisecond whenever it is read, and whenever somebody waits.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) read() time.Time { return c.pass(time.Millisecond) }

func (c *clock) pass(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	return c.now
}

// apart is between steps that must not be taken for each other by their times.
const apart = 10 * time.Second

// newMixture makes the mixture of a seed and a number. limit leaves out freedoms.
func newMixture(seed uint64, number int, limit func(specserver.Freedoms) specserver.Freedoms) *mixture {
	r := rand.New(rand.NewPCG(seed, uint64(number))) // #nosec G115 G404 -- must be repeatable
	m := &mixture{r: r, tally: map[string]int{}, clock: clock{now: time.Date(2020, 3, 2, 10, 0, 0, 0, time.UTC)}}
	freedoms := limit(specserver.Mixture(r.Uint64()))
	m.server = specserver.New(specserver.Options{
		Freedoms: freedoms, Faults: failures(r, freedoms), Seed: r.Uint64(), Now: m.clock.read,
	})
	m.config = client.Config{
		BaseURL: "http://perks.example/v2", Tokens: m, WaitBudget: one(r, 0, 4*time.Second, 30*time.Second),
		Clock: &client.Clock{Now: m.clock.read, Wait: m.wait, Jitter: func(longest time.Duration) time.Duration {
			return longest
		}},
	}
	return m
}

func (m *mixture) wait(_ context.Context, d time.Duration) error {
	m.clock.pass(d)
	return nil
}

// run takes the steps, and judges them.
func (m *mixture) run(ctx context.Context) {
	network := pipes{make(chan net.Conn), make(chan struct{})}
	listening := &http.Server{Handler: m.server, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = listening.Serve(network)
	}()
	transport := &http.Transport{DialContext: network.dial}
	m.config.Transport = transport
	defer func() {
		transport.CloseIdleConnections()
		_ = listening.Close()
		<-served
	}()
	m.restart()
	steps := []func(context.Context){
		m.redeem, m.redeem, m.redeem, m.followUp, m.followUp, m.followUp, m.edit, m.edit, m.update, m.remove,
		m.updateOld, m.listPerks, m.listRedeemed, m.readProperty, m.logIn, m.redeemByAnother,
		func(context.Context) { m.restart() },
		func(context.Context) { m.server.Release() },
		func(context.Context) { m.clock.pass(one(m.r, apart, apart, time.Hour, 21*time.Hour)) },
	}
	for range 4 + m.r.IntN(8) {
		if len(m.wrong) == 0 {
			steps[m.r.IntN(len(steps))](ctx)
		}
	}
	m.server.Release()
	record := m.server.Record()
	for _, c := range m.claims {
		for _, request := range doneBy(record) {
			if c.has(request.Number) && c.isOurs(request) {
				m.report("%s: reported failed, but request %d has done it", c.what, request.Number)
			}
		}
	}
	for _, i := range m.intents {
		m.judgeCount(i, record)
	}
}

// doneBy returns the requests that have redeemed or changed something.
func doneBy(record specserver.Record) (requests []specserver.Request) {
	for _, made := range record.Redemptions {
		requests = append(requests, record.Requests[made.Request-1])
	}
	for _, change := range record.Changes {
		requests = append(requests, record.Requests[change.Request-1])
	}
	return requests
}

func (m *mixture) report(format string, args ...any) {
	m.wrong = append(m.wrong, fmt.Sprintf(format, args...))
}

// step takes one step, and returns the requests that it made, and whether one of them failed.
func (m *mixture) step(what string, take func() string) (requests span, isTroubled bool) {
	before := len(m.server.Record().Requests)
	outcome := take()
	record := m.server.Record()
	requests = span{before + 1, len(record.Requests)}
	m.tally[what+": "+outcome]++
	for _, request := range record.Requests[before:] {
		isTroubled = isTroubled || request.Fault != nil
		if m.log != nil {
			fault := "no fault"
			if request.Fault != nil {
				fault = request.Fault.String()
			}
			fmt.Fprintf(m.log, "  %d %s %s?%s %s %s: %d, %s\n", request.Number, request.Method, request.Path,
				request.Query.Encode(), request.Header.Get(keyHeader), request.Body, request.Status, fault)
		}
	}
	if m.log != nil {
		fmt.Fprintf(m.log, "%s: %s\n", what, outcome)
	}
	return requests, isTroubled
}

// restart makes another client, which knows nothing of what the one before has seen.
func (m *mixture) restart() {
	c, err := client.New(m.config)
	if err != nil {
		panic(err) // the address is valid
	}
	m.client = c
}

// Token returns the token to send.
func (m *mixture) Token(ctx context.Context) (string, error) {
	if m.token == "" {
		return m.Replace(ctx, "")
	}
	return m.token, nil
}

// Replace obtains a token.
func (m *mixture) Replace(ctx context.Context, _ string) (string, error) {
	config := m.config
	config.Tokens = nil
	c, err := client.New(config)
	if err != nil {
		return "", err
	}
	token, err := c.Token(ctx, client.Credentials{ID: specserver.ClientID, Secret: specserver.ClientSecret})
	m.token = token.AccessToken
	return m.token, err
}

func (m *mixture) logIn(ctx context.Context) {
	secret := one(m.r, specserver.ClientSecret, "not-the-secret")
	config := m.config
	config.Tokens = nil
	c, err := client.New(config)
	if err != nil {
		panic(err) // the address is valid
	}
	var token api.Token
	_, isTroubled := m.step("token", func() string {
		token, err = c.Token(ctx, client.Credentials{ID: specserver.ClientID, Secret: secret})
		return outcomeOf(err)
	})
	refused, _ := errors.AsType[*client.Error](err)
	isRight := secret == specserver.ClientSecret
	isIssued := slices.ContainsFunc(m.server.Record().Tokens, func(t specserver.Token) bool {
		return t.Value == token.AccessToken
	})
	switch {
	case err == nil && (!isIssued || !isRight):
		m.report("token: none was issued, but one is reported")
	case !isTroubled && isRight != (err == nil), !isTroubled && !isRight && !refused.LoginNeeded():
		m.report("token: the secret is right: %t, but %v", isRight, err)
	}
}

func outcomeOf(err error) string {
	switch {
	case err == nil:
		return "done"
	case client.OutcomeUnknown(err):
		return "unknown"
	}
	return "failed"
}

// pipes is a network within the process.
type pipes struct {
	waiting chan net.Conn
	closed  chan struct{}
}

func (p pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.waiting <- there:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.waiting:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error {
	close(p.closed)
	return nil
}

func (p pipes) Addr() net.Addr { return &net.IPAddr{} }

// isEndless tells whether the server does not say where its lists end.
func (m *mixture) isEndless() bool {
	return m.server.IgnoresPage || m.server.NoLinks && m.server.NoTotal && m.server.Meta == specserver.MetaNone
}

// listPerks reads the whole list: a part of it must not look whole.
func (m *mixture) listPerks(ctx context.Context) {
	var got []string
	var err error
	options := client.ListOptions{PerPage: one(m.r, 0, 50, 100)}
	_, isTroubled := m.step("list of perks", func() string {
		for page, failure := range m.client.PerkPages(ctx, api.PerkFilter{}, options) {
			err = failure
			for _, perk := range page.Data {
				got = append(got, perk.ID)
			}
		}
		return outcomeOf(err)
	})
	var want []string
	for n := range specserver.Perks {
		want = append(want, m.server.PerkID(n+1))
	}
	switch {
	case err == nil && !slices.Equal(got, want):
		m.report("list of perks: %d of %d without an error", len(got), len(want))
	case err != nil && !isTroubled && !m.isEndless():
		m.report("list of perks: %v", err)
	}
}

func (m *mixture) listRedeemed(ctx context.Context) {
	user := m.server.UserID(1 + m.r.IntN(2))
	listed := func() (ids []string) {
		for _, made := range slices.Backward(m.server.Record().Redemptions) {
			if made.UserID == user {
				ids = append(ids, made.ID)
			}
		}
		return ids
	}
	before := listed()
	var got []string
	var err error
	_, isTroubled := m.step("list of redemptions", func() string {
		for page, failure := range m.client.UserRedemptionPages(ctx, user, client.ListOptions{PerPage: 100}) {
			err = failure
			for _, redemption := range page.Data {
				got = append(got, redemption.ID)
			}
		}
		return outcomeOf(err)
	})
	switch {
	case err == nil && !slices.Equal(got, before) && !slices.Equal(got, listed()):
		m.report("list of redemptions: %v, want %v", got, listed())
	case err != nil && !isTroubled && !m.isEndless():
		m.report("list of redemptions: %v", err)
	}
}

func (m *mixture) readProperty(ctx context.Context) {
	id := m.propertyID()
	before, _ := m.server.Property(string(id), "title")
	var property api.Property
	var err error
	_, isTroubled := m.step("property", func() string {
		property, _, err = m.client.Property(ctx, id)
		return outcomeOf(err)
	})
	after, exists := m.server.Property(string(id), "title")
	switch {
	case err == nil && property.Title != before && property.Title != after:
		m.report("property %s: the title is %q, not %q", id, property.Title, after)
	case err != nil && !isTroubled && exists, client.IsNotFound(err) && exists:
		m.report("property %s: %v", id, err)
	}
}

// propertyID returns one of few, so that steps meet; one of them is another client's.
func (m *mixture) propertyID() api.PropertyID {
	return api.PropertyID(m.server.PropertyID(one(m.r, 1, 1, 2, 3, specserver.Properties)))
}

// newTitle returns a title that no other change sets.
func (m *mixture) newTitle() string {
	m.changed++
	return fmt.Sprintf("Title %d.", m.changed)
}

// judgeChange compares what is said of a change with what was done.
func (m *mixture) judgeChange(
	what string, requests span, isTroubled, isDone bool, err error, isOurs func(specserver.Request) bool,
) {
	made := 0
	for _, request := range doneBy(m.server.Record()) {
		if requests.has(request.Number) && isOurs(request) {
			made++
		}
	}
	switch {
	case made > 1:
		m.report("%s: done %d times", what, made)
	case isDone && made == 0:
		m.report("%s: reported done, but is not", what)
	case !isDone && client.OutcomeUnknown(err):
		if !isTroubled {
			m.report("%s: unknown without any fault: %v", what, err)
		}
	case !isDone:
		m.claims = append(m.claims, claim{what, requests, isOurs})
	}
}

func hasTitle(title string) func(specserver.Request) bool {
	return func(r specserver.Request) bool { return strings.Contains(r.Body, title) }
}

// edit changes a property that was read before, perhaps after somebody else.
func (m *mixture) edit(ctx context.Context) {
	id, title := m.propertyID(), m.newTitle()
	base, err := operation.Properties.Read(ctx, m.client, id)
	if err != nil {
		return
	}
	isStale := m.r.IntN(4) == 0
	if isStale {
		m.server.ChangeByAnother(string(id), map[string]any{"city": fmt.Sprintf("City %d", m.changed)})
	}
	var e operation.PropertySaving
	requests, isTroubled := m.step("edit", func() string {
		edit := operation.Properties.NewEdit(id, base)
		edit.Type("title", title)
		edit.Submit()
		e = edit.Saving().Send(ctx, m.client)
		if e.IsDone() {
			return "done"
		}
		return outcomeOf(e.Err)
	})
	m.judgeChange("edit", requests, isTroubled, e.IsDone(), e.Err, hasTitle(title))
	if isStale && slices.ContainsFunc(doneBy(m.server.Record()), hasTitle(title)) {
		m.report("edit: it overwrites a version that was not read")
	}
}

func (m *mixture) update(ctx context.Context) {
	id, title := m.propertyID(), m.newTitle()
	var err error
	requests, isTroubled := m.step("update", func() string {
		_, err = m.client.UpdateProperty(ctx, id, api.PropertyPatch{Title: api.Some(title)}, "")
		return outcomeOf(err)
	})
	m.judgeChange("update", requests, isTroubled, err == nil, err, hasTitle(title))
}

// updateOld changes a version that is none of the property's.
func (m *mixture) updateOld(ctx context.Context) {
	id, title := m.propertyID(), m.newTitle()
	var err error
	m.step("update of an old version", func() string {
		_, err = m.client.UpdateProperty(ctx, id, api.PropertyPatch{Title: api.Some(title)}, `"v0"`)
		return outcomeOf(err)
	})
	if slices.ContainsFunc(doneBy(m.server.Record()), hasTitle(title)) {
		m.report("update of an old version: it is done: %v", err)
	}
}

func (m *mixture) remove(ctx context.Context) {
	e := operation.PropertySaving{Kind: operation.Properties, ID: m.propertyID(), Delete: true}
	requests, isTroubled := m.step("deletion", func() string {
		e = e.Send(ctx, m.client)
		return outcomeOf(e.Err)
	})
	if _, exists := m.server.Property(string(e.ID), "title"); !exists && e.Err == nil {
		return // perhaps by an earlier deletion
	}
	m.judgeChange("deletion", requests, isTroubled, e.Err == nil, e.Err, func(r specserver.Request) bool {
		return r.Method == http.MethodDelete
	})
}
