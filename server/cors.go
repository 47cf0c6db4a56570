package server

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
)

// What pages of other origins may send, and may read of an answer beside what every page may.
const (
	corsMethods = "GET, HEAD, POST, PATCH, DELETE"
	corsRequest = "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, X-Request-Id"
	corsAnswer  = "Allow, ETag, Idempotency-Key, Idempotent-Replayed, Link, Location, Retry-After, WWW-Authenticate, X-Request-Id, X-Total-Count"
	corsMaxAge  = "600" // seconds for which a browser remembers what it may send
)

// cors lets pages of the origins that are named read answers. Browsers are never told to send credentials of their own, cookies
// or passwords: a page has to have a token.
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

// CheckOrigin tells what is wrong with an entry of Config.CORSOrigins that no browser would write so.
func CheckOrigin(origin string) error {
	address, err := url.Parse(origin)
	if origin == "*" || err == nil && (address.Scheme == "https" || address.Scheme == "http") &&
		plainHost.MatchString(address.Host) && origin == strings.ToLower(address.Scheme+"://"+address.Host) {
		return nil
	}
	return fmt.Errorf("%q is no origin: write SCHEME://HOST or SCHEME://HOST:PORT in small letters, such as https://app.example, or * for every one", origin)
}
