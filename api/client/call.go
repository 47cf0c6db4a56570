package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-resty/resty/v2"

	"example.com/perks/api"
)

// call is one request before it is made.
type call struct {
	method string
	path   string // relative to the base address and escaped, or a whole URL
	query  url.Values
	header map[string]string
	body   []byte // nil sends none

	harmless bool // carrying it out twice is no worse than once, whatever its method
}

// get is a call that only reads.
func get(path string, query url.Values) call {
	return call{method: http.MethodGet, path: path, query: query}
}

// changes tells whether it matters if the call was carried out.
func (c call) changes() bool { return !safe(c.method) && !c.harmless }

// withJSON gives the call a JSON body. It leaves < > & as they are: escaped they are six times as long, and metadata has
// a longest length.
func (c call) withJSON(body any) (call, error) {
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(body); err != nil {
		return c, fmt.Errorf("encode the request: %w", err)
	}
	c.body = bytes.TrimRight(encoded.Bytes(), "\n")
	return c.withHeader("Content-Type", "application/json"), nil
}

// withHeader adds a header unless its value is empty.
func (c call) withHeader(name, value string) call {
	if value == "" {
		return c
	}
	header := map[string]string{name: value}
	for other, value := range c.header {
		header[other] = value
	}
	c.header = header
	return c
}

// send makes the request and returns a successful answer. Everything else is an *Error, an *Unreachable, or what the
// TokenSource failed with.
func (c *Client) send(ctx context.Context, call call) (*resty.Response, error) {
	ctx, cancel := c.bound(ctx)
	defer cancel()
	e := &effort{harmless: call.harmless}
	res, err := c.execute(withEffort(ctx, e), call)
	if err != nil {
		return nil, c.failure(call, e, res, err)
	}
	if res.IsSuccess() {
		return res, nil
	}
	return nil, refusal(call, e, res)
}

// execute has resty carry the request, and spares it the reading: retry has the answer in memory already.
func (c *Client) execute(ctx context.Context, call call) (*resty.Response, error) {
	req := c.http.R().SetContext(ctx).SetDoNotParseResponse(true).SetQueryParamsFromValues(call.query).SetHeaders(call.header)
	if call.body != nil {
		req.SetBody(bytes.NewReader(call.body))
	}
	address := call.path
	if strings.HasPrefix(address, "/") {
		address = c.address + address
	}
	res, err := req.Execute(call.method, address)
	if err != nil {
		return res, err
	}
	body, ok := res.RawResponse.Body.(*held)
	switch {
	case !ok:
		return res, errors.New("the answer did not come by way of retry")
	case len(body.text) > maxAnswer:
		return res, resty.ErrResponseBodyTooLarge
	}
	return res.SetBody(body.text), body.broken
}

// failure sorts out why no complete answer came.
func (c *Client) failure(call call, e *effort, res *resty.Response, err error) error {
	var wire *wireError
	switch {
	case errors.As(err, &wire):
		return &Unreachable{Address: c.BaseURL(), Err: wire.err, OutcomeUnknown: e.open && call.changes(), NotSent: !e.left}
	case e.open && call.changes() && (res == nil || res.RawResponse == nil):
		return &Unreachable{Address: c.BaseURL(), Err: withoutURL(err), OutcomeUnknown: true} // lost, then stopped by something else
	case res == nil || res.RawResponse == nil:
		return withoutURL(err)
	case errors.Is(err, resty.ErrResponseBodyTooLarge):
		return c.unreadable(call, res, fmt.Errorf("it is longer than %d bytes", maxAnswer))
	}
	return &Unreachable{Address: c.BaseURL(), Err: &brokenOff{withoutURL(err)}, OutcomeUnknown: call.changes()}
}

// unreadable is a success that is not what the endpoint promises, as a proxy's log-in page would be.
func (c *Client) unreadable(call call, res *resty.Response, err error) error {
	return &Error{
		Status:         res.StatusCode(),
		Code:           api.CodeInternal,
		Message:        fmt.Sprintf("The server answered %d, but not with what was asked for: %s. Is %s the address of the API?", res.StatusCode(), err, c.BaseURL()),
		RequestID:      res.Header().Get("X-Request-Id"),
		OutcomeUnknown: call.changes(),
	}
}

// fetch sends the call and reads the JSON of its answer into the value.
func (c *Client) fetch(ctx context.Context, call call, into any) (*resty.Response, error) {
	res, err := c.send(ctx, call)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(res.Body(), into); err != nil {
		return nil, c.unreadable(call, res, err)
	}
	return res, nil
}

// confirm sends a call whose answer only confirms. A server that says nothing with its success has confirmed too.
func (c *Client) confirm(ctx context.Context, call call) (api.Message, error) {
	res, err := c.send(ctx, call)
	if err != nil {
		return api.Message{}, err
	}
	var message api.Message
	if len(res.Body()) == 0 {
		return message, nil
	}
	if err := json.Unmarshal(res.Body(), &message); err != nil {
		return api.Message{}, c.unreadable(call, res, err)
	}
	return message, nil
}

// segment escapes one part of a path. The empty text and dots are refused, because with them the address would be
// another endpoint's.
func segment(field, text string) (string, error) {
	if text == "" || text == "." || text == ".." {
		fields := api.FieldErrors{}
		fields.Add(field, "must not be %q", text)
		return "", fields.Err()
	}
	return url.PathEscape(text), nil
}
