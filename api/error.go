package api

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Error is a failure that a caller is told about. Message is a sentence for people; Fields is set only with
// CodeValidationFailed.
type Error struct {
	Code    Code
	Message string
	Fields  FieldErrors
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
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}

// FieldErrors maps a field's name, as it is written on the wire, to what is wrong with its value.
type FieldErrors map[string][]string

// maxFieldErrors keeps the answer in proportion: one body can hold a hundred thousand fields that are not known.
const maxFieldErrors = 100

// Add records one message about a field. Once 100 fields are recorded, it passes over further ones.
func (f FieldErrors) Add(field, format string, args ...any) {
	if _, known := f[field]; !known && len(f) >= maxFieldErrors {
		return
	}
	f[field] = append(f[field], fmt.Sprintf(format, args...))
}

// Err returns nil when nothing was recorded, and otherwise an *Error with CodeValidationFailed that holds f.
func (f FieldErrors) Err() error {
	if len(f) == 0 {
		return nil
	}
	return &Error{Code: CodeValidationFailed, Message: "Some values are not valid.", Fields: f}
}

// String lists the fields in alphabetical order, each with its messages, on one line.
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
	Errors     FieldErrors `json:"errors,omitempty"`
	OAuthError string      `json:"error,omitempty"`
}
