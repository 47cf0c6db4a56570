package server

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"example.com/perks/api"
)

// The longest bodies that are read. The longest valid one, a property with every text at its longest, is far below the
// first; anybody may send the second, without a token.
const (
	maxBody      = 1 << 20
	maxTokenBody = 16 << 10
)

// Media types of request bodies.
const (
	mediaJSON = "application/json"
	mediaForm = "application/x-www-form-urlencoded"
)

// readBody returns the body and its media type, which must be one of those allowed. A body without a Content-Type is
// taken for the first. What can be refused by the header is refused before anything is read, so that a caller who asks
// first (Expect: 100-continue) is spared sending it.
func readBody(c echo.Context, most int64, allowed ...string) (body []byte, mediaType string, err error) {
	r := c.Request()
	mediaType = allowed[0]
	if given := r.Header.Get("Content-Type"); given != "" {
		mediaType, _, err = mime.ParseMediaType(given)
		if err != nil || !slices.Contains(allowed, mediaType) {
			return nil, "", api.Errorf(api.CodeUnsupportedMediaType, "The body must be %s, not %q.", strings.Join(allowed, " or "), given)
		}
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, "", &answer{
			err:    api.Errorf(api.CodeUnsupportedMediaType, "The body must be sent as it is, not encoded with %q.", coding),
			header: http.Header{"Accept-Encoding": {"identity"}}, // RFC 9110, section 12.5.3
		}
	}
	tooLarge := api.Errorf(api.CodeBodyTooLarge, "The body must be at most %d bytes.", most)
	if r.ContentLength > most {
		return nil, "", tooLarge
	}
	body, err = io.ReadAll(http.MaxBytesReader(c.Response(), r.Body, most))
	if errors.As(err, new(*http.MaxBytesError)) {
		return nil, "", tooLarge
	}
	if err != nil {
		return nil, "", api.Errorf(api.CodeInvalidJSON, "The body ended before it was complete.")
	}
	return body, mediaType, nil
}
