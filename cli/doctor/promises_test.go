package doctor

import (
	"strings"
	"testing"

	"example.com/perks/api"
	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
	"example.com/perks/cmd/dev/specserver"
	"example.com/perks/server/servertest"
)

func (p *fixture) at(clientID, secret string) *fixture {
	p.env[session.EnvClientID], p.env[session.EnvClientSecret] = clientID, secret
	return p
}

func TestPerksdKeepsEveryPromise(t *testing.T) {
	server := servertest.Start(t)
	id, secret := server.Client()
	p := newFixture(t, server.URL).at(id, secret)
	for _, flags := range [][]string{nil, {"--sandbox"}} {
		r := diagnose(t, p.diagnosis(flags...))
		r.want("idempotency", ok, "The service honours idempotency keys", "")
		r.want("etags", notChecked, "no listing can be found", "")
		r.want("totals", ok, "Lists say how many records they have", "")
		r.want("filters", ok, "Lists of perks obey filters and pages.", "")
		r.want("extensions", ok, "The service has all that perksctl uses", "")
		r.wantCode(command.ExitOK)
	}
	server.ImportProperties(id, api.Property{ID: 1, Title: "Flat", Images: []string{}})
	diagnose(t, p.diagnosis()).want("etags", ok, "Listings have ETags", "")
	few := newFixture(t, server.URL).at(server.Client(api.ScopePerksRead)) // whose refusals show what is there
	r := diagnose(t, few.diagnosis())
	r.want("idempotency", ok, "honours", "")
	r.want("extensions", ok, "all", "")
}

// TestAServiceOfTheSpecificationIsFound has error bodies and a proxy's pages at the addresses of extensions.
func TestAServiceOfTheSpecificationIsFound(t *testing.T) {
	for _, elsewhere := range []specserver.Elsewhere{
		specserver.ElsewhereError, specserver.ElsewhereNoMethod, specserver.ElsewherePage, specserver.ElsewhereLanding,
	} {
		server := specserver.Start(t, specserver.Options{Freedoms: specserver.Freedoms{Elsewhere: elsewhere}})
		p := newFixture(t, server.URL).at(specserver.ClientID, specserver.ClientSecret)
		r := diagnose(t, p.diagnosis())
		r.want("health", warning, "has no health check", "")
		r.want("perks", ok, "", "")
		r.want("idempotency", notChecked, "Not known", "")
		r.want("etags", notChecked, "Not known", "")
		r.want("totals", ok, "", "")
		r.want("extensions", warning, "The service lacks what its specification does not ask for: list of redemptions "+
			"(redemption, bulk undo); list of users (user list); events (events); check of eligibility (user can); "+
			"list of properties (property list, property create); history of listings (property history, property "+
			"restore); way to change perks (perk create, update, edit, stock and history); "+
			"reports (report).", "exit with 5")
		r.wantCode(command.ExitOK)
		for _, request := range server.Record().Requests {
			if request.Method != "GET" && request.Method != "HEAD" && request.Path != "/v2/auth/token" {
				t.Errorf("doctor sends %s %s", request.Method, request.Path)
			}
		}
	}
}

func TestIdempotencyKeysOfAUser(t *testing.T) {
	for _, test := range []struct {
		echoes          bool
		user            string
		outcome, advice string
	}{
		{true, "user-001", ok, ""}, {true, "", ok, ""}, {false, "user-001", warning, "docs/other-servers.md"},
		{false, "nobody", warning, "Name a user who exists"}, {false, "", notChecked, ""},
	} {
		server := specserver.Start(t, specserver.Options{Freedoms: specserver.Freedoms{EchoesKeys: test.echoes}})
		d := newFixture(t, server.URL).at(specserver.ClientID, specserver.ClientSecret).diagnosis()
		d.examples.UserID = test.user
		diagnose(t, d).want("idempotency", test.outcome, "", test.advice)
	}
}

func TestETagsOfAProperty(t *testing.T) {
	for _, test := range []struct {
		etags   specserver.ETags
		id      api.PropertyID
		outcome string
	}{
		{specserver.ETagsStrong, "1", ok}, {specserver.ETagsNone, "1", warning}, {specserver.ETagsNone, "", notChecked},
		{specserver.ETagsStrong, "77", notChecked},
	} {
		server := specserver.Start(t, specserver.Options{Freedoms: specserver.Freedoms{ETags: test.etags}})
		d := newFixture(t, server.URL).at(specserver.ClientID, specserver.ClientSecret).diagnosis()
		d.examples.PropertyID = test.id
		diagnose(t, d).want("etags", test.outcome, "", "")
	}
}

func TestFiltersAndPagesThatAreIgnored(t *testing.T) {
	for _, test := range []struct{ words, page bool }{{true, false}, {false, true}, {true, true}} {
		freedoms := specserver.Freedoms{IgnoresWords: test.words, IgnoresPage: test.page}
		server := specserver.Start(t, specserver.Options{Freedoms: freedoms})
		r := diagnose(t, newFixture(t, server.URL).at(specserver.ClientID, specserver.ClientSecret).diagnosis())
		r.want("filters", warning, "Lists of perks ignore", "warnings")
		if says := r.findings["filters"].Found; strings.Contains(says, "filters") != test.words ||
			strings.Contains(says, "pages") != test.page {
			t.Errorf("%+v: %s", test, says)
		}
	}
}

func TestTotalsOfLists(t *testing.T) {
	type freedoms = specserver.Freedoms
	for _, test := range []struct {
		freedoms
		outcome, found, advice string
	}{
		{freedoms{NoLinks: true, NoTotal: true}, ok, "how many", ""},
		{freedoms{NoLinks: true, Meta: specserver.MetaNone}, ok, "how many", ""},
		{freedoms{NoTotal: true, Meta: specserver.MetaNone}, warning, "no total is shown", ""},
		{freedoms{NoLinks: true, NoTotal: true, Meta: specserver.MetaNone}, warning, "--all fails", "--page"},
	} {
		server := specserver.Start(t, specserver.Options{Freedoms: test.freedoms})
		d := newFixture(t, server.URL).at(specserver.ClientID, specserver.ClientSecret).diagnosis()
		diagnose(t, d).want("totals", test.outcome, test.found, test.advice)
	}
}
