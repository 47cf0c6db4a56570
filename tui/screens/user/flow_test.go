package user_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
	"example.com/perks/tui"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
)

func record(id, title string) store.PerkRecord {
	end := time.Now().Add(72*time.Hour + time.Minute)
	return store.PerkRecord{Perk: api.Perk{ID: id, Title: title, City: "Berlin", ValidTo: &end}}
}

func startServer(t *testing.T) *servertest.Server {
	t.Helper()
	s := servertest.Start(t)
	s.ImportUsers("alice", "bob")
	records := []store.PerkRecord{record("coffee", "Coffee for two"), record("museum", "An hour in the museum"),
		record("tea", "A pot of tea")}
	for i := range records { // the first is the newest
		records[i].CreatedAt = time.Now().Add(-time.Duration(i) * time.Hour)
	}
	s.ImportPerks(records...)
	return s
}

// TestRedemptionsAreAboveWhatIsAvailable looks at both lists before and after a redemption, and at one redemption.
func TestRedemptionsAreAboveWhatIsAvailable(t *testing.T) {
	d := tuitest.Start(t, startServer(t), tuitest.Route(screen.ToUser{ID: "alice"}))
	d.See("Redeemed 0", "alice has redeemed nothing yet.", "Available 3", "ends in 3 d", "row 1 of 3, page 1 of 1")
	redeem(t, d, "coffee", "alice")
	d.Send(screen.Revealed{})
	d.See("Available 2", "Redeemed 1", "just now Coffee for two approved coffee")
	if shown := d.Screen(); strings.Index(shown, "Redeemed 1") > strings.Index(shown, "Available 2") {
		t.Errorf("the redemptions are below:\n%s", shown)
	}
	d.Press("tab", "enter")
	d.See("Status approved", "Coffee for two (coffee)", "shop")
	d.Press("y")
	d.See("Copied the id")
	d.Press("esc", "P")
	d.See("Perk Coffee for two")
	d.Press("esc", "tab")
	d.See("> An hour in the museum")
}

// redeem redeems without the screen.
func redeem(t *testing.T, d *tuitest.Driver, perk, user string) {
	t.Helper()
	c := d.App.Shell().Account.Client
	if _, _, err := c.Redeem(context.Background(), perk, api.RedeemRequest{UserID: user,
		Metadata: []byte(`{"shop":"Mitte"}`)}, ""); err != nil {
		t.Fatal(err)
	}
}

func TestUnknownUserCanBeReplaced(t *testing.T) {
	d := tuitest.Start(t, startServer(t), tuitest.Route(screen.ToUser{ID: "nobody"}))
	d.See("There is no live user nobody.", "u opens another user")
	d.Settle()
	if recent := d.Memory.Recent(screen.Profile{}, "user"); len(recent) > 0 {
		t.Errorf("recent users: %v", recent)
	}
	d.Press("u")
	d.See("Which user?")
	d.Type("..")
	d.Press("enter")
	d.See("must not be . or ..")
	d.Press("backspace", "backspace")
	d.Type("bob")
	d.Press("enter")
	d.See("User bob", "Available 3")
	d.Settle()
	if recent := d.Memory.Recent(screen.Profile{}, "user"); len(recent) != 1 || recent[0] != "bob" {
		t.Errorf("recent users: %v", recent)
	}
}

func TestRecentUsersAreOffered(t *testing.T) {
	memory := &tuitest.Memory{}
	for _, id := range []string{"bob", "alice"} {
		if err := memory.Remember(screen.Profile{}, "user", id); err != nil {
			t.Fatal(err)
		}
	}
	d := tuitest.Start(t, startServer(t), tuitest.Route(screen.ToUser{}), func(o *tui.Options) { o.Memory = memory })
	d.See("Which user?", "alice", "bob", "Another user ...")
	d.Press("down", "enter")
	d.See("User bob", "Available 3")
	d.Press("u")
	d.See("alice")
	d.Type("ali")
	d.See("> ali (as typed)", "  alice")
	d.Press("down", "enter")
	d.See("User alice", "Available 3")
	d.Press("u")
	d.See("Which user?")
	d.Press("up", "enter")
	d.See("User id")
	d.Type("zoe")
	d.Press("enter")
	d.See("There is no live user zoe.")
	d.Press("u")
	d.See("Which user?")
	d.Type("bob\n")
	d.See("User bob", "Available 3")
}

func TestTypedTextRunsNoActions(t *testing.T) {
	d := tuitest.Start(t, startServer(t), tuitest.Route(screen.ToUser{}))
	d.See("Which user?")
	d.TypesEverywhere()
}

func TestAnExpiredSessionKeepsTheUser(t *testing.T) {
	d := tuitest.Start(t, startServer(t), tuitest.Route(screen.ToUser{ID: "alice"}))
	d.See("Available 3")
	d.Send(screen.Reconnected{})
	d.See("Available 3", "Redeemed 0")
	redeem(t, d, "tea", "alice")
	d.Press("R")
	d.See("Available 2", "Redeemed 1")
}

func TestRedeemMarkedPerks(t *testing.T) {
	d := tuitest.Start(t, startServer(t), tuitest.Route(screen.ToUser{ID: "alice"}))
	d.See("Available 3", "Redeemed 0")
	d.Press(" ", " ")
	d.See("2 marked")
	d.Press("r")
	d.See("Redeem for alice?")
	d.Press("y")
	d.Until("the results", func() bool { return !d.Shows("Redeem for alice?") && d.App.Top().Form() == nil })
	d.Settle()
	d.Press("esc")
	d.See("Available 1", "Redeemed 2")
	d.Elapse(time.Minute)
	d.See("row 1 of 1")
	d.Gone("marked")
}

// TestRedemptionsAreShownAfterADuplicate opens the user from a refused redemption.
func TestRedemptionsAreShownAfterADuplicate(t *testing.T) {
	d := tuitest.Start(t, startServer(t))
	d.See("row 1 of 3")
	redeem(t, d, "coffee", "alice")
	d.Press("r")
	d.See("> User")
	d.Type("alice")
	d.Press("ctrl+s")
	d.See("Redeem for alice?")
	d.Press("y")
	d.See("u shows alice's redemptions.")
	d.Press("u")
	d.See("User alice", "Available 2", "Redeemed 1", "coffee", "approved")
}

// TestAUserIsFoundByTheStartOfTheID opens a user by a row, by the whole id, and one that the list does not have.
func TestAUserIsFoundByTheStartOfTheID(t *testing.T) {
	d := tuitest.Start(t, startServer(t))
	d.See("row 1 of 3")
	d.Press("2")
	d.See("Users", "alice")
	d.Type("ali")
	d.See("row 1 of 1")
	d.Press("enter", "S")
	d.See("Reverse the order: not possible now. This list has one order.")
	d.Press("enter")
	d.See("User alice", "Available 3")
	d.Press("esc", "/")
	d.Type("bob")
	d.See("row 1 of 1")
	d.Press("enter")
	d.See("User bob", "Available")
	d.Press("2", "/")
	d.Type("nobody")
	d.See("No user matches nobody.")
	d.Press("enter")
	d.See("There is no live user nobody.")
}

// TestCancellingThePickerGoesBack cancels the picker over a user.
func TestCancellingThePickerGoesBack(t *testing.T) {
	d := tuitest.Start(t, startServer(t))
	d.See("row 1 of 3")
	d.Open(screen.ToUser{ID: "alice"})
	d.See("Available 3")
	d.Press("u")
	d.See("Which user?")
	d.Press("esc")
	d.See("User alice", "Available 3")
	if d.Depth() != 2 {
		t.Errorf("%d screens are open", d.Depth())
	}
}

// TestAvailablePerksAreFoundAndSorted uses the keys of the list of perks, also while the redemptions have the keyboard.
func TestAvailablePerksAreFoundAndSorted(t *testing.T) {
	d := tuitest.Start(t, startServer(t), tuitest.Route(screen.ToUser{ID: "alice", Redeemed: true}))
	d.See("Available 3", "Redeemed 0")
	d.Press("s")
	d.See("Sort by…: not possible now. This list has one order.")
	d.Press("/")
	d.Type("coffee city:ber")
	d.See("Available 1", "> Coffee for two", "tab Berlin")
	d.Press("enter")
	d.See("/ coffee city:Berlin", "Available 1")
	d.Press("F")
	d.See("Available 3")
	d.Press("s")
	d.See("Sort by", "When it was added (now)")
	d.Gone("Distance")
	d.Type("title\n")
	d.See("Title ▲", "title ↑", "> A pot of tea")
	d.Press("S", "R")
	d.See("Title ▼", "title ↓", "> Coffee for two")
}

// TestARowSaysWhyAPerkCannotBeHad lists all perks for a user who has redeemed one; others are sold out, expired and not
// begun.
func TestARowSaysWhyAPerkCannotBeHad(t *testing.T) {
	s := startServer(t)
	one, past, later := int64(1), time.Now().Add(-48*time.Hour), time.Now().Add(48*time.Hour)
	sold, over, next, manual := record("sold", "Sold"), record("over", "Over"), record("next", "Next"),
		record("manual", "Manual")
	sold.Stock, over.ValidTo, next.ValidFrom, manual.Approval = &one, &past, &later, store.ApprovalManual
	s.ImportPerks(sold, over, next, manual)
	d := tuitest.Start(t, s)
	d.See("Perks 6")
	redeem(t, d, "coffee", "alice")
	redeem(t, d, "sold", "bob")
	redeem(t, d, "manual", "alice")
	d.Open(screen.ToUser{ID: "alice"})
	d.See("Available 2", "Redeemed 2")
	d.Press("/")
	d.Type("sold city:berlin")
	d.See("No perk matches sold city:berlin. +expired shows all perks, and why not. esc cancels it.")
	d.Press("enter")
	d.See("No perk matches sold city:berlin. e shows all perks, and why not. F clears it.")
	d.Press("tab") // the keys work there too
	d.See("> just now Manual")
	d.Press("e")
	d.See("All perks 1", "Sold Berlin sold out")
	d.Press("tab", "F")
	d.See("Available 2")
	d.Press("e")
	d.See("All perks 7", "Coffee for two Berlin redeemed just now", "Sold Berlin sold out",
		"Over Berlin expired 2 days ago", "Next Berlin starts", "Manual Berlin pending approval",
		"A pot of tea Berlin ends in 3 days", "e available")
	d.Press("s")
	d.Type("title\n")
	d.See("> A pot of tea")
	d.Press("G")
	d.See("> Sold Berlin sold out")
	d.Press("r")
	d.See("Redeem: not possible now. Not for alice: sold out.")
	d.Elapse(time.Second)
	d.Press("e")
	d.See("Available 2")
}

// TestRedeemInPlace redeems with two keys, after which the user is shown again.
func TestRedeemInPlace(t *testing.T) {
	d := tuitest.Start(t, startServer(t), tuitest.Route(screen.ToUser{ID: "alice"}))
	d.See("Available 3", "Redeemed 0")
	d.Press("r")
	d.See("Redeem for alice?", "Coffee for two")
	d.Press("y")
	d.See(`Done: "Coffee for two" for alice: redeemed`, "Redeemed 1", "just now Coffee for two approved", "Available 2")
	if d.Depth() != 1 {
		t.Errorf("%d screens are open", d.Depth())
	}
	d.Press("r", "esc") // the form, for metadata
	d.Until("the form", func() bool { return d.Depth() == 2 && d.App.Top().Form() != nil })
	d.Press("esc")
	d.See("User alice", "Redeemed 1")
}

// TestMarksOfAnotherUserStay redeems one of two marked perks for somebody else.
func TestMarksOfAnotherUserStay(t *testing.T) {
	d := tuitest.Start(t, startServer(t), tuitest.Route(screen.ToUser{ID: "alice"}))
	d.See("Available 3")
	d.Press(" ", " ")
	d.See("2 marked", "r redeem 2 marked")
	d.Send(screen.Redeemed{PerkID: "coffee", UserID: "bob"})
	d.See("2 marked")
	d.Send(screen.Redeemed{PerkID: "coffee", UserID: "alice"})
	d.See("1 marked", "r redeem 1 marked")
}

// TestRedemptionsAreReversed reverses the order of a user's redemptions. The list of all
// redemptions does not take it over.
func TestRedemptionsAreReversed(t *testing.T) {
	d := tuitest.Start(t, startServer(t), tuitest.Route(screen.ToUser{ID: "alice", Redeemed: true}))
	d.See("Redeemed 0")
	redeem(t, d, "coffee", "alice")
	redeem(t, d, "tea", "alice")
	d.Press("R")
	d.See("Redeemed 2", "newest ↓", "just now A pot of tea approved tea", "just now Coffee for two approved coffee")
	first := func(title, other string) {
		t.Helper()
		d.Until(title+" first", func() bool {
			top, _, _ := strings.Cut(d.Screen(), "Available")
			return d.Running() == 0 && strings.Index(top, title) < strings.Index(top, other)
		})
	}
	first("A pot of tea", "Coffee for two")
	d.Press("S")
	d.See("Redeemed 2", "oldest ↑")
	first("Coffee for two", "A pot of tea")
	d.Press("4")
	d.See("Redemptions 2", "newest ↓")
	d.Press("2", "esc")
	d.Open(screen.ToUser{ID: "alice", Redeemed: true})
	d.See("Redeemed 2", "oldest ↑")
	first("Coffee for two", "A pot of tea")
}

func TestPerkOpenedFromTheUserIsRedeemedForThem(t *testing.T) {
	d := tuitest.Start(t, startServer(t), tuitest.Route(screen.ToUser{ID: "alice"}))
	d.See("Available 3")
	d.Press("enter")
	d.See("Valid from")
	d.Press("r")
	d.Until("the form", func() bool { return d.Depth() == 3 && d.App.Top().Form() != nil })
	if user := d.App.Top().Form().Value("user_id"); user != "alice" {
		t.Errorf("the form has the user %q", user)
	}
}

func TestPages(t *testing.T) {
	s := startServer(t)
	var more []store.PerkRecord
	for i := range 60 {
		more = append(more, record(fmt.Sprintf("perk-%d", i), fmt.Sprintf("Perk number %d", i)))
	}
	s.ImportPerks(more...)
	d := tuitest.Start(t, s, tuitest.Route(screen.ToUser{ID: "alice"}))
	d.See("Available 63", "row 1 of 63, page 1 of 2")
	d.Press("n")
	d.See("row 51 of 63, page 2 of 2")
	d.Press("p")
	d.See("row 1 of 63, page 1 of 2")
}

// TestUsersHaveNoMarks tries to mark a user: nothing is done with several.
func TestUsersHaveNoMarks(t *testing.T) {
	d := tuitest.Start(t, startServer(t), tuitest.Route(screen.ToUsers{}))
	d.See("Users 2", "row 1 of 2")
	d.Press("esc", " ")
	d.See("Mark: not on this screen.")
	d.Gone("marked")
}

// TestWithoutTheListAUserIsOpenedByID is a client that may not list users, as with the default scopes.
func TestWithoutTheListAUserIsOpenedByID(t *testing.T) {
	s := startServer(t)
	id, secret := s.Client(api.DefaultScopes()...)
	d := tuitest.StartAs(t, s, id, secret)
	d.See("row 1 of 3")
	d.Press("2")
	d.See("No user list here. Type an id, Enter.")
	d.Type("alice")
	d.See("No user list here.", "enter open user")
	d.Press("enter")
	d.See("User alice", "Available 3")
	d.Press("esc", "esc")
	d.See("No user list here. / takes an id.")
	d.Gone("!")
}
