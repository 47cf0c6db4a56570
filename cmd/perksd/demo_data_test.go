package main

import (
	"strings"
	"testing"
)

func TestDemoDataCanRunTwice(t *testing.T) {
	o := withClient(t)
	args := []string{"demo-data", "--perks", "200", "--users", "20", "--properties", "10", "--redemptions", "30",
		"--owner", "acme"}
	const said = "Imported 200 perks, 20 users and 10 properties, and made 30 redemptions.\n"
	equal(t, "demo-data", said, o.must(args...))
	before := o.everything()
	equal(t, "demo-data again", said, o.must(args...))
	equal(t, "the database", before, o.everything())

	other := withClient(t)
	other.must(args...)
	equal(t, "another database with the same data", before, other.everything())
	for _, want := range []string{`{"id":"coffee-2for1"`, `{"id":"spa-day"`, `{"id":"last-ticket"`, `{"id":"alice"}`,
		`{"id":"bob"}`, `{"propertyId":1,`} {
		if !strings.Contains(before, want) {
			t.Errorf("the data lack %s", want)
		}
	}
}

func TestDemoDataOfAnotherSeedDiffers(t *testing.T) {
	a, b := newOperator(t), newOperator(t)
	a.must("demo-data", "--perks", "20")
	b.must("demo-data", "--perks", "20", "--seed", "2")
	if a.everything() == b.everything() {
		t.Error("two seeds make the same data")
	}
}

func TestDemoPropertiesNeedAnOwner(t *testing.T) {
	o := newOperator(t)
	equal(t, "demo-data", "Imported 1 perk, 1 user and 0 properties, and made 0 redemptions.\n",
		o.must("demo-data", "--perks", "1", "--users", "1"))
	o.refuses(exitUsage, "properties and redemptions need an owner: name a client with --owner "+
		"(see 'perksd demo-data --help')",
		"demo-data", "--properties", "1")
	o.refuses(exitUsage, "--perks, --users, --properties and --redemptions must not be negative "+
		"(see 'perksd demo-data --help')", "demo-data", "--perks", "-1")
	o.refuses(exitFailure, `There is no client "nobody".`, "demo-data", "--owner", "nobody")
}
