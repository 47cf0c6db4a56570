package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/cli/command"
)

// ours are the headers that say how the request itself is sent, and as whom.
var ours = []string{"Authorization", "Connection", "Content-Length", "Host", "Transfer-Encoding"}

// parseHeaders reads "Name: value". An empty value is refused: a guard that is empty guards nothing.
func parseHeaders(lines []string) (map[string]string, error) {
	headers := map[string]string{}
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		name, value = http.CanonicalHeaderKey(strings.TrimSpace(name)), strings.TrimSpace(value)
		isName := name != "" && !strings.ContainsFunc(name, func(r rune) bool {
			return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
		})
		switch {
		case !ok || !isName:
			return nil, command.Usagef("--header %q must look like Name: value.", line)
		case slices.Contains(ours, name):
			return nil, command.Usagef("--header cannot set %s: perksctl does.", name)
		case value == "" || strings.ContainsFunc(value, unicode.IsControl):
			return nil, command.Usagef("--header %s must have a value, without control characters.", name)
		case headers[name] != "":
			return nil, command.Usagef("--header has %s twice.", name)
		}
		headers[name] = value
	}
	return headers, nil
}

// included is an answer with what stands before its body.
type included struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    json.RawMessage   `json:"body"` // a JSON string when it is not JSON, null when there is none
}

func newIncluded(answer *client.Response) included {
	i := included{Status: answer.Status, Headers: map[string]string{}, Body: answer.Body}
	for name := range answer.Header {
		i.Headers[name] = strings.Join(answer.Header.Values(name), ", ")
	}
	switch {
	case len(answer.Body) == 0:
		i.Body = json.RawMessage("null")
	case !json.Valid(answer.Body):
		i.Body, _ = json.Marshal(string(answer.Body)) // a string always marshals
	}
	return i
}

// writeHead writes the status and the headers as HTTP does, and a blank line.
func (o *options) writeHead(answer *client.Response) error {
	var head strings.Builder
	fmt.Fprintf(&head, "HTTP/1.1 %d %s\n", answer.Status, http.StatusText(answer.Status))
	for _, name := range slices.Sorted(maps.Keys(answer.Header)) {
		for _, value := range answer.Header[name] {
			fmt.Fprintf(&head, "%s: %s\n", name, display.Line(value))
		}
	}
	_, err := fmt.Fprintln(o.session.Streams.Out, head.String())
	return err
}

// hint says that a path begins behind the address of the API, where it has the end of that address in it.
func hint(err error, base, path string) error {
	address, parseErr := url.Parse(base)
	if parseErr != nil || address.Path == "" || !client.Missing(err) || !strings.HasPrefix("/"+strings.TrimLeft(path, "/")+"/", strings.TrimRight(address.Path, "/")+"/") {
		return err
	}
	return &command.Advised{Err: err, Advice: fmt.Sprintf("PATH is relative to %s: leave %s out.", base, address.Path)}
}
