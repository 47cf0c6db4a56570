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

// readBody returns the body and its media type, which must be one of those allowed; all are if none is named. A body without a
// Content-Type is taken for JSON. What can be refused by the header is refused before anything is read, so that a caller who asks
// first (Expect: 100-continue) is spared sending it.
func readBody(c echo.Context, most int64, allowed ...string) (body []byte, mediaType string, err error) {
	r := c.Request()
	mediaType = mediaJSON
	if given := r.Header.Get("Content-Type"); given != "" {
		mediaType, _, err = mime.ParseMediaType(given)
		if len(allowed) > 0 && (err != nil || !slices.Contains(allowed, mediaType)) {
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
		if r.Header.Get("Expect") == "" { // who asks first sends nothing after the answer
			linger(c)
		}
		return nil, "", tooLarge
	}
	body, err = io.ReadAll(io.LimitReader(r.Body, most+1))
	if int64(len(body)) > most {
		linger(c)
		return nil, "", tooLarge
	}
	if err != nil {
		return nil, "", api.Errorf(api.CodeInvalidJSON, "The body ended before it was complete.")
	}
	return bytes.TrimPrefix(body, []byte(byteOrderMark)), mediaType, nil
}

// How much more of a body that is too large is read, and for how long, before the connection ends.
const (
	lingerBytes = 16 << 20
	lingerTime  = 5 * time.Second
)

// linger keeps reading after the answer, for a while, and discards what it reads. Closing the connection while the client still
// sends would reset it, and the client would lose the answer that says why.
func linger(c echo.Context) {
	r, response := c.Request(), c.Response()
	control := http.NewResponseController(response.Writer)
	if control.EnableFullDuplex() != nil { // else net/http would read from the body before the answer
		return
	}
	response.Header().Set("Connection", "close")
	response.After(func() {
		if control.SetReadDeadline(time.Now().Add(lingerTime)) == nil && control.Flush() == nil {
			_, _ = io.CopyN(io.Discard, r.Body, lingerBytes) // whatever ends it, the answer is sent
		}
	})
}

// byteOrderMark is what some programs put before any text. It is not part of the text (RFC 8259, section 8.1).
const byteOrderMark = "\ufeff"

// readMembers reads one JSON object, or a form in the way that is given.
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

// encode ends the body with a line feed, for people at a terminal.
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
	return c.Blob(status, mediaType, encoded)
}

// writeRead answers a read: 200 with an ETag, or 304 when the caller has these very bytes.
func writeRead(c echo.Context, body any) error {
	encoded, err := encode(body)
	if err != nil {
		return err
	}
	tag := entityTag(encoded)
	header := c.Response().Header()
	header.Set("ETag", tag)
	header.Set("Cache-Control", "private, no-cache")
	if lists(c.Request().Header.Values("If-None-Match"), tag) {
		return c.NoContent(http.StatusNotModified)
	}
	return c.Blob(http.StatusOK, echo.MIMEApplicationJSON, encoded)
}

// entityTag is a strong ETag (RFC 9110, section 8.8.3) derived from the representation, so that it needs no column and
// is the same on every replica.
func entityTag(representation []byte) string {
	sum := sha256.Sum256(representation)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:15]) + `"`
}

// lists tells whether an If-Match or If-None-Match header holds the tag, or is "*". A weak tag counts in both, although
// If-Match compares strongly (RFC 9110, section 13.1.1): ours names the bytes of the answer, and is made weak only by a proxy
// that compresses them.
func lists(header []string, tag string) bool {
	for _, line := range header {
		for listed := range strings.SplitSeq(line, ",") {
			listed = strings.TrimSpace(listed)
			if listed == "*" || strings.TrimPrefix(listed, "W/") == tag {
				return true
			}
		}
	}
	return false
}
