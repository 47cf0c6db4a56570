package server

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"example.com/perks/api"
	"example.com/perks/store"
)

// Where the two sets of perk addresses begin, and where tokens are issued.
const (
	apiPath     = "/v2"
	livePath    = apiPath + "/partners"
	sandboxPath = apiPath + "/sandbox/partners"
	tokenPath   = apiPath + "/auth/token"
)

func (s *service) routes() *echo.Echo {
	e := echo.New()
	e.HTTPErrorHandler = s.writeError
	e.IPExtractor = s.proxies.caller
	e.Pre(s.stayWithTLS)
	e.Pre(plainPath)
	e.Pre(withoutLastSlash)
	e.Use(secure, s.cors, s.identify, s.trace, s.measure, s.log, s.recover, s.limitTime, wholeSegments)

	get(e, "/livez", s.livez)
	get(e, "/readyz", s.readyz)
	get(e, apiPath+"/livez", s.livez)
	get(e, apiPath+"/readyz", s.readyz)
	get(e, apiPath+"/health", s.health)
	get(e, apiPath+"/openapi.json", s.description.json)
	get(e, apiPath+"/openapi.yaml", s.description.yaml)

	s.docsRoutes(e)

	e.POST(tokenPath, s.issueToken)
	get(e, issuerPath, s.describeIssuer)
	get(e, issuerPath+apiPath, s.describeIssuer)

	get(e, apiPath+"/get-property/:propertyId", s.getProperty, s.property(api.ScopePropertiesRead))
	e.PATCH(apiPath+"/update-property/:propertyId", s.updateProperty, s.property(api.ScopePropertiesWrite))
	e.DELETE(apiPath+"/delete-property/:propertyId", s.deleteProperty, s.property(api.ScopePropertiesWrite))

	s.perkRoutes(e, livePath, s.config.Live, false)
	if s.config.Sandbox != nil {
		s.perkRoutes(e, sandboxPath, s.config.Sandbox, true)
	}
	return e
}

// perkRoutes puts the perk endpoints of one store under a path.
func (s *service) perkRoutes(e *echo.Echo, path string, perks store.Store, sandbox bool) {
	h := perkHandlers{service: s, store: perks, sandbox: sandbox}
	allow := func(scope api.Scope) echo.MiddlewareFunc { return s.authorize(scope, sandbox) }
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
		names = append(names, route.Method+" "+route.Path)
	}
	return names
}

var noSuchAddress = api.Errorf(api.CodeNotFound, "There is nothing at this address. %s/openapi.json lists the addresses.", apiPath)

var noSandbox = api.Errorf(api.CodeNotFound, "There is no sandbox here: this service was started without one.")

// hasNoSandbox tells whether the address is one of the sandbox, and there is none.
func (s *service) hasNoSandbox(c echo.Context) bool {
	path := c.Request().URL.Path
	return s.config.Sandbox == nil && (path == sandboxPath || strings.HasPrefix(path, sandboxPath+"/"))
}

// writesProblems tells whether errors of the address are problem details (RFC 9457), as those of all perk addresses are.
func writesProblems(c echo.Context) bool {
	path := c.Request().URL.Path
	return strings.HasPrefix(path, livePath+"/") || strings.HasPrefix(path, sandboxPath+"/")
}

// wholeSegments keeps a parameter to a segment of the path, one that is not empty. Echo takes nothing for a parameter, and
// gives one at the end of an address all that follows.
func wholeSegments(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		route, path := c.Path(), c.Request().URL.EscapedPath()
		if !strings.HasSuffix(route, "*") && strings.Count(route, "/") != strings.Count(path, "/") || strings.Contains(path, "//") {
			return noSuchAddress
		}
		return next(c)
	}
}

// plainPath has echo route by the decoded path, so that %74oken is token (RFC 3986, section 6.2.2.2), unless a segment has
// a slash of its own.
func plainPath(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		address := c.Request().URL
		if address.RawPath != "" && strings.Count(address.Path, "/") == strings.Count(address.RawPath, "/") {
			address.RawPath = ""
		}
		return next(c)
	}
}

// withoutLastSlash drops a trailing slash from the path, for every method. It keeps one that follows another slash, because
// the empty segment between them counts.
func withoutLastSlash(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		address := c.Request().URL
		raw := cmp.Or(address.RawPath, address.Path)
		if strings.HasSuffix(raw, "/") && !strings.Contains(raw, "//") && !slices.Contains(foldersOfDocs, raw) {
			c.Set(sentPathKey, address.Path)
			address.Path, address.RawPath = strings.TrimSuffix(address.Path, "/"), strings.TrimSuffix(address.RawPath, "/")
		}
		return next(c)
	}
}

const sentPathKey = "sent path"

// sentPath is the path as the caller sent it, for the log.
func sentPath(c echo.Context) string {
	sent, _ := c.Get(sentPathKey).(string)
	return cmp.Or(sent, c.Request().URL.Path)
}

var _ http.Handler = (*Server)(nil)
