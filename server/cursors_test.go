package server_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"example.com/perks/api"
	"example.com/perks/store"
)

// TestMadeUpCursorsAreRefused sends cursors that no list has given, in each order of each list.
func TestMadeUpCursorsAreRefused(t *testing.T) {
	s := fixture(t)
	s.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "e", Title: "e"}, Lat: degrees(52), Lng: degrees(13)})
	owner, _ := s.Client()
	s.ImportProperties(owner, priced(t, 1, "Berlin", "3", 2), priced(t, 2, "Berlin", "4", 1))
	token := s.Token(api.ScopePerksRead, api.ScopePropertiesRead, api.ScopeRedemptionsRead, api.ScopeRedemptionsReadAll)
	values := []string{
		`-9223372036854775808`, `9223372036854775807`, `-2147483649`, `2147483648`, `253402300800000000`,
		`1e400`, `1e-400`, `1.5`,
		`-1`, `0`, `null`, `true`, `[]`, `{}`, `"x"`, `""`, `"\u0000"`, `"\ud800"`, `"` + strings.Repeat("é", 700) +
			`"`,
	}
	ids := []string{`"x"`, `""`, `"1"`, `"\u0000"`, `7`, `"-9223372036854775809"`}
	check := func(path, sort, raw string) {
		cursor := base64.RawURLEncoding.EncodeToString([]byte(raw))
		response, body := s.Send(s.Request(token, "GET", s.LiveURL()+path+"&sort="+sort+"&after="+cursor, ""))
		var refusal api.ErrorBody
		if response.StatusCode == http.StatusOK {
			return
		}
		decode(t, body, &refusal)
		if response.StatusCode != http.StatusUnprocessableEntity || len(refusal.Errors["after"]) == 0 {
			t.Errorf("%s in the order %s, after %.80s: %d %s", path, sort, raw, response.StatusCode, body)
		}
	}
	for path, fields := range map[string][]string{
		"/perks?lat=52&lng=13&q=e":             api.PerkSortFields(),
		"/perks/users/alice?lat=52&lng=13&q=e": {"created_at", "valid_to", api.SortRelevance},
		"/redemptions?":                        api.RedemptionRecordSortFields(),
		"/redemptions?user=alice":              api.RedemptionRecordSortFields(),
		"/properties?":                         api.PropertySortFields(),
		"/properties?max_price=5&q=e":          api.PropertySortFields(),
	} {
		for i, field := range fields {
			sort := []string{"-", ""}[i%2] + field
			for j, value := range values {
				check(path, sort, `["`+sort+`",`+value+`,`+ids[j%3]+`]`)
			}
			for _, id := range ids {
				check(path, sort, `["`+sort+`",0,`+id+`]`)
			}
		}
	}
	for _, id := range ids {
		check("/users?", "", `["",`+id+`]`)
	}
}
