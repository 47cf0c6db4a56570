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
		a := answerTo(err)
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
	header.Set("Cache-Control", "no-store")
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
	if errors.Is(err, ErrScope) {
		return token, oauthRefusal("invalid_scope", api.Errorf(api.CodeValidationFailed, "The client %q has only the scopes %s.", client.ID, client.Scopes))
	}
	return token, err
}

// authenticate finds the client whose secret was sent, unless there were too many wrong ones before. Each of these is logged
// with the reason, which the caller is not told; what is refused after them is logged now and then, with its number.
func (s *service) authenticate(c echo.Context, pairs []Pair) (store.Client, error) {
	ctx, network := c.Request().Context(), networkOf(c.RealIP())
	endTurn, err := s.guesses.takeTurn(ctx, network)
	if err != nil {
		return store.Client{}, err
	}
	defer endTurn()
	who := slog.Group("", "request_id", requestID(c), "client", loggable(pairs[0].ID), "address", c.RealIP())
	if err := s.guesses.check(network, pairs); err != nil {
		s.metrics.limited.WithLabelValues(limitOfTokenFailures).Inc()
		if count := s.guesses.refused(network, s.config.Now()); count > 0 {
			s.config.Logger.WarnContext(ctx, "token requests refused after too many failures", who, "refused", count)
		}
		return store.Client{}, err
	}
	client, err := s.authority.Authenticate(ctx, pairs)
	if errors.Is(err, ErrCredentials) {
		s.guesses.failed(network, pairs)
		s.config.Logger.WarnContext(ctx, "token refused", who, "reason", err)
		return store.Client{}, invalidClient(api.WrongCredentials)
	}
	if err == nil {
		s.guesses.welcome.Add(guessedAt(network, client.ID), struct{}{})
	}
	return client, err
}

// tokenRequest is what the body of a request for a token says.
type tokenRequest struct {
	scopes       api.Scopes
	clientID     string // of a form, as the secret is
	clientSecret *string
}

// readTokenRequest reads the optional body. Members that this grant has no use for are ignored, as RFC 6749, section 3.2 asks.
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
	if grant != clientCredentials {
		return request, oauthRefusal("unsupported_grant_type", api.Errorf(api.CodeValidationFailed, "grant_type must be %s, not %q.", clientCredentials, grant))
	}
	if request.scopes, err = api.ParseScopes(list); err != nil {
		return request, oauthRefusal("invalid_scope", err)
	}
	return request, nil
}

// readTokenMembers reads a form or a JSON object and ignores any other body: the specification has none, but some programs
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
	var value any // A number that no double holds is not read as JSON.
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

// credentials are the client id and secret, from the header or from a form (RFC 6749, section 2.3.1), and never from both.
func (t tokenRequest) credentials(r *http.Request) ([]Pair, error) {
	if t.clientSecret == nil {
		pairs := BasicPairs(oneAuthorization(r))
		if len(pairs) == 0 {
			return nil, invalidClient("Send the client id and secret with HTTP Basic authentication, or as client_id and client_secret in a form.")
		}
		if t.clientID != "" && !slices.ContainsFunc(pairs, func(p Pair) bool { return p.ID == t.clientID }) {
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
	return []Pair{{ID: t.clientID, Secret: *t.clientSecret}}, nil
}

func invalidRequest(format string, args ...any) error {
	return oauthRefusal("invalid_request", api.Errorf(api.CodeValidationFailed, format, args...))
}

func invalidClient(message string) error {
	refusal := challenge(api.Errorf(api.CodeInvalidToken, "%s", message), "Basic realm=%q, charset=\"UTF-8\"", realm)
	refusal.oauthError = "invalid_client"
	return refusal
}

// oauthRefusal is always 400, as RFC 6749, section 5.2 has it.
func oauthRefusal(oauthError string, err error) error {
	return &answer{err: answerTo(err).err, status: http.StatusBadRequest, oauthError: oauthError}
}

// issuerPath is where a standard client looks up the issuer of tokens (RFC 8414, section 3). The issuer's own path follows it.
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

// describeIssuer names the issuer to which the requested address belongs, because clients compare it (RFC 8414, section 3.3).
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
