package api

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Code is a kind of failure. Codes are stable: programs branch on them, people read the message.
type Code string

// The codes that an error body can carry.
const (
	CodeInvalidJSON          Code = "invalid_json"           // the body is not the JSON (or form) it claims to be
	CodeUnsupportedMediaType Code = "unsupported_media_type" // the body's Content-Type is not one the endpoint reads
	CodeBodyTooLarge         Code = "body_too_large"         // the body is longer than the endpoint reads
	// the token or the credentials are missing, malformed, expired or revoked
	CodeInvalidToken Code = "invalid_token"
	// the token is good but lacks the scope that the endpoint asks for
	CodeInsufficientScope Code = "insufficient_scope"
	// the caller may use the endpoint, but not on this record or address
	CodeForbidden        Code = "forbidden"
	CodeActorNotAllowed  Code = "actor_not_allowed"  // the client may not say who sits at it
	CodeFourEyes         Code = "four_eyes"          // who redeemed may not approve or void it
	CodeNotFound         Code = "not_found"          // no record, or no endpoint, is there
	CodeMethodNotAllowed Code = "method_not_allowed" // the address exists but does not support this method
	// a value breaks its field's rule; the error's Fields say which and how
	CodeValidationFailed     Code = "validation_failed"
	CodeAlreadyRedeemed      Code = "already_redeemed"       // the user has a live redemption of the perk
	CodePerkNotStarted       Code = "perk_not_started"       // the perk's valid_from is in the future
	CodePerkExpired          Code = "perk_expired"           // the perk's valid_to has passed
	CodeSoldOut              Code = "sold_out"               // the stock is used up by live redemptions
	CodeIdempotencyKeyReused Code = "idempotency_key_reused" // the Idempotency-Key was used before with another request
	// If-Match names another version of the record than the current one
	CodePreconditionFailed Code = "precondition_failed"
	CodePerkExists         Code = "perk_exists"      // the id of the perk to create is taken
	CodeStockBelowHeld     Code = "stock_below_held" // redemptions hold more units than the stock would have
	CodeNotDeleted         Code = "not_deleted"      // the property to restore is not deleted, and no version is named
	// the record's state does not allow the operation: operator's commands, and adding to a stock without limit
	CodeConflict     Code = "conflict"
	CodeTooExpensive Code = "too_expensive" // the list takes too long; the message names a cheaper one
	// the caller asks too often; Retry-After says when to come back
	CodeRateLimited Code = "rate_limited"

	// CodeUnavailable means that the server could not finish. If it had begun a write, which the message says, the
	// outcome of the write is unknown until it is read back.
	CodeUnavailable Code = "unavailable"

	CodeInternal Code = "internal" // the server failed unexpectedly
)

// The parameters that say what was not found.
const (
	ParamPerk = "perk_id"
	ParamUser = "user_id"
)

// Error is a failure that is reported to the caller. Message is a sentence; Fields is set only with
// CodeValidationFailed, and Param only with CodeNotFound, of a perk or a user.
type Error struct {
	Code    Code
	Message string
	Fields  FieldErrors
	Param   string // ParamPerk, ParamUser or ""
}

// Errorf makes an Error whose message is formatted as fmt.Sprintf does.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Error returns the message, followed by each field's messages when there are any.
func (e *Error) Error() string {
	if len(e.Fields) == 0 {
		return e.Message
	}
	return e.Message + " (" + e.Fields.String() + ")"
}

// CodeOf returns the code of the first *Error in err's chain, CodeInternal if there is none, and "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}

// FieldErrors maps the name of a field, as on the wire, to what is wrong with its value.
type FieldErrors map[string][]string

// maxFieldErrors bounds the response: one body can hold a hundred thousand unknown fields.
const maxFieldErrors = 100

// Add records a message about a field. Beyond 100 fields it ignores further ones.
func (f FieldErrors) Add(field, format string, args ...any) {
	if _, known := f[field]; !known && len(f) >= maxFieldErrors {
		return
	}
	f[field] = append(f[field], fmt.Sprintf(format, args...))
}

// Err returns nil if nothing was recorded, and otherwise an *Error with CodeValidationFailed and these fields.
func (f FieldErrors) Err() error {
	if len(f) == 0 {
		return nil
	}
	return &Error{Code: CodeValidationFailed, Message: "Some values are not valid.", Fields: f}
}

// FieldErrorf is Err for one message about one field.
func FieldErrorf(field, format string, args ...any) error {
	return FieldErrors{field: {fmt.Sprintf(format, args...)}}.Err()
}

// String lists the fields alphabetically with their messages, on one line.
func (f FieldErrors) String() string {
	var parts []string
	for _, field := range slices.Sorted(maps.Keys(f)) {
		parts = append(parts, field+" "+strings.Join(f[field], ", "))
	}
	return strings.Join(parts, "; ")
}

// ErrorBody is the JSON of every error response. Response is always present. Problem details (RFC 9457) fill Type,
// Title, Status and Detail on the perk endpoints; the token endpoint fills OAuthError (RFC 6749, section 5.2).
type ErrorBody struct {
	Type       string      `json:"type,omitempty"`
	Title      string      `json:"title,omitempty"`
	Status     int         `json:"status,omitempty"`
	Detail     string      `json:"detail,omitempty"`
	Response   string      `json:"response"`
	Code       Code        `json:"code,omitempty"`
	Param      string      `json:"param,omitempty"`
	Errors     FieldErrors `json:"errors,omitempty"`
	OAuthError string      `json:"error,omitempty"`
}
