// Package server is the HTTP service: it authenticates callers, routes requests, enforces limits, and maps errors to
// statuses.
//
// It uses the database only through store.Store. Echo's types stay inside.
package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"example.com/perks/api"
	"example.com/perks/store"
)

// Config configures a Server. Live is required; every other field may be zero. perksd has checked its flags.
type Config struct {
	Live     store.Store // perks, redemptions, properties, clients and keys
	Sandbox  store.Store // perks and redemptions of the sandbox addresses; nil answers them with 404
	Standbys bool        // Live may read from standbys

	TokenTTL     time.Duration // how long a token lives, at most MaxTokenTTL; zero is one hour
	Hourly       bool          // the same client, scopes and clock hour give the same token on every replica
	RateLimit    float64       // requests per second for each client; zero is unlimited
	RateBurst    int           // requests that an idle client may send at once; zero is those of one second
	MaxListeners int           // streams and waits for events that may be open; zero is 5,000
	AuditRate    float64       // bytes per second that a client's changes may add to the audit log; zero is unlimited
	CreateUsers  bool          // a redemption creates its user if it is unknown, live and in the sandbox
	FourEyes     bool          // who redeemed may not approve or void it
	// keys of metadata by which redemptions are found; CheckSearchedKeys has checked them
	SearchMetadata []string
	BehindProxy    bool // believe X-Forwarded-For, X-Forwarded-Proto and X-Forwarded-Host
	// where clients reach the service, made by ParsePublicURL; nil is the host of each request
	PublicURL *url.URL
	Version   string // as GET /health tells it; empty is "dev"

	// TrustedProxies are the addresses of all proxies. If it is empty, the peer is the only proxy.
	TrustedProxies []netip.Prefix

	WebhookAllow   []netip.Prefix // addresses that webhooks may lead to although they are not public, also without TLS
	WebhookKeys    [][]byte       // made by ParseWebhookKeys, for their secrets; none is a key that the database keeps
	WebhookNetwork WebhookNetwork

	// CORSOrigins are the origins whose pages may call the API, spelled as browsers send them; "*" allows all.
	CORSOrigins []string

	Metrics          prometheus.Registerer // nil keeps no metrics
	Tracer           trace.TracerProvider  // nil makes no spans
	TrustTraceparent bool                  // continue the traces that callers name, instead of linking to them

	Logger *slog.Logger     // nil discards
	Now    func() time.Time // nil is time.Now
	NewID  func() string    // ids of redemptions and requests; nil is UUIDv7
}

// ParsePublicURL reads an address such as https://api.example.
func ParsePublicURL(text string) (*url.URL, error) {
	address, err := url.Parse(text)
	if err != nil || address.Scheme != "https" && address.Scheme != "http" || !plainHost.MatchString(address.Host) ||
		address.String() != address.Scheme+"://"+address.Host {
		return nil, fmt.Errorf("must be a scheme and a host, such as https://api.example, not %q", text)
	}
	return address, nil
}

// Server answers the service's requests. It is an http.Handler.
type Server struct {
	http.Handler
	routes   []string
	feeds    []*eventFeed
	expiry   *expiryWatch
	indexes  map[bool]*metadataIndex
	refusals []*refusedLog
	senders  []*webhookSender
}

// EndStreams ends the responses that would otherwise last until their callers leave, and leaves webhooks to other
// servers. It must be called once at most.
func (s *Server) EndStreams() {
	for _, feed := range s.feeds {
		feed.end()
	}
}

// WatchExpiry warns of clients that expire soon, in the log and in a metric, now and at each tick, until ctx ends. The
// log names each client once a day.
func (s *Server) WatchExpiry(ctx context.Context, ticks <-chan time.Time) { s.expiry.run(ctx, ticks) }

// Run does what no request waits for, until ctx ends: it indexes metadata, delivers webhooks, and
// keeps what was refused.
func (s *Server) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, index := range s.indexes {
		if len(index.keys) > 0 {
			running.Go(func() {
				ticks := time.NewTicker(indexInterval)
				defer ticks.Stop()
				index.run(ctx, ticks.C)
			})
		}
	}
	for _, sender := range s.senders {
		running.Go(func() { sender.run(ctx) })
	}
	<-ctx.Done()
	running.Wait()
	for _, refusals := range s.refusals {
		refusals.write(context.WithoutCancel(ctx))
	}
}

// Routes lists the routes, each as "METHOD /path" with ":name" for a parameter.
func (s *Server) Routes() []string { return slices.Clone(s.routes) }

// service has what the handlers share.
type service struct {
	config     Config
	authority  *Authority
	clientRate *buckets[rateKey]
	auditRate  *buckets[rateKey] // of bytes
	throttle   *tokenThrottle
	notes      *tokenNotes
	outage     *outage
	proxies    proxies
	apiDocs    *apiDocs
	metrics    *metrics
	tracer     trace.Tracer   // nil makes no spans
	lists      map[bool]*lane // of the live and, under true, of the sandbox database
	costly     *lane
	reports    *lane
	outages    *failureLog // of status 503
	failures   *failureLog // of other statuses from 500 on
	feeds      []*eventFeed
	listeners  *listeners
	positions  *positions // nil without standbys

	indexes     map[bool]*metadataIndex // of the live and, under true, of the sandbox database
	refusals    []*refusedLog
	refusedRate *buckets[rateKey]

	poster      *webhookPoster
	senders     []*webhookSender
	webhookRate *buckets[rateKey] // of what clients have sent at once
	redeeming   redeemLoad
}

// New makes a server, and the first signing key if the database has no valid one.
func New(ctx context.Context, config Config) (*Server, error) {
	if err := config.complete(); err != nil {
		return nil, err
	}
	listeners := newListeners(config.MaxListeners)
	lists, costly := map[bool]*lane{false: newListLane(config.Live)}, newLane(1, costlyLists)
	if config.Sandbox != nil {
		lists[true] = newListLane(config.Sandbox)
	}
	indexes := map[bool]*metadataIndex{}
	for sandbox, db := range map[bool]store.Store{false: config.Live, true: config.Sandbox} {
		indexes[sandbox] = &metadataIndex{store: db, name: databaseLabel(sandbox), keys: config.SearchMetadata,
			log: config.Logger}
	}
	if config.Sandbox == nil {
		delete(indexes, true)
	}
	collectors := append(listeners.collectors(), costly.collectors("costly")...)
	for sandbox, l := range lists {
		collectors = append(collectors, l.collectors(databaseLabel(sandbox))...)
		if len(config.SearchMetadata) > 0 {
			collectors = append(collectors, indexes[sandbox].collector())
		}
	}
	metrics, err := newMetrics(config, collectors...)
	if err != nil {
		return nil, err
	}
	tracer := config.trace()
	authority, err := NewAuthority(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("preparing the tokens: %w", err)
	}
	apiDocs, err := newAPIDocs()
	if err != nil {
		return nil, err
	}
	s := &service{
		config: config, authority: authority, apiDocs: apiDocs, metrics: metrics, tracer: tracer,
		clientRate: newBuckets[rateKey](config.RateLimit, config.RateBurst, config.Now),
		auditRate:  newBuckets[rateKey](config.AuditRate, int(config.AuditRate*auditBurst.Seconds()), config.Now),
		throttle:   newTokenThrottle(config.Now),
		notes:      &tokenNotes{ctx: ctx, config: config, pending: map[string]time.Time{}},
		outage:     newOutage(outageWaiters),
		lists:      lists,
		costly:     costly,
		reports:    newLane(1, maxReports),
		outages:    newFailureLog(),
		failures:   newFailureLog(),
		positions:  newPositions(config),
		listeners:  listeners,
		proxies:    proxies{enabled: config.BehindProxy, trusted: config.TrustedProxies},

		indexes:     indexes,
		refusedRate: newBuckets[rateKey](refusedPerClient, refusedBurst, config.Now),
		poster:      newWebhookPoster(config),
		redeeming:   newRedeemLoad(),
		webhookRate: newBuckets[rateKey](webhookTestRate, webhookTestBurst, config.Now),
	}
	e := s.routes()
	var names []string
	for _, route := range e.Routes() {
		names = append(names, route.Method+" "+route.Path)
		if route.Method != echo.RouteNotFound {
			metrics.routes[route.Path] = true
		}
	}
	for _, sender := range s.senders {
		if err := metrics.register(config, sender.collectors()...); err != nil {
			return nil, err
		}
	}
	expiry := &expiryWatch{config: config, expiring: metrics.expiring, warned: map[string]time.Time{}}
	return &Server{Handler: e, routes: names, feeds: s.feeds, expiry: expiry, indexes: s.indexes,
		refusals: s.refusals, senders: s.senders}, nil
}

func (c *Config) complete() error {
	if c.Live == nil {
		return errors.New("server: Config.Live is required")
	}
	if problem := CheckSearchedKeys(c.SearchMetadata); problem != "" {
		return errors.New("server: Config.SearchMetadata " + problem)
	}
	c.TokenTTL = cmp.Or(c.TokenTTL, time.Hour)
	c.RateBurst = cmp.Or(c.RateBurst, max(1, int(math.Ceil(c.RateLimit))))
	c.MaxListeners = cmp.Or(c.MaxListeners, defaultListeners)
	c.Version = cmp.Or(c.Version, "dev")
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.NewID == nil {
		c.NewID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	return nil
}

// now is the time of a request, in milliseconds, which both databases store exactly.
func (s *service) now() time.Time { return s.config.Now().UTC().Truncate(time.Millisecond) }

const (
	apiPath     = "/v2"
	livePath    = apiPath + "/partners"
	sandboxPath = apiPath + "/sandbox/partners"
	tokenPath   = apiPath + "/auth/token"
)

func (s *service) routes() *echo.Echo {
	e := echo.New()
	e.HTTPErrorHandler = s.writeError
	e.IPExtractor = s.proxies.clientAddress
	e.Pre(normalisePath)
	e.Use(s.secure, s.cors, s.identify, s.trace, s.measure, s.log, s.recover, s.limitTime, s.admit, wholeSegments)

	get(e, "/livez", s.livez)
	get(e, "/readyz", s.readyz)
	get(e, apiPath+"/livez", s.livez)
	get(e, apiPath+"/readyz", s.readyz)
	get(e, apiPath+"/health", s.health)
	s.apiDocs.routes(e)

	e.POST(tokenPath, s.issueToken)
	get(e, issuerPath, s.describeIssuer)
	get(e, issuerPath+apiPath, s.describeIssuer)

	get(e, apiPath+"/get-property/:propertyId", cacheable(s.getProperty), s.authorize(api.ScopePropertiesRead, false))
	writing, audited := s.authorize(api.ScopePropertiesWrite, false), s.limitAudit(false)
	e.PATCH(apiPath+"/update-property/:propertyId", s.updateProperty, writing, audited)
	e.DELETE(apiPath+"/delete-property/:propertyId", s.deleteProperty, writing, audited)

	get(e, livePath+"/properties", s.listProperties,
		s.authorize(api.ScopePropertiesRead, false, api.ScopePropertiesWrite, api.ScopePropertiesCreate))
	e.POST(livePath+"/properties", s.createProperty, s.authorize(api.ScopePropertiesCreate, false), audited)
	get(e, livePath+"/properties/:propertyId/history", s.listPropertyHistory,
		s.authorize(api.ScopePropertiesRead, false))
	e.POST(livePath+"/properties/:propertyId/restore", s.restoreProperty, writing, audited)

	s.perkRoutes(e, livePath, s.config.Live, false)
	if s.config.Sandbox != nil {
		s.perkRoutes(e, sandboxPath, s.config.Sandbox, true)
	}
	return e
}

// perkRoutes adds the perk endpoints of one store below a path.
func (s *service) perkRoutes(e *echo.Echo, path string, perks store.Store, sandbox bool) {
	h := perkHandlers{service: s, store: perks, sandbox: sandbox, expiry: newExpiry(perks)}
	h.feed = newEventFeed(perks, databaseLabel(sandbox), s.config.Logger)
	s.feeds = append(s.feeds, h.feed)
	h.hooks = newWebhookSender(s, perks, sandbox, h.feed)
	s.senders = append(s.senders, h.hooks)
	h.refusals = newRefusedLog(s, perks, sandbox)
	s.refusals = append(s.refusals, h.refusals)
	allow := func(scope api.Scope) echo.MiddlewareFunc { return s.authorize(scope, sandbox) }
	audited, deciding := s.limitAudit(sandbox), allow(api.ScopeRedemptionsDecide)
	get(e, path+"/perks", h.list, allow(api.ScopePerksRead))
	get(e, path+"/perks/categories", cacheable(h.categories), allow(api.ScopePerksRead))
	get(e, path+"/perks/users/:userId", h.listForUser, allow(api.ScopePerksRead), h.settled)
	changing := allow(api.ScopePerksWrite)
	e.POST(path+"/perks", h.create, changing, audited)
	get(e, path+"/perks/:perkId", h.get, allow(api.ScopePerksRead))
	e.PATCH(path+"/perks/:perkId", h.update, notCategories, changing, audited)
	get(e, path+"/perks/:perkId/history", h.listHistory, changing)
	get(e, path+"/perks/:perkId/stock", cacheable(h.stock), changing, h.settled)
	e.POST(path+"/perks/:perkId/stock", h.changeStock, changing, audited, h.settled)
	get(e, path+"/perks/:perkId/eligibility", cacheable(h.eligibility), allow(api.ScopePerksRead), h.settled)
	e.POST(path+"/eligibility", h.eligibilities, allow(api.ScopePerksRead), h.settled)
	e.POST(path+"/perks/:perkId/redeem", h.redeem, allow(api.ScopePerksRedeem), audited)
	get(e, path+"/users", h.listUsers, allow(api.ScopeRedemptionsReadAll))
	get(e, path+"/reports/redemptions", cacheable(h.reportRedemptions), allow(api.ScopeRedemptionsRead), h.settled)
	get(e, path+"/redemptions", h.listRedemptions, allow(api.ScopeRedemptionsRead), h.settled)
	get(e, path+"/redemptions/refused", h.listRefused, allow(api.ScopeRedemptionsRead))
	get(e, path+"/redemptions/:redemptionId", cacheable(h.getRedemption), allow(api.ScopeRedemptionsRead))
	e.POST(path+"/redemptions/:redemptionId/approve", h.decide(api.StatusApproved), deciding, audited)
	e.POST(path+"/redemptions/:redemptionId/reject", h.decide(api.StatusRejected), deciding, audited)
	get(e, path+eventsPath, h.events, allow(anyScope))
	e.POST(path+"/redemptions/:redemptionId/void", h.decide(api.StatusVoided), allow(api.ScopeRedemptionsVoid), audited)
	h.webhookRoutes(e, path)
}

// notCategories answers PATCH as other methods that the address of the categories does not have: echo takes it for the
// id of a perk.
func notCategories(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if c.Param("perkId") == "categories" {
			c.Response().Header().Set("Allow", "OPTIONS, GET, HEAD")
			return echo.ErrMethodNotAllowed
		}
		return next(c)
	}
}

// get also adds HEAD, as RFC 9110, section 9.3.2 expects; net/http omits the body.
func get(e *echo.Echo, path string, handler echo.HandlerFunc, middleware ...echo.MiddlewareFunc) {
	e.GET(path, handler, middleware...)
	e.HEAD(path, handler, middleware...)
}

var noSuchAddress = api.Errorf(api.CodeNotFound,
	"There is nothing at this address. %s/openapi.json lists the addresses.", apiPath)

// wholeSegments requires each parameter to be one path segment that isn't empty. Echo accepts an empty one, and gives
// the last parameter all that follows.
func wholeSegments(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		route, path := c.Path(), c.Request().URL.EscapedPath()
		if !strings.HasSuffix(route, "*") && strings.Count(route, "/") != strings.Count(path, "/") ||
			strings.Contains(path, "//") {
			return noSuchAddress
		}
		return next(c)
	}
}

// normalisePath makes echo route by the decoded path, so that %74oken is token (RFC 3986, section 6.2.2.2), unless a
// segment contains an encoded slash. It drops a trailing slash, unless that follows another slash: the empty segment
// between them counts.
func normalisePath(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		address := c.Request().URL
		if address.RawPath != "" && strings.Count(address.Path, "/") == strings.Count(address.RawPath, "/") {
			address.RawPath = ""
		}
		raw := cmp.Or(address.RawPath, address.Path)
		if strings.HasSuffix(raw, "/") && !strings.Contains(raw, "//") && !slices.Contains(docsDirectories, raw) {
			c.Set(sentPathKey, address.Path)
			address.Path, address.RawPath = strings.TrimSuffix(address.Path, "/"),
				strings.TrimSuffix(address.RawPath, "/")
		}
		return next(c)
	}
}

// sentPathKey has the path as the caller sent it, for the log, if normalisePath has changed it.
const sentPathKey = "sent path"

// health tells partners that the service is up, and its version.
func (s *service) health(c echo.Context) error {
	return writeProbe(c, map[string]string{"status": "ok", "version": s.config.Version})
}

// livez tells an orchestrator that the process responds. A restart wouldn't help the database, so it isn't checked.
func (s *service) livez(c echo.Context) error {
	return writeProbe(c, map[string]string{"status": "ok"})
}

// readyTime is how long the database may take to prove that it is ready.
const readyTime = 2 * time.Second

// readyz tells a load balancer whether to send requests: all of them, or with for=reads those that change nothing.
func (s *service) readyz(c echo.Context) error {
	purpose := "writes"
	if c.QueryParams().Has("for") {
		purpose = c.QueryParam("for")
	}
	ready, sentence := acceptsWrites, "The database does not accept writes now."
	switch purpose {
	case "writes":
	case "reads":
		ready, sentence = acceptsReads, "The database cannot be read now."
	default:
		return api.FieldErrorf("for", "must be reads or writes, not %q", purpose)
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), readyTime)
	defer cancel()
	err := ready(ctx, s.config.Live)
	if err == nil && s.config.Sandbox != nil {
		err = ready(ctx, s.config.Sandbox)
	}
	if err == nil {
		err = s.acceptsTokens(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w (%w)", api.Errorf(api.CodeUnavailable, "%s", sentence), err) // for the log
	}
	return writeProbe(c, map[string]string{"status": "ready"})
}

func acceptsWrites(ctx context.Context, db store.Store) error { return db.Ready(ctx) }

// acceptsReads looks for a perk that cannot exist.
func acceptsReads(ctx context.Context, db store.Store) error {
	if _, err := db.Perk(ctx, "users"); api.CodeOf(err) != api.CodeNotFound {
		return err
	}
	return nil
}

// acceptsTokens looks for a client that cannot exist, in the way in which the client of a token is looked up.
func (s *service) acceptsTokens(ctx context.Context) error {
	if _, err := s.config.Live.Client(ctx, ""); api.CodeOf(err) != api.CodeNotFound {
		return err
	}
	return nil
}

func writeProbe(c echo.Context, body any) error {
	c.Response().Header().Set("Cache-Control", noStore)
	return writeJSON(c, http.StatusOK, echo.MIMEApplicationJSON, body)
}
