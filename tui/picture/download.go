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
	client := &http.Client{CheckRedirect: checkRedirect, Transport: &http.Transport{
		Proxy: guard.proxy, DialContext: guard.dial, DisableKeepAlives: true, DisableCompression: true, ForceAttemptHTTP2: true,
	}}
	response, err := client.Do(request)
	if err != nil {
		return nil, failure(ctx, target, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %d %s instead of an image", target.Host, response.StatusCode, http.StatusText(response.StatusCode))
	}
	tooLong := errors.New("the image has more than 5 MiB, which is not drawn here: open it in a browser instead")
	if response.ContentLength > maxBytes {
		return nil, tooLong
	}
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxBytes+1))
	switch {
	case err != nil:
		return nil, failure(ctx, target, err)
	case len(raw) > maxBytes:
		return nil, tooLong
	}
	return raw, nil
}

// checkRedirect runs before a redirect is followed. net/http has put the former address into Referer by then.
func checkRedirect(next *http.Request, former []*http.Request) error {
	next.Header.Del("Referer")
	switch {
	case len(former) > maxRedirects:
		return fmt.Errorf("it redirects more than %d times", maxRedirects)
	case next.URL.Scheme != "http" && next.URL.Scheme != "https":
		return errors.New("it redirects to something that is not a web address")
	case next.URL.User != nil:
		return errors.New("it redirects to an address with a name or a password")
	}
	return nil
}

// guarded is why the guard let nothing be fetched, as a sentence.
type guarded string

func (g guarded) Error() string { return string(g) }

// failure says why nothing came.
func failure(ctx context.Context, target *url.URL, err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	var refused guarded
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("%s took too long to send the image; draw it again to try once more", target.Host)
	case errors.As(err, &refused):
		return refused
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

var (
	// special are the ranges in IANA's registries of special-purpose addresses, and multicast. Of IPv6, networks only get
	// addresses within global; there, special are protocols such as Teredo, documentation, 6to4 (which leads to the IPv4
	// address inside it) and AS112.
	special = prefixes(`0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
		192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24
		224.0.0.0/4 240.0.0.0/4 2001::/23 2001:db8::/32 3fff::/20 2002::/16 2620:4f:8000::/48`)
	global = netip.MustParsePrefix("2000::/3")
	// translated are IPv4 addresses as a network without IPv4 writes them (RFC 6052).
	translated = netip.MustParsePrefix("64:ff9b::/96")
)

func prefixes(list string) (all []netip.Prefix) {
	for text := range strings.FieldsSeq(list) {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
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

func newGuard(target *url.URL) *guard { return &guard{target.Hostname(), http.ProxyFromEnvironment} }

// proxy refuses requests that would go through a proxy: only the proxy resolves the name, so no address can be checked here.
// Going around the proxy is not what the person who set it wants.
func (g *guard) proxy(request *http.Request) (*url.URL, error) {
	proxy, err := g.environment(request)
	if err == nil && proxy != nil {
		err = guarded(fmt.Sprintf("A proxy is set, so it cannot be checked whether %s is on the local network. Nothing was fetched. "+
			"Open the image in a browser, or add the host to NO_PROXY.", request.URL.Hostname()))
	}
	return nil, err
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
		return guarded(fmt.Sprintf("%s leads into the local network (%s), so nothing was fetched. If that is meant, open the image in a browser.", host, resolved))
	}
	return nil
}
