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

// imported matches the times at which the test made its records, which differ between runs.
var imported = regexp.MustCompile(`(?m)^(Created|Updated): .*$`)

func TestWholeSession(t *testing.T) {
	w := service(t)
	transcript := runScript(t, func(s *settings) { s.options.Accounts = tuitest.NewAccounts(t, nil) },
		// log in, with a wrong secret first
		w.URL, "acme", "", "wrong", w.secret,
		// find a perk, open it, and redeem it
		"filter", "coffee", ":send", "1", "redeem", "alice", "shop=Mitte", "", "no", "send", "yes",
		// the user's two lists
		"back", "user", "alice", "switch tab", "1", "back", "redee", "switch tab", "redeem 2", "yes",
		// edit a property, with a mistake, and delete it
		"open property", "7", "edit", ":bedrooms", "many", "3", ":send", "send", "", "delete", "", "delete", "yes", "delete", "7",
		"what", "", "q")
	transcript = strings.ReplaceAll(transcript, w.URL, "http://service/v2")
	transcript = strings.ReplaceAll(transcript, w.secret, "the secret")
	transcript = imported.ReplaceAllString(transcript, "$1: when the test ran")
	golden := filepath.Join("testdata", "session.txt")
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, []byte(transcript), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatalf("%v; write it with -update, and review it", err)
	}
	if transcript != string(want) {
		t.Errorf("the session differs from %s:\n%s", golden, transcript)
	}
}

func TestEveryActionIsListedInHelp(t *testing.T) {
	w := service(t)
	for name, route := range map[string]screen.Route{
		"perks": screen.ToPerks{}, "perk": screen.ToPerk{ID: "coffee"}, "user": screen.ToUser{ID: "alice"},
		"property": screen.ToProperty{ID: 7}, "login": screen.ToLogin{},
	} {
		t.Run(name, func(t *testing.T) {
			d := tuitest.StartAs(t, w.Server, w.id, w.secret, tuitest.Route(route))
			d.Settle()
			transcript := runScript(t, loggedIn(t, w, route), "?", ":?")
			for _, offer := range d.App.Top().Offers() {
				words := map[string]string{"form.submit": ":send ", "form.cancel": ":leave ", "form.next": ":2 goes to", "form.previous": ":back "}[string(offer.ID)]
				if d.App.Top().Form() == nil || words == "" {
					words = strings.TrimSuffix(d.App.Shell().Keys.Action(offer.ID).Name, "…")
				}
				if !strings.Contains(strings.ToLower(transcript), strings.ToLower(words)) {
					t.Errorf("%s (%s) is not listed:\n%s", words, offer.ID, transcript)
				}
			}
		})
	}
}
