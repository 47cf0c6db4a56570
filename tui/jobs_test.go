package tui_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
	"example.com/perks/tui"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
)

// job is something that people do, as a scenario, from where they look at what it is about. Texts in quotes are typed,
// and do not count.
type job struct {
	name   string
	before int          // keys in the first version of the screens; 0 if it was impossible
	most   int          // keys that it may take
	start  screen.Route // nil is the list of perks
	first  string       // a command of the scenario, before the keys
	keys   string
	ends   string // what is shown at the end
	stored string // what the database has at the end, as recordsOf names it, and after ≠ what it has not
}

var jobs = []job{
	{"log in", 4, 3, nil, "", `"ADDRESS" enter "ID" enter "SECRET" enter`, "Perks 62 | Logged in.", ""},
	{"coffee nearby, nearest first", 7, 2, nil, "", `/ "coffee near:52.52,13.405" enter`,
		"Perks 2 · nearest ↑ | > Coffee in Berlin", ""},
	{"perks of a city", 3, 2, nil, "", `/ "city:berlin" enter`, "Perks 1 | Coffee in Berlin", ""},
	{"the last row", 2, 1, nil, "", `G`, "row 62 of 62", ""},
	{"redeem a perk", 3, 3, screen.ToPerk{ID: "berlin"}, "", `r "alice" ctrl+s y`, "[redeemed] Coffee in Berlin",
		"berlin alice approved"},
	{"redeem three perks", 8, 6, nil, "", `space space space r "alice" ctrl+s y`, "alice: 3 redeemed.",
		"perk-9 alice approved | perk-8 alice approved | perk-7 alice approved"},
	{"redeem for a half-known user", 0, 4, screen.ToPerk{ID: "berlin"}, "", `r "ali" down ctrl+s y`,
		"[redeemed] Coffee in Berlin", "berlin alice approved"},
	{"what a user has redeemed", 3, 2, nil, "", `2 "bob" enter`, "Redeemed 1 | hamburg | approved", ""},
	{"void a redemption", 4, 2, screen.ToUser{ID: "bob", Redeemed: true}, "", `ctrl+x "wrong perk" enter`,
		"1 redemption voided. | voided", "hamburg bob voided (wrong perk)"},
	{"approve a page", 5, 3, screen.ToRedemptions{}, "wait for approval:", `A a y`,
		"3 redemptions approved. | Nothing waits for approval.",
		"spa alice approved | spa bob approved | spa carol approved"},
	{"open a property", 2, 2, nil, "", `3 "1" enter`, "Property 1: Flat 1", ""},
	{"change a price, and save it", 10, 4, screen.ToProperty{ID: "2"}, "",
		`/ "price" enter "999.99" ctrl+s ctrl+s`, "Saved property 2: price per week. | 999.99",
		"property 2 Flat 2 999.99"},
	{"merge with a colleague's price", 2, 2, screen.ToProperty{ID: "3"}, "merge:", `m ctrl+s`,
		"Saved property 3: price per week. | 111", "property 3 Flat 3 111"},
	{"undo that", 2, 2, screen.ToProperty{ID: "4"}, "save:", `z ctrl+s`, "Undone in property 4: price per week. | 400",
		"property 4 Flat 4 400"},
	{"delete a property", 2, 2, screen.ToProperty{ID: "5"}, "", `ctrl+x "delete" enter`, "Deleted property 5",
		"≠ property 5 Flat 5 500"},
	{"restore it", 0, 2, screen.ToProperty{ID: "5"}, "delete:", `b ctrl+s`, "Restored property 5.",
		"property 5 Flat 5 500"},
	{"create a property", 0, 3, screen.ToProperties{}, "list:", `N "Loft" tab "310" ctrl+s`, "Created property 6",
		"property 6 Loft 310"},
	{"open a perk by its id", 0, 2, nil, "", `ctrl+k "hamburg" enter`, "Perk Coffee in Hamburg", ""},
	{"open a redemption by its id", 4, 2, nil, "", `ctrl+k "REDEMPTION" enter`, "of user bob | Coffee in Hamburg", ""},
}

// TestKeysForEachJob counts the keys that each job takes on a real service: never more than in the first version, and a
// third fewer in all.
func TestKeysForEachJob(t *testing.T) {
	table, before, now := "", 0, 0
	for _, job := range jobs {
		pressed, was := 0, fmt.Sprint(job.before)
		for _, key := range keyOrText.FindAllString(job.keys, -1) {
			if key[0] != '"' {
				pressed++
			}
		}
		if job.before == 0 {
			was = "impossible"
		} else {
			before, now = before+job.before, now+pressed
		}
		table += fmt.Sprintf("| %-30s | %10s | %3d |\n", job.name, was, pressed)
		t.Run(job.name, func(t *testing.T) {
			if pressed > job.most || job.before > 0 && pressed > job.before {
				t.Errorf("it takes %d keys, more than %d; before, %d", pressed, job.most, job.before)
			}
			do(t, job)
		})
	}
	t.Logf("keys before and now\n%s| %-30s | %10d | %3d |", table, "all that were possible", before, now)
	if 3*now > 2*before {
		t.Errorf("%d keys instead of %d is not a third fewer", now, before)
	}
}

var keyOrText = regexp.MustCompile(`"[^"]*"|\S+`)

// do does a job on a service of its own, and checks what came of it.
func do(t *testing.T, job job) {
	server, owner := catalogueOf62(t)
	d := tuitest.StartAs(t, server, owner.id, owner.secret, tuitest.Route(screen.ToPerks{}), func(o *tui.Options) {
		if job.name == "log in" {
			o.Accounts = tuitest.NewAccounts(t, nil)
		}
	})
	d.Settle()
	if job.start != nil {
		d.Open(job.start)
		d.Settle()
	}
	d.Commands = map[string]func(string){
		"save": func(string) { d.Play(`/ "price\n" ctrl+u "444" ctrl+s ctrl+s settle`) },
		"merge": func(string) {
			d.Play(`/ "price\n" ctrl+u "111"`)
			change(t, server, owner, "3", "222")
			d.Play(`ctrl+s ctrl+s settle`)
		},
		"list":   func(string) { d.Play(`esc settle => Properties 5`) }, // it opens with the line to type in
		"delete": func(string) { d.Play(`ctrl+x "delete\n" => Deleted property 5`) },
		"wait for approval": func(string) {
			server.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "spa", Title: "Spa"}, Approval: store.ApprovalManual})
			redeem(t, server, owner, "spa", "alice", "bob", "carol")
			d.Play(`tab => / status:pending | carol`)
		},
	}
	var redemption string
	for record, err := range server.Live.ExportRedemptions(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		redemption = record.ID
	}
	d.Play(job.first+"\n"+keyOrText.ReplaceAllString(job.keys, "$0 settle")+" => "+job.ends,
		"ADDRESS", server.API(), "ID", owner.id, "SECRET", owner.secret, "REDEMPTION", redemption)
	if job.stored == "" {
		return
	}
	records := recordsOf(t, server)
	for wanted := range strings.SplitSeq(job.stored, " | ") {
		record, isAbsent := strings.CutPrefix(wanted, "≠ ")
		if slices.Contains(records, record) == isAbsent {
			t.Errorf("the database has\n%s\nwant %s", strings.Join(records, "\n"), wanted)
		}
	}
}

// recordsOf is what the database has: "tea bob approved" and "property 1 Flat 1 100.00".
func recordsOf(t *testing.T, server *servertest.Server) (records []string) {
	t.Helper()
	for r, err := range server.Live.ExportRedemptions(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		record := fmt.Sprintf("%s %s %s", r.PerkID, r.UserID, r.Status)
		if r.Reason != nil {
			record += " (" + *r.Reason + ")"
		}
		records = append(records, record)
	}
	for p, err := range server.Live.ExportProperties(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, fmt.Sprintf("property %d %s %s", p.ID, p.Title, p.PricePW))
	}
	return records
}

type account struct{ id, secret string }

// colleague is another client of the same service.
func colleague(t *testing.T, server *servertest.Server, as account) *client.Client {
	t.Helper()
	c, err := client.New(client.Config{BaseURL: server.API(), Tokens: fixedToken(server.TokenFor(as.id, as.secret))})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// change changes the price of a property as somebody else.
func change(t *testing.T, server *servertest.Server, owner account, property api.PropertyID, price string) {
	t.Helper()
	patch, err := api.ParsePropertyPatch([]api.Member{{Name: "price_pw", Value: api.TextValue(price)}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := colleague(t, server, owner).UpdateProperty(t.Context(), property, patch, ""); err != nil {
		t.Fatal(err)
	}
}

// catalogueOf62 has 62 perks, two of them for coffee, five properties, and a perk that bob has redeemed.
func catalogueOf62(t *testing.T) (*servertest.Server, account) {
	t.Helper()
	server := servertest.Start(t)
	id, secret := server.Client()
	owner := account{id, secret}
	server.ImportUsers("alice", "bob", "carol")
	place := func(id, city string, lat, lng float64) store.PerkRecord {
		return store.PerkRecord{Perk: api.Perk{ID: id, Title: "Coffee in " + city, City: city}, Lat: &lat, Lng: &lng}
	}
	perks := []store.PerkRecord{place("berlin", "Berlin", 52.52, 13.405), place("hamburg", "Hamburg", 52.55, 13.45)}
	for n := range 60 {
		perks = append(perks, store.PerkRecord{Perk: api.Perk{ID: fmt.Sprintf("perk-%d", n),
			Title: fmt.Sprintf("Matinee %d", n), City: "Leeds"}})
	}
	server.ImportPerks(perks...)
	var properties []api.Property
	for n := range int64(5) {
		price, _ := api.ParsePrice(fmt.Sprint(100 * (n + 1)))
		properties = append(properties, api.Property{
			ID: n + 1, Title: fmt.Sprintf("Flat %d", n+1), Description: "Two rooms.", Address: "1 Lane", City: "Leeds",
			Postcode: "LS1 4AP", PricePW: price,
		})
	}
	server.ImportProperties(id, properties...)
	redeem(t, server, owner, "hamburg", "bob")
	return server, owner
}

// redeem redeems a perk for users as somebody else.
func redeem(t *testing.T, server *servertest.Server, owner account, perk string, users ...string) {
	t.Helper()
	service := colleague(t, server, owner)
	for _, user := range users {
		if _, _, err := service.Redeem(t.Context(), perk, api.RedeemRequest{UserID: user}, ""); err != nil {
			t.Fatal(err)
		}
	}
}

// fixedToken is the token of a client that has just logged in.
type fixedToken string

func (t fixedToken) Token(context.Context) (string, error)         { return string(t), nil }
func (fixedToken) Replace(context.Context, string) (string, error) { return "", client.ErrNoOtherToken }
