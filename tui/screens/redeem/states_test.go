package redeem_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
)

// fakeService replies to each redeem request by its perk, and lists what the user has redeemed.
type fakeService struct {
	replies     map[string]http.HandlerFunc
	eligibility map[string]string // by perk; without any, the scope does not allow it
	list        string            // the data of the list; "" fails
}

func (p *fakeService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Date", tuitest.Noon.Format(http.TimeFormat))
	perk := path.Base(path.Dir(r.URL.Path))
	switch {
	case strings.HasSuffix(r.URL.Path, "/redeem"):
		p.replies[perk](w, r)
		return
	case r.Method == http.MethodPost: // about many pairs at once
		http.NotFound(w, r)
		return
	case strings.HasSuffix(r.URL.Path, "/eligibility"):
		reply := p.eligibility[perk]
		if reply == "" {
			fails(403, "insufficient_scope", "No.")(w, r)
			return
		}
		fmt.Fprint(w, reply)
		return
	}
	if p.list == "" {
		fails(503, "unavailable", "The service could not finish this.")(w, r)
		return
	}
	fmt.Fprintf(w, `{"data":[%s],"meta":{"page":1,"per_page":100,"total":1,"total_pages":1}}`, p.list)
}

func succeeds(status api.RedemptionStatus) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var request api.RedeemRequest
		_ = json.NewDecoder(r.Body).Decode(&request)
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"id":"0199-7a3c","user_id":%q,"redeemed_at":"2026-03-10T12:00:00Z","status":%q,"metadata":{}}`,
			request.UserID, status)
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
	succeeds(api.StatusApproved)(w, r)
}

// Only the approved redemption counts, not the rejected one.
const earlier = `{"id":"0198-22bb","perk_id":"coffee","redeemed_at":"2026-02-02T09:30:00Z","status":"rejected"},
	{"id":"0198-11aa","perk_id":"coffee","redeemed_at":"2026-02-01T09:30:00Z","status":"approved"}`

// state is a state of the screen, and what its accessible text must say.
type state struct {
	perks   []api.Perk
	reply   http.HandlerFunc            // for every perk
	replies map[string]http.HandlerFunc // by perk
	list    string
	can     map[string]string // the eligibility by perk
	user    string
	do      func(*tuitest.Driver)
	says    []string
	hangs   bool // a reply never comes
}

func coffee() api.Perk { return api.Perk{ID: "coffee", Title: "Coffee for two", City: "Berlin"} }

func confirm(d *tuitest.Driver) {
	d.Press("ctrl+s")
	d.See("Redeem for")
	d.Press("y")
}

func states() map[string]state {
	long := func(word string) string { return strings.TrimSpace(strings.Repeat(word+" ", 40)) }
	text := func(s string) *string { return &s }
	past, future := tuitest.Noon.AddDate(0, 0, -9), tuitest.Noon.AddDate(0, 0, 12)
	expired, notStarted := coffee(), coffee()
	expired.ValidTo, notStarted.ValidFrom = &past, &future
	rich := coffee()
	rich.DiscountText, rich.MerchantName, rich.ValidTo = text("2 for 1"), text("Café Mitte"), &future
	rich.Terms, rich.Description = text("Weekdays until noon."), "Two cups of filter coffee in the heart of Berlin."
	strange := []api.Perk{
		{ID: "cjk", Title: "東京の朝食セット二人前", City: "東京都"},
		{ID: "rtl", Title: "קפה לשניים", City: "תל אביב"},
		{ID: "emoji", Title: "👩‍👩‍👧 Family ☕️ 🇩🇪 deal", City: "🏙️ Köln"},
		{ID: "controls", Title: "\x1b[31mRed\x1b[0m\nand \u202eturned", City: "x\u0085y"},
	}
	several := []api.Perk{coffee(), {ID: "spa", Title: "Spa day", City: "Bonn"},
		{ID: "gone", Title: "All gone", City: "Bonn"}, {ID: "later", Title: "Not sent", City: "Bonn"}}
	type handlers = map[string]http.HandlerFunc
	return map[string]state{
		"empty": {perks: []api.Perk{rich},
			says: []string{"Coffee for two", "coffee, 2 for 1, Café Mitte, Berlin, 12 days left",
				"At https://perks.example/v2 (LIVE), profile staging", "User: ", "Metadata: "}},
		"no-perks": {perks: nil, says: []string{"No perk was chosen: go back, and choose one."}},
		"typed": {perks: []api.Perk{coffee()}, do: func(d *tuitest.Driver) {
			d.Type("..\nticket=4711\nticket=1\nx")
			d.Press("tab", "shift+tab")
		},
			says: []string{"must not be . or ..", `has the key "ticket" a second time`}},
		"question": {perks: several[:2], user: "alice",
			do:   func(d *tuitest.Driver) { d.Type("ticket=4711"); d.Press("ctrl+s"); d.See("Redeem for") },
			says: []string{"ticket=4711"}},
		"approved": {perks: []api.Perk{coffee()}, reply: succeeds(api.StatusApproved), do: confirm,
			says: []string{"[redeemed]", "Status approved, 10 Mar 2026 12:00.", "Id 0199-7a3c"}},
		"pending": {perks: []api.Perk{coffee()}, reply: succeeds(api.StatusPending), do: confirm,
			says: []string{"[waiting for approval]", "waiting for approval"}},
		"rejected": {perks: []api.Perk{coffee()}, reply: succeeds(api.StatusRejected), do: confirm,
			says: []string{"[rejected]", "It cannot be used."}},
		"replay": {perks: []api.Perk{coffee()}, reply: replays, do: confirm,
			says: []string{"[redeemed before]", "Redeemed earlier: the service repeats its reply."}},
		"duplicate": {perks: []api.Perk{coffee()}, reply: fails(409, "already_redeemed", "No."), list: earlier,
			do: confirm, says: []string{"[already redeemed]",
				"alice redeemed it on 1 Feb 2026 09:30, status approved. Nothing was redeemed now.", "Id 0198-11aa"}},
		"date-unknown": {perks: []api.Perk{coffee()}, reply: fails(409, "already_redeemed", "No."), do: confirm,
			says: []string{"alice has redeemed it already. The date was not loaded: " +
				"The service could not finish this."}},
		"expired": {perks: []api.Perk{expired}, reply: fails(409, "perk_expired", "No."), do: confirm,
			says: []string{"Expired: valid until 1 Mar 2026 12:00."}},
		"not-started": {perks: []api.Perk{notStarted}, reply: fails(409, "perk_not_started", "No."), do: confirm,
			says: []string{"Not started: valid from 22 Mar 2026 12:00."}},
		"start-unknown": {perks: []api.Perk{coffee()},
			reply: fails(409, "perk_not_started", `Perk "coffee" cannot be redeemed before 2027.`), do: confirm,
			says: []string{`Not started. Perk "coffee" cannot be redeemed before 2027.`}},
		"no-perk": {perks: []api.Perk{coffee()}, reply: fails(404, "not_found", `There is no perk "coffee".`),
			do: confirm, says: []string{"[no such perk]", "Reload the list of perks"}},
		"no-user": {perks: []api.Perk{coffee()}, reply: fails(404, "not_found", `There is no user "alice".`),
			do: confirm, says: []string{"[no such user]", "User No such user."}},
		"key-reused": {perks: []api.Perk{coffee()}, reply: fails(422, "idempotency_key_reused", "No."),
			do: confirm, says: []string{"has used this idempotency key", "a new idempotency key"}},
		"forbidden": {perks: []api.Perk{coffee()}, reply: fails(403, "forbidden", "Only the sandbox."),
			do: confirm, says: []string{"[not allowed]", "Only the sandbox. Nothing was redeemed."}},
		"throttled": {perks: []api.Perk{coffee()}, reply: fails(429, "rate_limited", "Too many requests."),
			do: confirm, says: []string{"[throttled]", "Wait until 12:00:30. ctrl+s retries."}},
		"foreign-reply": {perks: []api.Perk{coffee()},
			reply: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }, do: confirm,
			says: []string{"may not be from the service"}},
		"unexpected-status": {perks: []api.Perk{coffee()}, reply: fails(418, "", "I am a teapot"), do: confirm,
			says: []string{"[failed]", "I am a teapot. Nothing was redeemed."}},
		"unknown": {perks: []api.Perk{coffee()}, reply: fails(500, "internal", "The server failed."),
			list: earlier, do: confirm, says: []string{"[unknown]",
				"Unknown outcome. The server failed. At 12:00:00 it was not in alice's list"}},
		"check-failed": {perks: []api.Perk{coffee()}, reply: fails(500, "internal", "The server failed."),
			do: confirm, says: []string{"[unknown]", "The check failed: The service could not finish this."}},
		"invalid": {perks: []api.Perk{coffee()}, reply: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(422)
			fmt.Fprint(w, `{"code":"validation_failed","response":"No.","errors":{"metadata":["must have a ticket"]}}`)
		}, do: confirm, says: []string{"Some values are not valid. Nothing was redeemed.", "must have a ticket"}},
		"eligible": {perks: []api.Perk{rich}, user: "alice",
			can: map[string]string{"coffee": `{"perk_id":"coffee","user_id":"alice","eligible":true}`},
			do:  func(d *tuitest.Driver) { d.See("✓ can redeem") }},
		"needs-approval": {perks: []api.Perk{rich}, user: "alice",
			can:  map[string]string{"coffee": `{"perk_id":"coffee","user_id":"alice","eligible":true,"status":"pending"}`},
			says: []string{"alice: can redeem, needs approval"}},
		"not-eligible": {perks: several[1:3], user: "alice",
			can: map[string]string{"spa": `{"perk_id":"spa","user_id":"alice","eligible":true}`,
				"gone": `{"perk_id":"gone","user_id":"alice","eligible":false,"code":"sold_out",` +
					`"reason":"No unit is left."}`},
			says: []string{"[sold out] All gone", "alice: can redeem 1 of 2: 1 sold out"}},
		"all-failed": {perks: several[1:3], reply: fails(409, "sold_out", "No."), do: confirm, says: []string{
			"alice: none of 2 redeemed: 2 sold out.", "t retries what failed, r opens the form."}},
		"several": {perks: several, replies: handlers{"coffee": succeeds(api.StatusApproved),
			"spa": succeeds(api.StatusPending), "gone": fails(409, "sold_out", "No."),
			"later": fails(429, "rate_limited", "No.")}, do: confirm,
			says: []string{"alice: 1 redeemed, 1 waiting for approval, 1 sold out, 1 throttled. ctrl+s continues.",
				"[redeemed] Coffee for two", "[sold out] All gone", "[throttled] Not sent"}},
		"sending": {perks: several, replies: handlers{"coffee": succeeds(api.StatusApproved),
			"spa": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
			do:   func(d *tuitest.Driver) { confirm(d); d.See("[sending] Spa day") },
			says: []string{"[redeemed] Coffee for two", "[sending] Spa day", "[not sent] All gone"}, hangs: true},
		"strange": {perks: strange, reply: fails(409, "sold_out", "No."), user: "ﻋﻠﻲ漢字🙂", do: confirm,
			says: []string{"[sold out] 東京の朝食セット二人前"}},
		"long": {perks: []api.Perk{{ID: "long", Title: long("Breakfast"), City: long("Berlin")}},
			reply: fails(400, "invalid_json", long("Broken")), user: strings.Repeat("u", 128),
			do: func(d *tuitest.Driver) { d.Type("a=" + long("value")); confirm(d) }, says: []string{"Broken Broken"}},
	}
}

func (s state) start(t *testing.T) *tuitest.Driver {
	t.Helper()
	service := &fakeService{replies: s.replies, list: s.list, eligibility: s.can}
	if s.reply != nil {
		service.replies = map[string]http.HandlerFunc{}
		for _, perk := range s.perks {
			service.replies[perk.ID] = s.reply
		}
	}
	user := s.user
	if user == "" && s.do != nil && s.reply != nil || s.replies != nil {
		user = "alice"
	}
	d := tuitest.StartWithHandler(t, service, tuitest.Route(screen.ToRedeem{Perks: s.perks, UserID: user}))
	d.Settle()
	if s.do != nil {
		s.do(d)
	}
	return d
}

// settle waits until the state is complete.
func (s state) settle(d *tuitest.Driver) {
	for _, text := range s.says {
		d.Until(text, func() bool { return strings.Contains(d.App.Top().AccessibleText(), text) })
	}
	if !s.hangs {
		d.Settle()
	}
	d.Elapse(20 * time.Second) // toasts disappear
	if !s.hangs {
		d.Settle()
	}
}

func TestStates(t *testing.T) {
	for name, s := range states() {
		t.Run(name, func(t *testing.T) {
			d := s.start(t)
			s.settle(d)
			switch name {
			case "empty", "typed", "question", "approved", "sending", "strange":
				d.Golden(name, false)
			case "eligible", "several", "all-failed":
				d.Golden(name, true)
			case "no-user":
				d.Says("> User alice▏ ! No such user.")
			case "unknown":
				d.Says("[unknown] Coffee for two",
					"Unknown outcome. The server failed. At 12:00:20 it was not in alice's list, but may still come.")
			case "needs-approval":
				d.Says("User alice ✓ can redeem, needs approval")
			case "not-eligible":
				d.Says("User alice can redeem 1 of 2: 1 sold out", "[sold out] All gone")
			default:
				d.Says(s.says...)
			}
			if text := d.App.Top().AccessibleText(); strings.ContainsAny(text, "\x1b│╭╰─") {
				t.Errorf("the accessible text has drawing characters: %q", text)
			}
		})
	}
}

func TestEverySizeFits(t *testing.T) {
	for _, name := range []string{"several", "all-failed"} {
		s := states()[name]
		d := s.start(t)
		s.settle(d)
		d.EverySize()
	}
}

func TestHardTextsFit(t *testing.T) {
	for _, name := range []string{"long", "strange", "several", "sending", "not-eligible"} {
		s := states()[name]
		d := s.start(t)
		s.settle(d)
		for width := 1; width <= 200; width += 1 + width/8 {
			for height := 1; height <= 60; height += 1 + height/4 {
				d.App.Top().Resize(width, height)
				tuitest.CheckFit(t, d.App.Top().View(), width, height)
			}
		}
	}
}

func TestTypedTextRunsNoActions(t *testing.T) {
	d := state{perks: []api.Perk{coffee()}}.start(t)
	for range 2 {
		d.TypesEverywhere()
		d.Press("tab")
	}
}

func TestTheMouseChoosesAFieldAndScrolls(t *testing.T) {
	d := state{perks: []api.Perk{coffee()}}.start(t)
	d.Play("click: Metadata")
	if focus := d.App.Top().Form().Focus(); focus != "metadata" {
		t.Errorf("the click focused %s", focus)
	}
	s := states()["long"]
	d = s.start(t)
	s.settle(d)
	d.Resize(30, 8)
	d.Screen()
	d.Send(tea.MouseMsg{Action: tea.MouseActionPress, Button: tea.MouseButtonWheelDown, Y: 3})
	if strings.Contains(d.Screen(), "[failed]") {
		t.Errorf("the wheel did not scroll:\n%s", d.Screen())
	}
}
