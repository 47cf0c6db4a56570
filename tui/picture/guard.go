package picture

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"syscall"
)

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

func public(ip netip.Addr) bool {
	ip = ip.Unmap()
	shared := netip.AddrFrom4([4]byte{100, 64}) // carriers and tunnels use it within (RFC 6598)
	return ip.IsGlobalUnicast() && !ip.IsPrivate() && !netip.PrefixFrom(shared, 10).Contains(ip)
}

// guard keeps connections from leading somewhere else than the address that a person has seen seems to. A name that
// resolves to the local network, and a redirect into it, would make this computer knock on doors that are closed to whoever
// wrote the address.
type guard struct {
	seen string // the host of that address

	mutex   sync.Mutex
	proxies map[string]bool // hosts that the environment names as proxies
}

func newGuard(target *url.URL) *guard {
	return &guard{seen: target.Hostname(), proxies: map[string]bool{}}
}

func (g *guard) proxy(request *http.Request) (*url.URL, error) {
	proxy, err := http.ProxyFromEnvironment(request)
	if proxy != nil {
		g.mutex.Lock()
		defer g.mutex.Unlock()
		g.proxies[proxy.Hostname()] = true
	}
	return proxy, err
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

func (g *guard) trusts(host string) bool {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	return g.proxies[host] || host == g.seen && localName(host)
}

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
