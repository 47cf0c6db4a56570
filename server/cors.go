package server

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
)

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
