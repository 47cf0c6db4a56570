package redeem_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
)

// played is a service that answers each redeem by its perk's part, and lists what the user has.
type played struct {
	parts map[string]http.HandlerFunc
	list  string // the data of the list; "" fails
}

func (p *played) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Date", tuitest.Noon.Format(http.TimeFormat))
	if r.Method == http.MethodPost {
		parts := strings.Split(r.URL.Path, "/")
		p.parts[parts[len(parts)-2]](w, r)
		return
	}
	if p.list == "" {
		fails(503, "unavailable", "The service could not finish this.")(w, r)
		return
	}
	fmt.Fprintf(w, `{"data":[%s],"meta":{"page":1,"per_page":100,"total":1,"total_pages":1}}`, p.list)
}

func gives(status api.RedemptionStatus) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var request api.RedeemRequest
		_ = json.NewDecoder(r.Body).Decode(&request)
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"id":"0199-7a3c","user_id":%q,"redeemed_at":"2026-03-10T12:00:00Z","status":%q,"metadata":{}}`, request.UserID, status)
	}
}

func fails(status int, code, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"code":%q,"response":%q}`, code, message)
	}
}

func replays(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Idempotent-Replayed", "true")
	gives(api.StatusApproved)(w, r)
}

// The live one stands in the way, not the rejected one.
const holder = `{"id":"0198-22bb","perk_id":"coffee","redeemed_at":"2026-02-02T09:30:00Z","status":"rejected","metadata":{}},
	{"id":"0198-11aa","perk_id":"coffee","redeemed_at":"2026-02-01T09:30:00Z","status":"approved","metadata":{}}`

// state is a state of the screen and what must be readable in it, also in its linear form.
type state struct {
	perks []api.Perk
	parts http.HandlerFunc // of every perk
	by    map[string]http.HandlerFunc
	list  string
	user  string
	do    func(*tuitest.Driver)
	says  []string
	hangs bool // an answer never comes
}

func coffee() api.Perk { return api.Perk{ID: "coffee", Title: "Coffee for two", City: "Berlin"} }

func agree(d *tuitest.Driver) {
	d.Press("ctrl+s")
	d.See("Redeem for")
	d.Press("y")
}

func states() map[string]state {
	long := func(word string) string { return strings.TrimSpace(strings.Repeat(word+" ", 40)) }
	text := func(s string) *string { return &s }
	past, future := tuitest.Noon.AddDate(0, 0, -9), tuitest.Noon.AddDate(0, 0, 12)
	over, soon := coffee(), coffee()
	over.ValidTo, soon.ValidFrom = &past, &future
	rich := coffee()
	rich.DiscountText, rich.MerchantName, rich.ValidTo = text("2 for 1"), text("Café Mitte"), &future
	strange := []api.Perk{
		{ID: "cjk", Title: "東京の朝食セット二人前", City: "東京都"},
		{ID: "rtl", Title: "קפה לשניים", City: "תל אביב"},
		{ID: "emoji", Title: "👩‍👩‍👧 Family ☕️ 🇩🇪 deal", City: "🏙️ Köln"},
		{ID: "controls", Title: "\x1b[31mRed\x1b[0m\nand \u202eturned", City: "x\u0085y"},
	}
	several := []api.Perk{coffee(), {ID: "spa", Title: "Spa day", City: "Bonn"}, {ID: "gone", Title: "All gone", City: "Bonn"}, {ID: "later", Title: "Not sent", City: "Bonn"}}
	type parts = map[string]http.HandlerFunc
	return map[string]state{
		"empty":    {perks: []api.Perk{rich}, says: []string{"Coffee for two", "coffee, 2 for 1, Café Mitte, Berlin, 12 days left", "At https://perks.example/v2 (LIVE), profile staging", "User: ", "Metadata: "}},
		"no-perks": {perks: nil, says: []string{"No perk was chosen: go back, and choose one."}},
		"typed": {perks: []api.Perk{coffee()}, do: func(d *tuitest.Driver) { d.Type("alice b\nticket=4711\nticket=1\nx"); d.Press("tab", "shift+tab") },
			says: []string{"must not contain blanks", `has the key "ticket" a second time`}},
		"question":    {perks: several[:2], user: "alice", do: func(d *tuitest.Driver) { d.Type("ticket=4711"); d.Press("ctrl+s"); d.See("Redeem for") }, says: []string{"ticket=4711"}},
		"approved":    {perks: []api.Perk{coffee()}, parts: gives(api.StatusApproved), do: agree, says: []string{"[redeemed]", "Status approved, 10 Mar 2026 12:00.", "Id 0199-7a3c"}},
		"pending":     {perks: []api.Perk{coffee()}, parts: gives(api.StatusPending), do: agree, says: []string{"[pending]", "waiting for approval"}},
		"rejected":    {perks: []api.Perk{coffee()}, parts: gives(api.StatusRejected), do: agree, says: []string{"[rejected]", "It cannot be used."}},
		"replay":      {perks: []api.Perk{coffee()}, parts: replays, do: agree, says: []string{"[redeemed before]", "Redeemed earlier: the service repeats its reply."}},
		"duplicate":   {perks: []api.Perk{coffee()}, parts: fails(409, "already_redeemed", "No."), list: holder, do: agree, says: []string{"[already redeemed]", "alice redeemed it on 1 Feb 2026 09:30, status approved. Nothing was redeemed now.", "Id 0198-11aa"}},
		"undated":     {perks: []api.Perk{coffee()}, parts: fails(409, "already_redeemed", "No."), do: agree, says: []string{"alice has redeemed it already. The date was not loaded: The service could not finish this."}},
		"expired":     {perks: []api.Perk{over}, parts: fails(409, "perk_expired", "No."), do: agree, says: []string{"Expired: valid until 1 Mar 2026 12:00."}},
		"not-started": {perks: []api.Perk{soon}, parts: fails(409, "perk_not_started", "No."), do: agree, says: []string{"Not started: valid from 22 Mar 2026 12:00."}},
		"undue":       {perks: []api.Perk{coffee()}, parts: fails(409, "perk_not_started", `Perk "coffee" cannot be redeemed before 2027.`), do: agree, says: []string{`Not started. Perk "coffee" cannot be redeemed before 2027.`}},
		"no-perk":     {perks: []api.Perk{coffee()}, parts: fails(404, "not_found", `There is no perk "coffee".`), do: agree, says: []string{"[no such perk]", "Reload the list of perks"}},
		"no-user":     {perks: []api.Perk{coffee()}, parts: fails(404, "not_found", `There is no user "alice".`), do: agree, says: []string{"[no such user]", `is not known: There is no user "alice".`}},
		"key-reused":  {perks: []api.Perk{coffee()}, parts: fails(422, "idempotency_key_reused", "No."), do: agree, says: []string{"has used this idempotency key", "a new idempotency key"}},
		"forbidden":   {perks: []api.Perk{coffee()}, parts: fails(403, "forbidden", "Only the sandbox."), do: agree, says: []string{"[not allowed]", "Only the sandbox. Nothing was redeemed."}},
		"put-off":     {perks: []api.Perk{coffee()}, parts: fails(429, "rate_limited", "Slowly."), do: agree, says: []string{"[throttled]", "Wait until 12:00:30. ctrl+s retries."}},
		"stray":       {perks: []api.Perk{coffee()}, parts: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }, do: agree, says: []string{"may not be from the service"}},
		"odd":         {perks: []api.Perk{coffee()}, parts: fails(418, "", "I am a teapot"), do: agree, says: []string{"[refused]", "I am a teapot. Nothing was redeemed."}},
		"unknown":     {perks: []api.Perk{coffee()}, parts: fails(500, "internal", "It broke."), list: holder, do: agree, says: []string{"[unknown]", "Unknown outcome. It broke. At 12:00:00 it was not in alice's list"}},
		"unread":      {perks: []api.Perk{coffee()}, parts: fails(500, "internal", "It broke."), do: agree, says: []string{"[unknown]", "The check failed: The service could not finish this."}},
		"invalid": {perks: []api.Perk{coffee()}, parts: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(422)
			fmt.Fprint(w, `{"code":"validation_failed","response":"No.","errors":{"metadata":["must name the desk"]}}`)
		}, do: agree, says: []string{"Some values are not valid. Nothing was redeemed.", "must name the desk"}},
		"several": {perks: several, by: parts{"coffee": gives(api.StatusApproved), "spa": gives(api.StatusPending), "gone": fails(409, "sold_out", "No."), "later": fails(429, "rate_limited", "No.")}, do: agree,
			says: []string{"alice: 1 redeemed, 1 waiting for approval, 1 refused, 1 left. ctrl+s continues.", "[redeemed] Coffee for two", "[sold out] All gone", "[throttled] Not sent"}},
		"sending": {perks: several, by: parts{"coffee": gives(api.StatusApproved), "spa": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }}, do: func(d *tuitest.Driver) { agree(d); d.See("[sending] Spa day") },
			says: []string{"[redeemed] Coffee for two", "[sending] Spa day", "[waiting] All gone"}, hangs: true},
		"strange": {perks: strange, parts: fails(409, "sold_out", "No."), user: "ﻋﻠﻲ漢字🙂", do: agree, says: []string{"[sold out] 東京の朝食セット二人前"}},
		"long": {perks: []api.Perk{{ID: "long", Title: long("Breakfast"), City: long("Berlin")}}, parts: fails(400, "invalid_json", long("Broken")), user: strings.Repeat("u", 128),
			do: func(d *tuitest.Driver) { d.Type("a=" + long("value")); agree(d) }, says: []string{"Broken Broken"}},
	}
}

func (s state) start(t *testing.T) *tuitest.Driver {
	t.Helper()
	service := &played{parts: s.by, list: s.list}
	if s.parts != nil {
		service.parts = map[string]http.HandlerFunc{}
		for _, perk := range s.perks {
			service.parts[perk.ID] = s.parts
		}
	}
	user := s.user
	if user == "" && s.do != nil && s.parts != nil || s.by != nil {
		user = "alice"
	}
	d := tuitest.StartWithHandler(t, service, tuitest.Route(screen.ToRedeem{Perks: s.perks, UserID: user}))
	d.Settle()
	if s.do != nil {
		s.do(d)
	}
	return d
}

// rest waits until the state is complete.
func (s state) rest(d *tuitest.Driver) {
	for _, text := range s.says {
		d.Until(text, func() bool { return strings.Contains(d.App.Top().AccessibleText(), text) })
	}
	if !s.hangs {
		d.Settle()
	}
	d.Elapse(20 * time.Second) // the messages are gone
	if !s.hangs {
		d.Settle()
	}
}

func TestEveryStateIsDrawnAndSaid(t *testing.T) {
	for name, s := range states() {
		t.Run(name, func(t *testing.T) {
			d := s.start(t)
			s.rest(d)
			d.Golden(name, name == "several")
			if linear := d.App.Top().AccessibleText(); strings.ContainsAny(linear, "\x1b│╭╰─") {
				t.Errorf("the linear form draws: %q", linear)
			}
		})
	}
}

func TestEverySizeFits(t *testing.T) {
	s := states()["several"]
	d := s.start(t)
	s.rest(d)
	d.EverySize()
}

func TestHardTextsFit(t *testing.T) {
	for _, name := range []string{"long", "strange"} {
		s := states()[name]
		d := s.start(t)
		s.rest(d)
		for width := 1; width <= 200; width += 1 + width/8 {
			for height := 1; height <= 60; height += 1 + height/4 {
				d.App.Top().Resize(width, height)
				lines := strings.Split(d.App.Top().View(), "\n")
				if len(lines) > height || slices.ContainsFunc(lines, func(line string) bool { return display.Width(line) > width }) {
					t.Fatalf("%s does not fit into %dx%d:\n%s", name, width, height, strings.Join(lines, "\n"))
				}
			}
		}
	}
}

func TestNoPrintableKeyIsAnActionWhileTyping(t *testing.T) {
	d := state{perks: []api.Perk{coffee()}}.start(t)
	for range 2 {
		d.TypesEverywhere()
		d.Press("tab")
	}
}

func TestTheMouseChoosesAFieldAndScrolls(t *testing.T) {
	d := state{perks: []api.Perk{coffee()}}.start(t)
	d.Screen()
	d.Send(tea.MouseMsg{Action: tea.MouseActionPress, Button: tea.MouseButtonLeft, Y: 1 + 4})
	if focus := d.App.Top().Form().Focus(); focus != "metadata" {
		t.Errorf("the click has chosen %s", focus)
	}
	s := states()["long"]
	d = s.start(t)
	s.rest(d)
	d.Resize(30, 8)
	d.Screen()
	d.Send(tea.MouseMsg{Action: tea.MouseActionPress, Button: tea.MouseButtonWheelDown, Y: 3})
	if strings.Contains(d.Screen(), "[refused]") {
		t.Errorf("the wheel has not scrolled:\n%s", d.Screen())
	}
}
