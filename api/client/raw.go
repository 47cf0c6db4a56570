package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"example.com/perks/api"
)

// Request is a request to an endpoint that has no method of its own here.
type Request struct {
	Method      string
	Path        string // relative to the base address, query allowed; or a whole URL on the same server
	Query       url.Values
	Body        []byte // nil sends none
	ContentType string
	Header      map[string]string // more headers, by their names
}

// Response is a successful answer as it came.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Do sends a request with the token. On a sandbox client the perks paths are those of the sandbox, and a change of
// anything else is refused. An answer that is not a success is an *Error.
func (c *Client) Do(ctx context.Context, request Request) (*Response, error) {
	call, err := c.rawCall(request)
	if err != nil {
		return nil, err
	}
	res, err := c.send(ctx, call)
	if err != nil {
		return nil, err
	}
	return &Response{Status: res.StatusCode(), Header: res.Header(), Body: res.Body()}, nil
}

// DoPages walks a paginated endpoint whose items can be anything.
func (c *Client) DoPages(ctx context.Context, request Request) iter.Seq2[api.Page[json.RawMessage], error] {
	call, err := c.rawCall(request)
	if err != nil {
		return failed[api.Page[json.RawMessage]](err)
	}
	return walk[json.RawMessage](ctx, c, call)
}

func (c *Client) rawCall(request Request) (call, error) {
	target, err := c.resolve(request.Path)
	if err != nil {
		return call{}, err
	}
	if c.sandbox && !safe(request.Method) && !strings.HasPrefix(target, c.BaseURL()+"/sandbox/") {
		return call{}, fmt.Errorf("%s is not in the sandbox: a sandbox client changes nothing outside it", target)
	}
	raw := call{method: request.Method, path: target, query: request.Query, body: request.Body}
	raw = raw.withHeader("Content-Type", request.ContentType)
	for name, value := range request.Header {
		raw = raw.withHeader(name, value)
	}
	return raw, nil
}

func (c *Client) resolve(path string) (string, error) {
	target, err := url.Parse(path)
	if err != nil {
		return "", fmt.Errorf("%q is not a path: %w", path, err)
	}
	if climbs(target.EscapedPath()) {
		return "", fmt.Errorf("%q has a part . or .. in its path, which a server or a proxy may take for another path: write the path without it", path)
	}
	if target.Host != "" {
		if !sameOrigin(target, c.base) {
			return "", fmt.Errorf("%s is not on %s: the token goes to no other server", target.Redacted(), c.base.Host)
		}
		return target.String(), nil
	}
	relative := strings.TrimLeft(path, "/")
	if c.sandbox && (relative == "partners" || strings.HasPrefix(relative, "partners/")) {
		relative = "sandbox/" + relative
	}
	return c.BaseURL() + "/" + relative, nil
}

// climbs tells whether somebody on the way might find a part . or .. in a path: encoded, perhaps more than once, between
// slashes of either kind, or with parameters behind it.
func climbs(path string) bool {
	for part := range strings.SplitSeq(strings.ReplaceAll(path, `\`, "/"), "/") {
		if name, _, _ := strings.Cut(part, ";"); name == "." || name == ".." {
			return true
		}
		if decoded, err := url.PathUnescape(part); err == nil && decoded != part && climbs(decoded) {
			return true
		}
	}
	return false
}
