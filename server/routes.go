package server

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"example.com/perks/api"
	"example.com/perks/store"
)

// Where the two sets of perk addresses begin.
const (
	apiPath     = "/v2"
	livePath    = apiPath + "/partners"
	sandboxPath = apiPath + "/sandbox/partners"
)

func (s *service) routes() *echo.Echo {
	e := echo.New()
	e.HTTPErrorHandler = s.writeError
	e.IPExtractor = echo.ExtractIPDirect()
	if s.config.BehindProxy {
		e.IPExtractor = echo.ExtractIPFromXFFHeader()
	}
	e.Use(s.identify, s.trace, s.measure, s.log, s.recover, s.limitTime)

	get(e, "/livez", s.livez)
	get(e, "/readyz", s.readyz)
	get(e, apiPath+"/health", s.health)
	get(e, apiPath+"/openapi.json", s.description.json)
	get(e, apiPath+"/openapi.yaml", s.description.yaml)

	s.docsRoutes(e)

	e.POST(apiPath+"/auth/token", s.issueToken)

	get(e, apiPath+"/get-property/:propertyId", s.getProperty, s.property(api.ScopePropertiesRead))
	e.PATCH(apiPath+"/update-property/:propertyId", s.updateProperty, s.property(api.ScopePropertiesWrite))
	e.DELETE(apiPath+"/delete-property/:propertyId", s.deleteProperty, s.property(api.ScopePropertiesWrite))

	s.perkRoutes(e, livePath, s.config.Live, false)
	if s.config.Sandbox != nil {
		s.perkRoutes(e, sandboxPath, s.config.Sandbox, true)
	}
	for _, path := range []string{livePath, sandboxPath} {
		e.RouteNotFound(path+"/*", asProblem(func(echo.Context) error { return noSuchAddress }))
	}
	return e
}

// perkRoutes puts the perk endpoints of one store under a path.
func (s *service) perkRoutes(e *echo.Echo, path string, perks store.Store, sandbox bool) {
	h := perkHandlers{service: s, store: perks, sandbox: sandbox}
	allow := func(scope api.Scope) echo.MiddlewareFunc {
		authorize := s.authorize(scope, sandbox)
		return func(next echo.HandlerFunc) echo.HandlerFunc { return asProblem(authorize(next)) }
	}
	get(e, path+"/perks", h.list, allow(api.ScopePerksRead))
	get(e, path+"/perks/categories", h.categories, allow(api.ScopePerksRead))
	get(e, path+"/perks/users/:userId", h.listForUser, allow(api.ScopePerksRead))
	get(e, path+"/perks/:perkId", h.get, allow(api.ScopePerksRead))
	e.POST(path+"/perks/:perkId/redeem", h.redeem, allow(api.ScopePerksRedeem))
}

func (s *service) property(scope api.Scope) echo.MiddlewareFunc { return s.authorize(scope, false) }

// get answers HEAD as well, as RFC 9110, section 9.3.2 expects; net/http leaves the body out.
func get(e *echo.Echo, path string, handler echo.HandlerFunc, middleware ...echo.MiddlewareFunc) {
	e.GET(path, handler, middleware...)
	e.HEAD(path, handler, middleware...)
}

func routeNames(e *echo.Echo) []string {
	var names []string
	for _, route := range e.Routes() {
		if route.Method != echo.RouteNotFound {
			names = append(names, route.Method+" "+route.Path)
		}
	}
	return names
}

var noSuchAddress = api.Errorf(api.CodeNotFound, "There is nothing at this address. %s/openapi.json lists the addresses.", apiPath)

// asProblem marks a route whose errors are problem details (RFC 9457).
func asProblem(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Set(problemKey, true)
		return next(c)
	}
}

const problemKey = "problem"

func writesProblems(c echo.Context) bool { return c.Get(problemKey) == true }

var _ http.Handler = (*Server)(nil)
