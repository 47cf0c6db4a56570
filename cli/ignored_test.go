package cli_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/cli/session"
	"example.com/perks/cmd/dev/specserver"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

func TestIgnoredFilters(t *testing.T) {
	ignoring := atSpecification(t, specserver.Options{Freedoms: specserver.Freedoms{IgnoresWords: true}})
	honest := atSpecification(t, specserver.Options{})
	for args, want := range map[string]string{
		"--city Leeds --all":      "This server ignored --city: 65 of 130 records do not fit.",
		"--city Leeds --limit 40": "This server ignored --city: 20 of 40 records do not fit.",
		"--category Food --all":   "This server ignored --category: 86 of 130 records do not fit.",
		"--query sport":           "This server ignored --query: 25 of 25 records do not fit.",
		"--query sport --page 6":  "This server ignored --query: 5 of 5 records do not fit.",
		"--query city:leeds":      "This server ignored --city: 13 of 25 records do not fit.",
		"--city Leeds --query kino": "This server ignored --query and --city: " +
			"25 and 13 of 25 records do not fit.",
		"--query half":                       "",
		"--query price,off":                  "",
		"--near 1,2 --radius 5":              "",
		"--include-expired --sort -category": "",
	} {
		list := append([]string{"perk", "list"}, strings.Fields(args)...)
		count := func(r result) int { return strings.Count(r.out, "\n") }
		plain := ignoring.expect(done, list...)
		if isWarned := want != "" && strings.Contains(plain.err, "warning: "+want); isWarned != (want != "") {
			t.Errorf("%s: %s, want %q", args, plain.err, want)
		}
		code := done
		if want != "" {
			code = []int{1}
		}
		for _, format := range []string{"id", "json", "jsonl", "csv", "yaml"} {
			r := ignoring.expect(code, append(list, "-o", format)...)
			if strings.Count(r.err, "This server ignored") != min(len(want), 1) || !strings.Contains(r.err, want) {
				t.Errorf("%s -o %s: %s, want %q", args, format, r.err, want)
			}
			if format == "id" && count(r) < 5 {
				t.Errorf("%s: %d records are shown", args, count(r))
			}
		}
		if !strings.Contains(args, "query") { // which that server does not know
			honest.expect(done, append(list, "-o", "id")...)
		}
	}
}

func TestAnIgnoredOrder(t *testing.T) {
	ignoring := atSpecification(t, specserver.Options{Freedoms: specserver.Freedoms{IgnoresSort: true}})
	honest := atSpecification(t, specserver.Options{})
	const warning = "This server ignored --sort %s: the list has another order."
	for _, sort := range []string{"-title", "created_at", "city", "-title,city"} {
		list := []string{"perk", "list", "--all", "-o", "id", "--sort", sort}
		if r := ignoring.expect(done, list...); strings.Count(r.err, fmt.Sprintf(warning, sort)) != 1 {
			t.Errorf("%s: %s", sort, r.err)
		}
		if r := honest.expect(done, list...); r.err != "" {
			t.Errorf("%s: the order counts, but: %s", sort, r.err)
		}
	}
	if r := ignoring.expect(done, "perk", "list", "--sort", "title"); strings.Contains(r.err, "ignored") {
		t.Errorf("the order is that by title, but: %s", r.err)
	}
}

// TestAListSaysThatItGoesOn reads one page of lists that have links to the next, with and without a total.
func TestAListSaysThatItGoesOn(t *testing.T) {
	for _, noTotal := range []bool{false, true} {
		j := atSpecification(t, specserver.Options{Freedoms: freedoms{NoTotal: noTotal, Meta: specserver.MetaNone}})
		if r := j.expect(done, "perk", "list"); !strings.Contains(r.err, "There are more. See them with --page") {
			t.Errorf("without a total %t: %q", noTotal, r.err)
		}
	}
}

// TestOurServerIsNeverDoubted runs filters over texts that fold in odd ways.
func TestOurServerIsNeverDoubted(t *testing.T) {
	server := servertest.Start(t)
	owner, secret := server.Client()
	categories := []api.Category{
		{ID: "meals", Name: "Food"}, {ID: "food", Name: "Meals & More"}, {ID: "FOOD", Name: "Dinners"},
		{ID: "c-1", Name: "Ärzte"},
	}
	if _, err := server.Live.ImportCategories(
		t.Context(), servertest.Rows(categories), store.Operator, time.Now()); err != nil {
		t.Fatal(err)
	}
	texts := []string{
		"Zürich", "Zu\u0308rich", "ZÜRICH", "Zurich", "Straße", "STRASSE", "İstanbul", "istanbul",
		"ﬁlm ﬂat", "film flat",
		"\u212Aelvin", "kelvin", "New York", "York", "Ǆungla", "Σίσυφος",
		"ΣΊΣΥΦΟΣ", "東京", "a-b_c", "ſoft", "Cafe\u0301s", "CAFÉS",
		" Rome ", "Ωmega", "ŉgoma", strings.Repeat("long", 20), "x",
		"Ko\u0308ln 1", "Ko\u0308ln 2", "Ko\u0308ln 3", "Ko\u0308ln 4",
	}
	var perks []store.PerkRecord
	var flats []api.Property
	long := time.Now().AddDate(10, 0, 0)
	for i, text := range texts {
		category := categories[i%len(categories)].Name
		perk := api.Perk{ID: fmt.Sprintf("P-%02d", i), Title: text, City: text, Category: &category, ValidTo: &long}
		if i%3 == 0 {
			perk.MerchantName, perk.Category, perk.Title = &text, &text, fmt.Sprint("perk ", i)
		}
		perks = append(perks, store.PerkRecord{Perk: perk})
		price, _ := api.ParsePrice(fmt.Sprint(i*i) + ".50")
		flats = append(flats, api.Property{
			ID: int64(i + 1), Title: text, City: text, Address: "1 " + text, PricePW: price, Bedrooms: i % 4,
		})
	}
	server.ImportPerks(perks...)
	server.ImportProperties(owner, flats...)
	server.ImportUsers("ann", "Ann", "änn", "0199D8C4-5B7E-7C8A-9D10-2F6B8E4A1C33")
	x := newTerminal(t, map[string]string{
		session.EnvAPIURL: server.URL, session.EnvClientID: owner, session.EnvClientSecret: secret,
	})
	found := 0
	ask := func(args ...string) {
		t.Helper()
		r := x.run(append(args, "--all", "-o", "id")...)
		if r.code != 0 || strings.Contains(r.err, "warning") {
			t.Errorf("%q: exit code %d, %s", args, r.code, r.err)
		}
		found += strings.Count(r.out, "\n")
	}
	for _, text := range append(slices.Clone(texts),
		"meals", "food", "Food", "c-1", "ärzte", "zur", "köln", "straß", "i", "caf", "ma") {
		ask("perk", "list", "--city", text)
		ask("perk", "list", "--category", text)
		ask("perk", "list", "--query", `"`+text+`"`)
		ask("property", "list", "--city", text)
		ask("property", "list", "--query", `"`+text+`"`)
		ask("user", "list", "--prefix", text)
	}
	for _, user := range []string{"ann", "Ann", "änn", "0199D8C4-5B7E-7C8A-9D10-2F6B8E4A1C33"} {
		x.run("perk", "redeem", "P-01", "--user", user)
		ask("user", "list", "--prefix", string([]rune(user)[:1]))
		ask("redemption", "list", "--user", strings.ToLower(user), "--perk", "P-01", "--status", "approved")
		ask("user", "perks", user, "--city", "york", "--category", "food", "--query", "y")
	}
	for list, fields := range map[string][]string{
		"perk list --near 1,2 --query x": api.PerkSortFields(), "user perks ann": api.PerkSortFields()[:13],
		"user perks ann --type redeemed": api.RedemptionSortFields(), "property list": api.PropertySortFields(),
		"redemption list": api.RedemptionRecordSortFields(), "perk list": api.PerkSortFields()[:13],
	} {
		for _, field := range fields {
			ask(append(strings.Fields(list), "--sort="+field)...)
			ask(append(strings.Fields(list), "--sort=-"+field)...)
		}
	}
	record := x.must("redemption", "list", "--limit", "1", "--jq", ".[0].redeemed_at")
	at := strings.TrimSpace(record.out)
	for _, status := range api.RedemptionStatuses() {
		ask("redemption", "list", "--status", string(status), "--since", at)
	}
	ask("redemption", "list", "--until", strings.Replace(at, "Z", "999Z", 1), "--since", "2020-01-01")
	for _, bounds := range [][]string{
		{"--min-price", "0.50"}, {"--max-price", "9.5"}, {"--min-price", "9", "--max-price", "100.500"},
		{"--min-bedrooms", "0"},
		{"--min-bedrooms", "2", "--max-bedrooms", "2"}, {"--max-bedrooms", "0"}, {"--own"},
	} {
		ask(append([]string{"property", "list"}, bounds...)...)
	}
	if found < 200 {
		t.Errorf("only %d records were found in all", found)
	}
}
