package server

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"example.com/perks/api"
)

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
