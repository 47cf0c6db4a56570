package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-resty/resty/v2"

	"example.com/perks/api"
)

// call is one request before it is sent.
type call struct {
	method string
	path   string // relative to the base address and escaped, or a whole URL
	query  url.Values
	header map[string]string
	body   []byte // nil sends none

	repeatable bool      // may be carried out twice, whatever its method
	isRead     bool      // changes nothing, whatever its method
	forToken   bool      // asks for a token, with credentials
	seen       *exchange // receives the last exchange; nil is not told
}

func get(path string, query url.Values) call {
	return call{method: http.MethodGet, path: path, query: query}
}

// changes tells whether the call may change something.
func (c call) changes() bool { return !safe(c.method) && !c.isRead }

// withJSON adds a JSON body. It does not escape < > &: that would make them six times as long, and metadata has a
// limit.
func (c call) withJSON(body any) (call, error) {
	encoded, err := api.EncodeJSON(body)
	if err != nil {
		return c, fmt.Errorf("encode the request: %w", err)
	}
	c.body = encoded
	return c.withHeader("Content-Type", "application/json"), nil
}

// withHeader adds a header unless its value is empty.
func (c call) withHeader(name, value string) call {
	if value == "" {
		return c
	}
	c.header = maps.Clone(c.header)
	if c.header == nil {
		c.header = map[string]string{}
	}
	c.header[name] = value
	return c
}

// send makes the request and returns a successful response. Everything else is an *Error, which comes with its
// response, an *Unreachable, or the error of BeforeChange or the TokenSource.
func (c *Client) send(ctx context.Context, call call) (*resty.Response, error) {
	if c.config.BeforeChange != nil && call.changes() {
		if err := c.config.BeforeChange(ctx); err != nil {
			return nil, err
		}
	}
	ctx, cancel := c.limited(ctx)
	defer cancel()
	e := &requestState{repeatable: call.repeatable, body: call.body}
	res, err := c.execute(withState(ctx, e), e, call)
	if call.seen != nil {
		*call.seen = e.seen
	}
	if err != nil {
		return nil, c.failure(call, e, res, err)
	}
	if !res.IsSuccess() {
		return res, refusal(call, e, res)
	}
	if !call.forToken {
		c.seen.fourEyes.Store(res.Header().Get(api.HeaderFourEyes) != "")
	}
	if c.config.Actor != "" && c.config.OnUnnamed != nil && call.changes() && res.Header().Get(api.HeaderActor) == "" {
		c.config.OnUnnamed()
	}
	return res, nil
}

// limited returns a context that ends at the client's deadline. The timeout is applied by retry: it excludes waits.
func (c *Client) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.config.Deadline.IsZero() {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, c.config.Deadline)
}

// execute sends the request with resty, which leaves reading the response to noResend.
func (c *Client) execute(ctx context.Context, e *requestState, call call) (*resty.Response, error) {
	req := c.http.R().SetContext(ctx).SetDoNotParseResponse(true).
		SetQueryParamsFromValues(call.query).SetHeaders(call.header)
	if call.body != nil {
		req.SetBody(bytes.NewReader(call.body))
	}
	address := call.path
	if strings.HasPrefix(address, "/") {
		address = c.address + address
	}
	res, err := req.Execute(call.method, address)
	switch {
	case err != nil:
		return res, err
	case len(e.reply) > maxResponse:
		return res, resty.ErrResponseBodyTooLarge
	}
	return res.SetBody(e.reply), e.broken
}

// failure returns the error for an incomplete or missing response.
func (c *Client) failure(call call, e *requestState, res *resty.Response, err error) error {
	var wire *networkError
	switch {
	case errors.As(err, &wire):
		return &Unreachable{Address: c.BaseURL(), Err: wire.err, OutcomeUnknown: e.unresolved && call.changes(),
			NotSent: !e.sent}
	case errors.Is(err, errRedirects):
		return &Unreachable{Address: c.BaseURL(), Err: errRedirects}
	case strings.Contains(err.Error(), "failed to parse Location header"): // net/http has no type for it
		return &Unreachable{Address: c.BaseURL(), Err: errors.New("the server redirects to an invalid URL"),
			OutcomeUnknown: call.changes()}
	case e.unresolved && call.changes() && (res == nil || res.RawResponse == nil):
		// an attempt was lost, and the next failed for another reason
		return &Unreachable{Address: c.BaseURL(), Err: withoutURL(err), OutcomeUnknown: true}
	case res == nil || res.RawResponse == nil:
		return withoutURL(err)
	case errors.Is(err, resty.ErrResponseBodyTooLarge):
		return c.unreadable(call, res, fmt.Errorf("it is longer than %d bytes", maxResponse))
	}
	return &Unreachable{Address: c.BaseURL(), Err: &cutOff{withoutURL(err)}, OutcomeUnknown: call.changes()}
}

// unreadable is the error for a success that is not what the endpoint promises, such as a proxy's log-in page.
func (c *Client) unreadable(call call, res *resty.Response, err error) error {
	why := api.Plain(err)
	if page := webPage(res); page != "" {
		why = "it is " + page
	}
	asked := res.RawResponse.Request // perhaps of a redirect
	message := fmt.Sprintf(
		"The server answered %s %s with %d, but not with what was asked for: %s. Is %s the address of the API?",
		asked.Method, asked.URL.EscapedPath(), res.StatusCode(), why, c.BaseURL())
	return &Error{
		Status: res.StatusCode(), Code: codeOf(res.StatusCode()), Message: message,
		RequestID: res.Header().Get("X-Request-Id"), OutcomeUnknown: call.changes(), NotFromService: webPage(res) != "",
	}
}

// maxNamed is how many members of an object describe names.
const maxNamed = 5

// describe says what an unexpected body, or a part of one, is. It shows no values: they may be secret.
func describe(body []byte) string {
	var value any
	if len(bytes.TrimSpace(body)) == 0 {
		return "an empty body"
	}
	if json.Unmarshal(body, &value) != nil {
		return "not JSON"
	}
	switch value := value.(type) {
	case string:
		if strings.TrimSpace(value) == "" {
			return "an empty text"
		}
		return "a text"
	case float64:
		return "a number"
	case []any:
		return "a list"
	case map[string]any:
		names := slices.Sorted(maps.Keys(value))
		more := ""
		if len(names) > maxNamed {
			names, more = names[:maxNamed], " ..."
		}
		for i, name := range names {
			names[i] = fmt.Sprintf("%.40q", name)
		}
		if len(names) == 0 {
			return "an empty object"
		}
		return "an object with " + strings.Join(names, ", ") + more
	}
	return string(bytes.TrimSpace(body)) // null, true or false
}

func (c *Client) fetch(ctx context.Context, call call, into any) (*resty.Response, error) {
	res, err := c.send(ctx, call)
	if err != nil {
		return res, err
	}
	if err := decode(res.Body(), into); err != nil {
		return res, c.unreadable(call, res, misread(res.Body(), err))
	}
	return res, nil
}

// decode is json.Unmarshal, but reads listings and times as any service may write them.
func decode(body []byte, into any) error {
	switch into := into.(type) {
	case *api.Property:
		return api.ReadProperty(body, into)
	case *api.Page[api.Property]:
		return api.ReadProperties(body, into)
	case *api.Page[api.Perk]:
		mayBeOther := func(p *api.Perk) bool { return p.Title == "" }
		return decodeOnly(body, into, mayBeOther, func(r *mixedPerk) (api.Perk, string, bool) {
			return r.Perk, r.ID, r.Title == "" && (r.PerkID != nil || r.RedeemedAt != nil)
		})
	case *api.Page[api.Redemption]:
		mayBeOther := func(r *api.Redemption) bool { return r.PerkID == "" }
		return decodeOnly(body, into, mayBeOther, func(r *mixedRedemption) (api.Redemption, string, bool) {
			return r.Redemption, r.ID, r.PerkID == "" && r.RedeemedAt.IsZero() && r.Title != nil
		})
	}
	return decodeTimes(body, into)
}

// mixedPerk and mixedRedemption are items of a list with both perks and redemptions, which the specification allows for
// the list of a user. Their extra members show whether an item is of the other kind.
type mixedPerk struct {
	api.Perk
	PerkID     *string         `json:"perk_id"`
	RedeemedAt json.RawMessage `json:"redeemed_at"`
}

type mixedRedemption struct {
	api.Redemption
	Title *string `json:"title"`
}

// decodeOnly decodes a page of a list that may have both kinds, and leaves out the items of the other kind. Pages
// without such items are decoded once.
func decodeOnly[Mixed, T any](
	body []byte, into *api.Page[T], mayBeOther func(*T) bool, split func(*Mixed) (item T, id string, isOther bool),
) error {
	err, isMixed := decodeTimes(body, into), false
	for i := range into.Data {
		isMixed = isMixed || mayBeOther(&into.Data[i])
	}
	if err == nil && !isMixed {
		return nil
	}
	var page api.Page[Mixed]
	err = decodeTimes(body, &page)
	into.Meta, into.Data, into.LeftOut = page.Meta, nil, nil
	if page.Data != nil {
		into.Data = make([]T, 0, len(page.Data))
	}
	for i := range page.Data {
		if item, id, isOther := split(&page.Data[i]); isOther {
			into.LeftOut = append(into.LeftOut, id)
		} else {
			into.Data = append(into.Data, item)
		}
	}
	return err
}

func decodeTimes(body []byte, into any) error {
	err := json.Unmarshal(body, into)
	if _, isTime := errors.AsType[*time.ParseError](err); isTime {
		err = json.Unmarshal(withoutBlankTimes(body), into)
	}
	return err
}

// withoutBlankTimes replaces each time that is an empty text by null. Some services write unknown times so.
func withoutBlankTimes(text json.RawMessage) json.RawMessage {
	var list []json.RawMessage
	var object bodyMembers
	var clean any = text
	if json.Unmarshal(text, &list) == nil {
		for i, item := range list {
			list[i] = withoutBlankTimes(item)
		}
		clean = list
	} else if json.Unmarshal(text, &object) == nil {
		for name, value := range object {
			isTime := strings.HasSuffix(name, "_at") || name == "at" || name == "valid_from" || name == "valid_to"
			switch {
			case isTime && string(value) == `""`:
				object[name] = json.RawMessage("null")
			case name != "metadata": // anybody's own
				object[name] = withoutBlankTimes(value)
			}
		}
		clean = object
	}
	encoded, err := json.Marshal(clean)
	if err != nil {
		return text
	}
	return encoded
}

// fetchRecord fetches one record. isRecord tells whether a record was read: JSON without any of its members is not one.
// A record inside the member data is unwrapped if it has the members.
func (c *Client) fetchRecord(
	ctx context.Context, call call, into any, isRecord func() bool, members ...string,
) (*resty.Response, error) {
	res, err := c.fetch(ctx, call, into)
	if err != nil || isRecord() {
		return res, err
	}
	var outer, inner bodyMembers
	_ = json.Unmarshal(res.Body(), &outer)
	_ = json.Unmarshal(outer["data"], &inner)
	lacks := func(member string) bool { return inner[member] == nil }
	if inner == nil || slices.ContainsFunc(members, lacks) {
		return nil, c.unreadable(call, res, errors.New("it is "+describe(res.Body())))
	}
	if err := decode(outer["data"], into); err != nil {
		return nil, c.unreadable(call, res, err)
	}
	if !isRecord() {
		return nil, c.unreadable(call, res, errors.New("it is "+describe(outer["data"])))
	}
	c.unwrapped()
	return res, nil
}

func (c *Client) unwrapped() {
	if c.config.OnWrapped != nil {
		c.config.OnWrapped()
	}
}

// misread describes a body that is null or of another kind as a whole. Otherwise the JSON error names the place.
func misread(body []byte, err error) error {
	wrong, isKind := errors.AsType[*json.UnmarshalTypeError](err)
	if err == nil || isKind && wrong.Field == "" || len(bytes.TrimSpace(body)) == 0 {
		return errors.New("it is " + describe(body))
	}
	return err
}

// confirm sends a call whose response is only a message. A success with an empty body is a confirmation too.
func (c *Client) confirm(ctx context.Context, call call) (api.Message, error) {
	var message api.Message
	res, err := c.send(ctx, call)
	if err != nil {
		return message, err
	}
	message.ETagBefore = res.Header().Get(api.HeaderPreviousETag)
	etag, isPatch := res.Header().Get("ETag"), call.method == http.MethodPatch
	if isPatch && (!IsWeak(etag) || message.ETagBefore != "") {
		message.ETag = strings.TrimPrefix(etag, "W/")
	}
	if len(res.Body()) == 0 {
		return message, nil
	}
	if err := json.Unmarshal(res.Body(), &message); err != nil {
		return api.Message{}, c.unreadable(call, res, err)
	}
	return message, nil
}

// pathSegment escapes one segment of a path. The empty text and dots are refused: they would address another endpoint.
func pathSegment(field, text string) (string, error) {
	if text == "" || text == "." || text == ".." {
		return "", api.FieldErrorf(field, "must not be %q", text)
	}
	return url.PathEscape(text), nil
}

// Request is a request to an endpoint for which Client has no method.
type Request struct {
	Method      string
	Path        string // relative to the base address, query allowed; or a whole URL on the same server
	Query       url.Values
	Body        []byte // nil sends none
	ContentType string
	Header      map[string]string // further headers
}

// Response is an undecoded response.
type Response struct {
	Protocol string // such as HTTP/1.1
	Status   int
	Header   http.Header
	Body     []byte
}

// Do sends a request with the token. On a sandbox client the perks paths are those of the sandbox, and a change of
// anything else is refused. A response that is not a success is an *Error, and returned too.
func (c *Client) Do(ctx context.Context, request Request) (*Response, error) {
	call, err := c.rawCall(request)
	if err != nil {
		return nil, err
	}
	res, err := c.send(ctx, call)
	if res == nil {
		return nil, err
	}
	return &Response{res.Proto(), res.StatusCode(), res.Header(), res.Body()}, err
}

// DoPages returns the pages of a list whose items can be anything.
func (c *Client) DoPages(ctx context.Context, request Request) Pages[json.RawMessage] {
	call, err := c.rawCall(request)
	return walk[json.RawMessage](ctx, c, call, err)
}

func (c *Client) rawCall(request Request) (call, error) {
	target, err := c.resolve(request.Path)
	if err != nil {
		return call{}, err
	}
	if c.config.Sandbox && !safe(request.Method) && !strings.HasPrefix(target, c.BaseURL()+"/sandbox/") {
		return call{}, fmt.Errorf("%s is not in the sandbox: a sandbox client changes nothing outside it", target)
	}
	raw := call{method: request.Method, path: target, query: request.Query, body: request.Body,
		header: map[string]string{}}
	raw = raw.withHeader("Content-Type", request.ContentType)
	maps.Copy(raw.header, request.Header)
	return raw, nil
}

func (c *Client) resolve(path string) (string, error) {
	target, err := url.Parse(path)
	if err != nil {
		why := "it must look like partners/perks, with special characters escaped"
		if escape, isEscape := errors.AsType[url.EscapeError](err); isEscape {
			why = api.Plain(escape)
		}
		return "", api.Errorf(api.CodeValidationFailed, "%q is not a path: %s.", path, why)
	}
	if hasDotSegment(target.EscapedPath()) {
		return "", api.Errorf(api.CodeValidationFailed,
			"%q has a part . or .. in its path, which a server or a proxy may take for another path. Write the path "+
				"without it.", path)
	}
	if target.Host != "" {
		if !sameOrigin(target, c.base) {
			return "", api.Errorf(api.CodeValidationFailed, "%s is not on %s. The token goes to no other server.",
				target.Redacted(), c.base.Host)
		}
		return target.String(), nil
	}
	relative := strings.TrimLeft(path, "/")
	if first, _, _ := strings.Cut(strings.TrimLeft(target.Path, "/"), "/"); first == "perks" || first == "redemptions" {
		relative = "partners/" + relative
	}
	if c.config.Sandbox && (relative == "partners" || strings.HasPrefix(relative, "partners/")) {
		relative = "sandbox/" + relative
	}
	return c.BaseURL() + "/" + relative, nil
}

// hasDotSegment tells whether a server or a proxy might find a segment . or .. in a path: percent-encoded, perhaps more
// than once, between slashes of either kind, or with parameters behind it.
func hasDotSegment(path string) bool {
	for part := range strings.SplitSeq(strings.ReplaceAll(path, `\`, "/"), "/") {
		if name, _, _ := strings.Cut(part, ";"); name == "." || name == ".." {
			return true
		}
		if decoded, err := url.PathUnescape(part); err == nil && decoded != part && hasDotSegment(decoded) {
			return true
		}
	}
	return false
}
