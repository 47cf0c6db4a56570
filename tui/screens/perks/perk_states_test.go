package perks_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/tuitest"
)

// perkStates starts the screen in each of its states.
var perkStates = map[string]func(t *testing.T) *tuitest.Driver{
	"everything": shown(coffee()),
	"bare":       shown(bare()),
	"not-started": shown(changed(coffee(), func(p *api.Perk) {
		p.ValidFrom, p.ValidTo = days(4), nil
	})),
	"stock":          lead(),
	"stock-change":   lead("+"),
	"stock-question": lead("+", "5", "0", "enter"),
	"expired":        shown(changed(coffee(), func(p *api.Perk) { p.ValidTo = days(-2) })),
	"long": shown(changed(coffee(), func(p *api.Perk) {
		p.Title = strings.Repeat("A very long title that continues ", 6)
		p.ID = strings.Repeat("id", 60)
		p.ImageURL = pointerTo("https://images.test/" + strings.Repeat("path/", 60))
		p.Terms = pointerTo(strings.Repeat("No exception is made. ", 100))
		p.MerchantName = pointerTo(strings.Repeat("Donaudampfschifffahrtsgesellschaft", 5))
	})),
	"cjk": shown(changed(coffee(), func(p *api.Perk) {
		p.Title, p.City, p.MerchantName = "二名様用コーヒー", "東京", pointerTo("喫茶アンナ")
		p.Description = "フィルターコーヒー二杯と、その日のケーキを一切れお付けします。窓際の席をご希望の方はお申し付けください。"
	})),
	"right-to-left": shown(changed(coffee(), func(p *api.Perk) {
		p.Title, p.City, p.MerchantName = "قهوة لشخصين", "القاهرة", pointerTo("מסעדת חנה")
		p.Description = "كوبان من القهوة المقطرة وقطعة من الكعك.\u202e\x1b[31m"
	})),
	"emoji": shown(changed(coffee(), func(p *api.Perk) {
		p.Title, p.DiscountText = "Coffee ☕ for two 👩‍👩‍👧‍👦", pointerTo("🎉 -20 % 🇵🇱")
		p.Description = "☕☕ and 🍰, every day ✌🏽."
	})),
	"loading": func(t *testing.T) *tuitest.Driver {
		return (&perkService{perk: coffee(), silent: true}).open(t, nil)
	},
	"reloading": func(t *testing.T) *tuitest.Driver {
		return (&perkService{perk: coffee(), silent: true}).open(t, pointerTo(coffee()))
	},
	"no-such": func(t *testing.T) *tuitest.Driver {
		s := &perkService{perk: coffee(), status: http.StatusNotFound}
		d := s.open(t, nil)
		d.Settle()
		return d
	},
	"gone": func(t *testing.T) *tuitest.Driver {
		return reloaded(t, func(s *perkService) { s.perk.ID = "another" })
	},
	"failed": func(t *testing.T) *tuitest.Driver {
		d := (&perkService{perk: coffee(), status: http.StatusForbidden}).open(t, nil)
		d.Settle()
		return d
	},
	"failed-again": func(t *testing.T) *tuitest.Driver {
		return reloaded(t, func(s *perkService) { s.status = http.StatusForbidden })
	},
}

func shown(perk api.Perk) func(*testing.T) *tuitest.Driver {
	return func(t *testing.T) *tuitest.Driver {
		d := (&perkService{perk: perk}).open(t, nil)
		d.Settle()
		return d
	}
}

// lead opens the perk as somebody who may change it, and presses keys.
func lead(keys ...string) func(*testing.T) *tuitest.Driver {
	return func(t *testing.T) *tuitest.Driver {
		d := (&perkService{perk: coffee(), lead: true}).open(t, nil)
		d.Settle()
		d.Press(keys...)
		return d
	}
}

// reloaded loads the perk, changes the service, and reloads three minutes later.
func reloaded(t *testing.T, change func(*perkService)) *tuitest.Driver {
	s := &perkService{perk: coffee()}
	d := s.open(t, nil)
	d.Settle()
	s.change(change)
	d.Elapse(3 * time.Minute)
	d.Press("R")
	d.Settle()
	return d
}

// perkSays is what the states say that have the layout of one with a golden.
var perkSays = map[string][]string{
	"not-started":   {"Valid from 14 Mar 2026, starts in 4 days", "Valid to    no end date"},
	"expired":       {"Was valid until 8 Mar 2026, expired 2 days ago"},
	"cjk":           {"二名様用コーヒー", "Merchant  喫茶アンナ", "City      東京"},
	"right-to-left": {"قهوة لشخصين", "Merchant  מסעדת חנה", "City      القاهرة"},
	"emoji": {"Coffee ☕ for two 👩‍👩‍👧‍👦", "🎉 -20 % 🇵🇱",
		"☕☕ and 🍰, every day ✌🏽."},
	"loading":   {"connecting", "Loading perk coffee-for-two ..."},
	"reloading": {"connecting", "Coffee for two", "As in the list, loading ..."},
	"no-such":   {"! There is no perk coffee-for-two. esc goes back. R retries."},
	"gone": {"! There is no perk coffee-for-two any more. Below is what it was. esc goes back. R retries.",
		"Loaded 3 min ago"},
	"failed": {"! Perk coffee-for-two was not loaded."},
}

func TestPerkStates(t *testing.T) {
	for name, state := range perkStates {
		t.Run(name, func(t *testing.T) {
			state(t).Golden("perk-"+name, name == "everything", perkSays[name]...)
		})
	}
}

// All parts at once: a problem above, and wide characters.
func TestEverySizeOfAPerkFits(t *testing.T) {
	s := &perkService{perk: coffee()}
	s.perk.Title, s.perk.Description = "二名様用コーヒー",
		strings.Repeat("フィルターコーヒー二杯 ☕ ", 9)
	d := s.open(t, nil)
	d.Settle()
	s.change(func(s *perkService) { s.status = http.StatusForbidden })
	d.Press("R")
	d.Settle()
	d.EverySize()
}

// A frame of the longest perk that the service accepts must take only a fraction of 16 ms.
func BenchmarkViewOfTheLongestPerk(b *testing.B) {
	s := &perkService{perk: coffee()}
	s.perk.Description = strings.Repeat("Two cups of filter coffee. ", 370)
	s.perk.Terms = pointerTo(strings.Repeat("フィルターコーヒー", 1_100))
	d := s.open(b, nil)
	d.Settle()
	d.Resize(200, 60)
	top := d.App.Top()
	for b.Loop() {
		d.App.Attempt(actions.Down)
		top.View()
	}
}
