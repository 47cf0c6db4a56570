package server

import (
	"context"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"example.com/perks/api"
)

// Connection is the one that a request came on. Package listen has it.
type Connection interface {
	// Admit waits for space outside of the reserve of connections, and reports whether there was any.
	Admit(ctx context.Context) bool
	// LimitSendBuffer keeps the system from storing megabytes for a caller that does not read.
	LimitSendBuffer()
	// CanWrite reports whether the system takes more at once.
	CanWrite() bool
	// AwaitWrite waits for CanWrite. After so long the error is os.ErrDeadlineExceeded.
	AwaitWrite(within time.Duration) error
}

// anyConnection has no limits.
type anyConnection struct{}

func (anyConnection) Admit(context.Context) bool     { return true }
func (anyConnection) LimitSendBuffer()               {}
func (anyConnection) CanWrite() bool                 { return true }
func (anyConnection) AwaitWrite(time.Duration) error { return nil }

// reservedRoutes may use the reserve of connections: they show that the service works, and let callers begin.
var reservedRoutes = []string{"/livez", "/readyz", apiPath + "/livez", apiPath + "/readyz", tokenPath}

// admit keeps other requests off the reserve.
func (s *service) admit(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		ctx := c.Request().Context()
		if !slices.Contains(reservedRoutes, c.Path()) && !s.config.Connection(ctx).Admit(ctx) {
			c.Response().Header().Set("Connection", "close")
			return api.Errorf(api.CodeUnavailable, "All connections are busy. Try again later.")
		}
		return next(c)
	}
}
