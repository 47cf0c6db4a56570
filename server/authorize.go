package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"example.com/perks/api"
	"example.com/perks/store"
)

const callerKey = "caller"

// callerOf returns the authorized client of a request, or the zero Caller if it isn't authorized yet.
func callerOf(c echo.Context) Caller {
	caller, _ := c.Get(callerKey).(Caller)
	return caller
}

// anyScope lets every token in, for an address that shows each caller what its scopes allow.
const anyScope api.Scope = ""

// authorize requires a valid bearer token (RFC 6750) with the scope, or another that suffices, of a client that may use
// these addresses and is within its rate limit.
func (s *service) authorize(scope api.Scope, sandbox bool, others ...api.Scope) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			token, given := bearer(oneAuthorization(c.Request()))
			if !given {
				s.metrics.refusals.WithLabelValues(tokenMissing).Inc()
				err := api.Errorf(api.CodeInvalidToken,
					"An access token is required: send Authorization: Bearer TOKEN with a token from POST "+
						"%s/auth/token.", apiPath)
				return challenge(err, "Bearer realm=%q", realm)
			}
			caller, err := s.verify(c.Request(), token)
			if errors.Is(err, ErrToken) {
				s.metrics.refusals.WithLabelValues(tokenInvalid).Inc()
				s.config.Logger.DebugContext(c.Request().Context(), "token refused", "request_id", requestID(c),
					"reason", sanitize(err.Error()), "address", c.RealIP())
				err := api.Errorf(api.CodeInvalidToken,
					"The access token is not valid or has expired. Get a new one from POST %s/auth/token.", apiPath)
				return challenge(err, "Bearer realm=%q, error=%q", realm, "invalid_token")
			}
			if err != nil {
				return err
			}
			c.Set(callerKey, caller)
			if scope != anyScope && !caller.Scopes.Has(scope) && !slices.ContainsFunc(others, caller.Scopes.Has) {
				s.metrics.refusals.WithLabelValues(tokenLacksScope).Inc()
				err := api.Errorf(api.CodeInsufficientScope, "The access token lacks the scope %s.", scope)
				return challenge(err, "Bearer realm=%q, error=%q, scope=%q", realm, "insufficient_scope", scope)
			}
			if caller.SandboxOnly && !sandbox {
				s.metrics.refusals.WithLabelValues(tokenSandboxOnly).Inc()
				return api.Errorf(api.CodeForbidden,
					"The client %q may use only the sandbox addresses, which begin with %s.", caller.ClientID,
					sandboxPath)
			}
			if err := s.limitClient(rateKey{caller.ClientID, sandbox}); err != nil {
				return err
			}
			if caller.Actor, err = actorOf(c, caller); err != nil {
				return err
			}
			if caller.Actor != "" {
				c.Set(callerKey, caller)
			}
			if s.config.FourEyes {
				c.Response().Header()[api.HeaderFourEyes] = fourEyesOn
			}
			if !sandbox {
				s.positions.follow(c, caller.ClientID)
			}
			return next(c)
		}
	}
}

// fourEyesOn tells clients what they may not decide, before they try.
var fourEyesOn = []string{"on"}

// actorOf returns who sits at the client, or "" if the request names nobody. The response repeats a name that is taken,
// whatever the result: that tells the client that names are kept.
func actorOf(c echo.Context, caller Caller) (string, error) {
	values := c.Request().Header[api.HeaderActor]
	switch {
	case len(values) == 0:
		return "", nil
	case !caller.NamesActors:
		return "", api.Errorf(api.CodeActorNotAllowed, "The client %q may not say who sits at it in the header %s. "+
			"The operator allows it with 'perksd client update %s --actors'.", caller.ClientID, api.HeaderActor,
			caller.ClientID)
	case len(values) > 1:
		return "", badHeader(api.HeaderActor, "is given more than once; send one name")
	case values[0] == "":
		return "", badHeader(api.HeaderActor, "must not be empty; leave it out, or send a name")
	}
	if problem := api.ActorRule(values[0]); problem != "" {
		return "", badHeader(api.HeaderActor, problem)
	}
	c.Response().Header()[api.HeaderActor] = values
	return values[0], nil
}

// verify returns the token's client. A change waits while the database is unavailable, as it does in the store. It
// doesn't use keys and clients that were cached before the outage, because they may have been revoked since.
func (s *service) verify(r *http.Request, token string) (caller Caller, err error) {
	verify := func() error {
		caller, err = s.authority.Verify(r.Context(), token)
		return err
	}
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		err = verify()
	} else {
		err = s.outage.retryWhileUnavailable(r.Context(), verify)
	}
	if api.CodeOf(err) == api.CodeUnavailable || errors.Is(err, context.DeadlineExceeded) {
		err = store.NotStarted(err)
	}
	return caller, err
}

const realm = "perks"

// oneAuthorization returns the header only if there is exactly one: of two, a proxy might have checked the other.
func oneAuthorization(r *http.Request) string {
	if values := r.Header.Values("Authorization"); len(values) == 1 {
		return values[0]
	}
	return ""
}

// bearer returns the token of an Authorization header with the scheme Bearer.
func bearer(header string) (token string, given bool) {
	scheme, token, found := strings.Cut(header, " ")
	return strings.TrimSpace(token), found && strings.EqualFold(scheme, "Bearer")
}

func challenge(err *api.Error, format string, args ...any) *errorResponse {
	return &errorResponse{err: err, header: http.Header{"Www-Authenticate": {fmt.Sprintf(format, args...)}}}
}

// outageWaiters is how many requests may wait for the database at once. Each uses about 20 KiB, with its connection.
const outageWaiters = 1024

// outageRetryInterval is how often one of the waiting requests tries again, on behalf of all of them.
const outageRetryInterval = 100 * time.Millisecond

// outage makes requests wait until the database is available again.
type outage struct {
	waiters slots // of requests that wait
	retries slots // of the request that tries again
}

func newOutage(waiters int) *outage {
	return &outage{waiters: make(slots, waiters), retries: make(slots, 1)}
}

// retryWhileUnavailable calls try until it returns anything but api.CodeUnavailable, or until the context ends. If too
// many requests wait already, it calls try once.
func (o *outage) retryWhileUnavailable(ctx context.Context, try func() error) error {
	err := try()
	if api.CodeOf(err) != api.CodeUnavailable {
		return err
	}
	select {
	case o.waiters <- struct{}{}:
		defer func() { <-o.waiters }()
	default:
		return err
	}
	done, ended := o.retries.take(ctx)
	if ended != nil {
		return err
	}
	defer done()
	again := time.NewTicker(outageRetryInterval)
	defer again.Stop()
	for {
		if err = try(); api.CodeOf(err) != api.CodeUnavailable {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return err
		}
	}
}
