package doctor

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
)

// exchange is what the client does not tell of a request: the answer's header, and when it went and came.
type exchange struct {
	next       http.RoundTripper
	now        func() time.Time
	status     int
	header     http.Header
	sent, came time.Time
}

func (e *exchange) RoundTrip(request *http.Request) (*http.Response, error) {
	e.sent = e.now()
	answer, err := e.next.RoundTrip(request)
	e.came = e.now()
	if err == nil {
		e.status, e.header = answer.StatusCode, answer.Header
	}
	return answer, err
}

func (e *exchange) isJSON() bool { return strings.Contains(e.header.Get("Content-Type"), "json") }

func (x *examination) transport() *http.Transport {
	proxy := http.ProxyURL(x.proxy) // with nil, no proxy is used
	return &http.Transport{Proxy: proxy, ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: x.roots, MinVersion: tls.VersionTLS12}}
}

// client makes a client of an address whose exchange is seen. Without a token it sends none.
func (x *examination) client(address, token string) (*client.Client, *exchange, error) {
	seen := &exchange{next: x.transport(), now: x.now}
	config := client.Config{
		BaseURL: address, Sandbox: x.connection.Sandbox, Timeout: x.limit,
		UserAgent: "perksctl/" + x.session.Version, Transport: seen,
	}
	if token != "" {
		config.Tokens = client.StaticToken(token)
	}
	if x.session.Flags.Debug {
		config.Trace = x.session.Streams.Lines("debug")
	}
	c, err := client.New(config)
	return c, seen, err
}

// checkHealth finds out whether the address is that of the API at all. A service that is not ours may have no health check;
// it still answers in JSON.
func (x *examination) checkHealth(ctx context.Context) finding {
	version, seen, err := x.askHealth(ctx, x.connection.APIURL)
	x.health = seen
	var refused *client.Error
	switch {
	case err == nil:
		x.server = version
		return fine("The service is well.")
	case !errors.As(err, &refused):
		return fail(err, "The server is there but does not answer in time: try again, or tell its operator")
	case refused.Status >= 500:
		return fail(err, "Tell the operator of the service")
	}
	if better := x.betterAddress(ctx); better != "" {
		return fail(command.Usagef("%s is not the address of the API, but %s is.", x.connection.APIURL, better), "Log in there: perksctl auth login --api-url "+better)
	}
	if seen.isJSON() && refused.Status >= 400 {
		return warn("", "The service answers, but has no health check (status %d).", refused.Status)
	}
	return fail(command.Usagef("%s is not the address of the API: a web server answers there, with status %d.", x.connection.APIURL, seen.status), askForAddress)
}

const askForAddress = "Ask the operator for the address; it ends with the path of the version, such as /v2"

// askHealth returns the version that the service tells. An answer that is no JSON object is an error.
func (x *examination) askHealth(ctx context.Context, address string) (version string, seen *exchange, err error) {
	c, seen, err := x.client(address, "")
	if err != nil {
		return "", nil, err
	}
	answer, err := c.Do(ctx, client.Request{Method: http.MethodGet, Path: "health"})
	if err != nil {
		return "", seen, err
	}
	var body map[string]any
	if json.Unmarshal(answer.Body, &body) != nil {
		return "", seen, &client.Error{Status: answer.Status, Message: "The answer is not JSON."}
	}
	version, _ = body["version"].(string)
	return version, seen, nil
}

// betterAddress tries the usual slips: no version in the path, and too long a path.
func (x *examination) betterAddress(ctx context.Context) string {
	root := (&url.URL{Scheme: x.base.Scheme, Host: x.base.Host}).String()
	for _, address := range []string{x.connection.APIURL + "/v2", strings.TrimSuffix(x.connection.APIURL, "/partners"), root + "/v2"} {
		if address == x.connection.APIURL {
			continue
		}
		if _, _, err := x.askHealth(ctx, address); err == nil {
			return address
		}
	}
	return ""
}

// skew is how far the clocks may differ: a token is replaced that long before its end.
const skew = 30 * time.Second

func (x *examination) checkClock(context.Context) finding {
	if x.health == nil || x.health.header == nil {
		return skip("Not checked, because the server did not answer.")
	}
	date, err := http.ParseTime(x.health.header.Get("Date"))
	if err != nil {
		return skip("Not checked, because the server does not tell its time.")
	}
	here := x.health.sent.Add(x.health.came.Sub(x.health.sent) / 2)
	off := here.Sub(date.Add(500 * time.Millisecond)) // the header leaves out the part of a second
	const advice = "Set this computer's clock, for example by timedatectl set-ntp true; if it is right, tell the operator of the service"
	switch {
	case off > skew:
		return warn(advice, "This computer's clock is %s ahead of the server's: it takes tokens for ended too early.", off.Round(time.Second))
	case off < -skew:
		return warn(advice, "This computer's clock is %s behind the server's: it may use tokens beyond their end.", (-off).Round(time.Second))
	}
	return fine("This computer's clock and the server's agree.")
}

// checkProxy names the proxy as the environment gives it, without its password.
func (x *examination) checkProxy(context.Context) finding {
	proxy, err := x.proxyFor(&http.Request{URL: x.base})
	name := strings.ToUpper(x.base.Scheme) + "_PROXY"
	set := x.variables(name, strings.ToLower(name), "NO_PROXY", "no_proxy")
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

func (x *examination) variables(names ...string) string {
	return strings.Join(slices.DeleteFunc(names, func(name string) bool { return x.session.Env(name) == "" }), ", ")
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

// soon is how long before its end a certificate should have been renewed.
const soon = 14 * 24 * time.Hour

// checkTLS shakes hands as every request does, proxy and all.
func (x *examination) checkTLS(ctx context.Context) finding {
	if x.roots == nil { // those that every request trusts
		var err error
		if x.roots, err = x.session.Roots(x.connection.CACert); err != nil {
			return fail(err, "Correct the path, or put the file there")
		}
	}
	if x.base.Scheme == "http" {
		if session.CheckAddress(x.connection.APIURL, false) != nil {
			return warn("Use https", "The address is plain http, which insecure-http allows: everyone on the way can read the secret.")
		}
		return fine("Plain http, which does not leave this computer.")
	}
	transport := x.transport()
	transport.TLSClientConfig.Time = x.now
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, x.connection.APIURL+"/health", nil)
	if err != nil {
		return fail(err, "")
	}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return x.failReaching(err, "Is the port right, and does a proxy or a firewall between let TLS through?")
	}
	answer.Body.Close()
	leaf := answer.TLS.PeerCertificates[0]
	left := leaf.NotAfter.Sub(x.now())
	found := fmt.Sprintf("%s; the certificate is valid until %s (%s left).", tls.VersionName(answer.TLS.Version),
		leaf.NotAfter.UTC().Format(time.DateOnly), display.Plural(int(left/(24*time.Hour)), "day", "days"))
	if x.connection.CACert != "" {
		found += " Beside the system's certificates, those in " + x.connection.CACert + " are trusted."
	}
	if left < soon {
		return warn("The operator of the server should renew it", "%s", found)
	}
	return fine("%s", found)
}

// checkCredentials obtains a token even if one is kept: the kept one would hide that the secret is no longer good.
func (x *examination) checkCredentials(ctx context.Context) finding {
	token, err := x.session.NewToken(ctx, x.connection)
	var refused *client.Error
	if errors.As(err, &refused) {
		switch refused.Status {
		case http.StatusUnauthorized:
			return fail(err, "Ask the operator whether the client is enabled, and log in with its secret: perksctl auth login")
		case http.StatusNotFound:
			return fail(command.Usagef("%s gives no tokens: it is not the address of the API.", x.connection.APIURL), askForAddress)
		case http.StatusTooManyRequests:
			return fail(err, "Too many wrong secrets were tried: wait a minute")
		}
	}
	if err != nil {
		return fail(err, "")
	}
	x.token = token
	if x.connection.HasToken() {
		return fine("%s gives the token. Whether the server takes it is the check of perks.", session.EnvToken)
	}
	return fine("The server gives %s a token until %s.", x.connection.ClientID, token.ExpiresAt.UTC().Format(time.RFC3339))
}

// needed is what commands do not work without a scope.
var needed = []struct {
	scope    api.Scope
	commands string
}{
	{api.ScopePerksRead, "perk list, perk get, perk categories, user perks"},
	{api.ScopePerksRedeem, "perk redeem"},
	{api.ScopePropertiesRead, "property get, property edit"},
	{api.ScopePropertiesWrite, "property update, property edit, property delete"},
}

func (x *examination) checkScopes(context.Context) finding {
	if x.token.Scopes() == nil {
		return skip("Not checked, because it is not told which scopes the token has.")
	}
	var lacking []string
	for _, need := range needed {
		if !slices.Contains(x.token.Scopes(), string(need.scope)) {
			lacking = append(lacking, string(need.scope)+" ("+need.commands+")")
		}
	}
	if len(lacking) > 0 {
		return warn("If you need these commands, ask the operator for the scopes", "The token lacks %s.", strings.Join(lacking, "; "))
	}
	return fine("The token has every scope: %s.", strings.Join(x.token.Scopes(), ", "))
}

// checkPerks reads one perk of where commands go, the sandbox if the profile says so.
func (x *examination) checkPerks(ctx context.Context) finding {
	c, _, err := x.client(x.connection.APIURL, x.token.AccessToken)
	if err != nil {
		return fail(err, "")
	}
	_, err = c.Do(ctx, client.Request{Method: http.MethodGet, Path: "partners/perks", Query: url.Values{"per_page": {"1"}}})
	var refused *client.Error
	switch {
	case err == nil:
		return fine("The perks of %s can be read.", x.connection.Place())
	case !errors.As(err, &refused):
		return fail(err, "")
	case refused.Status == http.StatusUnauthorized && x.connection.HasToken():
		return fail(err, session.EnvToken+" has ended or belongs elsewhere: set a new one, or unset it")
	case refused.Status == http.StatusForbidden:
		return warn("Ask the operator what this client may do", "This client may not read the perks of %s: %s", x.connection.Place(), sentence(refused.Message))
	case refused.Status == http.StatusNotFound && x.connection.Sandbox:
		return fail(command.Usagef("%s has no sandbox.", x.connection.APIURL), "Go on without it: perksctl auth login --sandbox=false")
	}
	return fail(err, "")
}
