package server

import (
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"example.com/perks/server/reference"
)

// Where the page that shows the API description to people is. It is no part of the API that it shows.
const docsPath = "/docs"

func newReference() (*reference.Page, error) {
	page, err := reference.New("Perks and properties: API reference", ".."+apiPath+"/openapi")
	if err != nil {
		return nil, fmt.Errorf("preparing %s: %w", docsPath, err)
	}
	return page, nil
}

// docsRoutes puts the page at /docs/, because its links are relative to a folder.
func (s *service) docsRoutes(e *echo.Echo) {
	get(e, docsPath, func(c echo.Context) error {
		c.Response().Header().Set("Location", "docs/") // relative: a proxy may have put all of this below a path
		return c.NoContent(http.StatusPermanentRedirect)
	})
	get(e, docsPath+"/", echo.WrapHandler(s.reference))
	get(e, docsPath+"/:file", func(c echo.Context) error {
		file, found := s.reference.File(c.Param("file"))
		if !found {
			return noSuchAddress
		}
		return echo.WrapHandler(file)(c)
	})
}
