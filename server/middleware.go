package server

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"runtime/debug"
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
		s.config.Logger.InfoContext(r.Context(), "request",
			"request_id", requestID(c),
			"method", loggable(r.Method),
			"path", loggable(sentPath(c)),
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

// tlsYear is RFC 6797's promise for a year. It is for this name alone: what lies under it need not be ours.
const tlsYear = "max-age=31536000"

// stayWithTLS has browsers that came over TLS never come without it. In the open the header means nothing, and is not sent.
func (s *service) stayWithTLS(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if s.proxies.scheme(c.Request()) == "https" {
			c.Response().Header().Set("Strict-Transport-Security", tlsYear)
		}
		return next(c)
	}
}
