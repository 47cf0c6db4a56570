package server

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"example.com/perks/api"
)

// The largest valid body, a property whose every text is as long as allowed, is far below maxBody. The token endpoint accepts less,
// because it needs no token.
const (
	maxBody      = 1 << 20
	maxTokenBody = 16 << 10
)

const (
	mediaJSON = "application/json"
	mediaForm = "application/x-www-form-urlencoded"
)

// readBody returns the body and its media type, which must be one of those allowed; if none is named, all are. A body without a
// Content-Type counts as JSON. It checks the headers before it reads anything, so that a client that sends Expect: 100-continue is
// spared sending a body that is refused.
func readBody(c echo.Context, most int64, allowed ...string) (body []byte, mediaType string, err error) {
	r := c.Request()
	mediaType = mediaJSON
	if given := r.Header.Get("Content-Type"); given != "" && given != mediaJSON {
		mediaType, _, err = mime.ParseMediaType(given)
		if len(allowed) > 0 && (err != nil || !slices.Contains(allowed, mediaType)) {
			return nil, "", api.Errorf(api.CodeUnsupportedMediaType, "The body must be %s, not %q.", strings.Join(allowed, " or "), given)
		}
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, "", &errorResponse{
			err:    api.Errorf(api.CodeUnsupportedMediaType, "The body must be sent as it is, not encoded with %q.", coding),
			header: http.Header{"Accept-Encoding": {"identity"}}, // RFC 9110, section 12.5.3
		}
	}
	tooLarge := func() error { return api.Errorf(api.CodeBodyTooLarge, "The body must be at most %d bytes.", most) }
	if r.ContentLength > most {
		if r.Header.Get("Expect") == "" { // a client that expects 100 sends no body after this response
			drainBody(c)
		}
		return nil, "", tooLarge()
	}
	body, err = io.ReadAll(io.LimitReader(r.Body, most+1))
	if int64(len(body)) > most {
		drainBody(c)
		return nil, "", tooLarge()
	}
	if err != nil {
		return nil, "", api.Errorf(api.CodeInvalidJSON, "The body is incomplete.")
	}
	return bytes.TrimPrefix(body, []byte(byteOrderMark)), mediaType, nil
}

// How much more of a body that is too large is read, and for how long, before the connection is closed.
const (
	maxDrained = 16 << 20
	drainTime  = 5 * time.Second
)

// drainBody keeps reading for a while after the response. Closing the connection while the client still sends would reset it, and the
// client would lose the response that says why.
func drainBody(c echo.Context) {
	r, response := c.Request(), c.Response()
	control := http.NewResponseController(response.Writer)
	if control.EnableFullDuplex() != nil { // else net/http would read the body before it sends the response
		return
	}
	response.Header().Set("Connection", "close")
	response.After(func() {
		if control.SetReadDeadline(time.Now().Add(drainTime)) == nil && control.Flush() == nil {
			_, _ = io.CopyN(io.Discard, r.Body, maxDrained) // the response is sent, whatever ends this
		}
	})
}

// byteOrderMark is what some programs write before a text. It is not part of it (RFC 8259, section 8.1).
const byteOrderMark = "\ufeff"

// readMembers parses a JSON object, or a form with ofForm.
func readMembers(body []byte, mediaType string, ofForm func(url.Values) []api.Member) ([]api.Member, error) {
	if mediaType != mediaForm {
		return api.ParseObject(body)
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, api.Errorf(api.CodeInvalidJSON, "The body is not a valid form.")
	}
	return ofForm(form), nil
}

// encode ends the body with a newline, for people at a terminal.
func encode(body any) ([]byte, error) {
	encoded, err := api.EncodeJSON(body)
	if err != nil {
		return nil, fmt.Errorf("encoding the response: %w", err)
	}
	return append(encoded, '\n'), nil
}

func writeJSON(c echo.Context, status int, mediaType string, body any) error {
	encoded, err := encode(body)
	if err != nil {
		return err
	}
	return writeText(c, status, mediaType, encoded, "")
}

// writeCacheable responds to a read: 200 with an ETag, or 304 if the client has the same bytes.
func writeCacheable(c echo.Context, body any) error {
	encoded, err := encode(body)
	if err != nil {
		return err
	}
	c.Response().Header().Set("Cache-Control", "private, no-cache")
	return writeText(c, http.StatusOK, echo.MIMEApplicationJSON, encoded, entityTag(encoded))
}

// entityTag returns a strong ETag (RFC 9110, section 8.8.3): a hash, so that it needs no column and is the same on every replica.
func entityTag(representation []byte) string {
	sum := sha256.Sum256(representation)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:15]) + `"`
}
