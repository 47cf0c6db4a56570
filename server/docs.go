package server

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
)

// Where the page that shows the API description to people is. It is no part of the API that it shows.
const docsPath = "/docs"

// foldersOfDocs are the addresses that keep their trailing slash, because links on the page are relative to it.
var foldersOfDocs = []string{"/", docsPath + "/", apiPath + docsPath + "/"}

func newReference() (*reference, error) {
	page, err := newReferencePage("Perks and properties: API reference", ".."+apiPath+"/openapi")
	if err != nil {
		return nil, fmt.Errorf("preparing %s: %w", docsPath, err)
	}
	return page, nil
}

// docsRoutes puts the page at /docs/, because its links are relative to a folder. The addresses where people look first redirect there.
func (s *service) docsRoutes(e *echo.Echo) {
	for _, path := range []string{"/", docsPath, apiPath + docsPath, apiPath + docsPath + "/"} {
		get(e, path, func(c echo.Context) error {
			// Relative: a proxy may have put all of this below a path.
			page := strings.Repeat("../", strings.Count(path, "/")-1) + "docs/"
			c.Response().Header().Set("Location", page)
			return writeJSON(c, http.StatusPermanentRedirect, echo.MIMEApplicationJSON, map[string]string{"docs": page})
		})
	}
	get(e, docsPath+"/", echo.WrapHandler(s.reference))
	get(e, docsPath+"/:file", func(c echo.Context) error {
		file, found := s.reference.File(c.Param("file"))
		if !found {
			return noSuchAddress
		}
		return echo.WrapHandler(file)(c)
	})
}
