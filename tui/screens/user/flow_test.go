package user_test

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
	"example.com/perks/tui/list"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
)

func record(id, title string) store.PerkRecord {
	end := time.Now().Add(72*time.Hour + time.Minute)
	return store.PerkRecord{Perk: api.Perk{ID: id, Title: title, City: "Berlin", ValidTo: &end}}
}

// session is the terminal UI on the list of perks, with a real service.
type session struct {
	*tuitest.Driver
	t      *testing.T
	server *servertest.Server
}

func startSession(t *testing.T) *session {
	t.Helper()
	server := servertest.Start(t)
	server.ImportUsers("alice", "bob")
	records := []store.PerkRecord{record("coffee", "Coffee for two"), record("museum", "An hour in the museum"),
		record("tea", "A pot of tea")}
	for i := range records { // the first is the newest
		records[i].CreatedAt = time.Now().Add(-time.Duration(i) * time.Hour)
	}
	server.ImportPerks(records...)
	s := &session{tuitest.Start(t, server), t, server}
	s.Commands = s.commands()
	s.Play(`=> row 1 of 3
		settle`)
	return s
}

// commands are what scenarios do beside the screen.
func (s *session) commands() map[string]func(argument string) {
	return map[string]func(string){
		"user":        func(id string) { s.Open(screen.ToUser{ID: id}) },
		"redemptions": func(user string) { s.Open(screen.ToUser{ID: user, Redeemed: true}) },
		"redeem": func(perkAndUser string) { // without the screen
			perk, user, _ := strings.Cut(perkAndUser, " for ")
			request := api.RedeemRequest{UserID: user, Metadata: []byte(`{"shop":"Mitte"}`)}
			if _, _, err := s.App.Shell().Account.Client.Redeem(s.t.Context(), perk, request, ""); err != nil {
				s.t.Fatal(err)
			}
		},
		"redeemed": func(perkAndUser string) { // says that another screen has redeemed it
			perk, user, _ := strings.Cut(perkAndUser, " for ")
			s.Send(screen.Redeemed{PerkID: perk, UserID: user})
		},
		"recent": func(want string) {
			s.Settle()
			if got := strings.Join(s.Memory.Recent(screen.Profile{}, "user"), " "); got != want {
				s.t.Errorf("recent users: %s, want %s", got, want)
			}
		},
		"online": func(string) { s.Send(screen.Reconnected{}) },
		"newest": func(want string) { // the first redemption
			s.Settle()
			top, _, _ := strings.Cut(s.Screen(), "Available")
			if coffee, tea := strings.Index(top, "Coffee for two"), strings.Index(top, "A pot of tea"); coffee < tea !=
				(want == "coffee") {
				s.t.Errorf("%s is not the first:\n%s", want, s.Screen())
			}
		},
		"imported": func(string) { // perks that cannot be had, or not at once
			one, past, later := int64(1), time.Now().Add(-48*time.Hour), time.Now().Add(48*time.Hour)
			sold, over, next, manual := record("sold", "Sold"), record("over", "Over"), record("next", "Next"),
				record("manual", "Manual")
			sold.Stock, over.ValidTo, next.ValidFrom, manual.Approval = &one, &past, &later, store.ApprovalManual
			s.server.ImportPerks(sold, over, next, manual)
		},
		"spa": func(string) {
			spa := record("spa", "A day at the spa")
			spa.Approval = store.ApprovalManual
			s.server.ImportPerks(spa)
		},
		"approved elsewhere": func(string) { // the redemption that is shown
			_, id := s.App.Top().(screen.Selected).Selected()
			approve := s.server.Request(s.server.Token(), http.MethodPost,
				s.server.LiveURL()+"/redemptions/"+id+"/approve", `{}`)
			if status := s.server.Do(approve, nil); status != http.StatusOK {
				s.t.Fatalf("approving: %d", status)
			}
		},
		"changed": func(string) { s.Send(screen.Changed{}) },
		"by id": func(string) { // opens what is under the cursor
			_, id := s.App.Top().(screen.Selected).Selected()
			s.Open(screen.ToRedemption{ID: id})
		},
	}
}

// decided shows alice, who has an approved coffee and, above it, a spa that waits for approval.
const decided = `
		spa:
		size: 120x30
		redeem: coffee for alice
		redeem: spa for alice
		redemptions: alice => Redeemed 2 | > just now A day at the spa ◐ pending | Coffee for two ● approved | Available 2
		settle
`

// flows are sessions of a client that may do everything.
var flows = map[string]string{
	"redemptions are above what is available": `
		user: alice      => Redeemed 0 | alice has redeemed nothing yet. | Available 3 | ends in 3 d
		                 => row 1 of 3
		redeem: coffee for alice
		R                => Redeemed 1 · newest ↓ | just now Coffee for two ● approved coffee | Available 2
		tab enter        => Status approved | Coffee for two (coffee) | shop
		y                => Copied the id
		esc P            => Perk Coffee for two
		esc tab          => > An hour in the museum`,

	"an unknown user can be replaced": `
		user: nobody     => There is no live user nobody. | u opens another user
		recent:
		u                => Which user?
		"..\n"           => must not be . or ..
		backspace backspace "bob\n" => User bob | Available 3
		recent: bob`,

	"recent users are offered": `
		user: bob        => Available 3
		settle
		user: alice      => User alice | Available 3
		recent: alice bob
		user:            => Which user? | alice | bob | Another user ...
		down enter       => User bob | Available 3
		settle u         => alice
		"ali"            => > ali (as typed) | alice
		down enter       => User alice | Available 3
		settle u         => Which user?
		up enter         => User id
		"zoe\n"          => There is no live user zoe.
		u                => Which user?
		"bob\n"          => User bob | Available 3`,

	"a reload shows what was redeemed": `
		user: alice      => Available 3
		online:          => Available 3 | Redeemed 0
		redeem: tea for alice
		R                => Available 2 | Redeemed 1`,

	"marked perks are redeemed": `
		user: alice      => Available 3 | Redeemed 0
		space space      => 2 marked
		r                => Redeem for alice?
		y                => alice: 2 redeemed.
		settle esc       => Available 1 | Redeemed 2
		wait: 1m         => row 1 of 1 | ≠ marked`,

	"marks of another user stay": `
		user: alice      => Available 3
		space space      => 2 marked | r redeem 2 marked
		redeemed: coffee for bob => 2 marked
		redeemed: coffee for alice => 1 marked | r redeem 1 marked`,

	"redemptions are shown after a duplicate": `
		redeem: coffee for alice
		r "alice" ctrl+s => Redeem for alice?
		y                => u shows alice's redemptions.
		u                => User alice | Available 2 | Redeemed 1 | coffee | approved`,

	// by a row, by the whole id, and one that the list does not have
	"a user is found by the start of the id": `
		2                => Users | alice
		"ali"            => row 1 of 1
		enter S          => Reverse the order: not possible now. This list has one order.
		enter            => User alice | Available 3
		esc / "bob"      => row 1 of 1
		enter            => User bob | Available
		2 / "nobody"     => No user matches nobody.
		enter            => There is no live user nobody.`,

	"cancelling the picker goes back": `
		user: alice      => Available 3
		settle u         => Which user?
		esc              => User alice | Available 3
		screens: 2`,

	// with the keys of the list of perks, also while the redemptions have the keyboard
	"available perks are found and sorted": `
		redemptions: alice => Available 3 | Redeemed 0
		s                => Sort by…: not possible now. This list has one order.
		/ "coffee city:ber" => Available 1 | > Coffee for two | tab Berlin
		enter            => / coffee city:Berlin | Available 1
		F                => Available 3
		s                => Sort by | When it was added (now) | ≠ Distance
		"title\n"        => Title ▲ | title ↑ | > A pot of tea
		S R              => Title ▼ | title ↓ | > Coffee for two`,

	"a row says why a perk cannot be had": `
		imported:
		redeem: coffee for alice
		redeem: sold for bob
		redeem: manual for alice
		user: alice      => Available 2 | Redeemed 2
		/ "sold city:berlin" => No perk matches sold city:berlin. +expired shows all perks, and why not.
		enter            => No perk matches sold city:berlin. i shows all perks, and why not. F clears it.
		tab              => > just now Manual
		e                => All perks 1 | Sold Berlin sold out
		tab F            => Available 2
		e                => All perks 7 | Coffee for two Berlin redeemed just now | i available
		                 => Sold Berlin sold out | Over Berlin expired 2 days ago | Next Berlin starts
		                 => Manual Berlin pending approval | A pot of tea Berlin ends in 3 days
		s "title\n"      => > A pot of tea
		G                => > Sold Berlin sold out
		r                => Redeem: not possible now. Not for alice: sold out.
		wait: 1s
		e                => Available 2`,

	// with two keys, after which the user is shown again; esc leads to the form, for metadata
	"a perk is redeemed in place": `
		user: alice      => Available 3 | Redeemed 0
		r                => Redeem for alice? | Coffee for two
		y                => Done: "Coffee for two" for alice: redeemed | Redeemed 1 | just now Coffee for two ● approved
		                 => Available 2
		screens: 2
		r esc            => > Metadata
		screens: 3
		esc              => User alice | Redeemed 1`,

	"the order of redemptions is that of a user's page": `
		redeem: coffee for alice
		redeem: tea for alice
		redemptions: alice => Redeemed 2 | newest ↓ | just now A pot of tea ● approved tea
		                 => just now Coffee for two ● approved coffee
		newest: tea
		S                => Redeemed 2 | oldest ↑
		newest: coffee
		4                => Redemptions 2 | newest ↓
		2 esc
		redemptions: alice => Redeemed 2 | oldest ↑
		newest: coffee`,

	"a perk opened from the user is redeemed for them": `
		user: alice      => Available 3
		enter            => Valid from
		r                => > Metadata
		screens: 4
		form: user_id=alice`,

	"nothing is done with several users": `
		2                => Users 2 | row 1 of 2
		esc space        => Mark: not on this screen. | ≠ marked`,

	// Decisions

	"redemptions are decided on the user's page": decided + `
		                 => a approve | x reject | ≠ ctrl+x void
		ctrl+x           => Void: not possible now. It is pending. Reject it: x.
		wait: 1s
		a                => Approve A day at the spa for alice? | LIVE
		y                => Done: 1 redemption approved. | A day at the spa ● approved | ctrl+x void
		j ctrl+x         => Void Coffee for two for alice?
		"wrong perk\n"   => Done: 1 redemption voided. | Coffee for two ⊘ voided | wrong perk | Available 3
		x                => Reject: not possible now. It is voided.
		tab ctrl+x       => Void: not possible now. Go to the redemptions: tab.
		wait: 1s
		e                => All perks 4 | A day at the spa Berlin redeemed just now
		                 => Coffee for two Berlin ends in 3 days`,

	// and shown there, on the user's page and in the list of all
	"a redemption is decided on its page": decided + `
		j enter          => Status approved | ctrl+x void
		?                => Keys | Redemption | Approve (not now: It is approved. Void it: ctrl+x.) | ctrl+x Void
		esc ctrl+x "left early\n" => Done: 1 redemption voided. | Status voided, can be redeemed again | Decided
		                 => Reason left early | Client
		esc              => Coffee for two ⊘ voided | left early | Available 3
		4                => Redemptions 2 | Coffee for two ⊘ voided
		G enter          => Status voided, can be redeemed again | Decided | Reason left early | Client`,

	"what is opened by its id is under the cursor": decided + `
		j                => > just now Coffee for two
		by id:           => - just now Coffee for two ● approved | Status approved | User alice
		esc              => > just now Coffee for two`,

	"an old age is not cut": `
		redeem: coffee for alice
		redemptions: alice => just now Coffee for two ● approved
		wait: 385h       => 16 days ago Coffee for two
		wait: 23592h     => 999 days ago Coffee for two ● approved`,

	"what others redeem is marked for a second": `
		user: alice      => Redeemed 0 | Available 3
		settle
		redeem: coffee for alice
		wait: 3s         => + just now Coffee for two | Available 2 | ≠ + An hour
		wait: 900ms      => + just now Coffee for two
		wait: 100ms      => just now Coffee for two | ≠ + just now
		redeem: tea for alice
		R                => just now A pot of tea | ≠ + just now`,

	"a decision elsewhere is shown on the redemption's page": decided + `
		enter            => Status pending, waiting for approval
		approved elsewhere:
		wait: 1s
		changed:         => Status approved | Decided`,
}

func TestFlows(t *testing.T) {
	for name, flow := range flows {
		t.Run(name, func(t *testing.T) { startSession(t).Play(flow) })
	}
}

func TestTypedTextRunsNoActions(t *testing.T) {
	s := startSession(t)
	s.Play(`user: => Which user?`)
	s.TypesEverywhere()
}

func TestPages(t *testing.T) {
	s := startSession(t)
	var more []store.PerkRecord
	for i := range 60 {
		more = append(more, record(fmt.Sprintf("perk-%d", i), fmt.Sprintf("Perk number %d", i)))
	}
	s.server.ImportPerks(more...)
	s.Play(`
		user: alice => Available 63 | row 1 of 63
		G           => row 63 of 63
		g           => row 1 of 63`)
}

// TestWithoutTheListAUserIsOpenedByID is a client that may not list users, as with the default scopes.
func TestWithoutTheListAUserIsOpenedByID(t *testing.T) {
	s := startSession(t)
	id, secret := s.server.Client(api.DefaultScopes()...)
	tuitest.StartAs(t, s.server, id, secret).Play(`
		2       => No user list here. Type an id, Enter.
		"alice" => No user list here. | enter open user
		enter   => User alice | Available 3
		esc esc => No user list here. / takes an id. | ≠ !`)
}

// TestAClientThatMayNotReadRecordsSeesTheRedemptions is of a client without any right to redemptions, and of one that
// may read only its own, of which there are none.
func TestAClientThatMayNotReadRecordsSeesTheRedemptions(t *testing.T) {
	s := startSession(t)
	s.Play(decided + `j ctrl+x "wrong perk\n" => Coffee for two ⊘ voided`)
	for _, scopes := range [][]api.Scope{{api.ScopePerksRead}, {api.ScopePerksRead, api.ScopeRedemptionsRead}} {
		id, secret := s.server.Client(scopes...)
		tuitest.StartAs(t, s.server, id, secret, tuitest.Route(screen.ToUser{ID: "alice", Redeemed: true})).Play(`
			=> Redeemed 2 | A day at the spa ◐ pending | Coffee for two ○ rejected | ≠ wrong perk`)
	}
}

func TestTheUsersPageSaysWhatWasRefused(t *testing.T) {
	s := startSession(t)
	for _, perk := range []string{"coffee", "nothing"} { // the service knows no such perk
		for range 2 {
			_, _, err := s.App.Shell().Account.Client.Redeem(t.Context(), perk, api.RedeemRequest{UserID: "alice"}, "")
			if api.CodeOf(err) == "" && perk == "nothing" {
				t.Fatal("it was not refused")
			}
		}
	}
	s.Play(`redemptions: alice => Coffee for two | Refused: today | not found, nothing; today | ≠ loading`)
	s.Play(`user: bob => has redeemed nothing yet. | ≠ Refused`)
}

// TestAnOldRedemptionIsNotShownBesideAnother opens the first of more than are read at first.
func TestAnOldRedemptionIsNotShownBesideAnother(t *testing.T) {
	s := startSession(t)
	s.Resize(120, 40)
	var first string
	for i := range 4 * list.PerPage {
		perk := record(fmt.Sprintf("perk-%d", i), "Perk")
		s.server.ImportPerks(perk)
		request := api.RedeemRequest{UserID: "alice"}
		made, _, err := s.App.Shell().Account.Client.Redeem(t.Context(), perk.ID, request, "")
		if err != nil {
			t.Fatal(err)
		}
		first = cmp.Or(first, made.ID)
	}
	s.Open(screen.ToRedemption{ID: first})
	s.Play(`
		=> Perk (perk-0)
		settle
		=> ≠ row 1 of
		esc => row 1 of 200`)
}
