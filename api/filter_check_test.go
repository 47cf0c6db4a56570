package api_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"example.com/perks/api"
)

// misfits checks one page of records against a filter written as a query.
func misfits[F, T any](t *testing.T, fields []api.FilterField[F], query string, records ...T) string {
	t.Helper()
	filter, problems := api.ParseQuery(fields, query)
	if len(problems) > 0 {
		t.Fatalf("%s: %v", query, problems)
	}
	check := api.CheckFilter[F, T](fields, filter)
	check.Page(records)
	text := ""
	for _, ignored := range check.Ignored() {
		text += fmt.Sprint(ignored.Flag, " ", ignored.Misfits, ";")
	}
	return text
}

func TestRecordsThatDoNotFitAFilter(t *testing.T) {
	category := func(name string) *string { return &name }
	perk := func(city string) api.Perk {
		return api.Perk{ID: "p", Title: "Tea for two", City: city, Category: category("Food")}
	}
	perks := func(query string, records ...api.Perk) string {
		return misfits(t, api.PerkFilterFields, query, records...)
	}
	flats := func(query string, records ...api.Property) string {
		return misfits(t, api.PropertyFilterFields, query, records...)
	}
	made := func(query string, records ...api.RedemptionRecord) string {
		return misfits(t, api.RedemptionFilterFields, query, records...)
	}
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	redemption := api.RedemptionRecord{Redemption: api.Redemption{
		ID: "r", PerkID: "spa", UserID: "ann", RedeemedAt: noon, Status: api.StatusPending,
	}}
	price, _ := api.ParsePrice("99.90")
	flat := api.Property{ID: 1, Title: "Flat", City: "York", PricePW: price, Bedrooms: 2}
	several := slices.Repeat([]api.Perk{perk("York")}, 3)
	for i, test := range []struct{ got, want string }{
		{perks("city:york", perk("YORK"), perk("Yorkshire"), perk("New York"), perk("")), "city 2;"},
		{perks("city:zürich", perk("Zurich"), perk("Zu\u0308rich"), perk("Zug"), perk("Berlin")), "city 1;"},
		{perks("tea", perk(""), perk("")), ""},
		{perks("TEA fo", several...), ""},
		{perks("tea coffee", several...), "query 3;"},
		{perks("tea coffee", several[:2]...), ""},
		{perks("té", several...), ""},
		{perks("cat:tea", several...), ""}, // may be the id of Food
		{perks(`cat:"tea & more"`, several...), "category 3;"},
		{perks("cat:tea", append(several, api.Perk{ID: "p", Title: "T"})...), "category 4;"},
		{perks("near:1,2 <5km +expired", several...), ""},
		{flats("city:leeds price:100..200 bedrooms:3..", flat), "city 1;min-price 1;min-bedrooms 1;"},
		{flats("price:..99.8 bedrooms:..1", flat), "max-price 1;max-bedrooms 1;"},
		{flats("city:YORK price:99.9..99.90 bedrooms:2", flat), ""},
		{flats("price:1.. bedrooms:1..", api.Property{ID: 1}), ""}, // may have no price
		{flats("york", flat, flat, flat) + flats("leeds", flat, flat, flat), "query 3;"},
		{made("rejected perk:sauna user:bob", redemption), "perk 1;user 1;status 1;"},
		{made("pending perk:spa user:ann since:2026-03-02 until:2026-03-03", redemption), ""},
		{made("since:2026-03-03", redemption) + made("until:2026-03-02", redemption), "since 1;until 1;"},
		{made("since:2026-03-03", api.RedemptionRecord{}), ""},
		{misfits(t, api.UserFilterFields, "an", api.User{ID: "ann"}, api.User{ID: "a"}), "prefix 1;"},
	} {
		if test.got != test.want {
			t.Errorf("%d: got %q, want %q", i, test.got, test.want)
		}
	}
	if api.CheckFilter[api.PerkFilter, api.Perk](api.PerkFilterFields, api.PerkFilter{IncludeExpired: true}) != nil {
		t.Error("a filter that no record tells is checked")
	}
}
