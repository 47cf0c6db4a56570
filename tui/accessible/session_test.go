package accessible_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
)

// The service's address and the moments at which a test made its records differ from run to run.
var imported = regexp.MustCompile(`(?m)^(Created|Updated): .*$`)

func TestAWholeSession(t *testing.T) {
	w := service(t)
	said := talk(t, func(s *setting) { s.options.Accounts = tuitest.NewAccounts(t, nil) },
		// log in, with a wrong secret first
		w.URL, "acme", "", "wrong", w.secret,
		// find a perk, look at it, and redeem it
		"filter", "coffee", ":send", "1", "redeem", "alice", "shop=Mitte", "", "no", "send", "yes",
		// the user's two tabs
		"back", "user", "alice", "switch tab", "1", "back", "redee", "switch tab", "redeem 2", "", "yes", "back",
		// edit a property, with a mistake, and delete it
		"open property", "7", "edit", ":bedrooms", "many", "3", ":send", "send", "", "delete", "", "delete", "yes", "delete", "7",
		"what", "", "q")
	said = strings.ReplaceAll(said, w.URL, "http://service/v2")
	said = strings.ReplaceAll(said, w.secret, "the secret")
	said = imported.ReplaceAllString(said, "$1: when the test ran")
	golden := filepath.Join("testdata", "session.txt")
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, []byte(said), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatalf("%v; write it with -update, and read it", err)
	}
	if said != string(want) {
		t.Errorf("the talk is not as %s has it:\n%s", golden, said)
	}
}

func TestEveryActionOfAScreenIsOffered(t *testing.T) {
	w := service(t)
	for name, route := range map[string]screen.Route{
		"perks": screen.ToPerks{}, "perk": screen.ToPerk{ID: "coffee"}, "user": screen.ToUser{ID: "alice"},
		"property": screen.ToProperty{ID: 7}, "login": screen.ToLogin{},
	} {
		t.Run(name, func(t *testing.T) {
			d := tuitest.StartAs(t, w.Server, w.id, w.secret, tuitest.Route(route))
			d.Settle()
			said := talk(t, as(t, w, route), "?", ":?")
			for _, offer := range d.App.Top().Offers() {
				words := map[string]string{"form.submit": ":send ", "form.cancel": ":leave ", "form.next": ":2 goes to", "form.previous": ":back "}[string(offer.ID)]
				if d.App.Top().Form() == nil || words == "" {
					words = strings.TrimSuffix(d.App.Shell().Keys.Action(offer.ID).Name, "…")
				}
				if !strings.Contains(strings.ToLower(said), strings.ToLower(words)) {
					t.Errorf("%s (%s) is not offered:\n%s", words, offer.ID, said)
				}
			}
		})
	}
}
