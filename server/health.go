package server

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"example.com/perks/api"
)

// health tells partners that the service is there, and which version of it.
func (s *service) health(c echo.Context) error {
	return writeProbe(c, map[string]string{"status": "ok", "version": s.config.Version})
}

// livez tells an orchestrator that the process answers. It asks nothing of the database: a restart would not mend that.
func (s *service) livez(c echo.Context) error {
	return writeProbe(c, map[string]string{"status": "ok"})
}

// readyTime is how long the database may take to prove that it takes writes.
const readyTime = 2 * time.Second

// readyz tells a load balancer whether to send requests here: only while the databases accept writes.
func (s *service) readyz(c echo.Context) error {
	ctx, cancel := context.WithTimeout(c.Request().Context(), readyTime)
	defer cancel()
	err := s.config.Live.Ready(ctx)
	if err == nil && s.config.Sandbox != nil {
		err = s.config.Sandbox.Ready(ctx)
	}
	if err != nil {
		s.config.Logger.WarnContext(ctx, "not ready", "request_id", requestID(c), "error", err)
		return api.Errorf(api.CodeUnavailable, "The database does not take writes now.")
	}
	return writeProbe(c, map[string]string{"status": "ready"})
}

func writeProbe(c echo.Context, body any) error {
	c.Response().Header().Set("Cache-Control", "no-store")
	return writeJSON(c, http.StatusOK, echo.MIMEApplicationJSON, body)
}
