package server

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
)

// encode leaves < > & as they are: these bodies are never part of a page.
func encode(body any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(body); err != nil {
		return nil, fmt.Errorf("encoding the response: %w", err)
	}
	return buffer.Bytes(), nil
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
	if lists(c.Request().Header.Values("If-None-Match"), tag, weakly) {
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

// comparison says whether two entity tags match, as RFC 9110, section 8.8.3.2 has it.
type comparison func(listed, tag string) bool

func weakly(listed, tag string) bool   { return strings.TrimPrefix(listed, "W/") == tag }
func strongly(listed, tag string) bool { return listed == tag }

// lists tells whether an If-Match or If-None-Match header holds the tag, or is "*".
func lists(header []string, tag string, match comparison) bool {
	for _, line := range header {
		for listed := range strings.SplitSeq(line, ",") {
			listed = strings.TrimSpace(listed)
			if listed == "*" || match(listed, tag) {
				return true
			}
		}
	}
	return false
}
