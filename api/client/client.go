// Package client is the typed client of the perks service: a method for each endpoint, iterators over the pages of
// lists, and errors that say what the server refused, or whether a request may have reached it.
//
// resty sends the requests. What every request needs (its token, retries, a redacted trace) is done by
// http.RoundTrippers beneath it. The package knows nothing of terminals, profiles or files.
package client

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-resty/resty/v2"

	"example.com/perks/api"
)

const (
	defaultTimeout = 30 * time.Second
	maxRedirects   = 5
	// maxResponse is the longest response body that is read: twice the longest page of perks that the field rules
	// allow.
	maxResponse = 32 << 20
)

// Config configures a Client. Only BaseURL is required.
type Config struct {
	// {api_url}: http or https, a host, and the path that the endpoints begin with, such as https://perks.example/v2
	BaseURL string
	Sandbox bool // perks and redemptions are those of the sandbox addresses

	Tokens    TokenSource   // nil sends no token: enough for Token and the health check
	Timeout   time.Duration // of each request: all its attempts, but not the waits between them; zero is 30 seconds
	Deadline  time.Time     // for all requests; zero for no deadline
	UserAgent string        // empty is "perks-client"

	WaitBudget    time.Duration // how long one request may wait between its attempts in total; zero never retries
	BackoffBudget time.Duration // the part of it for waits that the server did not ask for; zero is all of it
	OnWait        func(Wait)    // is called before each wait, by many goroutines at once; may be nil
	Clock         *Clock        // for tests; nil is the real one

	// OnWrapped is called, by many goroutines at once, for each record inside the member data of another object, where
	// the specification does not put it; may be nil.
	OnWrapped func()

	// BeforeChange is called before each request that may change something, by many goroutines at once. Its error
	// refuses the request.
	BeforeChange func(context.Context) error

	// Cache keeps responses to GET; nil keeps none. A kept response is used for CacheFor, and after that if the server
	// still has its ETag.
	Cache    Cache
	CacheFor time.Duration

	// Position is that of the last write, which reads must include; nil starts without one.
	Position *Position

	// HonoursKeys is set once the server has shown that it honours idempotency keys, and may be set before; nil starts
	// unset. See Client.HonoursKeys.
	HonoursKeys *atomic.Bool

	// GivesETags is set once the server has given an ETag of a listing, and may be set before, as above. Without one, a
	// change with an ETag reads the listing first, and is refused if the server gives none, unless Unguarded.
	GivesETags *atomic.Bool
	Unguarded  bool

	// ClientID is whose tokens they are, if that is known, and Actor who sits at it, named in each request; "" names
	// nobody. OnUnnamed is called, by many goroutines at once, for each change whose response does not show the name.
	ClientID  string
	Actor     string
	OnUnnamed func()

	// Roots are the certificate authorities to trust; nil is the system's. A Transport has its own.
	Roots *x509.CertPool

	Trace     io.Writer         // gets each exchange, without its secrets; nil traces nothing
	Transport http.RoundTripper // sends the requests; nil is a new one that honours HTTPS_PROXY
}

// Client calls one perks service. It is safe for use by many goroutines.
type Client struct {
	base    *url.URL
	address string // base as text
	config  Config // with defaults
	seen    *seen
	http    *resty.Client
}

// seen is what responses have shown of a service.
type seen struct {
	fourEyes atomic.Bool // nobody approves or voids what they redeemed themselves
	places   sync.Map    // by their names
}

// New checks the address and makes a client. It opens no connection.
func New(config Config) (*Client, error) {
	base, err := ParseBaseURL(config.BaseURL)
	if err != nil {
		return nil, err
	}
	config.Timeout = cmp.Or(config.Timeout, defaultTimeout)
	config.BackoffBudget = cmp.Or(config.BackoffBudget, config.WaitBudget)
	config.HonoursKeys = cmp.Or(config.HonoursKeys, new(atomic.Bool))
	config.GivesETags = cmp.Or(config.GivesETags, new(atomic.Bool))
	config.Clock = cmp.Or(config.Clock, &realClock)
	c := &Client{base: base, address: base.String(), config: config, seen: &seen{}}
	c.http = resty.NewWithClient(&http.Client{Transport: config.chain(base), CheckRedirect: c.redirect}).
		SetHeader("User-Agent", cmp.Or(config.UserAgent, "perks-client")).
		SetHeader("Accept", "application/json, application/problem+json")
	if config.Actor != "" {
		c.http.SetHeader(api.HeaderActor, config.Actor)
	}
	return c, nil
}

// ParseBaseURL reads the address of an API. A trailing slash is ignored; credentials, a query and a fragment are
// refused.
func ParseBaseURL(address string) (*url.URL, error) {
	base, err := url.Parse(strings.TrimRight(address, "/"))
	switch {
	case err != nil || base.Hostname() == "" || (base.Scheme != "http" && base.Scheme != "https"):
		return nil, fmt.Errorf("%q is not an address of the API: it must look like https://perks.example/v2", address)
	case base.Port() != "" && !isPort(base.Port()):
		return nil, fmt.Errorf("%q is not an address of the API: a port is from 1 to 65535", address)
	case base.User != nil:
		return nil, errors.New("the address of the API must not hold a name or password")
	case base.RawQuery != "" || base.Fragment != "":
		return nil, fmt.Errorf("%q is not an address of the API: it must end with its path", address)
	}
	return base, nil
}

func isPort(text string) bool {
	port, err := strconv.ParseUint(text, 10, 16)
	return err == nil && port > 0
}

// BaseURL returns the address of the API without a trailing slash.
func (c *Client) BaseURL() string { return c.address }

// Until returns the same client with another deadline; the zero time removes it. They share connections and state.
func (c *Client) Until(deadline time.Time) *Client {
	until := *c
	until.config.Deadline = deadline
	return &until
}

// Briefly returns the same client for requests that others wait for: they may take that long, and at most a quarter of
// the time to the deadline.
func (c *Client) Briefly(most time.Duration) *Client {
	if !c.config.Deadline.IsZero() {
		most = min(most, time.Until(c.config.Deadline)/4)
	}
	return c.Until(time.Now().Add(most))
}

var errRedirects = fmt.Errorf("the server redirects more than %d times", maxRedirects)

// redirect follows redirects of reads within the same server. A change is never sent to a second address, and no
// request leaves the server: the redirect itself becomes the error.
func (c *Client) redirect(next *http.Request, via []*http.Request) error {
	if !safe(via[0].Method) || !sameOrigin(next.URL, c.base) {
		return http.ErrUseLastResponse
	}
	if len(via) > maxRedirects {
		return errRedirects
	}
	return nil
}

func (c *Client) perksPath(rest string) string { return c.partnersPath("/perks" + rest) }

func (c *Client) partnersPath(rest string) string {
	if c.config.Sandbox {
		return "/sandbox/partners" + rest
	}
	return "/partners" + rest
}

// safe tells whether a method changes nothing (RFC 9110, section 9.2.1).
func safe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}
