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
)

const requestIDHeader = "X-Request-Id"

// saneRequestID is what a log takes as it is. A token would match too.
var saneRequestID = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,128}$`)

// identify gives every request an id: the caller's if it is sane, else a new one.
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

// log writes one line for every request. The path is logged, the query and the headers never are: they may hold secrets.
func (s *service) log(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start := time.Now()
		err := next(c)
		if err != nil {
			c.Error(err) // writes the response, so that the line below can tell its status
		}
		r := c.Request()
		if !s.config.Logger.Enabled(r.Context(), slog.LevelInfo) {
			return nil
		}
		sent, _ := c.Get(sentPathKey).(string)
		s.config.Logger.InfoContext(r.Context(), "request",
			"request_id", requestID(c),
			"method", loggable(r.Method),
			"path", loggable(cmp.Or(sent, r.URL.Path)),
			"status", c.Response().Status,
			"bytes", c.Response().Size,
			"duration", time.Since(start),
			"client", callerOf(c).ClientID,
			"address", c.RealIP(),
		)
		return nil
	}
}

// recover turns a panic into an error, which is answered as internal. net/http's own way of giving up on a response is
// let through.
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

// requestTime bounds the work for one request; the listener's own timeouts bound reading and writing.
const requestTime = 15 * time.Second

func (s *service) limitTime(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		ctx, cancel := context.WithTimeout(c.Request().Context(), requestTime)
		defer cancel()
		c.SetRequest(c.Request().WithContext(ctx))
		return next(c)
	}
}

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
	address, _ := parseHop(r.RemoteAddr) // net/http wrote it
	return address
}

// parseHop takes an address as proxies write it: some add the port, and put IPv6 in brackets. It leaves each only one spelling.
func parseHop(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	withPort, err := netip.ParseAddrPort(text)
	address := withPort.Addr()
	if err != nil {
		address, err = netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	}
	return address.Unmap().WithZone(""), err == nil
}

// networkOf returns what failures are counted by: an IPv4 address, and of an IPv6 address the /64, all of which a single
// subscriber has.
func networkOf(address string) string {
	parsed, err := netip.ParseAddr(address)
	if err != nil || parsed.Is4() {
		return address
	}
	return netip.PrefixFrom(parsed, 64).Masked().String()
}

// What pages of other origins may send, and which headers of an answer they may read.
const (
	corsMethods = "GET, HEAD, POST, PATCH, DELETE"
	corsRequest = "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, X-Request-Id"
	corsAnswer  = "Allow, ETag, Idempotency-Key, Idempotent-Replayed, Link, Location, Retry-After, WWW-Authenticate, X-Request-Id, X-Total-Count"
	corsMaxAge  = "600" // seconds for which a browser remembers what it may send
)

// cors lets pages of the configured origins read answers. It never allows cookies or passwords that a browser keeps: a page
// needs a token.
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
			header.Set("Access-Control-Allow-Headers", corsRequest)
			header.Set("Access-Control-Max-Age", corsMaxAge)
		} else {
			header.Set("Access-Control-Expose-Headers", corsAnswer)
		}
		return next(c)
	}
}

// CheckOrigin returns what is wrong with an entry of Config.CORSOrigins, or nil. It must be spelled as browsers send it.
func CheckOrigin(origin string) error {
	address, err := url.Parse(origin)
	if origin == "*" || err == nil && (address.Scheme == "https" || address.Scheme == "http") &&
		plainHost.MatchString(address.Host) && origin == strings.ToLower(address.Scheme+"://"+address.Host) {
		return nil
	}
	return fmt.Errorf("%q is not an origin: write SCHEME://HOST or SCHEME://HOST:PORT in lower case, such as https://app.example, or * for all origins", origin)
}

// secureHeaders say that an answer is data for programs: a browser shall not run, frame or guess at it, and no page of
// another origin shall have it, but for those that cors lets. A page of ours sets its own.
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
			// Browsers that came over TLS shall never come without it (RFC 6797), for a year, and to this name alone: what lies under
			// it need not be ours.
			header.Set("Strict-Transport-Security", "max-age=31536000")
		}
		if len(r.TransferEncoding) > 0 {
			// It may have had a Content-Length too, which net/http drops without a word. What follows such a request on its
			// connection may be a part of it to a proxy, so nothing follows (RFC 9112, section 6.1).
			header.Set("Connection", "close")
		}
		return next(c)
	}
}
