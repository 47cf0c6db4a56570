package perks_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/tui"
	"example.com/perks/tui/tuitest"
)

// service is a fake service that generates its perks on request.
type service struct {
	total int64
	perk  func(number int64) api.Perk // from 1

	mu       sync.Mutex
	received []string // the queries of the lists, in order
	status   int      // of all responses, unless it is 0
	refusal  api.FieldErrors
	hold     chan struct{} // lists wait until it is closed
	holdFrom int64         // from this page on; 0 for all
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if strings.HasSuffix(r.URL.Path, "/categories") {
		_ = json.NewEncoder(w).Encode([]api.Category{{ID: "food", Name: "Food"}, {ID: "out", Name: "Going out"}})
		return
	}
	if strings.HasSuffix(r.URL.Path, "/events") { // it has them, but not for this client
		w.WriteHeader(http.StatusForbidden)
		return
	}
	if !strings.HasSuffix(r.URL.Path, "/perks") {
		http.NotFound(w, r)
		return
	}
	s.mu.Lock()
	s.received = append(s.received, r.URL.RawQuery)
	hold, from, status, refusal, total := s.hold, s.holdFrom, s.status, s.refusal, s.total
	s.mu.Unlock()
	query := r.URL.Query()
	page, _ := strconv.ParseInt(query.Get("page"), 10, 64)
	if page = max(1, page); hold != nil && page >= from {
		select {
		case <-hold:
		case <-r.Context().Done():
			return
		}
	}
	if status != 0 {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(api.ErrorBody{Response: "The server failed.", Errors: refusal})
		return
	}
	per, _ := strconv.Atoi(query.Get("per_page"))
	if query.Get("q") == "nothing" {
		total = 0
	}
	_ = json.NewEncoder(w).Encode(s.page(page, per, total))
}

func (s *service) page(number int64, per int, total int64) api.Page[api.Perk] {
	page := api.Page[api.Perk]{Data: []api.Perk{}, Meta: api.NewPageMeta(number, per, total)}
	for i := (number-1)*int64(per) + 1; i <= min(number*int64(per), total); i++ {
		page.Data = append(page.Data, s.perk(i))
	}
	return page
}

// set says what the service does from now on.
func (s *service) set(how string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hold != nil {
		close(s.hold)
		s.hold = nil
	}
	how, page, _ := strings.Cut(how, " page ")
	s.holdFrom, _ = strconv.ParseInt(page, 10, 64)
	switch how {
	case "holds":
		s.hold = make(chan struct{})
	case "fails":
		s.status = http.StatusInternalServerError
	case "refuses":
		s.status = http.StatusUnprocessableEntity
		s.refusal = api.FieldErrors{"q": {"must be at most 3 characters long"}, "lat": {"must be in Europe"}}
	case "has a new first perk":
		former := s.perk
		s.perk = func(n int64) api.Perk { return former(n - 1) }
	default:
		s.status, s.refusal = 0, nil
		if n, has := strings.CutPrefix(how, "has "); has {
			s.total, _ = strconv.ParseInt(n, 10, 64)
		}
	}
}

// start starts the terminal UI.
func (s *service) start(t testing.TB, changes ...func(*tui.Options)) *tuitest.Driver {
	t.Helper()
	t.Cleanup(func() { s.set("works") })
	d := tuitest.StartWithHandler(t, s, changes...)
	d.Commands = map[string]func(string){
		"service": s.set,
		"now": func(text string) { // without a wait
			if !d.Shows(text) {
				t.Errorf("%q is not shown:\n%s", text, d.Screen())
			}
		},
		"wheel": func(way string) {
			button := map[string]tea.MouseButton{"down": tea.MouseButtonWheelDown, "up": tea.MouseButtonWheelUp}[way]
			d.Send(tea.MouseMsg{X: 5, Y: 9, Action: tea.MouseActionPress, Button: button})
		},
	}
	d.Received = func() []string { // all that were filtered
		return slices.DeleteFunc(s.queries(), func(query string) bool {
			return !strings.Contains(query, "q=") && !strings.Contains(query, "lat=") &&
				!strings.Contains(query, "radius")
		})
	}
	return d
}

// queries returns the queries of the lists so far.
func (s *service) queries() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.received...)
}

// numbered returns a service of perks that have their number in the list.
func numbered(total int64) *service {
	return &service{total: total, perk: func(n int64) api.Perk {
		end := tuitest.Noon.Add(time.Duration(n%90+1) * 24 * time.Hour)
		return api.Perk{
			ID: fmt.Sprintf("perk-%07d", n), Title: fmt.Sprintf("Perk number %d", n),
			Description: "Two coffees for the price of one.",
			City:        []string{"Berlin", "Hamburg", "Wien"}[n%3], Category: text("Food"),
			MerchantName: text("Café Süd"), DiscountText: text(fmt.Sprintf("%d %% off", n%50)), ValidTo: &end,
		}
	}}
}

func text(s string) *string { return &s }

// scrolled is how many perks TestALongListIsScrolledInLittleMemory has, and scrolledLong in its long form.
const (
	scrolled     = 3_000
	scrolledLong = 100_000
)

// TestALongListIsScrolledInLittleMemory goes to the last row by pages of the window, and to the first: each row is seen
// once, in order.
func TestALongListIsScrolledInLittleMemory(t *testing.T) {
	t.Parallel()
	total := scrolled
	if os.Getenv("PERKS_ENDURANCE") == "long" {
		total = scrolledLong
	}
	perks := numbered(int64(total))
	d := perks.start(t)
	d.See("row 1 of")
	list := d.App.Top().(interface {
		Shown() []api.Perk
		Visible() []api.Perk
	})
	number := func(p api.Perk) (n int) {
		_, _ = fmt.Sscanf(p.ID, "perk-%d", &n)
		return n
	}
	for _, way := range []struct {
		key  string
		last int
	}{{"pgdown", total}, {"pgup", 1}} {
		for range total {
			before := list.Visible()
			d.Press(way.key)
			d.Settle()
			visible := list.Visible()
			if now := len(list.Shown()); now > 1000 {
				t.Fatalf("%d rows are kept", now)
			}
			for i := range visible {
				if number(visible[i]) != number(visible[0])+i {
					t.Fatalf("perk %d comes after perk %d:\n%s", number(visible[i]), number(visible[i-1]), d.Screen())
				}
			}
			if gap := number(visible[0]) - number(before[0]); gap > len(visible) || gap < -len(visible) {
				t.Fatalf("%s goes from perk %d to perk %d", way.key, number(before[0]), number(visible[0]))
			}
			if number(visible[0]) <= way.last && way.last <= number(visible[len(visible)-1]) {
				break
			}
		}
		d.See(fmt.Sprintf("Perk number %d", way.last))
	}
}
