package tuitest

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"example.com/perks/api"
	"example.com/perks/store"
)

// network is how the network between a desk and the service is.
type network string

// The networks. In scenarios each begins the steps that only it has.
const (
	late    network = "late"    // each reply comes 300 ms late
	lost    network = "lost"    // the first reply to each request is lost, after the work was done
	refused network = "refused" // the scenario says what is refused, and how
)

var networks = []network{late, lost, refused}

// flow is a part of a desk's day, at zoo. One that has no step for a network goes the same way there as elsewhere.
type flow struct {
	name     string
	prepares func(d *fixture) // as the client demo; nil for nothing
	scenario string
	changes  string // all that the client staff has changed in the end, as changesOf names them
}

// desksDay begins and ends as each part of a desk's day.
func desksDay(scenario string) string {
	return `
		run: perksctl tui => find: words | live` + scenario + `
		q => exited with 0 | ready>`
}

// redeems redeems perks, each for a user: "tour zoe".
func redeems(perks ...string) func(d *fixture) {
	return func(d *fixture) {
		for _, one := range perks {
			perk, user, _ := strings.Cut(one, " ")
			d.must("perksctl", "perk", "redeem", perk, "--user", user)
		}
	}
}

// A key after esc waits until that is seen: to a busy program both would be alt and the key.
var networkFlows = []flow{
	{"redeem and undo", nil, desksDay(`
		/ "zebra tour" enter => Perks 1 | Zebra tour
		r "zoe" => ✓ can redeem
		ctrl+s => Redeem for zoe?
		refused: service: is throttled
		y
		refused: => [throttled] Zebra tour
		refused: service: works
		refused: ctrl+s
		=> [redeemed] Zebra tour
		refused: service: refuses connections
		ctrl+x => Void Zebra tour for zoe?
		"wrong day" enter
		refused: => Error: 1 not sent
		refused: service: works
		refused: ctrl+x "wrong day" enter
		=> [voided] | wrong day
		u => User zoe | Zebra tour | voided
		P => Perk Zebra tour
		r => ✓ can redeem
		ctrl+s => Redeem for zoe?
		refused: service: is unavailable
		y
		refused: => [unknown] Zebra tour
		refused: service: works
		refused: t
		=> [redeemed] Zebra tour
		esc => ≠ [redeemed]
		3 => Properties
		"1" enter => Property 1: | > Title
		e => Edit property 1
		ctrl+u "Loft by the zoo" ctrl+s => + Loft by the zoo
		refused: service: is unavailable
		ctrl+s
		refused: => Unknown outcome.
		refused: service: works
		refused: ctrl+s
		=> Saved property 1: title.`),
		"redemption.create tour zoe | redemption.void tour zoe | redemption.create tour zoe | " +
			"property.update property/1"},

	{"rows act wherever they are seen", redeems("tour zoe", "ride rider-00", "ride rider-01"), desksDay(`
		2 "zoe" enter => User zoe | Zebra tour
		ctrl+x => Void Zebra tour for zoe?
		refused: service: is unavailable
		"wrong day" enter
		refused: => Error: 1 unknown
		refused: service: works
		refused: ctrl+x "wrong day" enter
		=> voided
		1 / "zebra ride" enter => Perks 1 | Zebra ride
		enter => Perk Zebra ride | tab redemptions
		tab => a approve
		a => Approve Zebra ride for rider-01?
		refused: service: refuses connections
		y
		refused: => Error: 1 not sent
		refused: service: works
		refused: a y
		=> 1 redemption approved
		4 tab => status:pending | Redemptions 1 | rider-00 | Zebra ride
		x => Reject Zebra ride for rider-00?
		refused: service: is throttled
		"no helmet" enter
		refused: => Error: 1 not sent
		refused: service: works
		refused: x "no helmet" enter
		=> 1 redemption rejected | Nothing waits for approval.`),
		"redemption.void tour zoe | redemption.approve ride rider-01 | redemption.reject ride rider-00"},

	{"scrolling to the end", func(d *fixture) {
		users := "id\n"
		for i := range 500 {
			users += fmt.Sprintf("member-%03d\n", i+1)
		}
		d.imports("users", users)
	}, desksDay(`
		2 => member-001
		enter
		scroll: member-120
		refused: service: refuses connections
		refused: pgdown => OFFLINE
		refused: service: works
		refused: => ● live
		scroll: member-500`), ""},

	{"the palette finds everything", func(d *fixture) {
		redeems("tour zoe")(d)
		d.imports("perks", "id,title,description,city\nhut,A hut for a night,By the sea,Quixville\n")
	}, desksDay(`
		refused: service: is unavailable
		ctrl+k "zo" => Open user zo
		refused: service: works
		"e" => > User: zoe
		enter => User zoe | Zebra tour
		ctrl+k "quixville" => > Perk: A hut for a night, hut, Quixville
		enter => Perk A hut for a night
		ctrl+k "perk photo" => > Open perk photo
		enter => Perk Zebra photo
		ctrl+k "quit" => > Quit
		esc => ≠ Find:`), ""},

	{"what is forbidden is told at once", func(d *fixture) {
		redeems("ride rider-00")(d)
		// each command clears the screen, so that the end of an earlier one is not taken for its own
		d.logInAs("reader", api.Scopes{api.ScopePerksRead, api.ScopeRedemptionsRead})
	}, `
		run: clear; perksctl profile set staff --read-only => is read-only | exited with 0
		run: clear; perksctl tui => find: words | read-only | row 1 of
		4 => rider-00 | pending
		a => Approve: not possible now. Profile staff is read-only.
		1 => find: words
		r => Redeem: not possible now. Profile staff is read-only.
		ctrl+c => exited with 0 | ready>
		run: clear; perksctl profile set staff --read-only=false --protected => not read-only, and is protected
		=> exited with 0 | ready>
		run: clear; perksctl tui => find: words | protected
		/ "zebra tour" enter => Perks 1 | Zebra tour
		r "zoe" => ✓ can redeem
		ctrl+s => Redeem for zoe? | Protected: type staff
		y enter => Protected: type staff first.
		esc => ≠ Protected: type staff
		esc => Discard this redemption?
		y
		q => exited with 0 | ready>
		run: clear; perksctl tui --profile reader => find: words | live | row 1 of
		r => Redeem: not possible now. This client lacks the scope perks:redeem.
		ctrl+c => exited with 0 | ready>`, ""},

	{"the queue", redeems("tour zoe", "ride rider-00", "ride rider-01", "ride rider-02"), desksDay(`
		4 tab => status:pending | Redemptions 3
		A a => Approve 3 redemptions?
		lost: service: loses replies: POST
		refused: service: is unavailable
		y
		lost: => Warning: 1 approved (reply lost, confirmed), 2 not sent.
		lost: service: works
		refused: => Error: 1 unknown, 2 not sent.
		refused: service: works
		lost: a => Approve 2 redemptions?
		refused: a => Approve 3 redemptions?
		lost: y
		refused: y
		=> Nothing waits for approval.`),
		"redemption.approve ride rider-00 | redemption.approve ride rider-01 | redemption.approve ride rider-02"},
}

// TestNetworkFlows goes through a desk's day at two sizes and over three networks. The short form has one of each for
// each part of the day.
func TestNetworkFlows(t *testing.T) {
	t.Parallel()
	sizes := [][2]int{{80, 24}, {120, 40}}
	for i, flow := range networkFlows {
		for j, network := range networks {
			for k, size := range sizes {
				isShort := j == (i+2)%len(networks) && k == i%len(sizes)
				if !isShort && !isLong() {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%dx%d", flow.name, network, size[0], size[1]), func(t *testing.T) {
					t.Parallel()
					flow.play(t, network, size[0], size[1])
				})
			}
		}
	}
}

// isLong tells whether the long form of the tests runs.
func isLong() bool { return os.Getenv("PERKS_ENDURANCE") == "long" }

// staff is the client that is at the desk, and its profile.
const staff = "staff"

func (f flow) play(t *testing.T, over network, width, height int) {
	d := newFixture(t)
	d.zoo()
	front := d.behindProxy()
	d.logIn()
	if f.prepares != nil {
		f.prepares(d)
	}
	d.logInAs(staff, api.AllScopes())
	d.must("perksd", "demo-data", "--perks", "0", "--users", "0", "--properties", "1", "--redemptions", "0", "--owner",
		staff)
	front.Set(map[network]string{late: "is late", lost: "loses first replies", refused: "works"}[over])
	w := d.window(t, width, height)
	w.commands = map[string]func(string){"service": front.Set, "scroll": w.scroll()}
	w.play(steps(f.scenario, over))
	if got := d.changesOf(staff); got != f.changes {
		t.Errorf("the client has changed\n%s\nwant\n%s", got, f.changes)
	}
}

// logInAs makes a client with scopes, and a profile of that name.
func (d *fixture) logInAs(client string, scopes api.Scopes) {
	d.t.Helper()
	created, err := d.NewClient(d.t.Context(), client, "--scope", scopes.String())
	if err != nil {
		d.t.Fatal(err)
	}
	d.id, d.secret = client, created.Secret
	d.logIn("--profile", client)
}

// scroll returns a command that goes to a member by pages, and checks that each of those before was shown.
func (w *window) scroll() func(to string) {
	seen := 0
	return func(to string) {
		w.t.Helper()
		for shown := ""; !strings.Contains(shown, to); {
			if shown != "" {
				w.press("pgdown")
			}
			next, err := w.terminal.Await(w.ctx, "another row", func(screen string) bool {
				now := rowInList.FindString(screen)
				return now != "" && now != rowInList.FindString(shown)
			})
			w.do(err)
			for _, id := range memberID.FindAllString(next, -1) {
				if id == fmt.Sprintf("member-%03d", seen+1) {
					seen++
				}
			}
			shown = next
		}
		if last := fmt.Sprintf("member-%03d", seen); last < to {
			w.t.Errorf("of the members up to %s, the one after %s was not shown", to, last)
		}
	}
}

var rowInList = regexp.MustCompile(`row [1-9][0-9]* of`)

var memberID = regexp.MustCompile(`member-[0-9]{3}`)

// steps is a scenario over one of the networks.
func steps(scenario string, over network) string {
	return stepOfNetwork.ReplaceAllStringFunc(scenario, func(step string) string {
		if of, rest, _ := strings.Cut(strings.TrimSpace(step), ": "); of == string(over) {
			return "\n" + rest
		}
		return ""
	})
}

var stepOfNetwork = regexp.MustCompile(`\n\s*(late|lost|refused): .*`)

// changesOf is all that a client has changed, by the audit log: "redemption.create tour zoe", and
// "property.update property/1".
func (d *fixture) changesOf(client string) string {
	d.t.Helper()
	var changes []string
	for line := range strings.Lines(d.must("perksd", "audit", "--actor", "client/"+client, "-o", "jsonl")) {
		var entry store.AuditEntry
		var made api.RedemptionRecord
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			d.t.Fatal(err)
		}
		of := entry.Subject
		if json.Unmarshal(entry.After, &made) == nil && made.PerkID != "" {
			of = made.PerkID + " " + made.UserID
		}
		changes = append(changes, entry.Action+" "+of)
	}
	return strings.Join(changes, " | ")
}

// front is a proxy before the service, which can also be gone.
type front struct {
	*Proxy
	t       *testing.T
	address string
	handler http.Handler
	server  *http.Server // nil while it is gone
}

// behindProxy puts a proxy before the service.
func (d *fixture) behindProxy() *front {
	d.t.Helper()
	service, err := url.Parse(strings.TrimSuffix(d.address, "/v2"))
	if err != nil {
		d.t.Fatal(err)
	}
	next := httputil.NewSingleHostReverseProxy(service)
	next.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	f := &front{t: d.t, address: "127.0.0.1:0"}
	f.Proxy = StartProxy(d.t, func(proxy func(http.Handler) http.Handler) string {
		f.handler = proxy(next)
		f.open()
		return "http://" + f.address + "/v2"
	})
	d.t.Cleanup(f.close)
	d.address = f.URL
	return f
}

// Set is Proxy.Set, and can refuse connections.
func (f *front) Set(how string) {
	f.t.Helper()
	if how == "refuses connections" {
		f.close()
		return
	}
	if f.server == nil {
		f.open()
	}
	f.Proxy.Set(how)
}

func (f *front) open() {
	f.t.Helper()
	listener, err := net.Listen("tcp", f.address)
	if err != nil {
		f.t.Fatal(err)
	}
	f.address = listener.Addr().String()
	f.server = &http.Server{Handler: f.handler}
	go func(s *http.Server) { _ = s.Serve(listener) }(f.server)
}

func (f *front) close() {
	if f.server != nil {
		_ = f.server.Close()
		f.server = nil
	}
}
