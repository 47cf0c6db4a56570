package operation_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"sync"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/operation"
)

// propertyServer is a service with one property and configurable faults.
type propertyServer struct {
	mu       sync.Mutex
	property *api.Property // nil once it is deleted
	version  int
	changes  int // received
	made     int
	replaced api.Property // by the last update

	noETags, weak, neverMatch bool                    // weak ETags; ETags that never match
	drop, cut                 bool                    // a change is lost; its reply is lost
	failReads                 bool                    // reads fail from the first change on
	between                   func(s *propertyServer) // another client's change before the next one
	late                      api.PropertyPatch       // a dropped change that may still arrive
}

func (s *propertyServer) etag() string {
	switch tag := fmt.Sprintf(`"%d"`, s.version); {
	case s.noETags:
		return ""
	case s.weak:
		return "W/" + tag
	default:
		return tag
	}
}

func (s *propertyServer) change(patch api.PropertyPatch) {
	patch.Apply(s.property)
	s.version++
}

// sent returns how many changes were received.
func (s *propertyServer) sent() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changes
}

func (s *propertyServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method == http.MethodGet {
		switch {
		case s.failReads && s.changes > 0:
			reply(w, 403, map[string]string{"response": "No.", "code": "forbidden"})
		case s.property == nil:
			reply(w, 404, map[string]string{"response": "Not found.", "code": "not_found"})
		default:
			w.Header().Set("ETag", s.etag())
			reply(w, 200, s.property)
		}
		return
	}
	s.changes++
	if s.between != nil {
		s.between(s)
		s.between = nil
	}
	body, _ := io.ReadAll(r.Body)
	members, _ := api.ParseObject(body)
	patch, _ := api.ParsePropertyPatch(members)
	ifMatch := r.Header.Get("If-Match")
	switch {
	case s.drop:
		s.late = patch
		panic(http.ErrAbortHandler)
	case s.property == nil:
		reply(w, 404, map[string]string{"response": "Not found.", "code": "not_found"})
		return
	case ifMatch != "" && (ifMatch != s.etag() || s.neverMatch):
		reply(w, 412, map[string]string{"response": "It has changed.", "code": "precondition_failed"})
		return
	case r.Method == http.MethodDelete:
		s.property = nil
	default:
		s.replaced = *s.property
		s.change(patch)
	}
	s.made++
	if s.cut {
		panic(http.ErrAbortHandler)
	}
	reply(w, 200, api.Message{Message: "done"})
}

func newPropertyServer() *propertyServer {
	return &propertyServer{property: &api.Property{ID: 42, Title: "Flat", City: "Leeds", Images: []string{}},
		version: 1}
}

// savingOf is a change of a version that was read.
func savingOf(base operation.PropertyVersion, patch api.PropertyPatch) operation.PropertySaving {
	e := operation.Properties.NewEdit("42", base)
	e.Patch = patch
	return e.Saving()
}

// edit reads the property and sends a change of it.
func edit(t *testing.T, s *propertyServer, remove bool) (operation.PropertySaving, *client.Client) {
	t.Helper()
	c := serve(t, s)
	base, err := operation.Properties.Read(t.Context(), c, "42")
	if err != nil {
		t.Fatal(err)
	}
	e := savingOf(base, api.PropertyPatch{Title: api.Some("Loft")})
	if remove {
		e.Patch, e.Delete = api.PropertyPatch{}, true
	}
	return e.Send(t.Context(), c), c
}

func TestEditingOutcomes(t *testing.T) {
	moved := func(s *propertyServer) { s.change(api.PropertyPatch{City: api.Some("York")}) }
	same := func(s *propertyServer) { s.change(api.PropertyPatch{Title: api.Some("Loft")}) }
	gone := func(s *propertyServer) { s.property = nil }
	for name, test := range map[string]struct {
		change func(*propertyServer)
		want   string // of a patch, of a deletion
	}{
		"changed":      {func(*propertyServer) {}, "made, made"},
		"reply lost":   {func(s *propertyServer) { s.cut = true }, "made lost, made lost"},
		"request lost": {func(s *propertyServer) { s.drop = true }, "unknown read, unknown read"},
		"reads fail": {func(s *propertyServer) { s.cut, s.failReads = true, true },
			"unknown, unknown"},
		"changed by another": {func(s *propertyServer) { s.between = moved },
			"changed read, changed read"},
		"same change by another": {func(s *propertyServer) { s.between = same },
			"changed read done, changed read"},
		"deleted by another": {func(s *propertyServer) { s.between = gone }, "missing, missing"},
		"changed by another, reads fail": {func(s *propertyServer) { s.between, s.failReads = moved, true },
			"changed, changed"},
		"no ETags": {func(s *propertyServer) { s.noETags = true }, "made, made"},
		"no ETags, reply lost": {func(s *propertyServer) { s.noETags, s.cut = true, true },
			"made lost, made lost"},
		"strong ETags that never match": {func(s *propertyServer) { s.neverMatch = true },
			"changed read, changed read"},
		"weak ETags": {func(s *propertyServer) { s.weak = true }, "made, made"},
		"weak ETags that never match": {func(s *propertyServer) { s.weak, s.neverMatch = true, true },
			"made, made"},
		"never match, changed by another": {func(s *propertyServer) {
			s.weak, s.neverMatch, s.between = true, true,
				moved
		}, "changed read, changed read"},
		"never match, reply lost": {func(s *propertyServer) { s.weak, s.neverMatch, s.cut = true, true, true },
			"made lost, made lost"},
		"never match, reads fail": {func(s *propertyServer) {
			s.weak, s.neverMatch, s.failReads = true, true,
				true
		}, "changed, changed"},
	} {
		var got string
		for _, remove := range []bool{false, true} {
			s := newPropertyServer()
			test.change(s)
			e, _ := edit(t, s, remove)
			if remove {
				got += ", "
			}
			got += outcome(e)
			if made := s.made > 0; made != (e.Err == nil) && !client.OutcomeUnknown(e.Err) {
				t.Errorf("%s: made %t, %v", name, made, e.Err)
			}
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

func outcome(e operation.PropertySaving) string {
	var words string
	switch {
	case e.Err == nil:
		words = "made"
	case client.OutcomeUnknown(e.Err):
		words = "unknown"
	case operation.IsVersionConflict(e.Err):
		words = "changed"
	case client.IsNotFound(e.Err):
		words = "missing"
	}
	if e.Lost {
		return words + " lost"
	}
	if e.Err != nil && e.HasCurrent {
		words += " read"
		if e.IsDone() {
			words += " done"
		}
	}
	return words
}

func TestEditIsNotSentWithoutETagsIfChanged(t *testing.T) {
	s := newPropertyServer()
	s.noETags = true
	c := serve(t, s)
	base, _ := operation.Properties.Read(t.Context(), c, "42")
	s.change(api.PropertyPatch{City: api.Some("York")})
	e := savingOf(base, api.PropertyPatch{Title: api.Some("Loft")}).Send(t.Context(), c)
	if outcome(e) != "changed read" || api.CodeOf(e.Err) != api.CodePreconditionFailed || s.sent() != 0 ||
		e.Current.Record.City != "York" {
		t.Errorf("%s, %d sent, %+v", outcome(e), s.sent(), e.Current)
	}
	s.property = nil
	if e := e.Send(t.Context(), c); outcome(e) != "missing" || s.sent() != 0 {
		t.Errorf("%s, %d sent", outcome(e), s.sent())
	}
}

func TestCheckFindsLateChange(t *testing.T) {
	s := newPropertyServer()
	s.drop = true
	e, c := edit(t, s, false)
	s.change(s.late)
	if e = e.Check(t.Context(), c); outcome(e) != "made lost" {
		t.Error(outcome(e))
	}
}

func TestLateChangeIsAConflictOnRetry(t *testing.T) {
	for _, remove := range []bool{false, true} {
		s := newPropertyServer()
		s.drop = true
		e, c := edit(t, s, remove)
		if e.IsDone() {
			t.Errorf("%s counts as done", outcome(e))
		}
		s.drop = false
		if remove {
			s.property = nil
		} else {
			s.change(s.late)
		}
		e = e.Send(t.Context(), c)
		if !remove && (!operation.IsVersionConflict(e.Err) || !e.IsDone()) || remove && !client.IsNotFound(e.Err) {
			t.Errorf("retried: %s", outcome(e))
		}
	}
}

func TestEditOfAnyVersionIsSentOnce(t *testing.T) {
	s := newPropertyServer()
	s.cut = true
	c := serve(t, s)
	patch := api.PropertyPatch{Title: api.Some("Loft")}
	e := operation.PropertySaving{Kind: operation.Properties, ID: "42", Patch: patch}.Try(t.Context(), c)
	if !client.OutcomeUnknown(e.Err) || e.HasCurrent || s.sent() != 1 {
		t.Errorf("%+v, %d sent", e, s.sent())
	}
	e.ETag = `"other"`
	e = e.Send(t.Context(), c)
	if outcome(e) != "changed" {
		t.Errorf("another version: %s", outcome(e))
	}
}

// TestUpdateTellsWhatItReplaced combines all faults: what an update says that it replaced is what the service had, and
// reading that makes no update fail, or be made twice, that is made without.
func TestUpdateTellsWhatItReplaced(t *testing.T) {
	told := 0
	for flags := range uint8(128) {
		on := func(bit int) bool { return flags>>bit&1 == 1 }
		update := func(
			send func(operation.PropertySaving, context.Context, *client.Client) operation.PropertySaving,
		) operation.PropertySaving {
			s := newPropertyServer()
			s.noETags, s.weak, s.neverMatch, s.drop, s.cut = on(0), on(1), on(2), on(3), on(4)
			if s.failReads = on(5); s.failReads {
				s.changes++ // so that the first read fails too
			}
			if on(6) {
				s.between = func(s *propertyServer) { s.change(api.PropertyPatch{Title: api.Some("House")}) }
			}
			patch := api.PropertyPatch{Title: api.Some("Loft")}
			e := operation.PropertySaving{Kind: operation.Properties, ID: "42", Patch: patch}
			e = send(e, t.Context(), serve(t, s))
			switch {
			case s.made > 1:
				t.Errorf("%b: made %d times", flags, s.made)
			case e.Replaced != nil && !api.PropertyChanges(*e.Replaced, s.replaced).IsEmpty():
				t.Errorf("%b: replaced %+v, but says %+v", flags, s.replaced, *e.Replaced)
			case e.Replaced != nil && (e.Err != nil || e.Lost || s.noETags):
				t.Errorf("%b: replaced %+v without proof: %s", flags, *e.Replaced, outcome(e))
			}
			return e
		}
		plain, reading := update(operation.PropertySaving.Send), update(operation.PropertySaving.SendReading)
		if outcome(plain) != outcome(reading) {
			t.Errorf("%b: %s, without reading before %s", flags, outcome(reading), outcome(plain))
		}
		if reading.Replaced != nil {
			told++
		}
	}
	if told != 2 { // with strong and with weak ETags, if nothing fails
		t.Errorf("%d updates tell what they replaced", told)
	}
}

// FuzzEditing combines all faults: a change reported as made was made once, to the version that was read.
func FuzzEditing(f *testing.F) {
	for flags := range uint8(128) {
		f.Add(flags, true)
	}
	f.Add(uint8(0), false)
	f.Fuzz(func(t *testing.T, flags uint8, patch bool) {
		on := func(bit int) bool { return flags>>bit&1 == 1 }
		s := newPropertyServer()
		s.noETags, s.weak, s.neverMatch, s.drop, s.cut, s.failReads = on(0), on(1), on(2), on(3), on(4), on(5)
		if on(6) {
			s.between = func(s *propertyServer) { s.change(api.PropertyPatch{City: api.Some("York")}) }
		}
		e, _ := edit(t, s, !patch)
		switch {
		case s.made > 1:
			t.Errorf("made %d times", s.made)
		case e.Err == nil && s.made != 1:
			t.Errorf("not made, but reported as made: %+v", e)
		case e.Err != nil && s.made == 1 && !client.OutcomeUnknown(e.Err):
			t.Errorf("made, but reported as failed: %v", e.Err)
		case s.made == 1 && on(6) && !on(0) && !on(1):
			t.Error("changed a version that was not read")
		case e.Replaced != nil && (e.Err != nil || e.Lost || s.noETags || s.neverMatch):
			t.Errorf("replaced %+v without proof", *e.Replaced)
		}
	})
}

// TestVersionOfAnyServiceIsReadBack is about the base of a draft, which is kept in a file.
func TestVersionOfAnyServiceIsReadBack(t *testing.T) {
	c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"7"`)
		_, _ = io.WriteString(w, `{"propertyId":"42","title":"Flat","price_pw":2.505e+02,"bedrooms":"2","lat":"51.5",`+
			`"bathrooms":1.5,"images":"https://a/1,https://a/2"}`)
	}))
	read, err := operation.Properties.Read(t.Context(), c, "42")
	if p := read.Record; err != nil || p.PricePW.String() != "2.505e+02" || p.Bedrooms != 2 || *p.Lat != 51.5 ||
		len(p.Images) != 2 {
		t.Fatalf("%+v, %v", read, err)
	}
	e := operation.Properties.NewEdit("42", read)
	e.Type("title", "Loft")
	draft := e.Draft(time.Now())
	now := read.Record.With(api.PropertyPatch{City: api.Some("York")})
	back := operation.Properties.Resume("42", draft, operation.PropertyVersion{Record: now, ETag: `"8"`})
	if !reflect.DeepEqual(back.Base, read) || back.Text("title") != "Loft" {
		t.Errorf("%v\nis read back as %+v, %q", draft, back.Base, back.Text("title"))
	}
}

func serve(t *testing.T, handler http.Handler) *client.Client {
	t.Helper()
	server := httptest.NewServer(http.StripPrefix("/v2", handler))
	t.Cleanup(server.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	c, err := client.New(client.Config{
		BaseURL: server.URL + "/v2", Tokens: client.StaticToken("good"), Transport: transport,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
