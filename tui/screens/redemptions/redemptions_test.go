package redemptions_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/perks/api"
	"example.com/perks/server"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
)

// session is a real service with a proxy that loses or holds decisions, and the terminal UI on the list of redemptions.
type session struct {
	*tuitest.Driver
	t      *testing.T
	server *servertest.Server

	lost  atomic.Int64 // the number of decisions whose reply is lost
	drops atomic.Bool  // the requests too
	holds chan struct{}
	lists chan struct{} // nil, or holds lists until it is closed
	perks chan struct{} // the same for single perks
	calls chan struct{} // a decision has arrived
}

// start shows three redemptions that wait for approval, of ann, bob and cid, and, with an approved one, that of dan.
func start(t *testing.T, approved bool) *session {
	t.Helper()
	s := &session{t: t, server: servertest.Start(t), calls: make(chan struct{}, 100)}
	s.server.ImportUsers("ann", "bob", "cid", "dan")
	s.server.ImportPerks(
		store.PerkRecord{Perk: api.Perk{ID: "spa", Title: "A day at the spa"}, Approval: store.ApprovalManual},
		store.PerkRecord{Perk: api.Perk{ID: "tea", Title: "Tea for two"}},
	)
	s.Driver = tuitest.Start(t, s.server.Behind(s.proxy))
	s.Commands = s.commands()
	s.Play(`=> Perks 2`)
	if approved {
		s.redeem("tea for dan")
	}
	s.redeem("spa for ann bob cid")
	s.Play(`4 => Redemptions | cid | pending
		settle`)
	return s
}

func (s *session) proxy(forward http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		held := s.lists
		switch {
		case path.Base(path.Dir(r.URL.Path)) == "perks":
			held = s.perks
		case !strings.HasSuffix(r.URL.Path, "/redemptions"):
			held = nil
		}
		if held != nil {
			select {
			case <-held:
			case <-r.Context().Done():
				return
			}
		}
		if r.Method != http.MethodPost || !strings.Contains(r.URL.Path, "/redemptions/") {
			forward.ServeHTTP(w, r)
			return
		}
		s.calls <- struct{}{}
		if s.holds != nil {
			select {
			case <-s.holds:
			case <-s.t.Context().Done(): // a failed test must not hold a request forever
			}
		}
		if s.lost.Add(-1) < 0 {
			forward.ServeHTTP(w, r)
			return
		}
		if !s.drops.Load() {
			forward.ServeHTTP(httptest.NewRecorder(), r)
		}
		panic(http.ErrAbortHandler)
	})
}

// redeem redeems without the screen: "spa for ann bob".
func (s *session) redeem(perkAndUsers string) {
	s.t.Helper()
	perk, users, _ := strings.Cut(perkAndUsers, " for ")
	for user := range strings.FieldsSeq(users) {
		if _, _, err := s.App.Shell().Account.Client.Redeem(s.t.Context(), perk, api.RedeemRequest{UserID: user},
			""); err != nil {
			s.t.Fatal(err)
		}
	}
}

// commands are what scenarios do beside the screen.
func (s *session) commands() map[string]func(argument string) {
	return map[string]func(string){
		"redeem": s.redeem,
		"decisions": func(how string) {
			switch how {
			case "lose replies", "are dropped":
				s.drops.Store(how == "are dropped")
				s.lost.Store(1000)
			case "work":
				s.lost.Store(0)
			case "are held":
				s.holds = make(chan struct{})
			case "go on with the next":
				s.holds <- struct{}{}
			case "go on":
				close(s.holds)
			default:
				s.t.Fatalf("decisions cannot be told: %s", how)
			}
		},
		"lists": func(how string) {
			if how == "are held" {
				s.lists = make(chan struct{})
			} else {
				close(s.lists)
			}
		},
		"titles": func(how string) {
			if how == "are held" {
				s.perks = make(chan struct{})
			} else {
				close(s.perks)
			}
		},
		"arrives": func(string) { tuitest.Await(s.Driver, s.calls) },
		"rejected elsewhere": func(string) { // all, or the first marked one, by another client
			for _, r := range s.stored() {
				if marked := s.App.Top().(interface{ Marked() []api.RedemptionRecord }).Marked(); len(marked) > 0 &&
					marked[0].ID != r.ID {
					continue
				}
				reject := s.server.Request(s.server.Token(), http.MethodPost,
					s.server.LiveURL()+"/redemptions/"+r.ID+"/reject", `{"reason":"a duplicate"}`)
				if status := s.server.Do(reject, nil); status != http.StatusOK {
					s.t.Fatalf("rejecting as another client: %d", status)
				}
			}
		},
		"stored": func(want string) {
			var got []string
			for _, r := range s.stored() {
				got = append(got, string(r.Status))
			}
			if slices.Sort(got); strings.Join(got, " ") != want {
				s.t.Errorf("the redemptions are %q, want %s", got, want)
			}
		},
	}
}

func (s *session) stored() (all []api.RedemptionRecord) {
	s.t.Helper()
	for record, err := range s.server.Live.ExportRedemptions(s.t.Context(), "") {
		if err != nil {
			s.t.Fatal(err)
		}
		all = append(all, record)
	}
	return all
}

// flows are sessions over three redemptions that wait for approval, and an approved one.
var flows = map[string]string{
	"pending ones are approved together": `
		tab              => Redemptions 3
		settle A a       => / status:pending | Approve 3 redemptions? | A day at the spa for ann, bob, cid
		y                => Done: 3 redemptions approved. | Nothing waits for approval.
		tab              => Redemptions 4 | ≠ A day at the spa ◐ pending`,

	"rejecting and voiding need a reason": `
		                 => A day at the spa ◐ pending | Tea for two ● approved
		x                => Reject A day at the spa for cid? | Reason
		enter            => ! Enter a reason.
		"left early\n"   => Done: 1 redemption rejected. | rejected | left early
		a                => Approve: not possible now. It is rejected.
		G                => row 4 of 4
		ctrl+x           => Void Tea for two for dan?
		"a mistake\n"    => Done: 1 redemption voided. | voided`,

	"rows have the titles of perks": `
		                 => cid A day at the spa ◐ pending | dan Tea for two ● approved
		/ "us"           => tab user:
		tab "an"         => tab ann
		tab enter        => / user:ann | Redemptions 1 | ann A day at the spa ◐ pending`,

	// and further words need a field: one user is enough
	"a bare word is a user": `
		/ "dan\n"        => / user:dan | Redemptions 1 | dan Tea for two ● approved
		/ "ann"          => "ann" needs a field: perk:, user:, actor:, status:, since:, until:, own:
		ctrl+u "pend"    => tab pending
		tab "bob\n"      => / user:bob status:pending | Redemptions 1 | just now bob A day at the spa`,

	"what was decided elsewhere is not decided twice": `
		A
		rejected elsewhere:
		a                => Approve 3 redemptions?
		y                => Error: 2 approved, 1 already decided. Redemption`,

	"new redemptions appear by themselves": `
		redeem: tea for ann
		wait: 10s        => Redemptions 5`,

	"a row leads to its user and perk": `
		P                => Perk A day at the spa
		esc enter        => Redemption | of user cid | Status pending, waiting for approval
		esc u            => User cid | Redeemed 1`,
}

// TestAQuestionNamesThePerkOnceItsTitleIsRead types the reason meanwhile.
func TestAQuestionNamesThePerkOnceItsTitleIsRead(t *testing.T) {
	start(t, false).Play(`
		titles: are held
		redeem: tea for dan
		R         => dan tea ● approved
		k         => > dan tea
		ctrl+x    => Void tea for dan?
		"left"    => > Reason left
		titles: are read
		          => Void Tea for two for dan? | > Reason left
		" early\n" => Done: 1 redemption voided.`)
}

// TestAQuestionNamesWhatIsMarkedElsewhere is about more rows than the window has.
func TestAQuestionNamesWhatIsMarkedElsewhere(t *testing.T) {
	s := start(t, false)
	for i := range 60 {
		id := fmt.Sprintf("ride-%02d", i)
		s.server.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: id, Title: "Title of " + id},
			Approval: store.ApprovalManual})
		s.redeem(id + " for ann")
	}
	s.Play(`
		R settle => row 1 of 63
		A a      => Approve 63 redemptions?`)
	s.Until("all titles", func() bool {
		return strings.Count(s.App.Overlay().AccessibleText(), "Title of ride-") == 60
	})
}

// faults are sessions over three redemptions that wait for approval, with replies that are late or lost.
var faults = map[string]string{
	"a lost reply is confirmed by the redemption": `
		decisions: lose replies
		A a              => Approve 3 redemptions?
		y                => Warning: 1 approved (reply lost, confirmed), 2 not sent. | a approve 2
		stored: approved pending pending
		decisions: work
		a                => Approve 2 redemptions?
		y                => Done: 2 redemptions approved. | ≠ marked`,

	"a lost void is confirmed with its reason": `
		a y              => Done: 1 redemption approved.
		settle
		decisions: lose replies
		ctrl+x "wrong perk\n" => Done: 1 redemption voided (reply lost, confirmed). | wrong perk
		stored: pending pending voided`,

	// It may still arrive, so nothing else is sent.
	"a decision that never arrived is unknown, and stays marked": `
		decisions: are dropped
		A a              => Approve 3 redemptions?
		y                => Error: 1 unknown, 2 not sent. No reply from | It is still pending. | a approve 3
		stored: pending pending pending`,

	"a decision by another is not ours": `
		decisions: are dropped
		decisions: are held
		a y
		arrives:
		rejected elsewhere:
		decisions: go on => Error: 1 already decided. | is rejected by another decision. | ≠ unknown`,

	"progress is shown, and nothing else is offered": `
		decisions: are held
		A a              => Approve 3 redemptions? | LIVE
		y                => approving 1 of 3 | Approving 1 of 3. esc stops after this one. | ≠ approve 3
		decisions: go on with the next => approving 2 of 3
		q                => Quit? | Approving 2 of 3. The rest would not be sent.
		n
		decisions: go on => Done: 3 redemptions approved. | ≠ approving`,

	"esc stops after the one that is sent": `
		decisions: are held
		A a
		y                => Approving 1 of 3. esc stops after this one.
		decisions: go on with the next => approving 2 of 3
		esc              => Approving 2 of 3, then it stops. | ≠ esc stops
		esc              => Approving 2 of 3, then it stops.
		decisions: go on => Warning: 2 approved, 1 not sent. | a approve
		stored: approved approved pending`,

	// the lists are held, so that nothing but the decision itself moves the cursor
	"the queue is cleared with one hand": `
		tab              => Redemptions 3
		settle
		lists: are held
		a                => Approve A day at the spa for ann?
		y                => Redemptions 2
		a                => Approve A day at the spa for bob?
		n j x            => Reject A day at the spa for cid?
		"no\n"          => Redemptions 1
		a                => Approve A day at the spa for bob?
		y                => Redemptions 0
		lists: go on     => Nothing waits for approval.
		stored: approved approved rejected`,
}

func TestFlows(t *testing.T) {
	for name, flow := range flows {
		t.Run(name, func(t *testing.T) { start(t, true).Play(flow) })
	}
	for name, flow := range faults {
		t.Run(name, func(t *testing.T) { start(t, false).Play(flow) })
	}
}

// TestTwentyPendingOnesAreClearedWithFourKeys counts the keys of a lead.
func TestTwentyPendingOnesAreClearedWithFourKeys(t *testing.T) {
	s := start(t, true)
	var users []string
	for i := range 17 {
		users = append(users, fmt.Sprintf("user-%d", i))
	}
	s.server.ImportUsers(users...)
	s.Play(`
		redeem: spa for $users
		1 4 R      => Redemptions 21
		tab        => Redemptions 20
		settle A a => Approve 20 redemptions? | A day at the spa for ann
		y          => Done: 20 redemptions approved. | Nothing waits for approval. | ≠ marked`,
		"$users", strings.Join(users, " "))
}

func TestAClientThatMayNotSeeThemIsTold(t *testing.T) {
	tuitest.StartWithHandler(t, http.NotFoundHandler(), tuitest.Route(screen.ToRedemptions{})).Play(
		`=> This service has no list of redemptions`)
}

func TestEverySizeFits(t *testing.T) { start(t, true).EverySize() }

// TestAClientThatSeesOnlyItsOwnIsToldSo lists the redemptions of another client, with and without the scope for all.
func TestAClientThatSeesOnlyItsOwnIsToldSo(t *testing.T) {
	const only = "Only what this client made. All of them need redemptions:read-all."
	all := start(t, true)
	all.Gone(only)
	id, secret := all.server.Client(api.DefaultScopes()...)
	own := &session{t: t, Driver: tuitest.StartAs(t, all.server, id, secret)}
	own.Commands = own.commands()
	own.Play(`
		4        => No redemptions here. $only | ≠ yet
		redeem: tea for ann
		R        => Redemptions 1 | ann Tea for two ● approved | $only
		/ "dan\n" => No redemption matches user:dan. $only`, "$only", only)
}

func TestTheQueueSaysHowLongEachWaits(t *testing.T) {
	s := start(t, true)
	request := api.RedeemRequest{UserID: "dan", Metadata: json.RawMessage(`{"channel":"web","ticket":"A37"}`)}
	if _, _, err := s.App.Shell().Account.Client.Redeem(t.Context(), "spa", request, ""); err != nil {
		t.Fatal(err)
	}
	s.Play(`
		tab       => Redemptions 4 | Waiting ▲ User Perk Metadata
		wait: 34m => 33 min ann A day at the spa | 33 min dan A day at the spa channel=web ticket=A37 | ≠ Status
		C         => [x] Metadata
		"meta\n" esc => ≠ Metadata
		tab       => User Perk Status When | dan Tea for two ● approved 33 min ago
		C "when\n" esc => ≠ 33 min ago
		tab       => Waiting ▲ User Perk | ≠ Metadata
		C "meta\n" esc => Metadata
		tab       => User Perk Status | ≠ When`)
}

func TestARedemptionIsFoundByItsTicket(t *testing.T) {
	s := &session{t: t, server: servertest.Start(t, func(c *server.Config) {
		c.SearchMetadata, c.CreateUsers = []string{"ticket"}, true
	})}
	s.server.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "tea", Title: "Tea for two"}})
	s.Driver = tuitest.Start(t, s.server.Behind(s.proxy))
	s.Commands = s.commands()
	s.Play(`=> Perks 1`)
	for user, ticket := range map[string]string{"ann": "T-4711", "bob": "T-4712"} {
		request := api.RedeemRequest{UserID: user, Metadata: json.RawMessage(`{"ticket":"` + ticket + `"}`)}
		if _, _, err := s.App.Shell().Account.Client.Redeem(t.Context(), "tea", request, ""); err != nil {
			t.Fatal(err)
		}
	}
	s.Play(`4 => Redemptions 2 | ticket:
		/ "tick:t-4711\n" settle => ann | ticket:t-4711 | Redemptions 1 | ≠ bob
		/ ctrl+u "ticket:7\n" settle => No redemption matches
		ctrl+k "T-4712" => Redemption: tea for bob, ticket T-4712
		esc ctrl+k "ticket:t-4711" => Redemption: tea for ann, ticket t-4711`)
}
