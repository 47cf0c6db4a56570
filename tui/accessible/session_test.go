package accessible_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
)

// imported matches the times at which the test made its records, which differ between runs.
var imported = regexp.MustCompile(`(?m)^(Created|Updated): .*$`)

func TestWholeSession(t *testing.T) {
	w := service(t, api.ScopePerksWrite)
	if _, err := w.Live.Redeem(t.Context(), store.RedeemAttempt{
		ID: "00000000-0000-4000-8000-000000000000", PerkID: "spa", UserID: "bob", ClientID: w.id,
		Metadata: []byte(`{"ticket":"4711"}`), At: tuitest.Noon.Add(-33 * time.Minute),
	}); err != nil {
		t.Fatal(err)
	}
	transcript := runScript(t, func(s *settings) { s.options.Accounts = tuitest.NewAccounts(t, nil) },
		// log in, with a wrong secret first
		w.URL, "acme", "", "wrong", w.secret,
		// look at a redemption that waits
		"redemptions", "filter", "status:pending", "1", "back", "back",
		// find a perk near a place, and hear why it cannot be changed
		"perks", "filter", "near:52.52,13.405", "edit", "1",
		// redeem it for a user whose id is half known, and take that back
		"redeem", "al", "1", "shop=Mitte", "", "no", "send", "yes", "void", "the wrong perk", "back", "back",
		// the user's two lists, of which one has perks to redeem
		"user", "alice", "switch tab", "1", "back", "redeem 2", "no", ":leave", "redeem 1", "yes", "back",
		// the queue: approve one, reject the other
		"redemptions", "approve 1", "yes", "reject", "", "reject", "no answer from alice", "clear filter", "reject 1",
		// find by title, by id and by name
		":coffee", "1", ":user bob", "1", ":", "next", "",
		// change a price, with a mistake
		"properties", "7", "edit", ":price", "a lot", "410.50", ":send", "send",
		// delete the property, restore it, and see its history
		"delete", "yes", "delete", "7", "restore", "save", "history", "3", "back", "back", "what", "", "q")
	transcript = strings.ReplaceAll(transcript, w.URL, "http://service/v2")
	transcript = strings.ReplaceAll(transcript, w.secret, "the secret")
	transcript = imported.ReplaceAllString(transcript, "$1: when the test ran")
	seen := map[string]string{} // requests take ids too, in any order
	transcript = regexp.MustCompile(`00000000-0000-4000-8000-\d{12}`).ReplaceAllStringFunc(transcript,
		func(id string) string {
			if seen[id] == "" {
				seen[id] = fmt.Sprintf("id-%d", len(seen)+1)
			}
			return seen[id]
		})
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
		"property": screen.ToProperty{ID: "7"}, "login": screen.ToLogin{},
	} {
		t.Run(name, func(t *testing.T) {
			d := tuitest.StartAs(t, w.Server, w.id, w.secret, tuitest.Route(route))
			d.Settle()
			transcript := runScript(t, loggedIn(t, w, route), "?", ":?")
			for _, offer := range d.App.Top().Offers() {
				words := map[string]string{"form.submit": ":send ", "form.cancel": ":leave ", "form.next": ":2 goes to",
					"form.previous": ":back "}[string(offer.ID)]
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

// TestListReadsTenRowsAtATime reads what is before the first prompt of a page of fifty, and then goes on to its end and
// to the next page.
func TestListReadsTenRowsAtATime(t *testing.T) {
	w := service(t)
	for n := range 60 {
		w.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: fmt.Sprintf("perk-%02d", n),
			Title: fmt.Sprintf("Matinee %02d", n), City: "Leeds"}})
	}
	transcript := runScript(t, loggedIn(t, w, screen.ToPerks{}), "filter", "matinee", "clear filter", "more", "more",
		"more", "more", "more", "more", "q")
	row := regexp.MustCompile(`(?m)^(\d+)\. `)
	var read []string
	for _, told := range strings.Split(transcript, "or ? for help: ") {
		var rows []string
		for _, found := range row.FindAllStringSubmatch(told, -1) {
			rows = append(rows, found[1])
		}
		if len(rows) > 10 {
			t.Errorf("%d rows are read out before a prompt:\n%s", len(rows), told)
		}
		if len(rows) > 0 {
			read = append(read, rows[0]+"-"+rows[len(rows)-1])
		}
	}
	if want := "1-10 1-10 11-20 21-30 31-40 41-50 51-60 61-64"; strings.Join(read, " ") != want {
		t.Errorf("read rows %s, want %s:\n%s", strings.Join(read, " "), want, transcript)
	}
}

// TestARowOfTheRedemptionsOpensThatRedemption opens two that are not the newest of their user.
func TestARowOfTheRedemptionsOpensThatRedemption(t *testing.T) {
	w := service(t)
	transcript := runScript(t, loggedIn(t, w, screen.ToUser{ID: "alice"}),
		"redeem 1", "yes", "redeem 1", "yes", "redeem 1", "yes", "redemptions", "2", "back", "back", "3", "q")
	row := regexp.MustCompile(`(?m)^([23])\. alice\. Perk: ([^.]+)\. `)
	found := row.FindAllStringSubmatch(transcript, 2)
	if len(found) != 2 {
		t.Fatalf("the rows are missing:\n%s", transcript)
	}
	rest := transcript
	for _, one := range found {
		_, after, opened := strings.Cut(rest, "«"+one[1]+"»\nRedemption ")
		page, _, _ := strings.Cut(after, "or ? for help: ")
		if !opened || !strings.Contains(page, " of user alice.\n") || !strings.Contains(page, "\nPerk: "+one[2]+" (") {
			t.Errorf("%s does not open %s:\n%s", one[1], one[2], transcript)
		}
		rest = after
	}
}

// TestRowsSayWhatTheyAreWithoutIds reads redemptions in the two lists that begin with a time, and in that of all. An id
// is read once, on the page of the redemption, and not in front of each command.
func TestRowsSayWhatTheyAreWithoutIds(t *testing.T) {
	w := service(t)
	transcript := runScript(t, loggedIn(t, w, screen.ToUser{ID: "alice", Redeemed: true}),
		"switch tab", "redeem 1", "yes", "switch tab", "redemptions", "filter", "status:pending",
		"reject 1", "Too late.", "clear filter", "1", "q")
	for _, want := range []string{
		"\n1. When: just now. Perk: A day at the spa. Status: pending. Client: acme. Chosen.\n",
		"\n1. alice. Perk: A day at the spa. Status: pending. When: just now. Client: acme. Chosen.\n",
		" Status: rejected. When: just now. Reason: Too late. Client: acme. Chosen.\n",
		"\n1. Waiting: just now. User: alice. Perk: A day at the spa. Client: acme. Chosen.\n",
		"\nRedemption of user alice. Command, ",
	} {
		if !strings.Contains(transcript, want) {
			t.Errorf("it does not say %q:\n%s", want, transcript)
		}
	}
}

// TestAListThatIsNotCountedSaysSo also goes on in it.
func TestAListThatIsNotCountedSaysSo(t *testing.T) {
	w := service(t)
	var users []string
	for i := range store.MaxCounted + 60 {
		users = append(users, fmt.Sprintf("user-%04d", i+1))
	}
	w.ImportUsers(users...)
	transcript := runScript(t, loggedIn(t, w, screen.ToPerks{}), "users", ":send",
		"G", "G", "G", "G", "to the bottom", "258", "back", "to the top", "7", "q")
	for _, want := range []string{
		"Users 200+, ", "row 1 of 200+.", "row 200 of 200+.", "row 262 of 200+.", "User user-0256.", "User user-0005.",
	} {
		if !strings.Contains(transcript, want) {
			t.Errorf("it does not say %q:\n%s", want, transcript)
		}
	}
}

// TestProtectedProfileIsAskedForByName redeems, rejects and deletes where the profile's name has to be typed.
func TestProtectedProfileIsAskedForByName(t *testing.T) {
	w := service(t)
	protect := func(s *settings) {
		accounts := tuitest.NewAccounts(t, nil)
		profile := screen.Profile{Name: "prod", APIURL: w.URL, ClientID: w.id, Protected: true}
		accounts.Add(profile, w.secret)
		s.options.Accounts, s.options.Start = accounts, screen.ToPerk{ID: "spa"}
	}
	transcript := runScript(t, protect, "redeem", "alice", "", "yes", ":send", "prod",
		"redemptions", "reject 1", "too late", "Prod", "prod",
		"properties", "7", "delete", "delete", "delete", "prod", "q")
	for _, want := range []string{
		"Live, protected, as acme at ", "Protected: type prod to redeem it. Anything else cancels: «yes»\nNo.",
		"waiting for approval", "Profile (Protected: type prod): «Prod»\nProblem: Protected: type prod.",
		"1 redemption rejected.", "Protected: type prod to delete it. Anything else cancels: «delete»\nNo.",
		"Deleted property 7, Loft by the river.",
	} {
		if !strings.Contains(transcript, want) {
			t.Errorf("%q is missing:\n%s", want, transcript)
		}
	}
}

// TestANewRecordIsReadAloudBeforeItIsCreated ends the form at once: the question has all that is sent.
func TestANewRecordIsReadAloudBeforeItIsCreated(t *testing.T) {
	w := service(t)
	transcript := runScript(t, loggedIn(t, w, screen.ToProperties{}), ":leave", "create", "Attic", "310", ":send", "no",
		":send", "yes", ":dele", "", ":delete", "delete", "q")
	for _, want := range []string{"Create this property?", "310 per week", "Everybody will see it at ",
		"«no»\nNo.", `Created property 8, Attic. ":delete" deletes it.`, "«:dele»\nCommands\n",
		"Deleted property 8, Attic."} {
		if !strings.Contains(transcript, want) {
			t.Errorf("%q is missing:\n%s", want, transcript)
		}
	}
}
