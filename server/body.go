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

// maxBody is the longest body that is read. The longest valid one, a property with every text at its longest, is far
// below it.
const maxBody = 1 << 20

// Media types of request bodies.
const (
	mediaJSON = "application/json"
	mediaForm = "application/x-www-form-urlencoded"
)

// readBody returns the body and its media type, which must be one of those allowed. A body without a Content-Type is
// taken for the first.
func readBody(c echo.Context, allowed ...string) (body []byte, mediaType string, err error) {
	r := c.Request()
	mediaType = allowed[0]
	if given := r.Header.Get("Content-Type"); given != "" {
		mediaType, _, err = mime.ParseMediaType(given)
		if err != nil || !slices.Contains(allowed, mediaType) {
			return nil, "", api.Errorf(api.CodeUnsupportedMediaType, "The body must be %s, not %q.", strings.Join(allowed, " or "), given)
		}
	}
	body, err = io.ReadAll(http.MaxBytesReader(c.Response(), r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return nil, "", api.Errorf(api.CodeBodyTooLarge, "The body must be at most %d bytes.", maxBody)
	}
	if err != nil {
		return nil, "", api.Errorf(api.CodeInvalidJSON, "The body ended before it was complete.")
	}
	return body, mediaType, nil
}
