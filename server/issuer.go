package server

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"example.com/perks/api"
)

// issuerPath is where a standard client looks for what issues tokens (RFC 8414, section 3). The path of the issuer follows it.
const issuerPath = "/.well-known/oauth-authorization-server"

// issuerMetadata describes the endpoint that issues tokens (RFC 8414, section 2).
type issuerMetadata struct {
	Issuer        string     `json:"issuer"`
	TokenEndpoint string     `json:"token_endpoint"`
	AuthMethods   []string   `json:"token_endpoint_auth_methods_supported"`
	GrantTypes    []string   `json:"grant_types_supported"`
	ResponseTypes []string   `json:"response_types_supported"` // required; there is no authorization endpoint that would give any
	Scopes        api.Scopes `json:"scopes_supported"`
	Documentation string     `json:"service_documentation"`
}

// describeIssuer names as the issuer what the address was made from, because clients compare the two (RFC 8414, section 3.3).
func (s *service) describeIssuer(c echo.Context) error {
	address := s.address(c.Request())
	if address.Host == "" {
		return badHeader("Host", "must name this service; its addresses are made from it")
	}
	host := address.Scheme + "://" + address.Host
	return writeJSON(c, http.StatusOK, echo.MIMEApplicationJSON, issuerMetadata{
		Issuer:        host + strings.TrimPrefix(address.Path, issuerPath),
		TokenEndpoint: host + tokenPath,
		AuthMethods:   []string{"client_secret_basic", "client_secret_post"},
		GrantTypes:    []string{clientCredentials},
		ResponseTypes: []string{},
		Scopes:        api.AllScopes(),
		Documentation: host + docsPath + "/",
	})
}
