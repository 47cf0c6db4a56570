package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Plain says what is wrong with data that a library could not read, in words that follow a colon: the library's own
// name its functions and types. Other errors keep their text.
func Plain(err error) string {
	var (
		syntax   *json.SyntaxError
		mistyped *json.UnmarshalTypeError
		moment   *time.ParseError
		number   *strconv.NumError
		address  url.EscapeError
	)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "it ends too early"
	case errors.As(err, &syntax):
		return unexpected(syntax)
	case errors.As(err, &mistyped):
		found, _, _ := strings.Cut(mistyped.Value, " ")
		if found == "bool" {
			found = "true or false"
		}
		if mistyped.Field == "" {
			return "it is JSON of another kind: " + found
		}
		path := slices.DeleteFunc(strings.Split(mistyped.Field, "."), isGoName)
		return fmt.Sprintf("the JSON has another kind of value for %s: %s", strings.Join(path, "."), found)
	case errors.As(err, &moment):
		return fmt.Sprintf("%q is not a time such as 2026-01-31T09:00:00Z", moment.Value)
	case errors.As(err, &number):
		return fmt.Sprintf("%q is not a number", number.Num)
	case errors.As(err, &address):
		return fmt.Sprintf("%q is not valid there; write a percent sign as %%25", string(address))
	}
	return err.Error()
}

// isGoName tells whether a part of a path is that of an embedded type, which JSON does not have.
func isGoName(part string) bool { return part != "" && unicode.IsUpper(rune(part[0])) }

// unexpected names the character that JSON does not allow where it is. Only the library's text has it.
func unexpected(err *json.SyntaxError) string {
	text := err.Error()
	if strings.Contains(text, "unexpected end") {
		return "it ends too early"
	}
	_, rest, found := strings.Cut(text, "invalid character ")
	quoted, _ := strconv.QuotedPrefix(rest)
	character, _, _, readErr := strconv.UnquoteChar(strings.Trim(quoted, "'"), '\'')
	if !found || readErr != nil {
		return "it is not JSON"
	}
	return fmt.Sprintf("%q is not expected there", string(character))
}
