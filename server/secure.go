package server

import "github.com/labstack/echo/v4"

// secureHeaders say that an answer is data for programs: a browser shall not run, frame or guess at it, and no page of
// another origin shall have it, but for those that cors lets. A page of ours sets its own.
var secureHeaders = map[string][]string{
	"Content-Security-Policy":      {"default-src 'none'; frame-ancestors 'none'"},
	"Cross-Origin-Resource-Policy": {"same-origin"},
	"Referrer-Policy":              {"no-referrer"},
	"X-Content-Type-Options":       {"nosniff"},
}

func secure(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		header := c.Response().Header()
		if len(c.Request().TransferEncoding) > 0 {
			// It may have had a Content-Length too, which net/http drops without a word. What follows such a request on its
			// connection may be a part of it to a proxy, so nothing follows (RFC 9112, section 6.1).
			header["Connection"] = []string{"close"}
		}
		for name, values := range secureHeaders {
			header[name] = values
		}
		return next(c)
	}
}
