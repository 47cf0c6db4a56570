package doctor

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
)

// checkCredentials obtains a token even if one is kept: the kept one would hide that the secret is no longer good.
func (x *examination) checkCredentials(ctx context.Context) finding {
	token, err := x.session.NewToken(ctx, x.connection)
	if err != nil {
		return x.failCredentials(err)
	}
	x.token = token
	if x.connection.HasToken() {
		return fine("%s gives the token. Whether the server takes it is the check of perks.", session.EnvToken)
	}
	return fine("The server gives %s a token until %s.", x.connection.ClientID, token.ExpiresAt.UTC().Format(time.RFC3339))
}

func (x *examination) failCredentials(err error) finding {
	var refused *client.Error
	if !errors.As(err, &refused) {
		return fail(err, "")
	}
	switch refused.Status {
	case http.StatusUnauthorized:
		return fail(err, "Ask the operator whether the client is enabled, and log in with its secret: perksctl auth login")
	case http.StatusNotFound:
		return fail(command.Usagef("%s gives no tokens: it is not the address of the API.", x.connection.APIURL), "Ask the operator for the address; it ends with the path of the version, such as /v2")
	case http.StatusTooManyRequests:
		return fail(err, "Too many wrong secrets were tried: wait a minute")
	}
	return fail(err, "")
}

// needed is what commands do not work without a scope.
func needed() []struct {
	scope    api.Scope
	commands string
} {
	return []struct {
		scope    api.Scope
		commands string
	}{
		{api.ScopePerksRead, "perk list, perk get, perk categories, user perks"},
		{api.ScopePerksRedeem, "perk redeem"},
		{api.ScopePropertiesRead, "property get, property edit"},
		{api.ScopePropertiesWrite, "property update, property edit, property delete"},
	}
}

func (x *examination) checkScopes(context.Context) finding {
	if x.token.Scopes == nil {
		return skip("Not checked, because it is not told which scopes the token has.")
	}
	var lacking []string
	for _, need := range needed() {
		if !slices.Contains(x.token.Scopes, string(need.scope)) {
			lacking = append(lacking, string(need.scope)+" ("+need.commands+")")
		}
	}
	if len(lacking) > 0 {
		return warn("If you need these commands, ask the operator for the scopes", "The token lacks %s.", strings.Join(lacking, "; "))
	}
	return fine("The token has every scope: %s.", strings.Join(x.token.Scopes, ", "))
}

// checkPerks reads one perk of where commands go, the sandbox if the profile says so.
func (x *examination) checkPerks(ctx context.Context) finding {
	c, _, err := x.client(x.connection.APIURL, x.token.Value)
	if err != nil {
		return fail(err, "")
	}
	_, err = c.Do(ctx, client.Request{Method: http.MethodGet, Path: "partners/perks", Query: url.Values{"per_page": {"1"}}})
	var refused *client.Error
	switch {
	case err == nil:
		return fine("The perks of %s can be read.", x.connection.Place())
	case !errors.As(err, &refused):
		return fail(err, "")
	case refused.Status == http.StatusUnauthorized && x.connection.HasToken():
		return fail(err, session.EnvToken+" has ended or belongs elsewhere: set a new one, or unset it")
	case refused.Status == http.StatusForbidden:
		return warn("Ask the operator what this client may do", "This client may not read the perks of %s: %s", x.connection.Place(), sentence(refused.Message))
	case refused.Status == http.StatusNotFound && x.connection.Sandbox:
		return fail(command.Usagef("%s has no sandbox.", x.connection.APIURL), "Go on without it: perksctl auth login --sandbox=false")
	}
	return fail(err, "")
}
