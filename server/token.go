package server

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"example.com/perks/api"
	"example.com/perks/server/auth"
	"example.com/perks/store"
)

// issueToken is POST /auth/token: the client credentials grant of RFC 6749, section 4.4.
func (s *service) issueToken(c echo.Context) error {
	token, err := s.grant(c)
	if err != nil {
		a := answerTo(err)
		s.metrics.tokenAsked(cmp.Or(a.oauthError, string(a.err.Code)))
		return err
	}
	s.metrics.tokenAsked("issued")
	return writeJSON(c, http.StatusOK, echo.MIMEApplicationJSON, token)
}

// grant reads the request and issues a token.
func (s *service) grant(c echo.Context) (token api.Token, err error) {
	header := c.Response().Header()
	header.Set("Cache-Control", "no-store")
	header.Set("Pragma", "no-cache")

	scopes, err := readTokenRequest(c)
	if err != nil {
		return token, err
	}
	pairs := auth.BasicPairs(oneAuthorization(c.Request()))
	if len(pairs) == 0 {
		return token, invalidClient("Send the client id and secret with HTTP Basic authentication.")
	}
	client, err := s.authenticate(c, pairs)
	if err != nil {
		return token, err
	}
	token, err = s.authority.Issue(c.Request().Context(), client, scopes)
	if errors.Is(err, auth.ErrScope) {
		return token, oauthRefusal("invalid_scope", api.Errorf(api.CodeValidationFailed, "The client %q has only the scopes %s.", client.ID, client.Scopes))
	}
	return token, err
}

// authenticate finds the client whose secret was sent, unless there were too many wrong ones before. Each of these is logged
// with the reason, which the caller is not told; what is refused after them is logged now and then, with its number.
func (s *service) authenticate(c echo.Context, pairs []auth.Pair) (store.Client, error) {
	ctx, network := c.Request().Context(), networkOf(c.RealIP())
	endTurn, err := s.guesses.takeTurn(ctx, network)
	if err != nil {
		return store.Client{}, err
	}
	defer endTurn()
	who := slog.Group("", "request_id", requestID(c), "client", loggable(pairs[0].ID), "address", c.RealIP())
	if err := s.guesses.check(network, pairs, s.config.Now()); err != nil {
		s.metrics.rateLimited(limitOfTokenFailures)
		if count, report := s.guesses.refused(network, s.config.Now()); report {
			s.config.Logger.WarnContext(ctx, "token requests refused after too many failures", who, "refused", count)
		}
		return store.Client{}, err
	}
	client, err := s.authority.Authenticate(ctx, pairs)
	if errors.Is(err, auth.ErrCredentials) {
		s.guesses.failed(network, pairs, s.config.Now())
		s.config.Logger.WarnContext(ctx, "token refused", who, "reason", err)
		return store.Client{}, invalidClient("The client id or the secret is wrong, or the client is disabled.")
	}
	if err == nil {
		s.guesses.succeeded(network, client.ID)
	}
	return client, err
}

// readTokenRequest reads the optional body: nothing, JSON or a form. Members that this grant has no use for are ignored,
// as RFC 6749, section 3.2 asks.
func readTokenRequest(c echo.Context) (api.Scopes, error) {
	body, mediaType, err := readBody(c, maxTokenBody, mediaJSON, mediaForm)
	if api.CodeOf(err) == api.CodeInvalidJSON {
		return nil, oauthRefusal("invalid_request", err)
	}
	if err != nil {
		return nil, err
	}
	var members []api.Member
	switch {
	case strings.TrimSpace(string(body)) == "":
	case mediaType == mediaForm:
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return nil, oauthRefusal("invalid_request", api.Errorf(api.CodeInvalidJSON, "The body is not a valid form."))
		}
		members = api.FormMembers(form)
	default:
		members, err = api.ParseObject(body)
		if err != nil {
			return nil, oauthRefusal("invalid_request", err)
		}
	}
	grant, list := "client_credentials", ""
	for _, m := range members {
		if m.Value.IsNull() {
			continue
		}
		problem := ""
		switch m.Name {
		case "grant_type":
			problem = m.Value.Text(&grant)
		case "scope":
			problem = m.Value.Text(&list)
		}
		if problem != "" {
			return nil, oauthRefusal("invalid_request", api.Errorf(api.CodeValidationFailed, "%s %s.", m.Name, problem))
		}
	}
	if grant != "client_credentials" {
		return nil, oauthRefusal("unsupported_grant_type", api.Errorf(api.CodeValidationFailed, "grant_type must be client_credentials, not %q.", grant))
	}
	scopes, err := api.ParseScopes(list)
	if err != nil {
		return nil, oauthRefusal("invalid_scope", err)
	}
	return scopes, nil
}

func invalidClient(message string) error {
	return &answer{
		err:        api.Errorf(api.CodeInvalidToken, "%s", message),
		header:     http.Header{"Www-Authenticate": {fmt.Sprintf("Basic realm=%q, charset=\"UTF-8\"", realm)}},
		oauthError: "invalid_client",
	}
}

// oauthRefusal is always 400, as RFC 6749, section 5.2 has it.
func oauthRefusal(oauthError string, err error) error {
	return &answer{err: answerTo(err).err, status: http.StatusBadRequest, oauthError: oauthError}
}
