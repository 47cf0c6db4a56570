package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"example.com/perks/api"
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
	var routing *echo.HTTPError
	if errors.As(err, &routing) {
		switch routing.Code {
		case http.StatusNotFound:
			return &answer{err: noSuchAddress}
		case http.StatusMethodNotAllowed:
			return &answer{err: api.Errorf(api.CodeMethodNotAllowed, "This address does not answer to that method; the Allow header lists those it does.")}
		}
	}
	return &answer{err: api.Errorf(api.CodeInternal, "The server failed to answer. If it goes on, tell its operator the X-Request-Id of this response.")}
}

// maxMessage is how many bytes of a message are sent; longer ones repeat what the caller has sent.
const maxMessage = 2000

// forCaller does with the errors of fields as with the message: their names and texts can repeat what was sent.
func forCaller(fields api.FieldErrors) api.FieldErrors {
	if fields == nil {
		return nil
	}
	shown := make(api.FieldErrors, len(fields))
	for name, problems := range fields {
		for _, problem := range problems {
			shown.Add(hideSecrets(cut(name, maxMessage)), "%s", hideSecrets(cut(problem, maxMessage)))
		}
	}
	return shown
}

// writeError is echo's error handler.
func (s *service) writeError(err error, c echo.Context) {
	a := answerTo(err)
	if a.err == noSuchAddress && s.hasNoSandbox(c) {
		a = &answer{err: noSandbox}
	}
	kind := kinds[a.err.Code]
	status := kind.status
	if a.status != 0 {
		status = a.status
	}
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
	message := hideSecrets(cut(a.err.Message, maxMessage))
	body := api.ErrorBody{Response: message, Code: a.err.Code, Errors: forCaller(a.err.Fields), OAuthError: a.oauthError}
	mediaType := echo.MIMEApplicationJSON
	if writesProblems(c) {
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

func (s *service) logFailure(c echo.Context, status int, err error) {
	args := []any{"request_id", requestID(c), "error", err}
	if status == http.StatusServiceUnavailable {
		may, unsaid := s.failures.next(time.Now())
		if !may {
			return
		}
		if unsaid > 0 {
			args = append(args, "others_like_it", unsaid)
		}
	}
	s.config.Logger.ErrorContext(c.Request().Context(), "request failed", args...)
}
