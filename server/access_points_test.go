package server_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"example.com/perks/server/servertest"
)

// accessPoint is one route, with a request that succeeds for an authorized caller. Each request has its own property
// and user, so that the refused ones can be told from the others.
type accessPoint struct {
	route, column, body string
}

// routeParams are the values of the parameters of a route.
type routeParams struct {
	property   int
	user, file string
}

func (p accessPoint) method() string {
	method, _, _ := strings.Cut(p.route, " ")
	return method
}

func (p accessPoint) request(s *servertest.Server, token string, params routeParams) *http.Request {
	_, path, _ := strings.Cut(p.route, " ")
	redemption := fmt.Sprintf("pending-%d", params.property)
	if strings.HasSuffix(path, "/void") {
		redemption = fmt.Sprintf("approved-%d", params.property)
	}
	path = strings.NewReplacer(":redemptionId", redemption, ":propertyId", fmt.Sprint(params.property), ":perkId",
		"tea", ":userId", params.user, ":file", params.file).Replace(path)
	if strings.HasSuffix(path, "/eligibility") {
		path += "?user_id=" + params.user
	}
	return s.Request(token, p.method(), s.Root()+path, strings.ReplaceAll(p.body, "USER", params.user))
}

// inSandbox begins the columns of the sandbox.
const inSandbox = "sandbox "

// ofProperties is the column of what any scope of properties allows.
const ofProperties = "any scope of properties"

// accessPoints must list every route of the server.
func accessPoints() []accessPoint {
	points := []accessPoint{
		{"POST /v2/auth/token", "token", ""},
		{"GET /v2/get-property/:propertyId", "properties:read", ""},
		{"PATCH /v2/update-property/:propertyId", "properties:write", `{"title":"Changed"}`},
		{"DELETE /v2/delete-property/:propertyId", "properties:write", ""},
		{"GET /v2/partners/properties", ofProperties, ""},
		{"POST /v2/partners/properties", "properties:create", `{"title":"New","price_pw":"120.50"}`},
	}
	for _, path := range []string{"/livez", "/readyz", "/v2/livez", "/v2/readyz", "/v2/health", "/v2/openapi.json",
		"/v2/openapi.yaml", "/", "/docs", "/v2/docs", "/v2/docs/", "/docs/", "/docs/:file",
		"/.well-known/oauth-authorization-server", "/.well-known/oauth-authorization-server/v2"} {
		points = append(points, accessPoint{"GET " + path, "open", ""})
	}
	for base, prefix := range map[string]string{"/v2/partners": "", "/v2/sandbox/partners": inSandbox} {
		points = append(points,
			accessPoint{"GET " + base + "/perks", prefix + "perks:read", ""},
			accessPoint{"GET " + base + "/perks/categories", prefix + "perks:read", ""},
			accessPoint{"GET " + base + "/perks/users/:userId", prefix + "perks:read", ""},
			accessPoint{"GET " + base + "/perks/:perkId", prefix + "perks:read", ""},
			accessPoint{"GET " + base + "/perks/:perkId/eligibility", prefix + "perks:read", ""},
			accessPoint{"POST " + base + "/perks/:perkId/redeem", prefix + "perks:redeem", `{"user_id":"USER"}`},
			accessPoint{"GET " + base + "/users", prefix + "redemptions:read-all", ""},
			accessPoint{"GET " + base + "/reports/redemptions", prefix + "redemptions:read", ""},
			accessPoint{"GET " + base + "/redemptions", prefix + "redemptions:read", ""},
			accessPoint{"GET " + base + "/redemptions/:redemptionId", prefix + "redemptions:read", ""},
			accessPoint{"GET " + base + "/events", prefix + anyScope, ""},
			accessPoint{"POST " + base + "/redemptions/:redemptionId/approve", prefix + "redemptions:decide", ""},
			accessPoint{"POST " + base + "/redemptions/:redemptionId/reject", prefix + "redemptions:decide",
				`{"reason":"why"}`},
			accessPoint{"POST " + base + "/redemptions/:redemptionId/void", prefix + "redemptions:void",
				`{"reason":"why"}`},
		)
	}
	for _, p := range slices.Clone(points) {
		if path, isGet := strings.CutPrefix(p.route, "GET "); isGet {
			points = append(points, accessPoint{"HEAD " + path, p.column, ""})
		}
	}
	return points
}
