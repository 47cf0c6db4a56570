package server

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"example.com/perks/api"
	"example.com/perks/server/listen"
)

const requestIDHeader = "X-Request-Id"

// saneRequestID matches ids that are safe to log, but also tokens.
var saneRequestID = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,128}$`)

// identify gives every request an id: the caller's if it is safe to log, else a new one.
func (s *service) identify(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		id := c.Request().Header.Get(requestIDHeader)
		if !saneRequestID.MatchString(id) || hideSecrets(id) != id {
			id = s.config.NewID()
		}
		c.Response().Header().Set(requestIDHeader, id)
		return next(c)
	}
}

func requestID(c echo.Context) string { return c.Response().Header().Get(requestIDHeader) }

// log writes one line for each request. It never logs the query or headers, which may contain secrets.
func (s *service) log(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start := time.Now()
		err := next(c)
		if err != nil {
			c.Error(err) // writes the response, so that its status is known below
		}
		r := c.Request()
		if !s.config.Logger.Enabled(r.Context(), slog.LevelInfo) {
			return nil
		}
		sent, _ := c.Get(sentPathKey).(string)
		caller := callerOf(c)
		args := []any{"request_id", requestID(c),
			"method", sanitize(r.Method),
			"path", sanitize(cmp.Or(sent, r.URL.Path)),
			"status", c.Response().Status,
			"bytes", c.Response().Size,
			"duration", time.Since(start),
			"client", caller.ClientID,
			"address", c.RealIP(),
		}
		if caller.Actor != "" {
			args = append(args, "actor", sanitize(caller.Actor))
		}
		s.config.Logger.InfoContext(r.Context(), "request", args...)
		return nil
	}
}

// recover replaces a panic by an internal error, except the one with which net/http aborts a response.
func (s *service) recover(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			switch cause := recover(); cause {
			case nil:
			case http.ErrAbortHandler:
				panic(cause)
			default:
				s.metrics.panics.Inc()
				err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
			}
		}()
		return next(c)
	}
}

// requestTime limits the work for one request, except a stream of events once it has begun. The listener has its own
// timeouts for reading and writing.
const requestTime = 15 * time.Second

func (s *service) limitTime(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if wantsStream(c) {
			c.Set(streamKey, c.Request().Context())
		}
		ctx, cancel := context.WithTimeout(c.Request().Context(), requestTime)
		defer cancel()
		c.SetRequest(c.Request().WithContext(ctx))
		return next(c)
	}
}

// reservedRoutes may use the reserve of connections: they show that the service works, and let callers begin.
var reservedRoutes = []string{"/livez", "/readyz", apiPath + "/livez", apiPath + "/readyz", tokenPath}

// admit keeps other requests off the reserve.
func (s *service) admit(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		ctx := c.Request().Context()
		if !slices.Contains(reservedRoutes, c.Path()) && !listen.ConnOf(ctx).Admit(ctx) {
			c.Response().Header().Set("Connection", "close")
			return api.Errorf(api.CodeUnavailable, "All connections are busy. Try again later.")
		}
		return next(c)
	}
}

// proxies decides which X-Forwarded- headers to trust.
type proxies struct {
	enabled bool
	trusted []netip.Prefix // if empty, the peer is the only proxy
}

// mayForward tells whether the peer is a proxy whose X-Forwarded- headers are trusted.
func (p proxies) mayForward(r *http.Request) bool {
	return p.enabled && (len(p.trusted) == 0 || p.trusts(peer(r)))
}

// scheme returns the X-Forwarded-Proto of a trusted proxy, or else the scheme of the connection.
func (p proxies) scheme(r *http.Request) string {
	if scheme := r.Header.Get("X-Forwarded-Proto"); p.mayForward(r) && (scheme == "http" || scheme == "https") {
		return scheme
	}
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

func (p proxies) trusts(address netip.Addr) bool {
	return slices.ContainsFunc(p.trusted, func(network netip.Prefix) bool { return network.Contains(address) })
}

// clientAddress returns the address that a request comes from. Each proxy appends the address of its peer to
// X-Forwarded-For, so it is the last entry that isn't a proxy's. Anything before it is made up by the client, as is
// anything before an invalid entry.
func (p proxies) clientAddress(r *http.Request) string {
	from := peer(r)
	if !p.mayForward(r) {
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
	address, _ := parseHop(r.RemoteAddr) // always valid: net/http wrote it
	return address
}

// parseHop parses an address as proxies write it, some with a port or brackets, into one form for each address.
func parseHop(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	withPort, err := netip.ParseAddrPort(text)
	address := withPort.Addr()
	if err != nil {
		address, err = netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	}
	return address.Unmap().WithZone(""), err == nil
}

// networkOf returns the network whose failures are counted: an IPv4 address, or the /64 that an IPv6 subscriber has.
func networkOf(address string) string {
	parsed, err := netip.ParseAddr(address)
	if err != nil || parsed.Is4() {
		return address
	}
	return netip.PrefixFrom(parsed, 64).Masked().String()
}

// What pages of other origins may send, and which response headers they may read.
const (
	corsMethods        = "GET, HEAD, POST, PATCH, DELETE"
	corsRequestHeaders = "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, " +
		"Perks-Actor, X-Position, X-Request-Id"
	corsResponseHeaders = "Allow, ETag, Idempotency-Key, Idempotent-Replayed, Link, Location, Perks-Actor, " +
		"Perks-Four-Eyes, Retry-After, WWW-Authenticate, X-As-Of, X-Centre, X-Distances, X-Metadata-Indexed, X-Position, " +
		"X-Previous-ETag, X-Request-Id, X-Searched-Metadata, X-Total-Count"
	corsMaxAge = "600" // seconds for which browsers cache a preflight
)

// cors lets pages of the configured origins read responses, never with cookies or stored passwords: they need a token.
func (s *service) cors(next echo.HandlerFunc) echo.HandlerFunc {
	origins := s.config.CORSOrigins
	if len(origins) == 0 {
		return next
	}
	everyone := slices.Contains(origins, "*")
	return func(c echo.Context) error {
		r, header := c.Request(), c.Response().Header()
		origin := r.Header.Get("Origin")
		if everyone {
			header.Set("Access-Control-Allow-Origin", "*")
		} else {
			header.Add("Vary", "Origin")
			if !slices.Contains(origins, origin) {
				return next(c)
			}
			header.Set("Access-Control-Allow-Origin", origin)
		}
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			header.Set("Access-Control-Allow-Methods", corsMethods)
			header.Set("Access-Control-Allow-Headers", corsRequestHeaders)
			header.Set("Access-Control-Max-Age", corsMaxAge)
		} else {
			header.Set("Access-Control-Expose-Headers", corsResponseHeaders)
		}
		return next(c)
	}
}

// CheckOrigin returns an error unless Config.CORSOrigins may contain the origin, spelled as browsers send it.
func CheckOrigin(origin string) error {
	address, err := url.Parse(origin)
	if origin == "*" || err == nil && (address.Scheme == "https" || address.Scheme == "http") &&
		plainHost.MatchString(address.Host) && origin == strings.ToLower(address.Scheme+"://"+address.Host) {
		return nil
	}
	return fmt.Errorf("%q is not an origin: write SCHEME://HOST or SCHEME://HOST:PORT in lower case, such as "+
		"https://app.example, or * for all origins", origin)
}

// secureHeaders say that a response is data for programs: browsers must not run it, frame it, sniff its type or give it
// to pages of other origins, except those that cors allows. The docs page sets its own.
var secureHeaders = map[string][]string{
	"Content-Security-Policy":      {"default-src 'none'; frame-ancestors 'none'"},
	"Cross-Origin-Resource-Policy": {"same-origin"},
	"Referrer-Policy":              {"no-referrer"},
	"X-Content-Type-Options":       {"nosniff"},
}

func (s *service) secure(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r, header := c.Request(), c.Response().Header()
		for name, values := range secureHeaders {
			header[name] = values
		}
		if s.proxies.scheme(r) == "https" {
			// Browsers must use TLS from now on (RFC 6797), for this name only: we may not own its subdomains.
			header.Set("Strict-Transport-Security", "max-age=31536000")
		}
		if len(r.TransferEncoding) > 0 {
			// If it also had a Content-Length, net/http has dropped that, and a proxy may take what follows for a part
			// of this request. So the connection is closed (RFC 9112, section 6.1).
			header.Set("Connection", "close")
		}
		return next(c)
	}
}
