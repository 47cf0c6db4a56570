package server

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// proxies tells whose word counts for where a request comes from, and for how it was addressed.
type proxies struct {
	there   bool
	trusted []netip.Prefix // empty trusts who is connected, and nobody behind it
}

// believes tells whether the one who is connected is a proxy whose X-Forwarded- headers count.
func (p proxies) believes(r *http.Request) bool {
	return p.there && (len(p.trusted) == 0 || p.trusts(peer(r)))
}

// scheme returns how the caller connected: as a proxy says, if one is believed and says so, else as the connection shows.
func (p proxies) scheme(r *http.Request) string {
	if said := r.Header.Get("X-Forwarded-Proto"); p.believes(r) && (said == "http" || said == "https") {
		return said
	}
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

func (p proxies) trusts(address netip.Addr) bool {
	return slices.ContainsFunc(p.trusted, func(network netip.Prefix) bool { return network.Contains(address) })
}

// caller returns the address that a request comes from. Each proxy adds the address that is connected to it to the end of
// X-Forwarded-For, so it is the last one there that is not a proxy's own. What stands before it was sent by the caller and
// says nothing; neither does anything before an entry that is no address.
func (p proxies) caller(r *http.Request) string {
	from := peer(r)
	if !p.believes(r) {
		return from.String()
	}
	rest := strings.Join(r.Header.Values("X-Forwarded-For"), ",")
	for rest != "" {
		last := rest[strings.LastIndexByte(rest, ',')+1:]
		rest = strings.TrimSuffix(rest[:len(rest)-len(last)], ",")
		address, ok := parseHop(last)
		if !ok {
			break
		}
		if from = address; !p.trusts(from) {
			break
		}
	}
	return from.String()
}

func peer(r *http.Request) netip.Addr {
	address, _ := netip.ParseAddrPort(r.RemoteAddr) // net/http wrote it
	return plainAddress(address.Addr())
}

// parseHop takes an address as proxies write it: some add the port, and put IPv6 in brackets.
func parseHop(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	if withPort, err := netip.ParseAddrPort(text); err == nil {
		return plainAddress(withPort.Addr()), true
	}
	address, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	return plainAddress(address), err == nil
}

// plainAddress leaves each address only one spelling.
func plainAddress(address netip.Addr) netip.Addr { return address.Unmap().WithZone("") }

// networkOf returns what failures are counted by: an IPv4 address, and of an IPv6 address the /64, all of which a single
// subscriber has.
func networkOf(address string) string {
	parsed, err := netip.ParseAddr(address)
	if err != nil || parsed.Is4() {
		return address
	}
	network, err := parsed.Prefix(64)
	if err != nil {
		return address
	}
	return network.String()
}
