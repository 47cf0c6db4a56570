package perks_test

import (
	"net/http"
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

// states starts the screen in each of its states.
var states = map[string]func(t *testing.T) *tuitest.Driver{
	"loading": func(t *testing.T) *tuitest.Driver {
		perks := numbered(1_000_000)
		perks.hold = make(chan struct{})
		t.Cleanup(func() { close(perks.hold) })
		return tuitest.StartWithHandler(t, perks)
	},
	"list": func(t *testing.T) *tuitest.Driver {
		d := tuitest.StartWithHandler(t, numbered(1_000_000))
		d.See("row 1 of 1,000,000")
		d.Settle()
		d.Press("j", " ", "j", "j", " ", "j")
		return d
	},
	"strange": func(t *testing.T) *tuitest.Driver {
		d := tuitest.StartWithHandler(t, strange())
		d.See("row 1 of 7")
		d.Settle()
		d.Press("e")
		d.Settle()
		d.Press("G")
		return d
	},
	"strange-long": func(t *testing.T) *tuitest.Driver {
		d := tuitest.StartWithHandler(t, strange())
		d.Settle()
		return d
	},
	"strange-emoji": func(t *testing.T) *tuitest.Driver {
		d := tuitest.StartWithHandler(t, strange())
		d.Settle()
		d.Press("j", "j", "j")
		return d
	},
	"empty": func(t *testing.T) *tuitest.Driver {
		d := tuitest.StartWithHandler(t, numbered(0))
		d.See("There are no perks yet.")
		return d
	},
	"empty-filter": func(t *testing.T) *tuitest.Driver {
		d := tuitest.StartWithHandler(t, numbered(1000))
		d.Settle()
		d.Press("/")
		d.Paste("nothing city:Berlin")
		d.Press("enter")
		d.See("No perk matches")
		d.Settle()
		return d
	},
	"filter": func(t *testing.T) *tuitest.Driver {
		d := tuitest.StartWithHandler(t, numbered(1000))
		d.Settle()
		d.Press("/")
		d.Type("coffee city:Ber")
		d.Settle()
		return d
	},
	"filter-wrong": func(t *testing.T) *tuitest.Driver {
		d := tuitest.StartWithHandler(t, numbered(1000))
		d.Settle()
		d.Press("/")
		d.Type("near:52.5,200 <501km")
		d.Settle()
		return d
	},
	"filter-refused": func(t *testing.T) *tuitest.Driver {
		perks := numbered(1000)
		d := tuitest.StartWithHandler(t, perks)
		d.Settle()
		perks.change(func() {
			perks.status = http.StatusUnprocessableEntity
			perks.refusal = api.FieldErrors{"q": {"must be at most 3 characters long"}, "lat": {"must be in Europe"}}
		})
		d.Press("/")
		d.Type("coffee")
		d.Settle()
		return d
	},
	"filtered-stale": func(t *testing.T) *tuitest.Driver {
		perks := numbered(1000)
		d := tuitest.StartWithHandler(t, perks)
		d.Settle()
		hold := make(chan struct{})
		t.Cleanup(func() { close(hold) })
		perks.change(func() { perks.hold = hold })
		d.Press("/")
		d.Paste("coffee")
		d.Press("enter")
		d.See("loading ...")
		return d
	},
	"error": func(t *testing.T) *tuitest.Driver {
		perks := numbered(1000)
		perks.status = http.StatusInternalServerError
		d := tuitest.StartWithHandler(t, perks)
		d.See("R retries.")
		return d
	},
	"error-stale": func(t *testing.T) *tuitest.Driver {
		perks := numbered(1000)
		d := tuitest.StartWithHandler(t, perks)
		d.Settle()
		perks.change(func() { perks.status = http.StatusInternalServerError })
		d.Elapse(17 * time.Minute)
		d.Press("R")
		d.See("Last loaded")
		d.Settle()
		return d
	},
}

// says is what the states say that have the layout of one with a golden.
var says = map[string][]string{
	"strange-long":   {">  Breakfast Breakfast", "row 1 of 7"},
	"strange-emoji":  {">  👩‍👩‍👧 Family ☕️ 🇩🇪 deal", "row 4 of 7"},
	"empty":          {"Perks 0", "There are no perks yet. An operator imports them: perksd import perks"},
	"empty-filter":   {"/ nothing city:Berlin", "No perk matches nothing city:Berlin. F clears it."},
	"filter-wrong":   {"near:52.5,200 <501km▏", "! near: longitude must be between -180 and 180", "nearest"},
	"filtered-stale": {"/ coffee", "best matches first", "loading ... - row 1 of 1,000"},
	"error":          {"! The server failed. R retries."},
}

func TestStates(t *testing.T) {
	for name, start := range states {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start(t).Golden(name, name == "filter-refused", says[name]...)
		})
	}
}
