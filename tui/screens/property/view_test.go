package property_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
)

// service is a fake service with one property.
type service struct {
	mu       sync.Mutex
	property api.Property
	etag     string
	status   int    // of every response, unless it is 0
	silent   bool   // never responds
	broken   string // a method that gets 502 without a body
}

func (s *service) set(change func(*service)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	property, etag, status, silent, broken := s.property, s.etag, s.status, s.silent, s.broken
	s.mu.Unlock()
	switch {
	case !strings.Contains(r.URL.Path, "-property/"):
		w.Write([]byte(`{"data":[]}`))
	case silent:
		<-r.Context().Done()
	case broken == r.Method:
		w.WriteHeader(http.StatusBadGateway)
	case status != 0:
		w.WriteHeader(status)
		json.NewEncoder(w).Encode(map[string]string{"response": "There is no property 42.", "code": "not_found"})
	case r.Method != http.MethodGet && r.Header.Get("If-Match") != etag:
		w.WriteHeader(http.StatusPreconditionFailed)
		json.NewEncoder(w).Encode(map[string]string{"response": "Property 42 has changed.",
			"code": "precondition_failed"})
	case r.Method == http.MethodPatch:
		w.WriteHeader(http.StatusUnprocessableEntity)
		w.Write([]byte(`{"response":"Some values are not valid.","code":"validation_failed","errors":{"city":["is outside of our region"]}}`))
	default:
		w.Header().Set("ETag", etag)
		json.NewEncoder(w).Encode(property)
	}
}

func startFake(t testing.TB, s *service) *fixture {
	if s.property.ID == 0 {
		s.property = flat()
	}
	s.etag = `"v1"`
	o := &fixture{Driver: tuitest.StartWithHandler(t, s)}
	o.Settle()
	o.Open(screen.ToProperty{ID: "42"})
	if !s.silent {
		o.Settle()
	}
	return o
}

// states starts the screen in each of its states.
var states = map[string]func(t testing.TB) *fixture{
	"record": func(t testing.TB) *fixture { return startFake(t, &service{}) },
	"plain-record": func(t testing.TB) *fixture {
		return startFake(t, &service{property: api.Property{ID: 42, Title: "Only a title"}})
	},
	"loading": func(t testing.TB) *fixture { return startFake(t, &service{silent: true}) },
	"none":    func(t testing.TB) *fixture { return startFake(t, &service{status: http.StatusNotFound}) },
	"long": func(t testing.TB) *fixture {
		p := flat()
		p.Title = strings.Repeat("A long title ", 15)
		p.Description = strings.Repeat("A long description of the flat. ", 100) + strings.Repeat("x", 300)
		return startFake(t, &service{property: p})
	},
	"scripts": func(t testing.TB) *fixture {
		p := flat()
		p.Title, p.Address, p.City = "明るいアパート、駅から徒歩五分の静かな場所",
			"شارع النيل ١٢، القاهرة", "🏠🇬🇧👨‍👩‍👧 Leeds"
		p.Description = "דירה מוארת\u202e עם נוף\n東京の中心にある素敵な部屋です。すべての駅に近い。\n👍🏽 good\x1b[31m value\tfor money"
		return startFake(t, &service{property: p})
	},
	"offline": func(t testing.TB) *fixture {
		s := &service{}
		o := startFake(t, s)
		s.set(func(s *service) { s.status = http.StatusNotFound })
		o.Press("R")
		o.See("Last loaded")
		return o
	},
	"choosing": func(t testing.TB) *fixture {
		// no screen is below
		o := &fixture{Driver: tuitest.StartWithHandler(t, &service{}, tuitest.Route(screen.ToProperty{}))}
		o.See("Open a property")
		o.Settle()
		o.Press("esc")
		return o
	},
	"form": func(t testing.TB) *fixture {
		o := startFake(t, &service{})
		o.Press("e")
		o.See("> Title")
		return o
	},
	"form-wrong": func(t testing.TB) *fixture {
		o := startFake(t, &service{})
		o.Press("e")
		o.See("> Title")
		fillIn(o, "city", "Atlantis")
		fillIn(o, "price_pw", "12,5")
		o.Press("ctrl+s")
		o.See("Fix first")
		return o
	},
	"form-refused": func(t testing.TB) *fixture {
		o := startFake(t, &service{})
		o.Press("e")
		o.See("> Title")
		fillIn(o, "city", "Atlantis")
		o.Press("ctrl+s", "ctrl+s")
		o.See("is outside of our region")
		return o
	},
	"comparison": func(t testing.TB) *fixture {
		o := startFake(t, &service{})
		return o.toComparison()
	},
	"saving": func(t testing.TB) *fixture {
		s := &service{}
		o := startFake(t, s).toComparison()
		s.set(func(s *service) { s.silent = true })
		o.Press("ctrl+s")
		return o
	},
	"unguarded": func(t testing.TB) *fixture {
		s := &service{}
		o := startFake(t, s)
		s.set(func(s *service) { s.etag = "" })
		o.Press("R")
		o.Settle()
		return o.toComparison()
	},
	"unknown": func(t testing.TB) *fixture {
		s := &service{}
		o := startFake(t, s).toComparison()
		s.set(func(s *service) { s.broken = http.MethodPatch })
		o.Press("ctrl+s")
		o.See("Unknown outcome")
		return o
	},
	"long-comparison": func(t testing.TB) *fixture {
		o := startFake(t, &service{})
		o.Resize(80, 12)
		o.Press("e")
		o.See("> Title")
		fillIn(o, "description", "Two rooms.\nA bath.\n\nA view.\n\n")
		o.Press("ctrl+end")
		o.Paste(strings.Repeat("A long description of the flat. ", 100))
		fillIn(o, "price_pw", "999.99")
		fillIn(o, "bedrooms", "3")
		o.Press("ctrl+s")
		o.See("3 fields change")
		o.Resize(80, 26)
		o.See("+ 3") // the end is visible, so that it can be saved at every size
		return o
	},
	"merge": func(t testing.TB) *fixture {
		s := &service{}
		o := startFake(t, s).toComparison()
		return o.toMerge(s)
	},
	"merge-decided": func(t testing.TB) *fixture {
		s := &service{}
		o := startFake(t, s).toComparison().toMerge(s)
		o.Press("m", "t")
		o.See("All decided.")
		return o
	},
	"delete": func(t testing.TB) *fixture {
		o := startFake(t, &service{})
		o.Press("ctrl+x")
		o.See("Delete property 42?")
		return o
	},
}

func fillIn(o *fixture, field, text string) {
	for form := o.App.Top().Form(); form.Focus() != field; {
		o.Press("tab")
	}
	o.Press("ctrl+end")
	o.Clear()
	o.Type(text)
}

func (o *fixture) toComparison() *fixture {
	o.Press("e")
	o.See("> Title")
	fillIn(o, "title", "Bright and quiet flat")
	fillIn(o, "description", "Two rooms.\nA bath and a shower.\n\nA view.\n")
	fillIn(o, "lng", "")
	o.Press("ctrl+s")
	o.See("+ Bright and quiet flat")
	return o
}

// toMerge saves after somebody else changed the same fields.
func (o *fixture) toMerge(s *service) *fixture {
	s.set(func(s *service) {
		s.property.Title, s.property.Description, s.property.City = "Quiet flat",
			"Three rooms.\nA bath.\n\nA view.\n\n", "York"
		s.etag = `"v2"`
	})
	o.Press("ctrl+s")
	o.See("changed by both")
	return o
}

// says is what the states say that have the layout of one with a golden.
var says = map[string][]string{
	"plain-record": {"> Title Only a title", "Description (empty)", "Images (none)", "Price per week 0",
		"Position (none)", "Property id 42"},
	"loading": {"Loading property 42 ..."},
	"none":    {"! Property 42 was not loaded. There is no property 42. 3 opens another property."},
	"long":    {"> Title A long title", "Description A long description of the flat. A long"},
	"offline": {"! There is no property 42. Last loaded just now. 3 opens another property.",
		"> Title Bright flat"},
	"choosing": {"No property is open. enter chooses one."},
	"form":     {"> Title Bright flat▏ (11 of 200)", "Deposit 500", "ctrl+s save"},
	"form-wrong": {"*City Atlantis", ">*Price per week 12,5▏", "! Use a point: 12.5",
		"! Fix first: price per week."},
	"saving":    {"Saving property 42 ...", "+ Bright and quiet flat"},
	"unguarded": {"This service has no ETags: changes that somebody else makes at the same moment can be lost."},
	"unknown": {"! Unknown outcome: the property is not changed yet. Retry (ctrl+s).",
		"It can't overwrite other changes."},
	"long-comparison": {"3 fields change: Description, Price per week, Bedrooms", "more lines (enter shows all)",
		"+ 999.99"},
	"merge-decided": {"All decided. ctrl+s saves.", "* mine: Bright and quiet flat",
		"> Description, changed by both: theirs is kept * theirs, against what it was before:"},
}

func TestStates(t *testing.T) {
	for name, state := range states {
		t.Run(name, func(t *testing.T) { state(t).Golden(name, name == "form-refused", says[name]...) })
	}
}

func TestEverySizeFits(t *testing.T) { states["merge"](t).EverySize() }

func TestEveryStateFits(t *testing.T) {
	widths, heights := []int{60, 80, 120, 200}, []int{24, 60}
	for n := 1; n <= 34; n++ {
		widths = append(widths, n)
	}
	for n := 1; n <= 8; n++ {
		heights = append(heights, n)
	}
	for name, state := range states {
		o := state(t)
		for _, width := range widths {
			for _, height := range heights {
				o.Resize(width, height)
				lines := strings.Split(o.Screen(), "\n")
				if len(lines) > height || slices.ContainsFunc(lines,
					func(line string) bool { return display.Width(line) > width }) {
					t.Fatalf("%s does not fit into %dx%d:\n%s", name, width, height, o.Screen())
				}
			}
		}
	}
}

// TestTheSandboxHasNoProperties checks that a change meant for the sandbox does not reach the live property of the same
// id.
func TestTheSandboxHasNoProperties(t *testing.T) {
	requested := false
	d := tuitest.StartWithHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requested = requested || strings.Contains(r.URL.Path, "propert")
		w.Write([]byte(`{"data":[]}`))
	}))
	d.Settle()
	d.App.Shell().Account.Profile.Sandbox = true
	for _, id := range []api.PropertyID{"", "42"} {
		d.Open(screen.ToProperty{ID: id})
		d.See("The sandbox has no properties.")
		d.Press("R", "e", "ctrl+x", "enter")
		d.Settle()
	}
	d.Elapse(time.Second)
	d.Press("3")
	d.See("Properties 0", "The sandbox has no properties. Log in to the live service (L).")
	d.Press("R", "/")
	d.Elapse(time.Second)
	d.Press("enter")
	d.See("Open: not possible now.")
	if requested || d.App.Overlay() != nil {
		t.Errorf("a property was requested:\n%s", d.Screen())
	}
}

func TestClickFocusesAField(t *testing.T) {
	o := states["form"](t)
	lines := strings.Split(o.Screen(), "\n")
	line := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, "Postcode") })
	o.Send(tea.MouseMsg{X: 5, Y: line, Button: tea.MouseButtonLeft, Action: tea.MouseActionPress})
	if got := o.App.Top().Form().Focus(); got != "postcode" {
		t.Errorf("focus on %s", got)
	}
}

func TestLongTextScrolls(t *testing.T) {
	o := states["long"](t)
	o.Resize(60, 12)
	if o.Shows("Property id") {
		t.Fatal("everything fits without scrolling")
	}
	o.Press("G")
	o.See("Property id")
	o.Press("g")
	o.See("A long title")
	o.Press("pgdown", "j", "k")
	if o.Shows("A long title A long title A long title A long title A long title A") {
		t.Error("it did not scroll")
	}
}

func TestAccessibleText(t *testing.T) {
	for name, wants := range map[string][]string{
		"record": {"Title: Bright flat", "Price per week: 250.50",
			"Position: latitude 53.8008, longitude -1.5491", "Property id: 42"},
		"none":         {"Problem: Property 42 was not loaded. There is no property 42."},
		"offline":      {"Last loaded just now.", "Title: Bright flat"},
		"form-refused": {"Note: Not saved", "City (changed): Atlantis", "City is outside of our region"},
		"comparison": {"Save this in property 42? ctrl+s save",
			"Title\n  removed: Bright flat\n  new: Bright and quiet flat", "removed: A bath.", "removed: (empty line)",
			"new: (none)"},
		"merge": {"Title, changed by both: not decided (this is the one to decide)", "before: Bright flat",
			"theirs: Quiet flat", "mine: Bright and quiet flat", "new: Three rooms."},
		"merge-decided": {"Title, changed by both: yours is kept", "kept: mine: Bright and quiet flat",
			"Description, changed by both: theirs is kept"},
	} {
		text := states[name](t).App.Top().AccessibleText()
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is missing in\n%s", name, want, text)
			}
		}
		if strings.ContainsAny(text, "│╭─\x1b") {
			t.Errorf("%s: drawing characters in\n%s", name, text)
		}
	}
}

func TestOffersAreKnownAndUnique(t *testing.T) {
	keys := actions.Default()
	for name, state := range states {
		seen := map[actions.ID]bool{}
		for _, offer := range state(t).App.Top().Offers() {
			if keys.Action(offer.ID).ID == "" || seen[offer.ID] {
				t.Errorf("%s offers %s twice, or the action is unknown", name, offer.ID)
			}
			seen[offer.ID] = true
		}
	}
}
