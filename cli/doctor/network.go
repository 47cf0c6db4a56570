package doctor

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"example.com/perks/api/client"
	"example.com/perks/cli/command"
)

// checkProxy names the proxy as the environment gives it, without its password.
func (x *examination) checkProxy(context.Context) finding {
	proxy, err := x.proxyFor(&http.Request{URL: x.base})
	set := x.proxyVariables()
	switch {
	case err != nil: // whose text may hold a password
		return fail(command.Usagef("%s is no address of a proxy.", set), "Write it as http://proxy.example:3128, or unset it")
	case proxy != nil:
		x.proxy = proxy
		return fine("Requests go through the proxy %s, as %s says.", proxy.Redacted(), cmp.Or(set, "the environment"))
	case set != "":
		return fine("No proxy is used for this address, though %s is set.", set)
	}
	return fine("No proxy is set.")
}

func (x *examination) proxyVariables() string {
	var set []string
	name := strings.ToUpper(x.base.Scheme) + "_PROXY"
	for _, name := range []string{name, strings.ToLower(name), "NO_PROXY", "no_proxy"} {
		if x.session.Env(name) != "" {
			set = append(set, name)
		}
	}
	return strings.Join(set, ", ")
}

// checkNetwork finds the computer that requests go to first, and connects to it.
func (x *examination) checkNetwork(ctx context.Context) finding {
	first := x.base
	if x.proxy != nil {
		first = x.proxy
	}
	host, port := first.Hostname(), portOf(first)
	addresses, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return x.failReaching(err, "")
	}
	began := x.now()
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return x.failReaching(err, "")
	}
	connection.Close()
	took := x.now().Sub(began).Round(100 * time.Microsecond)
	return fine("%s is %s; port %s takes connections (%s).", host, strings.Join(addresses, ", "), port, took)
}

// failReaching says why nothing was reached, and what to do, in the words of every other command; otherwise is for where those
// know nothing to do.
func (x *examination) failReaching(err error, otherwise string) finding {
	unreached := &client.Unreachable{Address: x.connection.APIURL, Err: err}
	f := fail(unreached, cmp.Or(strings.TrimSuffix(unreached.Advice(), "."), otherwise))
	f.Found = sentence(unreached.Reason())
	return f
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	case strings.HasPrefix(u.Scheme, "socks5"):
		return "1080"
	}
	return "80"
}
