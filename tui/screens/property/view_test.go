package property_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/tui"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
)

// service is a fake service with one property.
type service struct {
	mu       sync.Mutex
	property api.Property
	etag     string
	changes  []api.PropertyVersion // the newest first
	does     string                // "silent": never responds; "not found"; "broken": fails what is not a GET
}

// set says what the service does from now on.
func (s *service) set(how string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch how {
	case "changed":
		s.property.Title, s.property.Description, s.property.City = "Quiet flat",
			"Three rooms.\nA bath.\n\nA view.\n\n", "York"
		s.etag = `"v2"`
	case "without ETags":
		s.etag = ""
	case "with history":
		s.changes = history(s.property)
	case "deleted":
		deletion := versionOf(s.property, 2, "acme", "deleted", nil)
		s.changes, s.does = append([]api.PropertyVersion{deletion}, history(s.property)...), "not found"
	default:
		s.does = how
	}
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	property, etag, does := s.property, s.etag, s.does
	s.mu.Unlock()
	asOf, isDated := r.URL.Query()["as_of"]
	switch {
	case strings.HasSuffix(r.URL.Path, "/history") && does == "forbidden":
		w.WriteHeader(http.StatusForbidden)
		w.Write([]byte(`{"response":"Property 42 belongs to another client.","code":"forbidden"}`))
	case strings.HasSuffix(r.URL.Path, "/history") && s.changes == nil:
		w.WriteHeader(http.StatusNotFound)
	case strings.HasSuffix(r.URL.Path, "/history"):
		n := int64(len(s.changes))
		json.NewEncoder(w).Encode(api.Page[api.PropertyVersion]{Data: s.changes, Meta: api.NewPageMeta(1, 50, n)})
	case isDated: // it has two versions: as it is, and before
		w.Header().Set(api.HeaderAsOf, asOf[0])
		w.Header().Set("ETag", etag)
		if at, _ := time.Parse(time.RFC3339, asOf[0]); !at.After(hoursAgo(30)) {
			property = before(property)
			w.Header().Set("ETag", `"v0"`)
		}
		json.NewEncoder(w).Encode(property)
	case !strings.Contains(r.URL.Path, "-property/"):
		w.Write([]byte(`{"data":[]}`))
	case does == "silent":
		<-r.Context().Done()
	case does == "broken" && r.Method != http.MethodGet:
		w.WriteHeader(http.StatusBadGateway)
	case does == "not found":
		w.WriteHeader(http.StatusNotFound)
		w.Write([]byte(`{"response":"There is no property 42.","code":"not_found"}`))
	case r.Method != http.MethodGet && r.Header.Get("If-Match") != etag:
		w.WriteHeader(http.StatusPreconditionFailed)
		w.Write([]byte(`{"response":"Property 42 has changed.","code":"precondition_failed"}`))
	case r.Method == http.MethodPatch:
		w.WriteHeader(http.StatusUnprocessableEntity)
		w.Write([]byte(`{"response":"Some values are not valid.","code":"validation_failed",
			"errors":{"city":["is outside of our region"]}}`))
	default:
		w.Header().Set("ETag", etag)
		json.NewEncoder(w).Encode(property)
	}
}

func hoursAgo(hours int) time.Time { return tuitest.Noon.Add(-time.Duration(hours) * time.Hour) }

// versionOf is a change of a property, to another one or to nothing.
func versionOf(p api.Property, hours int, by, action string, to *api.Property) api.PropertyVersion {
	v := api.PropertyVersion{At: hoursAgo(hours), Action: action}
	if by != "" {
		v.ClientID = &by
	}
	if err := v.SetChange(&p, to); err != nil {
		panic(err)
	}
	return v
}

// before is the property before its last change.
func before(p api.Property) api.Property {
	p.Title, p.Description, p.City = "Dark flat", "Two rooms.\nA shower.\n\nA view.\n\n", "York"
	return p
}

// history is what led to a property.
func history(p api.Property) []api.PropertyVersion {
	was := before(p)
	first := was
	first.Bedrooms = 1
	other := "another-client"
	changes := []api.PropertyVersion{
		versionOf(was, 3, "acme", "updated", &p), versionOf(first, 30, "", "imported", &was),
		{At: hoursAgo(72), ClientID: &other, Action: "created"},
	}
	_ = changes[2].SetChange(nil, &first)
	for i, etag := range []string{`"v1"`, `"v0"`, `"v-1"`} {
		changes[i].ETag = &etag
	}
	return changes
}

// startFake starts with a fake service.
func startFake(t testing.TB, p api.Property, changes ...func(*tui.Options)) *fixture {
	s := &service{property: p, etag: `"v1"`}
	o := &fixture{Driver: tuitest.StartWithHandler(t, s, changes...)}
	o.Settle()
	o.Commands = map[string]func(string){
		"service": s.set,
		"fill":    o.fillIn,
		"open":    func(id string) { o.Open(screen.ToProperty{ID: api.PropertyID(id)}) },
	}
	return o
}

// What states begin with.
const (
	record     = "open: 42\nsettle\n"
	past       = "service: with history\n" + record + "h => row 1 of 3\n"
	deleted    = "service: deleted\n" + record + "=> was deleted.\n"
	form       = record + "e => > Title\n"
	comparison = form + `
		fill: title Bright and quiet flat
		fill: description "Two rooms.\nA bath and a shower.\n\nA view.\n"
		fill: lng
		ctrl+s => + Bright and quiet flat
`
	merge = comparison + `
		service: changed
		ctrl+s => changed by both
`
)

// states are how the screen gets into each of its states, and what it says there if the layout is that of another with
// a golden.
var states = map[string]struct {
	flow     string
	property api.Property // that of flat if it has no id
	says     []string
}{
	"record": {flow: record},
	"plain-record": {record, api.Property{ID: 42, Title: "Only a title"}, []string{
		"> Title Only a title", "Description (empty)", "Images (none)", "Price per week 0", "Deposit 0", "Latitude (none)",
		"Longitude (none)"}},
	"loading": {flow: "service: silent\nopen: 42", says: []string{"Loading property 42 ..."}},
	"none": {flow: "service: not found\n" + record, says: []string{
		"! Property 42 was not loaded. There is no property 42. 3 opens another property."}},
	"long": {record, changed(func(p *api.Property) {
		p.Title = strings.Repeat("A long title ", 15)
		p.Description = strings.Repeat("A long description of the flat. ", 100) + strings.Repeat("x", 300)
	}), []string{"> Title A long title", "Description A long description of the flat. A long"}},
	"scripts": {flow: record, property: changed(func(p *api.Property) {
		p.Title, p.Address, p.City = "明るいアパート、駅から徒歩五分の静かな場所",
			"شارع النيل ١٢، القاهرة", "🏠🇬🇧👨‍👩‍👧 Leeds"
		p.Description = "דירה מוארת\u202e עם נוף\n" +
			"東京の中心にある素敵な部屋です。すべての駅に近い。\n" +
			"👍🏽 good\x1b[31m value\tfor money"
	})},
	"offline": {flow: record + "service: not found\nR => Last loaded", says: []string{
		"! There is no property 42. Last loaded just now. 3 opens another property.", "> Title Bright flat"}},
	"choosing": {flow: "=> Open a property\nsettle esc", says: []string{"No property is open. enter chooses one."}},
	"form":     {flow: form, says: []string{"> Title Bright flat▏ (11 of 200)", "Deposit 500", "ctrl+s save"}},
	"form-wrong": {flow: form + `
		fill: city Atlantis
		fill: price_pw 12,5
		ctrl+s => Fix first`, says: []string{
		"*City Atlantis", ">*Price per week 12,5▏", "! Use a point: 12.5", "! Fix first: price per week."}},
	"form-refused": {flow: form + `
		fill: city Atlantis
		ctrl+s ctrl+s => is outside of our region`},
	"comparison": {flow: comparison},
	"saving": {flow: comparison + "service: silent\nctrl+s",
		says: []string{"Saving property 42 ...", "+ Bright and quiet flat"}},
	"unguarded": {flow: "service: without ETags\n" + comparison, says: []string{
		"This service has no ETags: changes that somebody else makes at the same moment can be lost."}},
	"unknown": {flow: comparison + "service: broken\nctrl+s => Unknown outcome", says: []string{
		"! Unknown outcome: the property is not changed yet. Retry (ctrl+s).", "It can't overwrite other changes."}},
	"long-comparison": {flow: `size: 80x12
		` + form + `
		fill: description "Two rooms.\nA bath.\n\nA view.\n\n"
		ctrl+end
		paste: ` + strings.Repeat("A long description of the flat. ", 100) + `
		fill: price_pw 999.99
		fill: bedrooms 3
		ctrl+s => 3 fields change
		size: 80x26 => + 3`, // the end is visible, so that it can be saved at every size
		says: []string{"3 fields change: Description, Price per week, Bedrooms", "more lines (enter shows all)",
			"+ 999.99"}},
	"history": {flow: past},
	"change":  {flow: past + "enter => Updated 3 h ago by acme"},
	"creation": {flow: past + "j j enter => by another-client",
		says: []string{"+ Dark flat", "Created 3 days ago by another-client"}},
	"restoration": {flow: past + "j b => Restore this"},
	"deleted":     {flow: deleted},
	"restoring-deleted": {flow: deleted + "b => This brings it back.", says: []string{
		"Property 42 is deleted. This brings it back.", "Restore this in property 42? ctrl+s restores, esc cancels",
		"+ Bright flat"}},
	"no-history": {flow: record + "h => no history", says: []string{"This service has no history of listings"}},
	"not-mine": {flow: "service: forbidden\n" + record + "h => another client", says: []string{
		"Property 42 belongs to another client.", "L switches the profile."}},
	"merge": {flow: merge},
	"merge-decided": {flow: merge + "m t => All decided.", says: []string{
		"All decided. ctrl+s saves.", "* mine: Bright and quiet flat",
		"> Description, changed by both: theirs is kept * theirs, against what it was before:"}},
	"delete": {flow: record + "ctrl+x => Delete property 42?"},
}

func changed(change func(*api.Property)) api.Property {
	p := flat()
	change(&p)
	return p
}

// reach starts the screen in a state.
func reach(t testing.TB, name string) *fixture {
	t.Helper()
	property := states[name].property
	if property.ID == 0 {
		property = flat()
	}
	var changes []func(*tui.Options)
	if name == "choosing" { // no screen is below
		changes = append(changes, tuitest.Route(screen.ToProperty{}))
	}
	o := startFake(t, property, changes...)
	o.Play(states[name].flow)
	return o
}

func TestStates(t *testing.T) {
	for name, state := range states {
		t.Run(name, func(t *testing.T) {
			reach(t, name).Golden(name, name == "form-refused" || name == "change", state.says...)
		})
	}
}

func TestEverySizeFits(t *testing.T) { reach(t, "merge").EverySize() }

func TestEveryStateFits(t *testing.T) {
	widths, heights := []int{60, 80, 120, 200}, []int{24, 60}
	for n := 1; n <= 34; n++ {
		widths = append(widths, n)
	}
	for n := 1; n <= 8; n++ {
		heights = append(heights, n)
	}
	for name := range states {
		o := reach(t, name)
		for _, width := range widths {
			for _, height := range heights {
				o.Resize(width, height)
				tuitest.CheckFit(t, o.Screen(), width, height)
			}
		}
	}
}

// TestTheSandboxHasNoProperties checks that a change meant for the sandbox does not reach the live property of the same
// id.
func TestTheSandboxHasNoProperties(t *testing.T) {
	var requested atomic.Bool
	d := tuitest.StartWithHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "propert") {
			requested.Store(true)
		}
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
	if requested.Load() || d.App.Overlay() != nil {
		t.Errorf("a property was requested:\n%s", d.Screen())
	}
}

func TestClickFocusesAField(t *testing.T) {
	reach(t, "form").Play(`
		click: Postcode
		focus: postcode`)
}

func TestLongTextScrolls(t *testing.T) {
	reach(t, "long").Play(`
		size: 60x12  => ≠ Images
		G            => > Images
		g            => A long title
		pgdown j k   => ≠ A long title A long title A long title A long title A long title A`)
}

func TestAccessibleText(t *testing.T) {
	for name, wants := range map[string][]string{
		"record": {"Title: Bright flat", "Price per week: 250.50",
			"Latitude: 53.8008", "Longitude: -1.5491", "Property id: 42"},
		"none":         {"Problem: Property 42 was not loaded. There is no property 42."},
		"offline":      {"Last loaded just now.", "Title: Bright flat"},
		"form-refused": {"Note: Not saved", "City (changed, was Leeds): Atlantis", "City is outside of our region"},
		"comparison": {"Save this in property 42? ctrl+s save",
			"Title\n  removed: Bright flat\n  new: Bright and quiet flat", "removed: A bath.", "removed: (empty line)",
			"new: (none)"},
		"merge": {"Title, changed by both: not decided (this is the one to decide)", "before: Bright flat",
			"theirs: Quiet flat", "mine: Bright and quiet flat", "new: Three rooms."},
		"merge-decided": {"Title, changed by both: yours is kept", "kept: mine: Bright and quiet flat",
			"Description, changed by both: theirs is kept"},
	} {
		text := reach(t, name).App.Top().AccessibleText()
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
	for name := range states {
		seen := map[actions.ID]bool{}
		for _, offer := range reach(t, name).App.Top().Offers() {
			if keys.Action(offer.ID).ID == "" || seen[offer.ID] {
				t.Errorf("%s offers %s twice, or the action is unknown", name, offer.ID)
			}
			seen[offer.ID] = true
		}
	}
}
