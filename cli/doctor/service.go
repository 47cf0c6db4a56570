package doctor

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"example.com/perks/api/client"
	"example.com/perks/cli/command"
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
	return fail(command.Usagef("%s is not the address of the API: a web server answers there, with status %d.", x.connection.APIURL, seen.status), "Ask the operator for the address; it ends with the path of the version, such as /v2")
}

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
