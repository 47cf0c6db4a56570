package perks_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
)

// perkService is a fake service with one perk.
type perkService struct {
	mu     sync.Mutex
	perk   api.Perk
	status int  // of all responses, unless it is 0
	silent bool // never responds
	lead   bool // the client may change perks
}

func (s *perkService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	perk, status, silent, lead := s.perk, s.status, s.silent, s.lead
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	record := api.PerkRecord{Perk: perk, Stock: pointerTo(int64(1200)), Approval: api.ApprovalManual}
	switch {
	case lead && strings.HasSuffix(r.URL.Path, "/stock"):
		_ = json.NewEncoder(w).Encode(record.StockWith(37))
	case lead && strings.HasSuffix(r.URL.Path, "/"+perk.ID):
		_ = json.NewEncoder(w).Encode(record)
	case silent:
		<-r.Context().Done()
	case status != 0:
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(api.ErrorBody{Response: "Not allowed for this client."})
	case !strings.HasSuffix(r.URL.Path, "/"+perk.ID):
		w.WriteHeader(http.StatusNotFound)
		_ = json.NewEncoder(w).Encode(api.ErrorBody{Response: "There is no such perk.", Code: api.CodeNotFound})
	default:
		_ = json.NewEncoder(w).Encode(perk)
	}
}

func (s *perkService) change(change func(*perkService)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

// open opens the perk. known is what a list showed of it, or nil.
func (s *perkService) open(t testing.TB, known *api.Perk) *tuitest.Driver {
	t.Helper()
	return tuitest.StartWithHandler(t, s, tuitest.Route(screen.ToPerk{ID: s.perk.ID, Known: known}))
}

func pointerTo[T any](v T) *T { return &v }

func days(n int) *time.Time { return pointerTo(tuitest.Noon.AddDate(0, 0, n)) }

// coffee is a perk with all fields.
func coffee() api.Perk {
	return api.Perk{
		ID:    "coffee-for-two",
		Title: "Coffee for two",
		Description: "Two cups of filter coffee, and a slice of whatever cake there is that day.\n\n" +
			"Ask for the table at the window.",
		Category:     pointerTo("Food"),
		MerchantName: pointerTo("Café Anna"),
		ImageURL:     pointerTo("https://images.test/coffee.png"),
		DiscountText: pointerTo("-20 %"),
		Terms:        pointerTo("One for each person and month. Not together with other offers."),
		ValidFrom:    days(-30),
		ValidTo:      days(12),
		City:         "Warszawa",
		CreatedAt:    *days(-60),
		UpdatedAt:    *days(-3),
	}
}

// bare is a perk with only the required fields.
func bare() api.Perk {
	return api.Perk{ID: "bare", Title: "A walk", Description: "Along the river.", City: "Berlin", CreatedAt: *days(-60),
		UpdatedAt: *days(-60)}
}

func changed(perk api.Perk, change func(*api.Perk)) api.Perk {
	change(&perk)
	return perk
}
