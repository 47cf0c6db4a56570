package server

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"example.com/perks/api"
	"example.com/perks/store"
)

// clientCredentials is the only grant type.
const clientCredentials = "client_credentials"

// issueToken is POST /auth/token: the client credentials grant of RFC 6749, section 4.4.
func (s *service) issueToken(c echo.Context) error {
	token, err := s.grant(c)
	outcome := "issued"
	if err != nil {
		a := responseTo(err)
		outcome = cmp.Or(a.oauthError, string(a.err.Code))
	}
	s.metrics.tokens.WithLabelValues(outcome).Inc()
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, echo.MIMEApplicationJSON, token)
}

func (s *service) grant(c echo.Context) (token api.Token, err error) {
	header := c.Response().Header()
	header.Set("Cache-Control", noStore)
	header.Set("Pragma", "no-cache")

	request, err := readTokenRequest(c)
	if err != nil {
		return token, err
	}
	pairs, err := request.credentials(c.Request())
	if err != nil {
		return token, err
	}
	client, err := s.authenticate(c, pairs)
	if err != nil {
		return token, err
	}
	token, err = s.authority.Issue(c.Request().Context(), client, request.scopes)
	if err == nil {
		s.notes.note(client, s.now())
	}
	if request.namesGrant {
		token.ExpiresAt = time.Time{} // Authlib before 1.6 reads expires_at as a number, and fails
	}
	if errors.Is(err, ErrScope) {
		return token, oauthRefusal("invalid_scope",
			api.Errorf(api.CodeValidationFailed, "The client %q has only the scopes %s.", client.ID, client.Scopes))
	}
	return token, err
}

// authenticate returns the client with these credentials, unless there were too many failures before. The log has each
// failure with its reason, which the caller isn't told. Requests refused after too many failures are logged now and
// then, with their number.
func (s *service) authenticate(c echo.Context, pairs []Credentials) (store.Client, error) {
	ctx, network := c.Request().Context(), networkOf(c.RealIP())
	unlock, err := s.throttle.lock(ctx, network)
	if err != nil {
		return store.Client{}, err
	}
	defer unlock()
	who := slog.Group("", "request_id", requestID(c), "client", sanitize(pairs[0].ID), "address", c.RealIP())
	if err := s.throttle.check(network, pairs); err != nil {
		s.metrics.limited.WithLabelValues(limitOfTokenFailures).Inc()
		if count := s.throttle.countRefusal(network, s.config.Now()); count > 0 {
			s.config.Logger.WarnContext(ctx, "token requests refused after too many failures", who, "refused", count)
		}
		return store.Client{}, err
	}
	client, err := s.authority.Authenticate(ctx, pairs)
	if errors.Is(err, ErrCredentials) {
		if !errors.Is(err, errEnded) { // not a guess, and others behind the same router may send the new one
			s.throttle.countFailure(network, pairs)
		}
		s.config.Logger.WarnContext(ctx, "token refused", who, "reason", err)
		return store.Client{}, invalidClient(api.WrongCredentials)
	}
	if err == nil {
		s.throttle.countSuccess(network, client.ID)
	}
	return client, err
}

// tokenRequest is the body of a token request.
type tokenRequest struct {
	scopes       api.Scopes
	namesGrant   bool   // as clients of RFC 6749 do
	clientID     string // in a form only, like the secret
	clientSecret *string
}

// readTokenRequest reads the optional body. It ignores unknown members, as RFC 6749, section 3.2 requires.
func readTokenRequest(c echo.Context) (request tokenRequest, err error) {
	members, isForm, err := readTokenMembers(c)
	if err != nil {
		return request, err
	}
	grant, list, secret := clientCredentials, "", ""
	for _, m := range members {
		into := map[string]*string{"grant_type": &grant, "scope": &list}[m.Name]
		if isForm && m.Name == "client_id" {
			into = &request.clientID
		}
		if isForm && m.Name == "client_secret" {
			into, request.clientSecret = &secret, &secret
		}
		if into == nil || m.Value.IsNull() && !m.Repeated {
			continue
		}
		problem := m.Value.Text(into)
		if m.Repeated {
			problem = "is given more than once"
		}
		if problem != "" {
			return request, invalidRequest("%s %s.", m.Name, problem)
		}
	}
	request.namesGrant = slices.ContainsFunc(members, func(m api.Member) bool {
		return m.Name == "grant_type" && !m.Value.IsNull()
	})
	if grant != clientCredentials {
		return request, oauthRefusal("unsupported_grant_type",
			api.Errorf(api.CodeValidationFailed, "grant_type must be %s, not %q.", clientCredentials, grant))
	}
	if request.scopes, err = api.ParseScopes(list); err != nil {
		return request, oauthRefusal("invalid_scope", err)
	}
	return request, nil
}

// readTokenMembers reads a form or a JSON object. It ignores any other body: the API defines none, but some programs
// always send one, such as null or an empty array.
func readTokenMembers(c echo.Context) (members []api.Member, isForm bool, err error) {
	body, mediaType, err := readBody(c, maxTokenBody)
	if api.CodeOf(err) == api.CodeInvalidJSON {
		return nil, false, oauthRefusal("invalid_request", err)
	}
	if err != nil {
		return nil, false, err
	}
	isForm = mediaType == mediaForm
	var value any // numbers that a double can't hold are not read as JSON
	isJSON := !isForm && json.Unmarshal(body, &value) == nil
	if _, isObject := value.(map[string]any); len(bytes.TrimSpace(body)) == 0 || isJSON && !isObject {
		return nil, isForm, nil
	}
	members, err = readMembers(body, mediaType, api.FormMembers)
	switch {
	case err == nil:
		return members, isForm, nil
	case isForm || mediaType == mediaJSON:
		return nil, isForm, oauthRefusal("invalid_request", err)
	}
	return nil, false, nil // its Content-Type names neither
}

// credentials returns the client id and secret of the header or of a form (RFC 6749, section 2.3.1), never of both.
func (t tokenRequest) credentials(r *http.Request) ([]Credentials, error) {
	if t.clientSecret == nil {
		pairs := BasicCredentials(oneAuthorization(r))
		if len(pairs) == 0 {
			return nil, invalidClient("Send the client id and secret with HTTP Basic authentication, or as client_id " +
				"and client_secret in a form.")
		}
		if t.clientID != "" && !slices.ContainsFunc(pairs, func(p Credentials) bool { return p.ID == t.clientID }) {
			return nil, invalidRequest("client_id in the form is not the client of the Authorization header.")
		}
		return pairs, nil
	}
	if len(r.Header.Values("Authorization")) > 0 {
		return nil, invalidRequest("Send the client secret once: in the Authorization header or in the form.")
	}
	if t.clientID == "" {
		return nil, invalidClient("Send client_id with client_secret.")
	}
	return []Credentials{{ID: t.clientID, Secret: *t.clientSecret}}, nil
}

func invalidRequest(format string, args ...any) error {
	return oauthRefusal("invalid_request", api.Errorf(api.CodeValidationFailed, format, args...))
}

func invalidClient(message string) error {
	refusal := challenge(api.Errorf(api.CodeInvalidToken, "%s", message), "Basic realm=%q, charset=\"UTF-8\"", realm)
	refusal.oauthError = "invalid_client"
	return refusal
}

// oauthRefusal has status 400, as RFC 6749, section 5.2 requires.
func oauthRefusal(oauthError string, err error) error {
	return &errorResponse{err: responseTo(err).err, status: http.StatusBadRequest, oauthError: oauthError}
}

// issuerPath is where standard clients look up the token issuer, before its own path (RFC 8414, section 3).
const issuerPath = "/.well-known/oauth-authorization-server"

// issuerMetadata describes the endpoint that issues tokens (RFC 8414, section 2).
type issuerMetadata struct {
	Issuer        string     `json:"issuer"`
	TokenEndpoint string     `json:"token_endpoint"`
	AuthMethods   []string   `json:"token_endpoint_auth_methods_supported"`
	GrantTypes    []string   `json:"grant_types_supported"`
	ResponseTypes []string   `json:"response_types_supported"` // required, but there is no authorization endpoint
	Scopes        api.Scopes `json:"scopes_supported"`
	Documentation string     `json:"service_documentation"`
}

// describeIssuer names the issuer of the requested address, because clients compare them (RFC 8414, section 3.3).
func (s *service) describeIssuer(c echo.Context) error {
	address := s.address(c.Request())
	if address.Host == "" {
		return badHeader("Host", "must name this service; its addresses are made from it")
	}
	host := address.Scheme + "://" + address.Host
	c.Response().Header().Set("Cache-Control", noStore) // the address may be what a stranger has claimed
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
