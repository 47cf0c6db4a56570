package perks_test

import (
	"strings"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/tui/tuitest"
)

func long(word string) string { return strings.TrimSpace(strings.Repeat(word+" ", 60)) }

// strange is a service with texts that are hard to draw.
func strange() *service {
	past, future := tuitest.Noon.Add(-50*time.Hour), tuitest.Noon.Add(30*24*time.Hour)
	perks := []api.Perk{
		{ID: "long", Title: long("Breakfast"), Description: long("Coffee, rolls and an egg."), City: long("Berlin"),
			Category: text(long("Food")), MerchantName: text(long("Café")), DiscountText: text(long("half")),
			Terms: text(long("Weekdays only."))},
		{ID: "cjk", Title: "東京の朝食セット二人前", Description: "コーヒーとパンと卵。",
			City: "東京都", MerchantName: text("喫茶店"), DiscountText: text("半額")},
		{ID: "rtl", Title: "קפה לשניים", Description: "قهوة لشخصين في الصباح",
			City: "תל אביב", MerchantName: text("مقهى")},
		{ID: "emoji", Title: "👩‍👩‍👧 Family ☕️ 🇩🇪 deal", Description: "🎉🎉🎉",
			City: "🏙️ Köln"},
		{ID: "controls", Title: "\x1b[31mRed\x1b[0m\nand \u202eturned", Description: "a\tb\r\nc", City: "x\u0085y"},
		{ID: "expired", Title: "Yesterday's soup", Description: "Gone.", City: "Bonn", ValidTo: &past},
		{ID: "later", Title: "Tomorrow's soup", Description: "Not yet.", City: "Bonn", ValidFrom: &future},
	}
	return &service{total: int64(len(perks)), perk: func(n int64) api.Perk { return perks[n-1] }}
}

// states are how the screen gets into each of its states, and what it says there if the layout is that of another with
// a golden.
var states = map[string]struct {
	service *service // a thousand perks if it is nil
	flow    string
	says    []string
}{
	"loading":      {service: held(numbered(1_000_000))},
	"list":         {numbered(1_000_000), "settle j space j j space j", nil},
	"strange":      {strange(), "settle i settle G", nil},
	"strange-long": {strange(), "settle", []string{">  Breakfast Breakfast", "row 1 of 7"}},
	"strange-emoji": {strange(), "settle j j j", []string{
		">  👩‍👩‍👧 Family ☕️ 🇩🇪 deal", "row 4 of 7"}},
	"export": {numbered(1_000_000), "settle E settle", nil},
	"empty": {numbered(0), "settle", []string{
		"Perks 0", "There are no perks yet. An operator imports them: perksd import perks"}},
	"empty-filter": {nil, `settle / "nothing city:Berlin\n" => No perk matches
		settle`, []string{"/ nothing city:Berlin", "No perk matches nothing city:Berlin. F clears it."}},
	"filter": {nil, `settle / "coffee city:Ber" settle`, nil},
	"filter-wrong": {nil, `settle / "near:52.5,200 <501km" settle`, []string{
		"near:52.5,200 <501km▏", "! near: longitude must be between -180 and 180", "nearest"}},
	"filter-refused": {nil, `
		settle
		service: refuses
		/ "coffee" settle`, nil},
	"filtered-stale": {nil, `
		settle
		service: holds
		/ "coffee\n" => loading ...`, []string{"/ coffee", "best matches first", "loading ... - row 1 of 1,000"}},
	"error": {failing(numbered(1000)), "settle", []string{"! The server failed. R retries."}},
	"error-stale": {nil, `
		settle
		service: fails
		wait: 17m
		R settle => Last loaded`, nil},
}

func held(s *service) *service {
	s.set("holds")
	return s
}

func failing(s *service) *service {
	s.set("fails")
	return s
}

// reach starts the screen in a state.
func reach(t *testing.T, name string) *tuitest.Driver {
	t.Helper()
	perks := states[name].service
	if perks == nil {
		perks = numbered(1000)
	}
	d := perks.start(t)
	d.Play(states[name].flow)
	return d
}

func TestStates(t *testing.T) {
	for name, state := range states {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reach(t, name).Golden(name, name == "filter-refused", state.says...)
		})
	}
}

// The state has the most parts: invalid fields, rows that are hard to draw, and the preview.
func TestEverySizeFits(t *testing.T) {
	t.Parallel()
	d := reach(t, "strange")
	d.Play(`/ tab tab tab "52.5,200" tab "501"`)
	d.EverySize()
}
