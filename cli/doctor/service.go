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
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
)

func (d *diagnosis) transport() *http.Transport {
	proxy := http.ProxyURL(d.proxy) // with nil, no proxy is used
	config := &tls.Config{RootCAs: d.roots, MinVersion: tls.VersionTLS12}
	return &http.Transport{Proxy: proxy, ForceAttemptHTTP2: true, TLSClientConfig: config}
}

// client makes a client of an address. Without a token it sends none.
func (d *diagnosis) client(address, token string) (*client.Client, error) {
	config := client.Config{
		BaseURL: address, Sandbox: d.connection.Sandbox, Timeout: d.limit, UserAgent: "perksctl/" + d.session.Version,
		Transport: d.transport(),
	}
	if token != "" {
		config.Tokens = client.StaticToken(token)
	}
	if d.session.Flags.Debug {
		config.Trace = d.session.Streams.Lines("debug")
	}
	return client.New(config)
}

// get reads a path below an address. The response is nil without a reply.
func (d *diagnosis) get(ctx context.Context, address, token string, request client.Request) (*client.Response, error) {
	c, err := d.client(address, token)
	if err != nil {
		return nil, err
	}
	request.Method = http.MethodGet
	return c.Do(ctx, request)
}

// checkHealth finds out whether the address is that of the API. Another implementation may have no health check, but
// replies in JSON.
func (d *diagnosis) checkHealth(ctx context.Context) finding {
	sent := d.now()
	version, reply, err := d.askHealth(ctx, d.connection.APIURL)
	d.health, d.healthAt = reply, sent.Add(d.now().Sub(sent)/2)
	var refused *client.Error
	switch {
	case err == nil:
		d.server = version
		return fine("The service is healthy.")
	case !errors.As(err, &refused):
		return fail(err, "The server is up but too slow: retry, or tell its operator")
	case refused.Status >= 500:
		return fail(err, "Tell the operator of the service")
	}
	if better := d.betterAddress(ctx); better != "" {
		return fail(command.Usagef("%s is not the address of the API, but %s is.", d.connection.APIURL, better),
			"Log in there: perksctl auth login --api-url "+better)
	}
	isJSON := strings.Contains(reply.Header.Get("Content-Type"), "json") && refused.Status >= 400
	if isJSON || d.refusesStrangers(ctx) {
		return warn("", "The service responds, but has no health check (status %d).", refused.Status)
	}
	return fail(command.Usagef("%s is not the address of the API: a web server responds there, with status %d.",
		d.connection.APIURL, reply.Status), askForAddress)
}

// firstPerk asks for the list of perks, which the specification has.
var firstPerk = client.Request{Path: "partners/perks", Query: url.Values{"per_page": {"1"}}}

// refusesStrangers tells whether the service refuses the list of perks without a token, as its specification wants.
// Where other addresses lead to a proxy's web page, that shows that this is the API.
func (d *diagnosis) refusesStrangers(ctx context.Context) bool {
	_, err := d.get(ctx, d.connection.APIURL, "", firstPerk)
	refused, isRefused := errors.AsType[*client.Error](err)
	return isRefused && refused.LoginNeeded() && !refused.NotFromService
}

const askForAddress = "Ask the operator for the address; it ends with the path of the version, such as /v2"

// askHealth returns the version of the service. A reply that is not a JSON object is an error.
func (d *diagnosis) askHealth(
	ctx context.Context, address string,
) (version string, reply *client.Response, err error) {
	reply, err = d.get(ctx, address, "", client.Request{Path: "health"})
	if err != nil {
		return "", reply, err
	}
	var body map[string]any
	if json.Unmarshal(reply.Body, &body) != nil {
		return "", reply, &client.Error{Status: reply.Status, Message: "The response is not JSON."}
	}
	version, _ = body["version"].(string)
	return version, reply, nil
}

// betterAddress tries to correct the usual mistakes: no version in the path, or too long a path.
func (d *diagnosis) betterAddress(ctx context.Context) string {
	root := (&url.URL{Scheme: d.base.Scheme, Host: d.base.Host}).String()
	given := d.connection.APIURL
	for _, address := range []string{given + "/v2", strings.TrimSuffix(given, "/partners"), root + "/v2"} {
		if address != given {
			if _, _, err := d.askHealth(ctx, address); err == nil {
				return address
			}
		}
	}
	return ""
}

// skew is how far the clocks may differ: a token is replaced that long before it expires.
const skew = 30 * time.Second

func (d *diagnosis) checkClock(context.Context) finding {
	if d.health == nil {
		return skip("Not checked, because the server did not respond.")
	}
	date, err := http.ParseTime(d.health.Header.Get("Date"))
	if err != nil {
		return skip("Not checked, because the server does not send its time.")
	}
	off := d.healthAt.Sub(date.Add(500 * time.Millisecond)) // the header has whole seconds
	const advice = "Set your clock, for example with timedatectl set-ntp true; if it is right, tell the operator of " +
		"the service"
	switch {
	case off > skew:
		return warn(advice, "Your clock is %s ahead of the server's, so valid tokens look expired.",
			off.Round(time.Second))
	case off < -skew:
		return warn(advice, "Your clock is %s behind the server's, so expired tokens look valid.",
			(-off).Round(time.Second))
	}
	return fine("Your clock and the server's agree.")
}

// checkProxy names the proxy, without its password.
func (d *diagnosis) checkProxy(context.Context) finding {
	proxy, err := d.proxyFor(&http.Request{URL: d.base})
	name := strings.ToUpper(d.base.Scheme) + "_PROXY"
	set := d.variables(name, strings.ToLower(name), "NO_PROXY", "no_proxy")
	switch {
	case err != nil: // whose text may have a password in it
		return fail(command.Usagef("%s is not a proxy address.", set),
			"Write it as http://proxy.example:3128, or unset it")
	case proxy != nil:
		d.proxy = proxy
		return fine("Requests go through the proxy %s, as %s says.", proxy.Redacted(), cmp.Or(set, "the environment"))
	case set != "":
		return fine("No proxy is used for this address, though %s is set.", set)
	}
	return fine("No proxy is set.")
}

func (d *diagnosis) variables(names ...string) string {
	return strings.Join(slices.DeleteFunc(names, func(name string) bool { return d.session.Env(name) == "" }), ", ")
}

// checkNetwork connects to the proxy, or else to the server.
func (d *diagnosis) checkNetwork(ctx context.Context) finding {
	first := d.base
	if d.proxy != nil {
		first = d.proxy
	}
	host, port := first.Hostname(), portOf(first)
	addresses, err := net.DefaultResolver.LookupHost(ctx, host)
	began := d.now()
	if err == nil {
		var connection net.Conn
		if connection, err = (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(host, port)); err == nil {
			connection.Close()
		}
	}
	if err != nil {
		return d.failReaching(err, "")
	}
	took := d.now().Sub(began).Round(100 * time.Microsecond)
	return fine("%s is %s; port %s takes connections (%s).", host, strings.Join(addresses, ", "), port, took)
}

// failReaching says why the service was not reached, as every other command does. otherwise is the advice if those have
// none.
func (d *diagnosis) failReaching(err error, otherwise string) finding {
	unreached := &client.Unreachable{Address: d.connection.APIURL, Err: err}
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

// soon is how long before it expires a certificate should be renewed.
const soon = 14 * 24 * time.Hour

// checkTLS sends a request, through the proxy if there is one, and looks at the certificate.
func (d *diagnosis) checkTLS(ctx context.Context) finding {
	if d.roots == nil {
		var err error
		if d.roots, err = d.session.Roots(d.connection.CACert); err != nil {
			return fail(err, "Correct the path, or put the file there")
		}
	}
	if d.base.Scheme == "http" {
		if session.CheckAddress(d.connection.APIURL, false) != nil {
			return warn("Use https", "The address is plain http (insecure-http): anyone on the network can read the "+
				"secret.")
		}
		return fine("Plain http, but only within this computer.")
	}
	transport := d.transport()
	transport.TLSClientConfig.Time = d.now
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, d.connection.APIURL+"/health", nil)
	if err != nil {
		return fail(err, "")
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return d.failReaching(err, "Is the port right, and does a proxy or a firewall between let TLS through?")
	}
	response.Body.Close()
	leaf := response.TLS.PeerCertificates[0]
	left := leaf.NotAfter.Sub(d.now())
	found := fmt.Sprintf("%s; the certificate is valid until %s (%s left).", tls.VersionName(response.TLS.Version),
		leaf.NotAfter.UTC().Format(time.DateOnly), display.Plural(int(left/(24*time.Hour)), "day", "days"))
	if d.connection.CACert != "" {
		found += " Beside the system's certificates, those in " + d.connection.CACert + " are trusted."
	}
	if left < soon {
		return warn("The operator of the server should renew it", "%s", found)
	}
	return fine("%s", found)
}

// checkCredentials obtains a token even if one is saved, which would hide that the secret is no longer valid.
func (d *diagnosis) checkCredentials(ctx context.Context) finding {
	token, err := d.session.NewToken(ctx, d.connection)
	var refused *client.Error
	if errors.As(err, &refused) {
		switch {
		case refused.LoginNeeded():
			return fail(err, "Ask the operator whether the client is enabled, and log in with its secret: perksctl "+
				"auth login")
		case refused.Status == http.StatusNotFound:
			return fail(command.Usagef("%s issues no tokens: it is not the address of the API.", d.connection.APIURL),
				askForAddress)
		case refused.Status == http.StatusTooManyRequests:
			return fail(err, "Too many wrong secrets were tried: wait a minute")
		}
	}
	if err != nil {
		return fail(err, "")
	}
	d.token = token
	if d.connection.HasToken() {
		return fine("The token comes from %s. The check of perks shows whether the server accepts it.",
			session.EnvToken)
	}
	id, name := d.connection.ClientID, d.connection.Actor
	found := fmt.Sprintf("The server issued a token to %s, valid until %s.", id,
		token.ExpiresAt.UTC().Format(time.RFC3339))
	switch {
	case name != "" && !token.NamesActors:
		return warn("Ask the operator to run 'perksd client update "+id+" --actors', or log in with --actor ''",
			"%s It does not say that the client may name %q, and may refuse its requests.", found, name)
	case name != "":
		found += fmt.Sprintf(" What you do is kept under the name %q.", name)
	case token.NamesActors:
		found += " The client may say who sits at it: log in with --actor NAME, or set " + session.EnvActor + "."
	}
	return fine("%s", found)
}

// commandsOf is the commands that need each scope.
var commandsOf = map[api.Scope]string{
	api.ScopePerksRead:          "perk list, perk get, perk categories, user perks",
	api.ScopePerksRedeem:        "perk redeem",
	api.ScopePerksWrite:         "perk create, perk update, perk edit, perk stock, perk history",
	api.ScopePropertiesCreate:   "property create",
	api.ScopePropertiesRead:     "property get, property history, property edit",
	api.ScopePropertiesWrite:    "property update, property edit, property delete, property restore",
	api.ScopeRedemptionsDecide:  "redemption approve, redemption reject",
	api.ScopeRedemptionsRead:    "redemption list, redemption get",
	api.ScopeRedemptionsReadAll: "redemption list and report redemptions of other clients, user list",
	api.ScopeRedemptionsVoid:    "redemption void, bulk undo",
	api.ScopeWebhooksWrite:      "webhook create, webhook list and the other commands of webhook",
}

func (d *diagnosis) checkScopes(context.Context) finding {
	if d.token.Scopes() == nil {
		return skip("Not checked, because the token's scopes are unknown.")
	}
	var lacking []string
	isUsual := true // an operator grants the other scopes to few clients
	for _, scope := range api.AllScopes() {
		if !slices.Contains(d.token.Scopes(), string(scope)) {
			lacking = append(lacking, string(scope)+" ("+commandsOf[scope]+")")
			isUsual = isUsual && !api.DefaultScopes().Has(scope)
		}
	}
	switch {
	case len(lacking) == 0:
		return fine("The token has every scope: %s.", strings.Join(d.token.Scopes(), ", "))
	case isUsual:
		return fine("The token has the usual scopes. It lacks %s.", strings.Join(lacking, "; "))
	}
	return warn("If you need these commands, ask the operator for the scopes", "The token lacks %s.",
		strings.Join(lacking, "; "))
}

// checkPerks reads one perk, of the sandbox if commands go there.
func (d *diagnosis) checkPerks(ctx context.Context) finding {
	_, err := d.get(ctx, d.connection.APIURL, d.token.AccessToken, firstPerk)
	var refused *client.Error
	switch {
	case err == nil:
		return fine("The perks of %s can be read.", d.connection.Target())
	case !errors.As(err, &refused):
		return fail(err, "")
	case refused.Status == http.StatusUnauthorized && d.connection.HasToken():
		return fail(err, session.EnvToken+" has expired or belongs elsewhere: set a new one, or unset it")
	case refused.Status == http.StatusForbidden:
		return warn("Ask the operator what this client may do", "This client may not read the perks of %s: %s",
			d.connection.Target(), sentence(refused.Message))
	case refused.Status == http.StatusNotFound && d.connection.Sandbox:
		return fail(command.Usagef("%s has no sandbox.", d.connection.APIURL),
			"Use live data: perksctl auth login --sandbox=false")
	}
	return fail(err, "")
}

// age is how a server's version compares with the client's.
type age int

const (
	fits age = iota
	tooOld
	tooNew
)

// sinceTag is what git describe adds to a tag for the commits after it.
var sinceTag = regexp.MustCompile(`-[0-9]+-g[0-9a-f]+$`)

// ageOf compares versions as docs/upgrading.md promises: a server of the same major version has all that an older
// client knows, and may lack what a newer one does. A text that is not a version, such as that of a build without a
// tag, says nothing.
func ageOf(server, client string) age {
	server, client = canonical(server), canonical(client)
	if server == "" || client == "" {
		return fits
	}
	switch {
	case semver.Compare(semver.Major(server), semver.Major(client)) > 0:
		return tooNew
	case semver.Compare(semver.MajorMinor(server), semver.MajorMinor(client)) < 0:
		return tooOld
	}
	return fits
}

// canonical is a version as package semver reads it, or "".
func canonical(version string) string {
	version = sinceTag.ReplaceAllString(strings.TrimSuffix(version, "-dirty"), "")
	return semver.Canonical("v" + strings.TrimPrefix(version, "v"))
}
