// Package server is the HTTP service: routes, handlers, limits, and the one place where an error becomes a status.
//
// It speaks to a database only through store.Store and knows nothing of SQL, of files or of the command line. Echo's
// types do not leave it.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"example.com/perks/server/auth"
	"example.com/perks/store"
)

// Config is what a Server needs. Live is required; every other zero value has a sensible meaning.
type Config struct {
	Live    store.Store // perks, redemptions, properties, clients and keys
	Sandbox store.Store // perks and redemptions of the sandbox addresses; nil answers them with 404

	TokenTTL    time.Duration // how long a token lives, at most auth.MaxTokenTTL; zero is one hour
	Hourly      bool          // the same client, scopes and clock hour give the same token on every replica
	RateLimit   float64       // requests a second for each client; zero is without limit
	RateBurst   int           // requests that a client which was quiet may make at once; zero is as many as in a second
	CreateUsers bool          // a redemption creates its user if it is unknown, live and in the sandbox
	BehindProxy bool          // believe X-Forwarded-For, X-Forwarded-Proto and X-Forwarded-Host
	Version     string        // as GET /health tells it; empty is "dev"

	// TrustedProxies are the addresses of the proxies. Without any, who is connected is taken for the only proxy there is.
	TrustedProxies []netip.Prefix

	// CORSOrigins are the origins whose pages may call the API, spelled as browsers send them; "*" allows all.
	CORSOrigins []string

	Metrics          prometheus.Registerer // takes the server's metrics; nil keeps none
	Tracer           trace.TracerProvider  // takes the spans of requests; nil makes none
	TrustTraceparent bool                  // continue the traces that callers name, instead of linking to them

	Logger *slog.Logger     // nil discards
	Now    func() time.Time // nil is time.Now
	NewID  func() string    // ids of redemptions and requests; nil is UUIDv7
}

// Server answers the service's requests. It is an http.Handler.
type Server struct {
	http.Handler
	routes []string
}

// Routes lists what the server answers to, each as "METHOD /path" with ":name" for a parameter.
func (s *Server) Routes() []string { return slices.Clone(s.routes) }

// service is what the handlers share.
type service struct {
	config      Config
	authority   *auth.Authority
	clientRate  *clientLimits
	guesses     *guesses
	outage      *outage
	proxies     proxies
	description *description
	reference   *reference
	metrics     *metrics
	tracer      trace.Tracer // nil makes no spans
	failures    failureLog
}

// New prepares a server, and makes the first signing key when the database has none that is valid.
func New(ctx context.Context, config Config) (*Server, error) {
	if err := config.complete(); err != nil {
		return nil, err
	}
	metrics, err := newMetrics(config)
	if err != nil {
		return nil, err
	}
	tracer := config.trace()
	authority, err := auth.New(ctx, auth.Config{Store: config.Live, TTL: config.TokenTTL, Hourly: config.Hourly, Now: config.Now})
	if err != nil {
		return nil, fmt.Errorf("preparing the tokens: %w", err)
	}
	description, err := newDescription()
	if err != nil {
		return nil, err
	}
	page, err := newReference()
	if err != nil {
		return nil, err
	}
	s := &service{
		config:      config,
		authority:   authority,
		clientRate:  newClientLimits(config.RateLimit, config.RateBurst),
		guesses:     newGuesses(),
		outage:      newOutage(outageWaiters),
		proxies:     proxies{there: config.BehindProxy, trusted: config.TrustedProxies},
		description: description,
		reference:   page,
		metrics:     metrics,
		tracer:      tracer,
	}
	e := s.routes()
	metrics.know(e.Routes())
	return &Server{Handler: e, routes: routeNames(e)}, nil
}

func (c *Config) complete() error {
	if c.Live == nil {
		return errors.New("server: Config.Live is required")
	}
	if c.TokenTTL == 0 {
		c.TokenTTL = time.Hour
	}
	if c.TokenTTL < time.Second || c.TokenTTL > auth.MaxTokenTTL {
		return fmt.Errorf("a token's lifetime must be between 1s and %s, not %s", auth.MaxTokenTTL, c.TokenTTL)
	}
	if c.RateLimit < 0 {
		return fmt.Errorf("the rate limit must not be negative, but is %g a second", c.RateLimit)
	}
	if c.RateBurst < 0 {
		return fmt.Errorf("the burst must not be negative, but is %d", c.RateBurst)
	}
	if c.RateBurst > 0 && c.RateLimit == 0 {
		return errors.New("a burst means nothing without a rate limit")
	}
	if len(c.TrustedProxies) > 0 && !c.BehindProxy {
		return errors.New("the addresses of proxies mean nothing unless the server is behind one")
	}
	for _, origin := range c.CORSOrigins {
		if err := CheckOrigin(origin); err != nil {
			return err
		}
	}
	if c.Version == "" {
		c.Version = "dev"
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.NewID == nil {
		c.NewID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	return nil
}

// now is the instant that a request is judged by. Milliseconds are what people read; both stores keep them exactly.
func (s *service) now() time.Time { return s.config.Now().UTC().Truncate(time.Millisecond) }
