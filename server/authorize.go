package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"example.com/perks/api"
	"example.com/perks/server/auth"
	"example.com/perks/store"
)

const callerKey = "caller"

// callerOf returns who a request was authorized for; it is the zero Caller before that.
func callerOf(c echo.Context) auth.Caller {
	caller, _ := c.Get(callerKey).(auth.Caller)
	return caller
}

// authorize lets through only a valid bearer token (RFC 6750) with the scope, of a client that may use these addresses
// and does not ask too often.
func (s *service) authorize(scope api.Scope, sandbox bool) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			token, given := bearer(oneAuthorization(c.Request()))
			if !given {
				s.metrics.bearerRefused(tokenMissing)
				return unauthorized("", "An access token is required: send Authorization: Bearer TOKEN with a token from POST %s/auth/token.", apiPath)
			}
			caller, err := s.verify(c.Request(), token)
			if errors.Is(err, auth.ErrToken) {
				s.metrics.bearerRefused(tokenInvalid)
				s.config.Logger.DebugContext(c.Request().Context(), "token refused", "request_id", requestID(c), "reason", loggable(err.Error()), "address", c.RealIP())
				return unauthorized("invalid_token", "The access token is not valid or has expired. Get a new one from POST %s/auth/token.", apiPath)
			}
			if err != nil {
				return err
			}
			c.Set(callerKey, caller)
			if !caller.Scopes.Has(scope) {
				s.metrics.bearerRefused(tokenLacksScope)
				return &answer{
					err:    api.Errorf(api.CodeInsufficientScope, "The access token lacks the scope %s.", scope),
					header: http.Header{"Www-Authenticate": {fmt.Sprintf("Bearer realm=%q, error=%q, scope=%q", realm, "insufficient_scope", scope)}},
				}
			}
			if caller.SandboxOnly && !sandbox {
				s.metrics.bearerRefused(tokenSandboxOnly)
				return api.Errorf(api.CodeForbidden, "The client %q may use only the sandbox addresses, which begin with %s.", caller.ClientID, sandboxPath)
			}
			if err := s.clientRate.take(clientIn{caller.ClientID, sandbox}, s.config.Now()); err != nil {
				s.metrics.rateLimited(limitOfClient)
				return err
			}
			return next(c)
		}
	}
}

// verify asks who the token speaks for. A change waits for a database that is away, here as in the store: what was known of
// keys and clients before is not believed any longer, because some of them may have been shut out meanwhile.
func (s *service) verify(r *http.Request, token string) (caller auth.Caller, err error) {
	ask := func() error {
		caller, err = s.authority.Verify(r.Context(), token)
		return err
	}
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		err = ask()
	} else {
		err = s.outage.waitOut(r.Context(), ask)
	}
	if api.CodeOf(err) == api.CodeUnavailable || errors.Is(err, context.DeadlineExceeded) {
		err = store.NotBegun(err)
	}
	return caller, err
}

const realm = "perks"

// oneAuthorization returns the header if there is only one: of two, a proxy might have looked at the other.
func oneAuthorization(r *http.Request) string {
	if values := r.Header.Values("Authorization"); len(values) == 1 {
		return values[0]
	}
	return ""
}

// bearer returns the token of an Authorization header. Credentials of another scheme do not count as given.
func bearer(header string) (token string, given bool) {
	scheme, token, found := strings.Cut(header, " ")
	return strings.TrimSpace(token), found && strings.EqualFold(scheme, "Bearer")
}

func unauthorized(oauthError, format string, args ...any) error {
	challenge := fmt.Sprintf("Bearer realm=%q", realm)
	if oauthError != "" {
		challenge += fmt.Sprintf(", error=%q", oauthError)
	}
	return &answer{
		err:    api.Errorf(api.CodeInvalidToken, format, args...),
		header: http.Header{"Www-Authenticate": {challenge}},
	}
}

// outageWaiters bounds the memory of requests that wait for a database that is away: some 20 KiB each, with its connection.
const outageWaiters = 1024

// outageAskedEvery is how often the database is asked again. One of those who wait asks for all of them.
const outageAskedEvery = 100 * time.Millisecond

// outage is where requests wait until the database is back.
type outage struct {
	waiters chan struct{} // holds a token for each request that waits
	turn    chan struct{} // is held by the one that asks
}

func newOutage(waiters int) *outage {
	return &outage{waiters: make(chan struct{}, waiters), turn: make(chan struct{}, 1)}
}

// waitOut asks until the answer is another one than that the database is away, or until the context ends. When as many wait
// as may, it asks once.
func (o *outage) waitOut(ctx context.Context, ask func() error) error {
	err := ask()
	if api.CodeOf(err) != api.CodeUnavailable {
		return err
	}
	select {
	case o.waiters <- struct{}{}:
		defer func() { <-o.waiters }()
	default:
		return err
	}
	select {
	case o.turn <- struct{}{}:
		defer func() { <-o.turn }()
	case <-ctx.Done():
		return err
	}
	again := time.NewTicker(outageAskedEvery)
	defer again.Stop()
	for {
		if err = ask(); api.CodeOf(err) != api.CodeUnavailable {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return err
		}
	}
}
