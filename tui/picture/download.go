package picture

import (
	"context"
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
)

// download reads what is at an address. Each call has a client of its own, so that nothing is left behind: no connection
// and no cookie.
func download(ctx context.Context, target *url.URL) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("the address of the image cannot be read: %w", err)
	}
	request.Header.Set("Accept", "image/webp, image/png, image/jpeg, image/gif")
	request.Header.Set("User-Agent", "perksctl")
	guard := newGuard(target)
	client := &http.Client{
		CheckRedirect: checkRedirect,
		Transport: &http.Transport{
			Proxy:              guard.proxy,
			DialContext:        guard.dial,
			DisableKeepAlives:  true,
			DisableCompression: true,
			ForceAttemptHTTP2:  true,
		},
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, failure(ctx, target, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %d %s instead of an image", target.Host, response.StatusCode, http.StatusText(response.StatusCode))
	}
	if response.ContentLength > maxBytes {
		return nil, errTooLong
	}
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxBytes+1))
	switch {
	case err != nil:
		return nil, failure(ctx, target, err)
	case len(raw) > maxBytes:
		return nil, errTooLong
	}
	return raw, nil
}

var errTooLong = errors.New("the image has more than 5 MiB, which is not drawn here: open it in a browser instead")

// checkRedirect runs before a redirect is followed. net/http has put the former address into Referer by then.
func checkRedirect(next *http.Request, former []*http.Request) error {
	next.Header.Del("Referer")
	switch {
	case len(former) > maxRedirects:
		return fmt.Errorf("it redirects more than %d times", maxRedirects)
	case next.URL.Scheme != "http" && next.URL.Scheme != "https":
		return fmt.Errorf("it redirects to something that is not a web address")
	case next.URL.User != nil:
		return fmt.Errorf("it redirects to an address with a name or a password")
	}
	return nil
}

// failure says why nothing came.
func failure(ctx context.Context, target *url.URL, err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	var local *localError
	var proxied *proxyError
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("%s took too long to send the image; draw it again to try once more", target.Host)
	case errors.As(err, &local):
		return local
	case errors.As(err, &proxied):
		return proxied
	}
	return fmt.Errorf("the image could not be fetched from %s: %w", target.Host, err)
}

// Local tells whether an address itself says that it is on this computer or in the local network.
func Local(address string) bool {
	target, err := parse(address)
	return err == nil && localName(target.Hostname())
}

func localName(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return !public(ip)
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || strings.HasSuffix(host, ".local")
}

// special are the ranges in IANA's registries of special-purpose addresses, and multicast. Of IPv6, networks only get addresses
// within global.
var (
	global  = netip.MustParsePrefix("2000::/3")
	special = prefixes(
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
		"192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
		"2001::/23",     // protocols, among them Teredo, benchmarks and ORCHID
		"2001:db8::/32", // documentation, as is 3fff::/20
		"3fff::/20",
		"2002::/16", // 6to4, which leads to the IPv4 address inside it
		"2620:4f:8000::/48",
	)
	// translated are IPv4 addresses as a network without IPv4 writes them (RFC 6052).
	translated = netip.MustParsePrefix("64:ff9b::/96")
)

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}

// public tells whether an address is on the public internet.
func public(ip netip.Addr) bool {
	ip = ip.Unmap()
	if translated.Contains(ip) {
		bytes := ip.As16()
		ip = netip.AddrFrom4([4]byte(bytes[12:]))
	}
	if ip.Is6() && !global.Contains(ip) {
		return false
	}
	return ip.IsValid() && !slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// guard keeps connections from leading somewhere else than the address that a person has seen seems to. A name that
// resolves to the local network, and a redirect into it, would make this computer knock on doors that are closed to whoever
// wrote the address.
type guard struct {
	seen        string // the host of that address
	environment func(*http.Request) (*url.URL, error)
}

func newGuard(target *url.URL) *guard {
	return &guard{seen: target.Hostname(), environment: http.ProxyFromEnvironment}
}

// proxy refuses requests that would go through a proxy: only the proxy resolves the name, so no address can be checked here.
// Going around the proxy is not what the person who set it wants.
func (g *guard) proxy(request *http.Request) (*url.URL, error) {
	proxy, err := g.environment(request)
	if err == nil && proxy != nil {
		err = &proxyError{request.URL.Hostname()}
	}
	return nil, err
}

// proxyError says that an image was not fetched because of a proxy.
type proxyError struct{ host string }

func (p *proxyError) Error() string {
	return fmt.Sprintf("A proxy is set, so it cannot be checked whether %s is on the local network. Nothing was fetched. "+
		"Open the image in a browser, or add the host to NO_PROXY.", p.host)
}

func (g *guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{}
	if !g.trusts(host) {
		dialer.Control = func(_, resolved string, _ syscall.RawConn) error { return refuseLocal(host, resolved) }
	}
	return dialer.DialContext(ctx, network, address)
}

func (g *guard) trusts(host string) bool { return host == g.seen && localName(host) }

func refuseLocal(host, resolved string) error {
	if to, err := netip.ParseAddrPort(resolved); err != nil || !public(to.Addr()) {
		return &localError{host, resolved}
	}
	return nil
}

// localError says that a connection would have led into the local network without saying so.
type localError struct{ host, resolved string }

func (l *localError) Error() string {
	return fmt.Sprintf("%s leads into the local network (%s), so nothing was fetched. If that is meant, open the image in a browser.", l.host, l.resolved)
}
