package redeem

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/muesli/termenv"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/operation"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/theme"
)

func TestQuotedList(t *testing.T) {
	perk := func(id, title string) *item { return &item{perk: api.Perk{ID: id, Title: title}} }
	var many []*item
	for _, id := range strings.Split("abcdefghijkl", "") {
		many = append(many, perk(id, strings.ToUpper(id)))
	}
	for want, perks := range map[string][]*item{
		`"Coffee"`:                             {perk("c", "Coffee")},
		`"Coffee" and "Tea"`:                   {perk("c", "Coffee"), perk("t", "Tea")},
		`"Coffee" (c), "Tea" and "Coffee" (d)`: {perk("c", "Coffee"), perk("t", "Tea"), perk("d", "Coffee")},
		`"A", "B", "C", "D", "E", "F", "G", "H" and 4 more`: many,
		`"[31mRed turned"`: {perk("x", "\x1b[31mRed\n\u202eturned")},
	} {
		if got := quotedList(perks); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestDestination(t *testing.T) {
	for want, sandbox := range map[string]bool{"https://a.example/v2 (LIVE), profile work": false,
		"https://a.example/v2 (SANDBOX), profile work": true} {
		if got := destination(screen.Profile{Name: "work", APIURL: "https://a.example/v2",
			Sandbox: sandbox}); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestIsAboutUser(t *testing.T) {
	for _, test := range []struct {
		perkID, userID, message string
		want                    bool
		param                   string
	}{
		{"coffee", "alice", "Not found.", true, "user_id"},
		{"coffee", "alice", "User alice can't have it: it is not there.", false, "perk_id"},
		{"coffee", "alice", `There is no user "alice".`, true, ""},
		{"coffee", "alice", `There is no perk "coffee".`, false, ""},
		{"user-perk", "alice", `There is no perk "user-perk".`, false, ""},
		{"coffee", "perk", `There is no user "perk".`, true, ""},
		{"coffee", "user", `There is no user "user".`, true, ""},
		{"coffee", "alice", `Not found.`, false, ""},
		{"coffee", "alice", `User not found`, true, ""},
	} {
		err := &client.Error{Status: 404, Code: api.CodeNotFound, Message: test.message, Param: test.param}
		if got := isAboutUser(err, test.perkID, test.userID); got != test.want {
			t.Errorf("%q: %t", test.message, got)
		}
	}
}

// Only a code says what a refusal is about. Without one the service's own sentence is all that is known.
func TestOutcomeWithoutACode(t *testing.T) {
	shell := &screen.Shell{Theme: theme.New(theme.None, termenv.Ascii), Keys: actions.Default(), Now: time.Now}
	s := New(shell, screen.ToRedeem{})
	for _, e := range []*client.Error{
		{Status: 404, Code: "http_404", Message: "No user or perk here."},
		{Status: 404, Code: "http_404", Message: "Unknown user."},
		{Status: 400, Code: "http_400", Message: "Not on Sundays."},
		{Status: 422, Code: "http_422", Message: "Not on Sundays."},
		{Status: 409, Code: "http_409", Message: "Not on Sundays."},
	} {
		i := &item{at: time.Now()}
		i.Err = e
		got := s.refused(i, e)
		if got.mark != "failed" || got.text != e.Message+" Nothing was redeemed." || got.next != "" {
			t.Errorf("%d: %+v", e.Status, got)
		}
	}
	e := &client.Error{Status: 400, Message: "Wrong client.", CredentialsRefused: true}
	if got := s.refused(&item{}, e); got.mark != "not sent" {
		t.Errorf("refused credentials: %+v", got)
	}
}

func TestActionsWithoutKeysAreNamedByTheirCommand(t *testing.T) {
	none := map[actions.ID]actions.Override{}
	for _, id := range []actions.ID{actions.Submit, actions.CheckAgain, actions.Retry, actions.StopChecking,
		actions.ForUser, actions.Redeem, actions.Login} {
		none[id] = actions.Override{}
	}
	keys, _, err := actions.Configure(none)
	if err != nil {
		t.Fatal(err)
	}
	s := New(&screen.Shell{Theme: theme.New(theme.None, termenv.Ascii), Keys: keys, Now: time.Now}, screen.ToRedeem{})
	refused := func(status int, code api.Code) *item {
		i := &item{at: time.Now()}
		i.Err = &client.Error{Status: status, Code: code, Message: "No."}
		return i
	}
	unknown := &item{at: time.Now()}
	unknown.State = operation.Unknown
	for want, of := range map[string]*item{
		`"Save" in the command palette retries. It can't be redeemed`:      refused(http.StatusTooManyRequests, ""),
		`"Redeem" in the command palette opens the form`:                   refused(422, api.CodeIdempotencyKeyReused),
		`"Go to the user" in the command palette shows`:                    refused(409, api.CodeAlreadyRedeemed),
		`"Log in, or switch the profile" in the command palette switches`:  refused(http.StatusForbidden, ""),
		`"Check again" in the command palette checks again, "Retry safely`: unknown,
	} {
		if got := s.outcome(of).next; !strings.Contains(got, want) {
			t.Errorf("%q, missing %q", got, want)
		}
	}
}
