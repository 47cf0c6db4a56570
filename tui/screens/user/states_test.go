package user_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
)

// service is a fake service with one user. It can hold or refuse requests.
type service struct {
	available   []api.Perk
	redemptions []api.Redemption
	refuse      int           // the status of every response, if not 0
	hold        chan struct{} // responses wait until it is closed, if not nil
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.hold != nil {
		select {
		case <-s.hold:
		case <-r.Context().Done():
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	if s.refuse != 0 {
		w.WriteHeader(s.refuse)
		message := map[int]string{404: "There is no such user.", 403: "The scope perks:read is missing.",
			500: "Something failed."}[s.refuse]
		_ = json.NewEncoder(w).Encode(api.ErrorBody{Response: message,
			Code: map[int]api.Code{404: api.CodeNotFound, 403: api.CodeForbidden, 500: api.CodeInternal}[s.refuse]})
		return
	}
	if id := path.Base(r.URL.Path); path.Base(path.Dir(r.URL.Path)) == "perks" {
		s.writePerk(w, id)
		return
	}
	if r.URL.Query().Get("type") == "redeemed" {
		writePage(w, r, s.redemptions)
		return
	}
	writePage(w, r, s.available)
}

func (s *service) writePerk(w http.ResponseWriter, id string) {
	if at := slices.IndexFunc(s.available, func(p api.Perk) bool { return p.ID == id }); at >= 0 {
		_ = json.NewEncoder(w).Encode(s.available[at])
		return
	}
	w.WriteHeader(http.StatusNotFound)
	_ = json.NewEncoder(w).Encode(api.ErrorBody{Response: "There is no such perk.", Code: api.CodeNotFound})
}

func writePage[T any](w http.ResponseWriter, r *http.Request, all []T) {
	page, perPage := 1, 50
	fmt.Sscan(r.URL.Query().Get("page"), &page)
	first := min(len(all), (page-1)*perPage)
	body := api.Page[T]{Data: append([]T{}, all[first:min(len(all), first+perPage)]...),
		Meta: api.NewPageMeta(int64(page), perPage, int64(len(all)))}
	_ = json.NewEncoder(w).Encode(body)
}

func perk(id, title, merchant, city, discount string, left time.Duration) api.Perk {
	p := api.Perk{ID: id, Title: title, City: city}
	if merchant != "" {
		p.MerchantName = &merchant
	}
	if discount != "" {
		p.DiscountText = &discount
	}
	if left != 0 {
		end := tuitest.Noon.Add(left)
		p.ValidTo = &end
	}
	return p
}

const day = 24 * time.Hour

func somePerks() []api.Perk {
	return []api.Perk{
		perk("coffee", "Coffee for two", "Café Schön", "Berlin", "2 for 1", 3*day),
		perk("museum", "A quiet hour in the museum before it opens, with a guide", "Museum", "Hamburg", "-50 %",
			90*time.Minute),
		perk("ramen", "ラーメン一杯無料 🍜", "一蘭", "東京", "無料", 400*day),
		perk("tea", "كوب شاي مجاني", "بيت الشاي", "القاهرة", "", 0),
		perk("evil", "red \x1b[31m\u202etitle\nof two lines", "", "Berlin", "10 €", time.Minute),
	}
}

func someRedemptions() []api.Redemption {
	redemption := func(id, perk string, ago time.Duration, status api.RedemptionStatus,
		metadata string) api.Redemption {
		return api.Redemption{ID: id, PerkID: perk, UserID: "alice", RedeemedAt: tuitest.Noon.Add(-ago), Status: status,
			Metadata: json.RawMessage(metadata)}
	}
	return []api.Redemption{
		redemption("3f1c7f0e-0000-4000-8000-000000000001", "coffee", 40*time.Second, api.StatusPending,
			`{"till":4,"shop":"Mitte","tags":["a","b"],"note":"two\nlines \u001b[31m"}`),
		redemption("3f1c7f0e-0000-4000-8000-000000000002", "museum", 5*time.Hour, api.StatusApproved, `{}`),
		redemption("3f1c7f0e-0000-4000-8000-000000000003", "concert", 30*day, api.StatusRejected,
			`{"order":"`+strings.Repeat("long ", 60)+`"}`),
	}
}

func fullService() *service { return &service{available: somePerks(), redemptions: someRedemptions()} }

func start(t *testing.T, s http.Handler) *tuitest.Driver {
	t.Helper()
	return tuitest.StartWithHandler(t, s, tuitest.Route(screen.ToUser{ID: "alice"}))
}

// states starts the screen in each of its states.
func states() map[string]func(t *testing.T) *tuitest.Driver {
	shown := func(s *service, then ...string) func(t *testing.T) *tuitest.Driver {
		return func(t *testing.T) *tuitest.Driver {
			d := start(t, s)
			d.Settle()
			d.Press(then...)
			d.Settle()
			return d
		}
	}
	return map[string]func(t *testing.T) *tuitest.Driver{
		"available":      shown(fullService(), "down"),
		"marked":         shown(fullService(), " ", " "),
		"redeemed":       shown(fullService(), "tab"),
		"redemption":     shown(fullService(), "tab", "enter"),
		"none available": shown(&service{redemptions: someRedemptions()}),
		"none redeemed":  shown(&service{available: somePerks()}, "tab"),
		"all perks":      shown(fullService(), "e"),
		"searched":       shown(fullService(), "/", "t", "e", "a", "enter"),
		"unknown user":   shown(&service{refuse: 404}),
		"forbidden":      shown(&service{refuse: 403}),
		"last rows":      shown(&service{available: manyPerks(120)}, "G"),
		"loading": func(t *testing.T) *tuitest.Driver {
			return start(t, block(t, fullService()))
		},
		"loading the last rows": func(t *testing.T) *tuitest.Driver {
			s := &service{available: manyPerks(120)}
			d := start(t, s)
			d.Settle()
			block(t, s)
			d.Press("G")
			return d
		},
		"stale rows": func(t *testing.T) *tuitest.Driver {
			s := fullService()
			d := start(t, s)
			d.Settle()
			s.refuse = 500
			d.Elapse(5 * time.Minute)
			d.Press("R")
			d.Settle()
			return d
		},
		"no user": func(t *testing.T) *tuitest.Driver {
			d := tuitest.StartWithHandler(t, fullService(), tuitest.Route(screen.ToUser{}))
			d.See("Which user?")
			d.Settle()
			d.Press("esc")
			return d
		},
		"asking": func(t *testing.T) *tuitest.Driver {
			d := start(t, fullService())
			d.Settle()
			if err := d.Memory.Remember(screen.Profile{}, "user", "bob"); err != nil {
				t.Fatal(err)
			}
			d.Press("u")
			d.See("Which user?", "bob", "Another user")
			return d
		},
	}
}

func block(t *testing.T, s *service) *service {
	s.hold = make(chan struct{})
	t.Cleanup(func() { close(s.hold) })
	return s
}

func manyPerks(n int) []api.Perk {
	perks := make([]api.Perk, n)
	for i := range perks {
		perks[i] = perk(fmt.Sprintf("perk-%d", i+1), fmt.Sprintf("Perk number %d", i+1), "Shop", "Berlin", "", 5*day)
	}
	return perks
}

// says is what the states say that have the layout of one with a golden.
var says = map[string][]string{
	"marked": {"* Coffee for two", "* A quiet hour", ">  ラーメン一杯無料 🍜", "2 marked",
		"r redeem 2 marked"},
	"redeemed":              {">  40 s ago   Coffee for two", "row 1 of 3", "a approve  x reject"},
	"none available":        {"alice can redeem nothing now. i shows all perks, and why not."},
	"none redeemed":         {"Redeemed 0", "alice has redeemed nothing yet.", "Available 5"},
	"all perks":             {"/  +expired", "All perks 5", "pending appro", "redeemed 5 h"},
	"searched":              {"/  tea", "Available 5 · best matches first"},
	"forbidden":             {"Redeemed · newest ↓", "! The scope perks:read is missing. L switches the profile."},
	"last rows":             {">  Perk number 120", "row 120 of 120"},
	"loading":               {"Loading redemptions ...", "Loading perks ..."},
	"loading the last rows": {"loading ... - row 1 of 120"},
	"no user":               {"No user is chosen. u chooses one."},
}

func TestStates(t *testing.T) {
	for name, reach := range states() {
		t.Run(name, func(t *testing.T) {
			d := reach(t)
			d.LeavesOut = strings.Fields("Metadata coffee museum concert long Merchant Café Museum بيت")
			if name == "loading" {
				d.LeavesOut = append(d.LeavesOut, "Reason") // the columns of two lists, before their rows
			}
			d.Golden(strings.ReplaceAll(name, " ", "-"), name == "asking", says[name]...)
			if name == "available" || name == "redemption" {
				d.Wide(name)
			}
		})
	}
}

func TestEveryStateFitsEverySize(t *testing.T) {
	for _, name := range []string{"redemption", "stale rows"} {
		t.Run(name, func(t *testing.T) { states()[name](t).EverySize() })
	}
}

func TestAccessibleText(t *testing.T) {
	for name, want := range map[string]string{
		"available": "Available 5, newest first.\n" +
			"1. Coffee for two. Discount: 2 for 1. Merchant: Café Schön. City: Berlin. " +
			"Valid: ends in 3 days.\n" +
			"2. A quiet hour in the museum before it opens, with a guide. Discount: -50 %. Merchant: Museum. " +
			"City: Hamburg. Valid: ends in 1 hour. Chosen.\n" +
			"3. ラーメン一杯無料 🍜. Discount: 無料. Merchant: 一蘭. City: 東京. Valid: 400 days left.\n" +
			"4. كوب شاي مجاني. Merchant: بيت الشاي. City: القاهرة. Valid: no end.\n" +
			"5. red [31mtitle of two lines. Discount: 10 €. City: Berlin. Valid: ends in 1 minute.\n" +
			"row 2 of 5.\ntab shows: Redeemed 3.",
		"none redeemed": "Redeemed 0, newest first.\nalice has redeemed nothing yet.\n" +
			"tab shows: Available 5.",
		"unknown user": "Problem: There is no live user alice.\nCheck the id; capitals count. u opens another user.",
		"redemption": "Status: pending, waiting for approval\nUser: alice\nPerk: Coffee for two (coffee)\n" +
			"Redeemed: 10 Mar 2026 11:59, 40 s ago\n" +
			`Metadata: till=4 shop=Mitte tags=["a","b"] note=two lines [31m` +
			"\nId: 3f1c7f0e-0000-4000-8000-000000000001",
	} {
		t.Run(name, func(t *testing.T) {
			if got := states()[name](t).App.Top().AccessibleText(); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestDeepMetadataStaysSmall(t *testing.T) {
	s := fullService()
	s.redemptions[0].Metadata = json.RawMessage(
		`{"a":` + strings.Repeat("[", 7_000) + `"deepest"` + strings.Repeat("]", 7_000) + `}`)
	d := start(t, s)
	d.Settle()
	d.Press("tab", "enter")
	d.Settle()
	if text := d.App.Top().AccessibleText(); len(text) > 20_000 || !strings.Contains(text, "deepest") {
		t.Errorf("the text of a redemption is %d bytes: %.200s", len(text), text)
	}
}

func lineOf(d *tuitest.Driver, text string) int {
	return slices.IndexFunc(strings.Split(d.Screen(), "\n"),
		func(line string) bool { return strings.Contains(line, text) })
}

func TestAClickGivesTheKeyboardToItsList(t *testing.T) {
	d := start(t, fullService())
	d.Play(`=> Available 5 | Redeemed 3
		settle`)
	d.Send(tea.MouseMsg{X: 3, Y: lineOf(d, "ラーメン"), Button: tea.MouseButtonWheelDown,
		Action: tea.MouseActionPress})
	d.Play(`
		y                => Copied the id tea.
		click: ラーメン
		y                => Copied the id ramen.
		click: approved
		y                => Copied the id 3f1c7f0e-0000-4000-8000-000000000002.
		click: approved  => Status approved
		esc
		click: find:     => enter apply
		"tea\n"          => / tea
		size: 80x12      => [Available 5] Redeemed 3
		click: Redeemed 3 => [Redeemed 3] | pending
		size: 120x40     => Redeemed 3 | Available
		click: كوب       => ≠ void
		click: ● approved
		y                => Copied the id 3f1c7f0e-0000-4000-8000-000000000002.
		enter            => Redeemed 3 | -  5 h ago | Status    approved
		click: ○ rejected => -  30 days ago | Status    rejected
		y                => Copied the id 3f1c7f0e-0000-4000-8000-000000000003.
		size: 80x24      => ≠ Redeemed 3 | Status    rejected
		esc              => >  30 days ago`)
}

func TestRedeemTakesTheMarkedPerksOrTheOneUnderTheCursor(t *testing.T) {
	d := start(t, fullService())
	d.See("row 1 of 5")
	to := func() screen.ToRedeem {
		t.Helper()
		msg, ok := d.Posts(actions.Redeem).(screen.Go)
		if !ok {
			t.Fatal("Redeem opens no screen")
		}
		return msg.To.(screen.ToRedeem)
	}
	if got := to(); got.UserID != "alice" || len(got.Perks) != 1 || got.Perks[0].ID != "coffee" {
		t.Errorf("it redeems %+v", got)
	}
	d.Press("j", " ", " ")
	if got := to(); len(got.Perks) != 2 || got.Perks[0].ID != "museum" || got.Perks[1].ID != "ramen" {
		t.Errorf("it redeems %+v", got)
	}
	d.Press("X")
	if got := to(); len(got.Perks) != 1 || got.Perks[0].ID != "tea" {
		t.Errorf("it redeems %+v", got)
	}
}
