package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"unicode"

	"github.com/labstack/echo/v4"

	"example.com/perks/api"
	"example.com/perks/api/display"
)

// kind is how a code looks from outside.
type kind struct {
	status int
	title  string // of the problem details: the same for every occurrence
}

// kinds is the one place where a code becomes a status.
var kinds = map[api.Code]kind{
	api.CodeInvalidJSON:          {http.StatusBadRequest, "The body cannot be read"},
	api.CodeUnsupportedMediaType: {http.StatusUnsupportedMediaType, "The media type is not supported"},
	api.CodeBodyTooLarge:         {http.StatusRequestEntityTooLarge, "The body is too large"},
	api.CodeInvalidToken:         {http.StatusUnauthorized, "Not authenticated"},
	api.CodeInsufficientScope:    {http.StatusForbidden, "The token lacks a scope"},
	api.CodeForbidden:            {http.StatusForbidden, "Not allowed"},
	api.CodeNotFound:             {http.StatusNotFound, "Not found"},
	api.CodeMethodNotAllowed:     {http.StatusMethodNotAllowed, "The method is not allowed"},
	api.CodeValidationFailed:     {http.StatusUnprocessableEntity, "Some values are not valid"},
	api.CodeAlreadyRedeemed:      {http.StatusConflict, "Already redeemed"},
	api.CodePerkNotStarted:       {http.StatusConflict, "The perk has not started"},
	api.CodePerkExpired:          {http.StatusConflict, "The perk has expired"},
	api.CodeSoldOut:              {http.StatusConflict, "The perk is sold out"},
	api.CodeIdempotencyKeyReused: {http.StatusUnprocessableEntity, "The idempotency key was used before"},
	api.CodePreconditionFailed:   {http.StatusPreconditionFailed, "The record has changed"},
	api.CodeConflict:             {http.StatusConflict, "The record's state does not allow this"},
	api.CodeRateLimited:          {http.StatusTooManyRequests, "Too many requests"},
	api.CodeUnavailable:          {http.StatusServiceUnavailable, "Not available now"},
	api.CodeInternal:             {http.StatusInternalServerError, "The server failed"},
}

// answer is an error with what else the response needs to say.
type answer struct {
	err        *api.Error
	header     http.Header
	status     int    // when an outside standard asks for another one than the code's
	oauthError string // RFC 6749, section 5.2
}

func (a *answer) Error() string { return a.err.Error() }
func (a *answer) Unwrap() error { return a.err }

// answerTo finds what to tell the caller about an error. What was not made for the caller is told as internal, and only
// the log learns more.
func answerTo(err error) *answer {
	var known *answer
	if errors.As(err, &known) {
		return known
	}
	var public *api.Error
	if errors.As(err, &public) {
		return &answer{err: public}
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return &answer{err: api.Errorf(api.CodeUnavailable, "The service took too long. If it was a change, read it back before you try again.")}
	}
	switch {
	case errors.Is(err, echo.ErrNotFound):
		return &answer{err: noSuchAddress}
	case errors.Is(err, echo.ErrMethodNotAllowed):
		return &answer{err: api.Errorf(api.CodeMethodNotAllowed, "This address does not answer to that method; the Allow header lists those it does.")}
	}
	return &answer{err: api.Errorf(api.CodeInternal, "The server failed to answer. If it goes on, tell its operator the X-Request-Id of this response.")}
}

// maxMessage is how many bytes of a message are sent; longer ones repeat what the caller has sent.
const maxMessage = 2000

// writeError is echo's error handler.
func (s *service) writeError(err error, c echo.Context) {
	a := answerTo(err)
	path := c.Request().URL.Path
	if a.err == noSuchAddress && s.config.Sandbox == nil && (path == sandboxPath || strings.HasPrefix(path, sandboxPath+"/")) {
		a = &answer{err: api.Errorf(api.CodeNotFound, "There is no sandbox here: this service was started without one.")}
	}
	kind := kinds[a.err.Code]
	status := cmp.Or(a.status, kind.status)
	if status >= http.StatusInternalServerError && !errors.Is(err, context.Canceled) { // who has gone is no fault of ours
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
	shown := func(text string) string { return hideSecrets(cut(text, maxMessage)) }
	message := shown(a.err.Message)
	body := api.ErrorBody{Response: message, Code: a.err.Code, OAuthError: a.oauthError}
	if a.err.Fields != nil {
		body.Errors = make(api.FieldErrors, len(a.err.Fields))
	}
	for name, problems := range a.err.Fields { // names and texts can repeat what was sent
		for _, problem := range problems {
			body.Errors.Add(shown(name), "%s", shown(problem))
		}
	}
	mediaType := echo.MIMEApplicationJSON
	if strings.HasPrefix(path, livePath+"/") || strings.HasPrefix(path, sandboxPath+"/") { // RFC 9457
		mediaType = "application/problem+json"
		body.Type = "urn:perks:problem:" + string(a.err.Code)
		body.Title = kind.title
		body.Status = status
		body.Detail = message
	}
	if err := writeJSON(c, status, mediaType, body); err != nil {
		s.config.Logger.WarnContext(c.Request().Context(), "the error could not be sent", "request_id", requestID(c), "error", err)
	}
}

// While a database is away, each of thousands of requests fails for the same reason, and a log that fills a disk is a fault of its own.
// So the log gives the reason for so many a second, of which some may come at once, and counts the others. The line of each
// request stays.
const (
	failuresLogged       = 0.5
	failuresLoggedAtOnce = 5
)

func (s *service) logFailure(c echo.Context, status int, err error) {
	args := []any{"request_id", requestID(c), "error", err}
	if status == http.StatusServiceUnavailable {
		if !s.failures.Allow() {
			s.unlogged.Add(1)
			return
		}
		if others := s.unlogged.Swap(0); others > 0 {
			args = append(args, "others_like_it", others)
		}
	}
	s.config.Logger.ErrorContext(c.Request().Context(), "request failed", args...)
}

// What tokens and secrets of ours look like: a JWT, and 32 or more characters of base64 with letters of both cases among
// them. The ids that perksd makes have letters of one case.
var (
	likeToken  = regexp.MustCompile(`eyJ[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]*)*`)
	likeSecret = regexp.MustCompile(fmt.Sprintf(`[A-Za-z0-9_+=-]{%d,}`, shortestSecret))
)

const (
	shortestSecret = 32
	secretLetters  = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+=-"
	hidden         = "[hidden]"
)

// hideSecrets takes out what looks like a token or a secret. People paste them where an id should be, and what was asked for
// is told to others: in logs, and in messages that end up in tickets.
func hideSecrets(text string) string {
	if strings.Contains(text, "eyJ") {
		text = likeToken.ReplaceAllString(text, hidden)
	}
	// Nearly every request is spared the second expression, which takes longer than to read a token.
	for run := range strings.FieldsFuncSeq(text, func(r rune) bool { return !strings.ContainsRune(secretLetters, r) }) {
		if mayBeSecret(run) {
			return likeSecret.ReplaceAllStringFunc(text, func(found string) string {
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

// maxLogged is how many bytes of one text that a caller sent are logged. The longest good path is below it.
const maxLogged = 512

// loggable makes of a text that a caller sent what may stand in a log: short, on one line, without anything that would steer
// the terminal of who reads it, and without secrets.
func loggable(text string) string {
	return hideSecrets(strings.Map(func(r rune) rune {
		if display.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return unicode.ReplacementChar
		}
		return r
	}, cut(text, maxLogged)))
}

// cut leaves so many bytes of a text, and its length, and makes it valid UTF-8. What it would cut through and leave too short
// of to be known for a secret goes as a whole.
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
