package redeem

import (
	"strings"
	"testing"

	"example.com/perks/api"
	"example.com/perks/tui/screen"
)

func TestPerksAreNamedInASentence(t *testing.T) {
	perk := func(id, title string) api.Perk { return api.Perk{ID: id, Title: title} }
	var many []api.Perk
	for _, id := range strings.Split("abcdefghijkl", "") {
		many = append(many, perk(id, strings.ToUpper(id)))
	}
	for want, perks := range map[string][]api.Perk{
		`"Coffee"`:                             {perk("c", "Coffee")},
		`"Coffee" and "Tea"`:                   {perk("c", "Coffee"), perk("t", "Tea")},
		`"Coffee" (c), "Tea" and "Coffee" (d)`: {perk("c", "Coffee"), perk("t", "Tea"), perk("d", "Coffee")},
		`"A", "B", "C", "D", "E", "F", "G", "H" and 4 more`: many,
		`"[31mRed turned"`: {perk("x", "\x1b[31mRed\n\u202eturned")},
	} {
		if got := perksNamed(perks); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestThePlaceTellsLiveFromSandbox(t *testing.T) {
	for want, sandbox := range map[string]bool{"https://a.example/v2 (LIVE), profile shop": false, "https://a.example/v2 (SANDBOX), profile shop": true} {
		if got := place(screen.Profile{Name: "shop", APIURL: "https://a.example/v2", Sandbox: sandbox}); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestAMessageIsAboutTheUserOrThePerkWhateverTheirIds(t *testing.T) {
	for _, test := range []struct {
		perkID, userID, message string
		want                    bool
	}{
		{"coffee", "alice", `There is no user "alice".`, true},
		{"coffee", "alice", `There is no perk "coffee".`, false},
		{"user-perk", "alice", `There is no perk "user-perk".`, false},
		{"coffee", "perk", `There is no user "perk".`, true},
		{"coffee", "user", `There is no user "user".`, true},
		{"coffee", "alice", `Not found.`, false},
		{"coffee", "alice", `User not found`, true},
	} {
		i := &item{}
		i.PerkID, i.Request.UserID = test.perkID, test.userID
		if got := isAboutUser(i, test.message); got != test.want {
			t.Errorf("%q: %t", test.message, got)
		}
	}
}
