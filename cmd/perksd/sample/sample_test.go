package sample_test

import (
	"iter"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/perks/api"
	"example.com/perks/cmd/perksd/sample"
	"example.com/perks/store"
)

var records = sample.Data{Seed: 1, Day: time.Date(2026, 6, 15, 13, 0, 0, 0, time.UTC)}

func collect[R any](t *testing.T, records iter.Seq2[R, error]) []R {
	t.Helper()
	var list []R
	for record, err := range records {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, record)
	}
	return list
}

var comparePrices = cmp.Comparer(func(a, b api.Price) bool { return a.String() == b.String() })

func TestEveryRecordIsValidAndIDsAreUnique(t *testing.T) {
	const n = 20_000
	ids := map[any]bool{}
	for _, perk := range collect(t, records.Perks(n)) {
		if err := perk.Validate(); err != nil {
			t.Fatalf("perk %s: %v", perk.ID, err)
		}
		ids[perk.ID] = true
	}
	for _, user := range collect(t, records.Users(n)) {
		if problem := api.UserIDRule(user.ID); problem != "" {
			t.Fatalf("user %q %s", user.ID, problem)
		}
		ids[user.ID] = true
	}
	for _, property := range collect(t, records.Properties(n, "acme")) {
		if err := property.Validate(); err != nil || property.Owner != "acme" || property.Images == nil {
			t.Fatalf("property %d of %q: %v", property.ID, property.Owner, err)
		}
		ids[property.ID] = true
	}
	if len(ids) != 3*n {
		t.Errorf("%d ids for %d records", len(ids), 3*n)
	}
}

func TestTheSameSeedAndDayMakeTheSameRecords(t *testing.T) {
	sameDay := sample.Data{Seed: 1, Day: records.Day.Add(5 * time.Hour)}
	if diff := cmp.Diff(collect(t, records.Perks(500)), collect(t, sameDay.Perks(500))); diff != "" {
		t.Errorf("perks of one seed and day differ:\n%s", diff)
	}
	if diff := cmp.Diff(collect(t, records.Properties(100, "a")), collect(t, sameDay.Properties(100, "a")),
		comparePrices); diff != "" {
		t.Errorf("properties of one seed and day differ:\n%s", diff)
	}
	if diff := cmp.Diff(collect(t, records.Perks(100)), collect(t, records.Perks(500))[:100]); diff != "" {
		t.Errorf("the first perks depend on how many are made:\n%s", diff)
	}
	other := sample.Data{Seed: 2, Day: records.Day}
	if cmp.Equal(collect(t, records.Perks(10)), collect(t, other.Perks(10))) {
		t.Error("another seed makes the same perks")
	}
}

func TestTheDocumentedRecordsExist(t *testing.T) {
	perks := collect(t, records.Perks(4))
	coffee, spa, ticket := perks[0], perks[1], perks[2]
	for _, perk := range perks[:3] {
		if perk.ValidFrom.After(records.Day) || perk.ValidTo.Before(records.Day) {
			t.Errorf("perk %s is valid from %s to %s, not on %s", perk.ID, perk.ValidFrom, perk.ValidTo, records.Day)
		}
	}
	if coffee.ID != "coffee-2for1" || coffee.Approval != store.ApprovalAuto || coffee.Stock != nil {
		t.Errorf("the first perk is %+v", coffee)
	}
	if spa.ID != "spa-day" || spa.Approval != store.ApprovalManual {
		t.Errorf("the second perk is %+v", spa)
	}
	if ticket.ID != "last-ticket" || ticket.Stock == nil || *ticket.Stock != 1 {
		t.Errorf("the third perk is %+v", ticket)
	}
	if perks[3].ID != "demo-000001" {
		t.Errorf("the fourth perk is %s", perks[3].ID)
	}
	want := []store.User{{ID: "alice"}, {ID: "bob"}, {ID: "u-000001"}}
	if diff := cmp.Diff(want, collect(t, records.Users(3))); diff != "" {
		t.Errorf("the first users differ (-want +got):\n%s", diff)
	}
	if first := collect(t, records.Properties(1, "acme")); len(first) != 1 || first[0].ID != 1 {
		t.Errorf("the first property is %+v", first)
	}
}

func TestPerksAreOfManyKinds(t *testing.T) {
	const n = 5_000
	seen := map[string]int{}
	cities, categories := map[string]bool{}, map[string]bool{}
	count := func(kind string, holds bool) {
		if holds {
			seen[kind]++
		}
	}
	for _, p := range collect(t, records.Perks(n)) {
		cities[p.City] = true
		if p.Category != nil {
			categories[*p.Category] = true
		}
		count("expired", p.ValidTo != nil && p.ValidTo.Before(records.Day))
		count("not started", p.ValidFrom != nil && p.ValidFrom.After(records.Day))
		count("without dates", p.ValidFrom == nil && p.ValidTo == nil)
		count("without a position", p.Lat == nil)
		count("without a category", p.Category == nil)
		count("with limited stock", p.Stock != nil)
		count("manual", p.Approval == store.ApprovalManual)
		count("near the middle of Berlin", p.City == "Berlin" && p.Lat != nil && math.Abs(*p.Lat-52.52) < 0.03)
	}
	for _, kind := range []string{"expired", "not started", "without dates", "without a position", "without a category",
		"with limited stock", "manual", "near the middle of Berlin"} {
		if seen[kind] == 0 || seen[kind] > n/2 {
			t.Errorf("%d of %d perks are %s", seen[kind], n, kind)
		}
	}
	if len(cities) < 30 || len(categories) < 10 {
		t.Errorf("there are %d cities and %d categories", len(cities), len(categories))
	}
}
