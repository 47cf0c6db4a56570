package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"example.com/perks/api"
	"example.com/perks/server"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

// caller is a kind of credentials, with the result for each group of routes: "in", or the status of the refusal.
type caller struct {
	name    string
	present func(*http.Request) // adds the credentials; nil adds none
	answers answers
}

// The columns of the addresses that let every token in, and of those that any scope of properties opens.
const (
	anyScope     = "any"
	ofProperties = "any scope of properties"
)

// ofOwner ends the columns of what only the owner of a listing may do, beside those of properties:write.
const ofOwner = " of the owner"

// ofHooks is the column of what a client may do with its own webhooks. Another one does not find them.
const ofHooks = "webhooks:write of the client"

// inSandbox begins the columns of the sandbox.
const inSandbox = "sandbox "

// answers returns the result of a group of routes of accessPoints, whose column has the name of its scope.
type answers func(column string) string

// answering gives one result to all routes that need a token.
func answering(token, result string) answers {
	return func(column string) string {
		switch column {
		case "open":
			return "in"
		case "token":
			return token
		}
		return result
	}
}

// granted are the results of a token with these scopes alone.
func granted(scopes ...api.Scope) answers {
	return func(column string) string {
		scope := strings.TrimSuffix(strings.TrimPrefix(column, inSandbox), ofOwner)
		if scope == ofHooks {
			scope = string(api.ScopeWebhooksWrite)
		}
		isGranted := func(s api.Scope) bool {
			return scope == string(s) || scope == ofProperties && strings.HasPrefix(string(s), "properties:")
		}
		if scope == anyScope || slices.ContainsFunc(scopes, isGranted) {
			return "in"
		}
		return answering("401", "403")(column)
	}
}

// but refuses some columns.
func (a answers) but(isRefused func(column string) bool) answers {
	return func(column string) string {
		if isRefused(column) {
			return "403"
		}
		return a(column)
	}
}

// ofAnother are the results of a client that has other webhooks.
func (a answers) ofAnother() answers {
	return func(column string) string {
		if answer := a(column); answer != "in" || !strings.HasSuffix(column, ofHooks) {
			return answer
		}
		return "404"
	}
}

func isOwners(column string) bool {
	return column == string(api.ScopePropertiesWrite) || strings.HasSuffix(column, ofOwner)
}

func isLive(column string) bool {
	return column != "open" && column != "token" && !strings.HasPrefix(column, inSandbox)
}

var (
	nobody   = answering("401", "401")
	everyone = answering("401", "in")
	known    = answering("in", "401") // by id and secret
)

func (w *accessFixture) callers() []caller {
	good, key, hash := w.good, w.key, server.HashSecret(w.ownerSecret)
	claim := func(what, name string, value any) caller {
		return bearing(what, good.with(name, value).signed(key), nobody)
	}
	callers := []caller{
		// No valid credentials.
		{"no header", nil, nobody},
		saying("an empty header", "", nobody),
		saying("no token", "Bearer", nobody),
		saying("an empty token", "Bearer ", nobody),
		saying("nonsense", "Bearer nonsense", nobody),
		saying("two dots", "Bearer ..", nobody),
		saying("another scheme", "Digest "+good.signed(key), nobody),
		saying("the token alone", good.signed(key), nobody),
		saying("a tab instead of the space", "Bearer\t"+good.signed(key), nobody),
		saying("two tokens in one header", "Bearer "+good.signed(key)+", Bearer "+good.signed(key), nobody),
		{"two headers", func(r *http.Request) {
			r.Header["Authorization"] = []string{"Bearer " + good.signed(key), "Bearer " + good.signed(key)}
		}, nobody},
		{"the token in the query", func(r *http.Request) { r.URL.RawQuery = "access_token=" + good.signed(key) },
			nobody},
		{"the token in a cookie", func(r *http.Request) {
			r.AddCookie(&http.Cookie{Name: "access_token", Value: good.signed(key)})
		}, nobody},
		{"the token in another header", func(r *http.Request) { r.Header.Set("X-Access-Token", good.signed(key)) },
			nobody},

		// Signatures.
		bearing("the server's own token", w.issued, everyone),
		bearing("the same, signed by the test", good.signed(key), everyone),
		bearing("a changed signature", changed(good.signed(key)), nobody),
		bearing("no signature", good.withHeader("alg", "HS256").unsigned(), nobody),
		bearing("alg none", good.withHeader("alg", "none").unsigned(), nobody),
		bearing("alg None", good.withHeader("alg", "None").unsigned(), nobody),
		bearing("alg none, signed", good.withHeader("alg", "none").signed(key), nobody),
		bearing("alg in lower case", good.withHeader("alg", "hs256").signed(key), nobody),
		bearing("no alg", good.withHeader("alg", nil).signed(key), nobody),
		bearing("HS384", good.signedBy(jwt.SigningMethodHS384, key), nobody),
		bearing("HS512", good.signedBy(jwt.SigningMethodHS512, key), nobody),
		bearing("RS256", good.rsa(), nobody),
		bearing("ES256", good.ecdsa(), nobody),
		bearing("EdDSA", good.ed25519(), nobody),
		bearing("alg RS256, but signed with the key", good.withHeader("alg", "RS256").signed(key), nobody),
		bearing("another secret under the key's id", good.signed([]byte("another secret")), nobody),
		bearing("the empty secret", good.signed(nil), nobody),
		bearing("the public description as the secret", good.signed(api.OpenAPI()), nobody),
		bearing("the key's id as the secret", good.signed([]byte(good.header["kid"].(string))), nobody),
		bearing("an unknown key", good.withHeader("kid", "none").signed(key), nobody),
		bearing("no key id", good.withHeader("kid", nil).signed(key), nobody),
		bearing("a number as the key id", good.withHeader("kid", 1).signed(key), nobody),
		bearing("a key that has expired", good.withHeader("kid", w.expired.ID).signed(w.expired.Secret), nobody),
		bearing("its own key in the header",
			good.withHeader("kid", nil).withHeader("jwk", w.ownKey()).signed([]byte("mine")), nobody),
		bearing("a key at a URL", good.withHeader("jku", w.elsewhere.URL).rsa(), nobody),
		bearing("a critical extension", good.withHeader("crit", []string{"exp"}).signed(key), nobody),
		bearing("a certificate at a URL", good.withHeader("x5u", w.elsewhere.URL).rsa(), nobody),

		// Claims, signed with the server's key.
		claim("expires now", "exp", w.clock.Now().Unix()),
		claim("without an expiry", "exp", nil),
		claim("an expiry that is not a number", "exp", "tomorrow"),
		claim("not valid yet", "nbf", w.clock.Now().Unix()+1),
		claim("another issuer", "iss", "someone"),
		claim("no issuer", "iss", nil),
		claim("another audience", "aud", "someone"),
		claim("no audience", "aud", nil),
		claim("no audiences", "aud", []string{}),
		bearing("several audiences, ours among them", good.with("aud", []string{"someone", "perks"}).signed(key),
			everyone),
		claim("no client", "sub", nil),
		claim("an unknown client", "sub", "someone"),
		claim("a client in upper case", "sub", strings.ToUpper(w.owner)),
		claim("a disabled client", "sub", w.disabled),
		claim("an expired client", "sub", w.lapsed),
		claim("an unknown scope", "scope", "perks:read everything"),
		bearing("a client whose secret has changed since", w.changedSecret,
			granted(api.AllScopes()...).but(isOwners).ofAnother()),

		// A token is for every owner's properties, but only the owner may change them, and see what they were.
		bearing("another owner", w.other, granted(api.AllScopes()...).but(isOwners).ofAnother()),
		bearing("sandbox only", w.sandboxOnly, granted(api.AllScopes()...).but(isLive).ofAnother()),
		bearing("no scope", good.with("scope", "").signed(key), granted()),

		// Who sits at the client, in the header of its own.
		naming("a name, of a client that may say it", w.issued, "Zoë / till 2", everyone),
		naming("a name, of a client that may not", w.other, "Zoë", answering("401", "403")),
		naming("a name that is too long", w.issued, strings.Repeat("宽", 101), answering("401", "400")),
		naming("a name that turns the text around", w.issued, "a\u202eb", answering("401", "400")),
		naming("a name without a token", "", "Zoë", nobody),

		// Other spellings.
		saying("the scheme in lower case", "bearer "+good.signed(key), everyone),
		saying("two spaces", "Bearer  "+good.signed(key), everyone),

		// Ids and secrets.
		basic("a client's id and secret", w.owner, w.ownerSecret, known),
		basic("a wrong secret", w.owner, w.ownerSecret+"x", nobody),
		basic("an empty secret", w.owner, "", nobody),
		basic("the hash instead of the secret", w.owner, string(hash[:]), nobody),
		basic("another client's secret", w.disabled, w.ownerSecret, nobody),
		basic("an unknown client's secret", "someone", w.ownerSecret, nobody),
		basic("a disabled client's secret", w.disabled, w.disabledSecret, nobody),
		basic("an expired client's secret", w.lapsed, w.lapsedSecret, nobody),
		basic("an old secret that is kept", w.keeping, w.keptSecret, known),
		basic("an old secret that has ended", w.keeping, w.endedSecret, nobody),
		basic("a secret that was changed", w.rotated, w.rotatedSecret, nobody),
		basic("a client of the sandbox alone", w.sandboxID, w.sandboxSecret, known),
		{"id and secret in two headers", func(r *http.Request) {
			r.SetBasicAuth(w.owner, w.ownerSecret)
			r.Header["Authorization"] = append(r.Header["Authorization"], r.Header["Authorization"][0])
		}, nobody},
	}
	for _, scope := range api.AllScopes() {
		others := slices.DeleteFunc(api.AllScopes(), func(other api.Scope) bool { return other == scope })
		callers = append(callers,
			bearing(string(scope), good.with("scope", scope).signed(key), granted(scope)),
			bearing("all but "+string(scope), good.with("scope", others.String()).signed(key), granted(others...)))
	}
	return callers
}

func saying(name, authorization string, answers answers) caller {
	return caller{name, func(r *http.Request) { r.Header.Set("Authorization", authorization) }, answers}
}

func bearing(name, token string, answers answers) caller {
	return saying(name, "Bearer "+token, answers)
}

func naming(name, token, actor string, answers answers) caller {
	return caller{name, func(r *http.Request) {
		if r.Header.Set(api.HeaderActor, actor); token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
	}, answers}
}

func basic(name, id, secret string, answers answers) caller {
	return caller{name, func(r *http.Request) { r.SetBasicAuth(id, secret) }, answers}
}

// changed returns the token with another signature of the same length.
func changed(token string) string {
	last := "A"
	if strings.HasSuffix(token[:len(token)-5], "A") {
		last = "B"
	}
	return token[:len(token)-6] + last + token[len(token)-5:]
}

// accessFixture is a server with everything that callers may present.
type accessFixture struct {
	t         *testing.T
	server    *servertest.Server
	clock     *servertest.Clock
	elsewhere *httptest.Server // a key server that must not be asked
	asked     atomic.Int64

	good    forgery
	key     []byte
	expired store.SigningKey

	issued, other, sandboxOnly, changedSecret string // tokens
	owner, ownerSecret                        string
	disabled, disabledSecret                  string
	lapsed, lapsedSecret                      string // of a client that has expired
	keeping, keptSecret, endedSecret          string // of a client with old secrets
	rotated, rotatedSecret                    string
	sandboxID, sandboxSecret                  string

	file          string          // of the reference
	hooks         map[bool]string // of the owner, live and, under true, in the sandbox
	asks, records int
	accepted      map[string]int // requests by their routes
	wanted        map[string]int // what they change, and how often
}

func newAccessFixture(t *testing.T) *accessFixture {
	t.Helper()
	w := &accessFixture{t: t, clock: clockAt(10), accepted: map[string]int{}, wanted: map[string]int{}}
	w.server = servertest.Start(t, servertest.WithClock(w.clock), loopback)
	s := w.server
	w.elsewhere = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { w.asked.Add(1) }))
	t.Cleanup(w.elsewhere.Close)

	keys, err := s.Live.SigningKeys(t.Context(), w.clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	w.expired = keys[0]
	key := server.NewSigningKey(w.clock.Now())
	if err := s.Live.RotateSigningKey(t.Context(), key, w.clock.Now().Add(time.Minute), store.Operator); err != nil {
		t.Fatal(err)
	}
	w.key = key.Secret
	w.clock.Advance(time.Hour)

	w.owner, w.ownerSecret = s.ClientWith(func(c *store.Client) { c.NamesActors = true })
	w.issued = s.TokenFor(w.owner, w.ownerSecret)
	w.good = forgeryOf(t, w.issued)
	w.other = s.Token()
	w.disabled, w.disabledSecret = s.ClientWith(func(c *store.Client) { c.Disabled = true })
	w.lapsed, w.lapsedSecret = s.ClientWith(func(c *store.Client) { c.ExpiresAt = w.clock.Now() })
	w.endedSecret = "ended"
	w.keeping, w.keptSecret = s.ClientWith(func(c *store.Client) {
		c.OldSecrets = []store.OldSecret{{Secret: server.HashSecret(w.endedSecret), Until: w.clock.Now()},
			{Secret: c.Secret, Until: w.clock.Now().Add(time.Minute)}}
		c.Secret = server.HashSecret("current")
	})
	w.sandboxID, w.sandboxSecret = s.ClientWith(func(c *store.Client) { c.SandboxOnly = true })
	w.sandboxOnly = s.TokenFor(w.sandboxID, w.sandboxSecret)
	w.rotated, w.rotatedSecret = s.Client()
	w.changedSecret = w.good.with("sub", w.rotated).signed(w.key)
	if _, err := s.Live.ChangeClient(t.Context(), w.rotated, store.Operator, w.clock.Now(),
		store.Rotation(server.HashSecret("new"), time.Time{}, w.clock.Now())); err != nil {
		t.Fatal(err)
	}
	_, page := s.Get("", s.Root()+"/docs/")
	w.file = regexp.MustCompile(`page\.[^"]*css`).FindString(string(page))
	stock := int64(1_000_000)
	perks := []store.PerkRecord{{Perk: api.Perk{ID: "tea"}, Stock: &stock}, {Perk: api.Perk{ID: "auto"}},
		{Perk: api.Perk{ID: "manual"}, Approval: store.ApprovalManual}}
	s.ImportPerks(perks...)
	s.ImportSandboxPerks(perks...)
	w.hooks = map[bool]string{false: w.makeHook(false), true: w.makeHook(true)}
	return w
}

// makeHook makes a webhook of the owner, to which nothing is sent by itself.
func (w *accessFixture) makeHook(sandbox bool) string {
	w.t.Helper()
	address := w.server.LiveURL()
	if sandbox {
		address = w.server.SandboxURL()
	}
	var hook api.Webhook
	if status := w.server.Do(w.server.Request(w.issued, "POST", address+"/webhooks",
		`{"url":"http://127.0.0.1:1/","types":["webhook.disabled"]}`), &hook); status != http.StatusCreated {
		w.t.Fatalf("making a webhook is %d", status)
	}
	return hook.ID
}

func (w *accessFixture) ownKey() map[string]any {
	return map[string]any{"kty": "oct", "alg": "HS256", "k": encoded([]byte("mine"))}
}

// TestAccess requests every route as every caller, and then checks that refused requests changed nothing.
func TestAccess(t *testing.T) {
	w := newAccessFixture(t)
	points, callers := accessPoints(), w.callers()
	w.checkRoutes(points)
	w.makeRecords(len(points) * len(callers))
	for _, c := range callers {
		t.Run(c.name, func(t *testing.T) {
			for _, p := range points {
				w.ask(t, c, p, c.answers(p.column))
			}
		})
	}
	if diff := cmp.Diff(w.wanted, w.effects()); diff != "" {
		t.Errorf("the accepted requests change (-), and the databases are changed (+):\n%s", diff)
	}
	for _, p := range points {
		if w.accepted[p.route] == 0 {
			t.Errorf("%s was never accepted", p.route)
		}
	}
	if asked := w.asked.Load(); asked > 0 {
		t.Errorf("the server asked %d times for keys at an address that a token named", asked)
	}
}

func (w *accessFixture) checkRoutes(points []accessPoint) {
	w.t.Helper()
	var named []string
	for _, p := range points {
		named = append(named, p.route)
	}
	routes := w.server.Routes()
	slices.Sort(named)
	slices.Sort(routes)
	if diff := cmp.Diff(routes, named); diff != "" {
		w.t.Fatalf("the routes of the server (-) and of this test (+) differ:\n%s", diff)
	}
}

// makeRecords makes enough users, properties and redemptions for each request to have its own.
func (w *accessFixture) makeRecords(n int) {
	w.records = n
	var properties []api.Property
	var users []string
	for i := range n {
		properties = append(properties, api.Property{ID: int64(i + 1), Title: "Unchanged"})
		users = append(users, userNumber(i+1))
	}
	w.server.ImportProperties(w.owner, properties...)
	w.server.ImportUsers(users...)
	for _, db := range []store.Store{w.server.Live, w.server.Sandbox} {
		redeemAll(w.t, db, "auto", w.owner, "approved-", users)
		redeemAll(w.t, db, "manual", w.owner, "pending-", users)
	}
}

// redeemAll redeems a perk for all users at once. The ids are the prefix and the user's number from 1.
func redeemAll(t *testing.T, db store.Store, perkID, clientID, prefix string, users []string) {
	t.Helper()
	var redeeming errgroup.Group
	redeeming.SetLimit(64)
	for i, user := range users {
		attempt := store.RedeemAttempt{ID: fmt.Sprint(prefix, i+1), PerkID: perkID, UserID: user, ClientID: clientID,
			At: time.Now(), CreateUser: true}
		redeeming.Go(func() error {
			_, err := db.Redeem(t.Context(), attempt)
			return err
		})
	}
	if err := redeeming.Wait(); err != nil {
		t.Fatal(err)
	}
}

func userNumber(n int) string { return fmt.Sprintf("user-%d", n) }

// ask makes one request, checks the response and records whether it was accepted.
func (w *accessFixture) ask(t *testing.T, c caller, p accessPoint, answer string) {
	t.Helper()
	w.asks++
	deleted := fmt.Sprintf("property %d is deleted", w.asks)
	if path.Base(p.route) == "restore" {
		err := w.server.Live.DeleteProperty(t.Context(), int64(w.asks), store.Operator, w.clock.Now(),
			func(store.PropertyRecord) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		w.wanted[deleted]++
	}
	sandbox := strings.Contains(p.route, "/sandbox/")
	request := p.request(w.server, "", routeParams{property: w.asks, user: userNumber(w.asks), file: w.file,
		hook: w.hooks[sandbox]})
	if c.present != nil {
		c.present(request)
	}
	response, body := w.server.With(t).Send(request)
	if answer == "in" {
		isSending := strings.HasSuffix(p.route, "/test") || strings.HasSuffix(p.route, "/redeliver") // which is limited
		if response.StatusCode >= 400 && !(isSending && response.StatusCode != http.StatusForbidden) {
			t.Errorf("%s: %d %s", p.route, response.StatusCode, body)
		}
		w.accepted[p.route]++
		if strings.HasPrefix(p.route, "DELETE") && strings.HasSuffix(p.route, ":webhookId") {
			w.hooks[sandbox] = w.makeHook(sandbox)
		}
		if path.Base(p.route) == "restore" {
			delete(w.wanted, deleted)
		}
		if effect := effectOf(p, w.asks); effect != "" {
			w.wanted[effect]++
		}
		return
	}
	if got := fmt.Sprint(response.StatusCode); got != answer {
		t.Errorf("%s: %s, want %s", p.route, got, answer)
	}
	if challenge := response.Header.Get("WWW-Authenticate"); challenge != challengeOf(p, request, answer, response) {
		t.Errorf("%s: %s with the challenge %q", p.route, answer, challenge)
	}
	if p.method() == http.MethodHead {
		return
	}
	var refusal api.ErrorBody
	if err := json.Unmarshal(body, &refusal); err != nil ||
		(answer == "401") != (refusal.Code == api.CodeInvalidToken) {
		t.Errorf("%s: %v, %s", p.route, err, body)
	}
	if want := strings.Contains(request.URL.Path,
		"/partners/"); want != (response.Header.Get("Content-Type") == problemType) {
		t.Errorf("%s: the refusal is %s", p.route, response.Header.Get("Content-Type"))
	}
}

// challengeOf returns the expected challenge (RFC 6750, section 3): it names no error if the request had no token.
func challengeOf(p accessPoint, request *http.Request, answer string, response *http.Response) string {
	given := len(request.Header["Authorization"]) == 1 &&
		strings.HasPrefix(strings.ToLower(request.Header.Get("Authorization")), "bearer ") &&
		request.Header.Get("Authorization") != "Bearer "
	switch {
	case p.column == "token":
		return `Basic realm="perks", charset="UTF-8"`
	case answer == "401" && given:
		return `Bearer realm="perks", error="invalid_token"`
	case answer == "401":
		return `Bearer realm="perks"`
	}
	return response.Header.Get("WWW-Authenticate") // checked where a scope is missing
}

// effectOf is what an accepted request changes, or "". n is the number of its property and its user.
func effectOf(p accessPoint, n int) string {
	if strings.Contains(p.route, "/webhooks") {
		return ""
	}
	switch path.Base(p.route) {
	case "redeem":
		return userNumber(n) + " has redeemed"
	case "approve", "reject":
		return fmt.Sprintf("pending-%d is decided", n)
	case "void":
		return fmt.Sprintf("approved-%d is decided", n)
	}
	switch p.method() {
	case "DELETE":
		return fmt.Sprintf("property %d is deleted", n)
	case "PATCH":
		if strings.HasSuffix(p.route, "/:perkId") {
			return "perks are changed"
		}
		return fmt.Sprintf("property %d is changed", n)
	}
	if p.method() == "POST" && slices.Contains([]string{"perks", "stock"}, path.Base(p.route)) {
		return "perks are changed"
	}
	if p.route == "POST /v2/partners/properties" {
		return "properties are created"
	}
	return ""
}

// effects are what all requests have changed, as the databases have it, and how often.
func (w *accessFixture) effects() map[string]int {
	w.t.Helper()
	effects, ctx := map[string]int{}, w.t.Context()
	for n := range w.records {
		effects[fmt.Sprintf("property %d is deleted", n+1)] = 1
	}
	for _, property := range collected(w.t, w.server.Live.ExportProperties(ctx)) {
		delete(effects, fmt.Sprintf("property %d is deleted", property.ID))
		switch {
		case property.ID > int64(w.records):
			effects["properties are created"]++
		case property.Title == "Changed":
			effects[fmt.Sprintf("property %d is changed", property.ID)]++
		}
	}
	for _, db := range []store.Store{w.server.Live, w.server.Sandbox} {
		for _, entry := range collected(w.t, db.Audit(ctx, store.AuditQuery{Actor: "client/*"})) {
			if strings.HasPrefix(entry.Subject, store.PerkSubjectPrefix) {
				effects["perks are changed"]++
			}
		}
		for _, redemption := range collected(w.t, db.ExportRedemptions(ctx, "")) {
			switch {
			case redemption.PerkID == "tea":
				effects[redemption.UserID+" has redeemed"]++
			case redemption.DecidedAt != nil:
				effects[redemption.ID+" is decided"]++
			}
		}
	}
	return effects
}

// accessPoint is one route, with a request that succeeds for an authorized caller. Each request has its own property
// and user, so that the refused ones can be told from the others.
type accessPoint struct {
	route, column, body string
}

// routeParams are the values of the parameters of a route.
type routeParams struct {
	property         int
	user, file, hook string
}

func (p accessPoint) method() string {
	method, _, _ := strings.Cut(p.route, " ")
	return method
}

func (p accessPoint) request(s *servertest.Server, token string, params routeParams) *http.Request {
	_, path, _ := strings.Cut(p.route, " ")
	redemption := fmt.Sprintf("pending-%d", params.property)
	if strings.HasSuffix(path, "/void") {
		redemption = fmt.Sprintf("approved-%d", params.property)
	}
	path = strings.NewReplacer(":redemptionId", redemption, ":propertyId", fmt.Sprint(params.property), ":perkId",
		"tea", ":userId", params.user, ":file", params.file, ":webhookId", params.hook).Replace(path)
	if strings.HasSuffix(path, "/tea/eligibility") {
		path += "?user_id=" + params.user
	}
	return s.Request(token, p.method(), s.Root()+path, strings.ReplaceAll(p.body, "USER", params.user))
}

// accessPoints must list every route of the server.
func accessPoints() []accessPoint {
	points := []accessPoint{
		{"POST /v2/auth/token", "token", ""},
		{"GET /v2/get-property/:propertyId", "properties:read", ""},
		{"PATCH /v2/update-property/:propertyId", "properties:write", `{"title":"Changed"}`},
		{"DELETE /v2/delete-property/:propertyId", "properties:write", ""},
		{"GET /v2/partners/properties", ofProperties, ""},
		{"POST /v2/partners/properties", "properties:create", `{"title":"New","price_pw":"120.50"}`},
		{"GET /v2/partners/properties/:propertyId/history", "properties:read" + ofOwner, ""},
		{"POST /v2/partners/properties/:propertyId/restore", "properties:write", ""},
	}
	for _, path := range []string{"/livez", "/readyz", "/v2/livez", "/v2/readyz", "/v2/health", "/v2/openapi.json",
		"/v2/openapi.yaml", "/", "/docs", "/v2/docs", "/v2/docs/", "/docs/", "/docs/:file",
		"/.well-known/oauth-authorization-server", "/.well-known/oauth-authorization-server/v2"} {
		points = append(points, accessPoint{"GET " + path, "open", ""})
	}
	for _, p := range []accessPoint{
		{"GET /perks", "perks:read", ""},
		{"GET /perks/categories", "perks:read", ""},
		{"GET /perks/users/:userId", "perks:read", ""},
		{"GET /perks/:perkId", "perks:read", ""},
		{"POST /perks", "perks:write", `{"title":"New","description":"New.","city":"Leeds"}`},
		{"PATCH /perks/:perkId", "perks:write", `{"title":"USER"}`},
		{"GET /perks/:perkId/history", "perks:write", ""},
		{"GET /perks/:perkId/stock", "perks:write", ""},
		{"POST /perks/:perkId/stock", "perks:write", `{"add":1}`},
		{"GET /perks/:perkId/eligibility", "perks:read", ""},
		{"POST /eligibility", "perks:read", `{"pairs":[{"perk_id":"tea","user_id":"USER"}]}`},
		{"POST /perks/:perkId/redeem", "perks:redeem", `{"user_id":"USER"}`},
		{"GET /users", "redemptions:read-all", ""},
		{"GET /reports/redemptions", "redemptions:read", ""},
		{"GET /redemptions", "redemptions:read", ""},
		{"GET /redemptions/refused", "redemptions:read", ""},
		{"GET /redemptions/:redemptionId", "redemptions:read", ""},
		{"GET /events", anyScope, ""},
		{"POST /redemptions/:redemptionId/approve", "redemptions:decide", ""},
		{"POST /redemptions/:redemptionId/reject", "redemptions:decide", `{"reason":"why"}`},
		{"POST /redemptions/:redemptionId/void", "redemptions:void", `{"reason":"why"}`},
		{"GET /webhooks", "webhooks:write", ""},
		{"POST /webhooks", "webhooks:write", `{"url":"https://93.184.216.34/","types":["webhook.disabled"]}`},
		{"GET /webhooks/:webhookId", ofHooks, ""},
		{"PATCH /webhooks/:webhookId", ofHooks, `{"description":"USER"}`},
		{"DELETE /webhooks/:webhookId", ofHooks, ""},
		{"POST /webhooks/:webhookId/test", ofHooks, ""},
		{"GET /webhooks/:webhookId/deliveries", ofHooks, ""},
		{"POST /webhooks/:webhookId/redeliver", ofHooks, `{"event_id":"none"}`},
		{"POST /webhooks/:webhookId/rotate-secret", ofHooks, ""},
	} {
		method, path, _ := strings.Cut(p.route, " ")
		points = append(points, accessPoint{method + " /v2/partners" + path, p.column, p.body},
			accessPoint{method + " /v2/sandbox/partners" + path, inSandbox + p.column, p.body})
	}
	for _, p := range slices.Clone(points) {
		if path, isGet := strings.CutPrefix(p.route, "GET "); isGet {
			points = append(points, accessPoint{"HEAD " + path, p.column, ""})
		}
	}
	return points
}
