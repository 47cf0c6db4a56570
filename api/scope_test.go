package api_test

import (
	"strings"
	"testing"

	"example.com/perks/api"
)

func TestParseScopes(t *testing.T) {
	for list, want := range map[string]string{
		"":                                    "",
		" , ":                                 "",
		"perks:read":                          "perks:read",
		"properties:write perks:read":         "perks:read properties:write",
		"perks:read,perks:redeem, perks:read": "perks:read perks:redeem",
		api.AllScopes().String():              api.AllScopes().String(),
	} {
		scopes, err := api.ParseScopes(list)
		if err != nil || scopes.String() != want {
			t.Errorf("%q gives %q, %v, want %q", list, scopes, err, want)
		}
	}
}

func TestParseScopesErrorListsScopes(t *testing.T) {
	for _, list := range []string{"perks:delete", "perks:read PERKS:READ", "perks:read\tperks:redeem", "*"} {
		_, err := api.ParseScopes(list)
		if api.CodeOf(err) != api.CodeValidationFailed || !strings.Contains(err.Error(), "scope ") ||
			!strings.Contains(err.Error(), api.AllScopes().String()) {
			t.Errorf("%q: %v", list, err)
		}
	}
}

func TestNoScopeImpliesAnother(t *testing.T) {
	for _, scope := range api.AllScopes() {
		for _, asked := range api.AllScopes() {
			if got := (api.Scopes{scope}).Has(asked); got != (scope == asked) {
				t.Errorf("%s contains %s: %v", scope, asked, got)
			}
		}
	}
	both := api.Scopes{api.ScopePerksRead, api.ScopePropertiesRead}
	if !both.Contains(api.Scopes{api.ScopePerksRead}) || !both.Contains(nil) ||
		both.Contains(api.Scopes{api.ScopePerksRead, api.ScopePerksRedeem}) {
		t.Error("Contains is wrong for a set")
	}
}
