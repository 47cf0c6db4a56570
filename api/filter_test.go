package api_test

import (
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/perks/api"
)

// everyFilter returns a filter with every field set. It fails for a field that is missing here.
func everyFilter(t *testing.T) api.PerkFilter {
	t.Helper()
	f := api.PerkFilter{Query: "free coffee", Category: "food & drink", City: "Zürich",
		Near: &api.Circle{Lat: 47.3769, Lng: -8.5, RadiusKM: 2.5}, IncludeExpired: true}
	for i, field := range reflect.VisibleFields(reflect.TypeOf(f)) {
		if reflect.ValueOf(f).Field(i).IsZero() {
			t.Fatalf("set %s here", field.Name)
		}
	}
	return f
}

// ofRedemptions has a value in every field.
var ofRedemptions = api.RedemptionFilter{PerkID: "spa", UserID: "ann", Status: api.StatusVoided, Own: true,
	Since: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), Until: time.Date(2026, 3, 2, 9, 0, 0, 5000, time.UTC)}

func TestRefusedRedemptionFilters(t *testing.T) {
	for query, field := range map[string]string{
		"status=rejectedd": "status", "status=Pending": "status", "since=yesterday": "since",
		"since=2026-02-30": "since", "until=10:00": "until",
		"since=2026-03-02&until=2026-03-02": "until", "since=2026-03-02&until=2026-03-01": "until", "own=yes": "own",
		"own=": "own", "perk=a%00": "perk",
	} {
		p := api.ParseParameters(query)
		if p.RedemptionFilter(nil); len(p.Fields[field]) == 0 || len(p.Fields) > 1 {
			t.Errorf("%s: %v, want a problem of %s", query, p.Fields, field)
		}
	}
}

func TestFilterFieldsRoundTrip(t *testing.T) {
	requireRoundTrip(t, api.PerkFilterFields, (*api.Parameters).PerkFilter, everyFilter(t))
	requireRoundTrip(t, api.PerkFilterFields, (*api.Parameters).PerkFilter,
		api.PerkFilter{Near: &api.Circle{RadiusKM: api.MaxRadiusKM}})
	requireRoundTrip(t, api.RedemptionFilterFields,
		func(p *api.Parameters) api.RedemptionFilter { return p.RedemptionFilter(nil) }, ofRedemptions)
	requireRoundTrip(t, api.RefusedFilterFields(), (*api.Parameters).RefusedFilter, api.RefusedFilter{PerkID: "tea",
		UserID: "ann", Reason: api.CodeSoldOut, Actor: "Alice", Since: ofRedemptions.Since, Own: true})
	requireRoundTrip(t, api.PropertyFilterFields, (*api.Parameters).PropertyFilter,
		api.PropertyFilter{Query: "garden", City: "York", MinPrice: new(price(t, "99.50")),
			MaxPrice: new(price(t, "100")), MinBedrooms: new(0), MaxBedrooms: new(2), Own: true})
	requireRoundTrip(t, api.UserFilterFields, (*api.Parameters).UserFilter, api.UserFilter{Prefix: "ali"})
}

// requireRoundTrip sends a filter and none, then sets every field as forms and flags do, and clears it again.
func requireRoundTrip[F interface{ Values() url.Values }](
	t *testing.T, fields []api.FilterField[F], read func(*api.Parameters) F, want F,
) {
	t.Helper()
	var none, got F
	for _, sent := range []F{none, want} {
		p := api.ParseParameters(sent.Values().Encode())
		if diff := cmp.Diff(sent, read(p), samePrice); diff != "" || len(p.Fields) > 0 {
			t.Errorf("%v: %v\n%s", sent, p.Fields, diff)
		}
	}
	for _, field := range fields {
		if problem := field.Set(&got, field.Get(want)); problem != "" {
			t.Errorf("%s: %s", field.Name, problem)
		}
	}
	if diff := cmp.Diff(want, got, samePrice); diff != "" {
		t.Error(diff)
	}
	for _, field := range fields {
		if problem := field.Set(&got, ""); problem != "" {
			t.Errorf("%s: %s", field.Name, problem)
		}
	}
	if diff := cmp.Diff(none, got, samePrice); diff != "" {
		t.Errorf("cleared: %s", diff)
	}
}

func TestRefusedFilters(t *testing.T) {
	for _, test := range [][2]string{
		{"q", strings.Repeat("é", 201)}, {"city", "\xff"}, {"category", "a\x00"}, {"include_expired", "yes"},
		{"near", "1"}, {"near", "1,2,3"}, {"near", "1 2 3"}, {"near", "1 , 2 3"}, {"near", "x,y"}, {"near", "0x1p4,1"},
		{"near", "90.1,0"}, {"near", "0,-181"}, {"near", "NaN,0"},
		{"radius", "0"}, {"radius", "-1"}, {"radius", "500.1"}, {"radius", "NaN"}, {"radius", "5e9"}, {"radius", "0x5"},
	} {
		for _, field := range api.PerkFilterFields {
			before := api.PerkFilter{Near: &api.Circle{Lat: 1, Lng: 2}}
			if f := before; field.Name == test[0] && field.Set(&f, test[1]) == "" {
				t.Errorf("%s accepts %q", test[0], test[1])
			}
		}
	}
	if f := (api.PerkFilter{}); api.PerkFilterFields[4].Set(&f, "5") == "" {
		t.Error("accepted a radius without a point")
	}
}
