// Package server is the HTTP service: routes, tokens, handlers, and the one place where an error becomes a status.
//
// It speaks to a database only through store.Store and knows nothing of SQL, of files or of the command line. Echo's
// types do not leave it.
package server

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"example.com/perks/store"
)

// Config is what a Server needs. Live is required; every other zero value has a sensible meaning.
type Config struct {
	Live    store.Store // perks, redemptions, properties, clients and keys
	Sandbox store.Store // perks and redemptions of the sandbox addresses; nil answers them with 404

	TokenTTL    time.Duration // how long a token lives; zero is one hour
	Hourly      bool          // the same client, scopes and clock hour give the same token on every replica
	RateLimit   float64       // requests a second for each client; zero is without limit
	BehindProxy bool          // believe X-Forwarded-For, X-Forwarded-Proto and X-Forwarded-Host
	Version     string        // as GET /health tells it; empty is "dev"

	Logger *slog.Logger     // nil discards
	Now    func() time.Time // nil is time.Now
	NewID  func() string    // ids of redemptions; nil is UUIDv7
}

// Server answers the service's requests. It is an http.Handler.
type Server struct {
	http.Handler
}

// New prepares a server, and makes the first signing key when the database has none that is valid.
func New(ctx context.Context, config Config) (*Server, error) {
	return &Server{}, nil
}
