package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"example.com/perks/api"
)

// Error is an answer that is not the one asked for: the server refused, failed, or is not the service at all.
type Error struct {
	Status    int             // of the HTTP response
	Code      api.Code        // as the server says it; derived from the status where it says none
	Message   string          // a sentence for people
	Fields    api.FieldErrors // what is wrong with which field, if the server says so
	RequestID string          // the server's name for the exchange, if it gives one

	// RetryAfter is how long the server asks to wait before the next request; 0 if it does not say.
	RetryAfter time.Duration

	// Stray says that the body is no JSON object, as services write it: the answer may come from something before the service,
	// whose 404 says nothing of a record.
	Stray bool

	// OutcomeUnknown says that the request was to change something and that the answer does not tell whether it did.
	OutcomeUnknown bool

	// KeyUnused says that the service looked at the request's idempotency key and found nothing that was made under it. What
	// it refused, no earlier request under that key has done, unless the key is so old that it was forgotten.
	KeyUnused bool
}

// Error returns the message, followed by each field's messages when there are any.
func (e *Error) Error() string { return e.Unwrap().Error() }

// Unwrap returns the error in the terms of the contract, so that api.CodeOf knows its code.
func (e *Error) Unwrap() error {
	return &api.Error{Code: e.Code, Message: e.Message, Fields: e.Fields}
}

// Unreachable says that no complete answer came: the server could not be found, refused the connection, or fell silent.
type Unreachable struct {
	Address string // of the API
	Err     error

	// OutcomeUnknown says that the request was to change something and may have reached the server.
	OutcomeUnknown bool
	// NotSent says that surely nothing of the request has left this computer.
	NotSent bool
}

// TimedOut tells whether the time for an answer ran out.
func (u *Unreachable) TimedOut() bool {
	var network net.Error
	return errors.Is(u.Err, context.DeadlineExceeded) || errors.As(u.Err, &network) && network.Timeout()
}

func (u *Unreachable) Error() string {
	text := fmt.Sprintf("No answer from %s: %s.", u.Address, u.Reason())
	if u.OutcomeUnknown {
		text += " The request may have been carried out."
	}
	if advice := u.Advice(); advice != "" {
		text += " " + advice
	}
	return text
}

// Reason says why no answer came, in words that follow a colon.
func (u *Unreachable) Reason() string {
	why, _ := explain(u.Err)
	return why
}

// Advice says what may help, as a sentence; "" where nothing is known to.
func (u *Unreachable) Advice() string {
	_, advice := explain(u.Err)
	return advice
}

// Unwrap returns the failure of the network or the end of the context.
func (u *Unreachable) Unwrap() error { return u.Err }

// Missing tells whether err is the service's own word that there is no such record. A 404 that something before the service
// may have sent is none.
func Missing(err error) bool {
	var refused *Error
	return errors.As(err, &refused) && refused.Code == api.CodeNotFound && !refused.Stray
}

// OutcomeUnknown tells whether err leaves open if a change was made.
func OutcomeUnknown(err error) bool {
	var refused *Error
	var unreachable *Unreachable
	switch {
	case errors.As(err, &unreachable):
		return unreachable.OutcomeUnknown
	case errors.As(err, &refused):
		return refused.OutcomeUnknown
	}
	return false
}

// KeyUnused tells whether err also says that no request under the same idempotency key has made anything.
func KeyUnused(err error) bool {
	var refused *Error
	return errors.As(err, &refused) && refused.KeyUnused
}

// reason is what explain says without its advice.
func reason(err error) string {
	why, _ := explain(err)
	return why
}

// withoutURL takes off the method and address that net/http puts before an error: the messages here name the address
// themselves, once.
func withoutURL(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// codeOfStatus says what an answer without a code most likely means.
func codeOfStatus(status int) api.Code {
	switch status {
	case http.StatusBadRequest:
		return api.CodeInvalidJSON
	case http.StatusUnauthorized:
		return api.CodeInvalidToken
	case http.StatusForbidden:
		return api.CodeForbidden
	case http.StatusNotFound, http.StatusGone:
		return api.CodeNotFound
	case http.StatusMethodNotAllowed:
		return api.CodeMethodNotAllowed
	case http.StatusConflict:
		return api.CodeConflict
	case http.StatusPreconditionFailed:
		return api.CodePreconditionFailed
	case http.StatusRequestEntityTooLarge:
		return api.CodeBodyTooLarge
	case http.StatusUnsupportedMediaType:
		return api.CodeUnsupportedMediaType
	case http.StatusUnprocessableEntity:
		return api.CodeValidationFailed
	case http.StatusTooManyRequests:
		return api.CodeRateLimited
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return api.CodeUnavailable
	}
	return api.CodeInternal
}
