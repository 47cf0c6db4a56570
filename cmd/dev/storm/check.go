package storm

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"example.com/perks/server/servertest"
)

// serverStatuses are the statuses with which Go's HTTP server itself refuses what is not a request, before perksd sees
// it. The last two are what RFC 9110 wants for a transfer coding, and a version of HTTP, that a server does not speak.
var serverStatuses = []int{400, 408, 413, 414, 417, 431, 501, 505}

// verify returns what is wrong with a response, and "" when nothing is.
func verify(r *request, sent []byte, a reply, host string) string {
	if a.Response == nil {
		return "" // only what is not a request gets no response
	}
	if a.Header.Get("X-Request-Id") == "" {
		if slices.Contains(serverStatuses, a.StatusCode) {
			return ""
		}
		return fmt.Sprintf("status %d without an X-Request-Id", a.StatusCode)
	}
	if a.StatusCode >= http.StatusInternalServerError {
		return fmt.Sprintf("status %d: %.300s", a.StatusCode, a.body)
	}
	asked, body, err := parseRequest(sent)
	switch {
	case err != nil && r.corrupt != nil:
		return ""
	case err != nil:
		return fmt.Sprintf("status %d to what Go does not read as a request: %v", a.StatusCode, err)
	case strings.HasPrefix(asked.URL.Path, "/docs"):
		return "" // the page for people is not part of the description
	case asked.Method == http.MethodOptions && a.StatusCode == http.StatusNoContent && a.Header.Get("Allow") != "":
		return "" // which methods an address has follows from the description
	case strings.Count(asked.URL.Path, "/") != strings.Count(asked.URL.EscapedPath(), "/"),
		strings.HasSuffix(asked.URL.Path, "/perks/users/redeem"),
		strings.HasSuffix(asked.URL.Path, "/perks/users/eligibility"):
		// the description's own reader cannot tell such a path from another: it takes the user "redeem" for the perk
		// "users"
		return ""
	}
	asked.URL.Scheme, asked.URL.Host, asked.URL.RawPath = "http", host, ""
	if err := servertest.Check(asked, body, a.Response, a.body); err != nil {
		return fmt.Sprintf("status %d against the API description: %v", a.StatusCode, err)
	}
	var restore struct{ ETag string }
	if servertest.OperationOf(asked) == "restoreProperty" && a.StatusCode == http.StatusOK &&
		json.Unmarshal(body, &restore) == nil && !isForm(a.Header.Get("ETag"), restore.ETag) {
		return fmt.Sprintf("the version %s was restored, not %s", a.Header.Get("ETag"), restore.ETag)
	}
	return ""
}

// isForm tells whether an ETag is that of a version, or of its compressed form.
func isForm(etag, version string) bool {
	return strings.HasPrefix(etag, strings.TrimSuffix(version, `"`))
}

// parseRequest reads a request as Go's server does, and leaves out what the server takes for nothing: an empty header,
// and blanks for a body. A body of no type is JSON.
func parseRequest(sent []byte) (*http.Request, []byte, error) {
	asked, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(sent)))
	if err != nil {
		return nil, nil, err
	}
	body, err := io.ReadAll(asked.Body)
	if err != nil {
		return nil, nil, err
	}
	for name := range asked.Header {
		if asked.Header.Get(name) == "" {
			asked.Header.Del(name)
		}
	}
	if body = bytes.TrimSpace(body); len(body) > 0 && asked.Header.Get("Content-Type") == "" {
		asked.Header.Set("Content-Type", "application/json")
	}
	return asked, body, nil
}
