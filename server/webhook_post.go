package server

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/api/webhook"
)

const (
	webhookTime     = 10 * time.Second // for a request with its answer
	webhookLookup   = 2 * time.Second  // for the addresses of a new webhook
	webhookAnswer   = 64 << 10         // bytes of an answer, and of its headers, that are read
	webhookIdleTime = 30 * time.Second // that a connection is kept open for the next request
	webhookIdle     = 500              // connections that are kept open
)

// WebhookNetwork is how webhooks are reached. The zero value is right but for tests.
type WebhookNetwork struct {
	Resolver *net.Resolver  // nil is the system's
	Roots    *x509.CertPool // nil is the system's
}

// webhookPoster sends requests to addresses that clients choose. They must not reach what only this machine can reach.
type webhookPoster struct {
	allowed  []netip.Prefix // may be reached although they are not public, and without TLS
	guard    *ssrf.Guardian
	resolver *net.Resolver
	agent    string
	clients  map[string]*http.Client // by scheme
}

func newWebhookPoster(config Config) *webhookPoster {
	var v4, v6 []netip.Prefix
	for _, network := range config.WebhookAllow {
		if network.Addr().Is4() {
			v4 = append(v4, network)
		} else {
			v6 = append(v6, network)
		}
	}
	p := &webhookPoster{allowed: config.WebhookAllow, agent: "perksd/" + config.Version,
		resolver: cmp.Or(config.WebhookNetwork.Resolver, net.DefaultResolver),
		guard:    ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...))}
	p.clients = map[string]*http.Client{}
	for _, scheme := range []string{"https", "http"} {
		dialer := &net.Dialer{Timeout: webhookTime, Resolver: p.resolver,
			// It sees the address that is connected to, whatever a name led to before.
			Control: func(_, address string, _ syscall.RawConn) error {
				target, err := netip.ParseAddrPort(address)
				if err != nil {
					return fmt.Errorf("the address %q: %w", address, err)
				}
				return p.mayReach(scheme, target.Addr())
			}}
		p.clients[scheme] = &http.Client{
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport: &http.Transport{DialContext: dialer.DialContext, DisableCompression: true,
				TLSClientConfig:        &tls.Config{RootCAs: config.WebhookNetwork.Roots, MinVersion: tls.VersionTLS12},
				MaxResponseHeaderBytes: webhookAnswer, MaxIdleConns: webhookIdle,
				MaxIdleConnsPerHost: webhookSlots, IdleConnTimeout: webhookIdleTime},
		}
	}
	return p
}

// notPublicError is the reason that an address is not connected to.
type notPublicError struct {
	scheme  string
	address netip.Addr
}

func (e notPublicError) Error() string {
	if e.scheme == "http" {
		return fmt.Sprintf("it leads to %s, where the service sends nothing without TLS: use https", e.address)
	}
	return fmt.Sprintf("it leads to %s, which is not a public address; the operator can allow it with --webhook-allow",
		e.address)
}

// mayReach returns notPublicError unless requests of the scheme may go to the address.
func (p *webhookPoster) mayReach(scheme string, address netip.Addr) error {
	address = address.Unmap().WithZone("")
	isAllowed := slices.ContainsFunc(p.allowed, func(n netip.Prefix) bool { return n.Contains(address) })
	if !isAllowed && (scheme == "http" || p.guard.SafeAddr(address) != nil) {
		return notPublicError{scheme, address}
	}
	return nil
}

// check returns what is wrong with the address of a webhook, or "". A name may lead elsewhere later, so it is checked
// again with each connection.
func (p *webhookPoster) check(ctx context.Context, address string) string {
	target, err := url.Parse(address)
	if err != nil {
		return "cannot be read"
	}
	var found []netip.Addr
	if literal, err := netip.ParseAddr(target.Hostname()); err == nil {
		found = []netip.Addr{literal}
	} else {
		ctx, cancel := context.WithTimeout(ctx, webhookLookup)
		defer cancel()
		found, err = p.resolver.LookupNetIP(ctx, "ip", target.Hostname())
		if err != nil && target.Scheme == "http" {
			return "must be https: nobody knows where its host is, and only addresses that the operator allows can do " +
				"without TLS"
		}
	}
	for _, each := range found {
		if err := p.mayReach(target.Scheme, each); err != nil {
			return "cannot be used: " + err.Error()
		}
	}
	return ""
}

// posted is what came of a request.
type posted struct {
	at     time.Time
	took   time.Duration
	answer *http.Response // nil without one
	text   string         // the beginning of the answer
	err    error          // why there is no answer
}

// post sends the body of an event. It follows no redirect and uses no proxy.
func (p *webhookPoster) post(
	ctx context.Context, address, id string, body []byte, at time.Time, secrets []webhook.Secret,
) (result posted) {
	begun := time.Now()
	result.at = at
	defer func() { result.took = time.Since(begun) }()
	ctx, cancel := context.WithTimeout(ctx, webhookTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		result.err = err
		return result
	}
	request.Header = webhook.Header(id, at, body, secrets...)
	request.Header.Set("Content-Type", mediaJSON)
	request.Header.Set("User-Agent", p.agent)
	client, isKnown := p.clients[request.URL.Scheme]
	if !isKnown {
		result.err = fmt.Errorf("%s is not a scheme that webhooks can have", request.URL.Scheme)
		return result
	}
	answer, err := client.Do(request)
	if err != nil {
		result.err = err
		return result
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, webhookAnswer)) // whatever it says, its status has come
	result.answer, result.text = answer, plainAnswer(text)
	return result
}

// plainAnswer is the beginning of an answer as a text that is safe to show.
func plainAnswer(text []byte) string {
	text = text[:min(len(text), api.MaxWebhookAnswer)]
	plain := strings.Map(func(r rune) rune {
		if display.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(text), "?"))
	return strings.ToValidUTF8(plain[:min(len(plain), api.MaxWebhookAnswer)], "")
}

// failure says why it was not delivered, or "".
func (p posted) failure() string {
	var refused notPublicError
	switch {
	case webhook.IsDelivered(p.answer):
		return ""
	case p.answer != nil && p.answer.StatusCode/100 == 3:
		return fmt.Sprintf("The answer was %s, and redirects are not followed.", p.status())
	case p.answer != nil:
		return fmt.Sprintf("The answer was %s.", p.status())
	case errors.As(p.err, &refused):
		return "The address cannot be used: " + refused.Error() + "."
	case errors.Is(p.err, context.DeadlineExceeded):
		return fmt.Sprintf("No answer came within %d seconds.", webhookTime/time.Second)
	}
	cause := p.err
	if wrapped, isWrapped := errors.AsType[*url.Error](cause); isWrapped {
		cause = wrapped.Err
	}
	return "The request failed: " + sanitize(cause.Error()) + "."
}

// status is the answer's status with the standard's word, because a receiver can choose any.
func (p posted) status() string {
	return strings.TrimSpace(fmt.Sprint(p.answer.StatusCode, " ", http.StatusText(p.answer.StatusCode)))
}

// delivery is an entry for the log of what was sent.
func (p posted) delivery(id, webhookID string, e api.Event, attempt int, next *time.Time) api.WebhookDelivery {
	d := api.WebhookDelivery{ID: id, WebhookID: webhookID, EventID: e.ID, Type: e.Type, Subject: e.Subject,
		Attempt: attempt, At: p.at, Duration: int(p.took.Milliseconds()), Answer: p.text, NextAt: next}
	if p.answer != nil {
		d.Status = &p.answer.StatusCode
	}
	if failure := p.failure(); failure != "" {
		d.Error = &failure
	}
	return d
}
