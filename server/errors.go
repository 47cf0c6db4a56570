package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"unicode"

	"github.com/labstack/echo/v4"
	"golang.org/x/time/rate"

	"example.com/perks/api"
	"example.com/perks/api/display"
)

// problemType is what the response says of an error code.
type problemType struct {
	status int
	title  string // in RFC 9457's problem details, the same for every occurrence
}

// problemTypes maps each error code to its status.
var problemTypes = map[api.Code]problemType{
	api.CodeInvalidJSON:          {http.StatusBadRequest, "The body cannot be read"},
	api.CodeUnsupportedMediaType: {http.StatusUnsupportedMediaType, "The media type is not supported"},
	api.CodeBodyTooLarge:         {http.StatusRequestEntityTooLarge, "The body is too large"},
	api.CodeInvalidToken:         {http.StatusUnauthorized, "Not authenticated"},
	api.CodeInsufficientScope:    {http.StatusForbidden, "The token lacks a scope"},
	api.CodeForbidden:            {http.StatusForbidden, "Not allowed"},
	api.CodeActorNotAllowed:      {http.StatusForbidden, "The client may not name actors"},
	api.CodeFourEyes:             {http.StatusForbidden, "Four eyes must see it"},
	api.CodeNotFound:             {http.StatusNotFound, "Not found"},
	api.CodeMethodNotAllowed:     {http.StatusMethodNotAllowed, "The method is not allowed"},
	api.CodeValidationFailed:     {http.StatusUnprocessableEntity, "Some values are not valid"},
	api.CodeAlreadyRedeemed:      {http.StatusConflict, "Already redeemed"},
	api.CodePerkNotStarted:       {http.StatusConflict, "The perk has not started"},
	api.CodePerkExpired:          {http.StatusConflict, "The perk has expired"},
	api.CodeSoldOut:              {http.StatusConflict, "The perk is sold out"},
	api.CodeIdempotencyKeyReused: {http.StatusUnprocessableEntity, "The idempotency key was used before"},
	api.CodePreconditionFailed:   {http.StatusPreconditionFailed, "The record has changed"},
	api.CodePerkExists:           {http.StatusConflict, "The perk exists already"},
	api.CodeStockBelowHeld:       {http.StatusConflict, "The stock would be less than is held"},
	api.CodeNotDeleted:           {http.StatusConflict, "The property is not deleted"},
	api.CodeConflict:             {http.StatusConflict, "The record's state does not allow this"},
	api.CodeTooExpensive:         {http.StatusUnprocessableEntity, "The list takes too long"},
	api.CodeRateLimited:          {http.StatusTooManyRequests, "Too many requests"},
	api.CodeUnavailable:          {http.StatusServiceUnavailable, "Not available now"},
	api.CodeInternal:             {http.StatusInternalServerError, "The server failed"},
}

// errorResponse is an error with what else the response needs.
type errorResponse struct {
	err        *api.Error
	header     http.Header
	status     int    // if a standard requires another one than the code's
	oauthError string // RFC 6749, section 5.2
}

func (a *errorResponse) Error() string { return a.err.Error() }
func (a *errorResponse) Unwrap() error { return a.err }

// responseTo returns what to tell the caller about an error. Any error that isn't meant for the caller becomes an
// internal one, and only the log has the details.
func responseTo(err error) *errorResponse {
	if known, isKnown := errors.AsType[*errorResponse](err); isKnown {
		return known
	}
	if public, isPublic := errors.AsType[*api.Error](err); isPublic {
		return &errorResponse{err: public}
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return &errorResponse{err: api.Errorf(api.CodeUnavailable,
			"The service took too long. If this was a change, read it back before you retry.")}
	}
	switch {
	case errors.Is(err, echo.ErrNotFound):
		return &errorResponse{err: noSuchAddress}
	case errors.Is(err, echo.ErrMethodNotAllowed):
		return &errorResponse{err: api.Errorf(api.CodeMethodNotAllowed,
			"This address does not support that method; the Allow header lists those it does.")}
	}
	return &errorResponse{err: api.Errorf(api.CodeInternal,
		"The server failed. If this continues, send its operator the X-Request-Id of this response.")}
}

// maxMessage is how many bytes of a message are sent. Only messages that repeat the caller's input are longer.
const maxMessage = 2000

// writeError is echo's error handler.
func (s *service) writeError(err error, c echo.Context) {
	a := responseTo(err)
	path := c.Request().URL.Path
	if a.err == noSuchAddress && s.config.Sandbox == nil &&
		(path == sandboxPath || strings.HasPrefix(path, sandboxPath+"/")) {
		a = &errorResponse{err: api.Errorf(api.CodeNotFound,
			"There is no sandbox here: this service was started without one.")}
	}
	problem := problemTypes[a.err.Code]
	status := cmp.Or(a.status, problem.status)
	// a caller that disconnected is not our failure
	if status >= http.StatusInternalServerError && !errors.Is(err, context.Canceled) {
		s.logFailure(c, status, err)
	}
	if c.Response().Committed {
		return
	}
	for name, values := range a.header {
		c.Response().Header()[name] = values
	}
	if status == http.StatusServiceUnavailable {
		c.Response().Header().Set("Retry-After", "1")
	}
	c.Response().Header().Set("Cache-Control", noStore) // nor may it hide what can be had a moment later
	shown := func(text string) string { return hideSecrets(cut(text, maxMessage)) }
	message := shown(a.err.Message)
	body := api.ErrorBody{Response: message, Code: a.err.Code, Param: a.err.Param, OAuthError: a.oauthError}
	if a.err.Fields != nil {
		body.Errors = make(api.FieldErrors, len(a.err.Fields))
	}
	for name, messages := range a.err.Fields { // names and messages can repeat the caller's input
		for _, message := range messages {
			body.Errors.Add(shown(name), "%s", shown(message))
		}
	}
	mediaType := echo.MIMEApplicationJSON
	if strings.HasPrefix(path, livePath+"/") || strings.HasPrefix(path, sandboxPath+"/") { // RFC 9457
		mediaType = "application/problem+json"
		body.Type = "urn:perks:problem:" + string(a.err.Code)
		body.Title = problem.title
		body.Status = status
		body.Detail = message
	}
	if err := writeJSON(c, status, mediaType, body); err != nil {
		s.config.Logger.WarnContext(c.Request().Context(), "the error could not be sent", "request_id", requestID(c),
			"error", err)
	}
}

// While a database is unavailable or a disk fails, thousands of requests fail for the same reason, and must not fill
// the disk with logs. So only this many failures per second are logged with their reason, and the others are counted.
// Each request still has its own log line.
const (
	failureLogRate  = 0.5
	failureLogBurst = 5
)

// failureLog limits the log of failures with one status.
type failureLog struct {
	limit    *rate.Limiter
	unlogged atomic.Int64 // failures since the last line
}

func newFailureLog() *failureLog {
	return &failureLog{limit: rate.NewLimiter(failureLogRate, failureLogBurst)}
}

// logFailure logs 503 and all other failures within separate limits, so that an outage does not hide a bug.
func (s *service) logFailure(c echo.Context, status int, err error) {
	failures := s.failures
	if status == http.StatusServiceUnavailable {
		failures = s.outages
	}
	if !failures.limit.Allow() {
		failures.unlogged.Add(1)
		return
	}
	args := []any{"request_id", requestID(c), "error", err}
	if others := failures.unlogged.Swap(0); others > 0 {
		args = append(args, "others_like_it", others)
	}
	s.config.Logger.ErrorContext(c.Request().Context(), "request failed", args...)
}

// What our tokens and secrets look like: a JWT, and 32 or more characters of base64 with both upper and lower case. The
// ids that perksd makes have one case only.
var (
	tokenPattern  = regexp.MustCompile(`eyJ[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]*)*`)
	secretPattern = regexp.MustCompile(fmt.Sprintf(`[A-Za-z0-9_+=-]{%d,}`, shortestSecret))
)

const (
	shortestSecret = 32
	secretLetters  = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+=-"
	hidden         = "[hidden]"
)

// hideSecrets removes what looks like a token or a secret. People paste them where an id belongs, and logs and error
// messages end up in tickets.
func hideSecrets(text string) string {
	if strings.Contains(text, "eyJ") {
		text = tokenPattern.ReplaceAllString(text, hidden)
	}
	// Checking first saves nearly every request the second pattern, which takes longer than verifying a token.
	for run := range strings.FieldsFuncSeq(text, func(r rune) bool { return !strings.ContainsRune(secretLetters, r) }) {
		if mayBeSecret(run) {
			return secretPattern.ReplaceAllStringFunc(text, func(found string) string {
				if mayBeSecret(found) {
					return hidden
				}
				return found
			})
		}
	}
	return text
}

func mayBeSecret(run string) bool {
	return len(run) >= shortestSecret && run != strings.ToLower(run) && run != strings.ToUpper(run)
}

// maxLogged is how many bytes of a caller's text are logged. The longest valid path is below it.
const maxLogged = 512

// sanitize makes a caller's text safe to log: short, on one line, and without terminal control characters and secrets.
func sanitize(text string) string {
	return hideSecrets(strings.Map(func(r rune) rune {
		if display.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return unicode.ReplacementChar
		}
		return r
	}, cut(text, maxLogged)))
}

// cut shortens a text to a number of bytes, appends its length, and makes it valid UTF-8. If it would cut a run so
// short that hideSecrets no longer sees a secret, it drops the whole run.
func cut(text string, most int) string {
	tail := ""
	if len(text) > most {
		tail = fmt.Sprintf("... (%d bytes)", len(text))
		next := text[most]
		text = text[:most]
		before := strings.TrimRight(text, secretLetters)
		if strings.IndexByte(secretLetters, next) >= 0 && len(text)-len(before) < shortestSecret {
			text = before
		}
	}
	return strings.ToValidUTF8(text, string(unicode.ReplacementChar)) + tail
}
