package client_test

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"

	"example.com/perks/api"
	"example.com/perks/api/client"
)

// listing is a service with one property. What goes wrong with it is counted down, change by change.
type listing struct {
	mu       sync.Mutex
	property *api.Property // nil once it is deleted
	version  int
	changes  int // that were asked for
	made     int

	noETags, weak, compares bool              // weak ETags, and a service whose ETags never match
	drop, cut               bool              // a change does not arrive; its answer does not
	blind                   bool              // reads fail from the first change on
	between                 func(s *listing)  // what somebody else does before the next change arrives
	late                    api.PropertyPatch // a change that was dropped, and may still come
}

func (s *listing) etag() string {
	switch tag := fmt.Sprintf(`"%d"`, s.version); {
	case s.noETags:
		return ""
	case s.weak:
		return "W/" + tag
	default:
		return tag
	}
}

func (s *listing) change(patch api.PropertyPatch) {
	patch.Apply(s.property)
	s.version++
}

// sent returns how many changes have arrived.
func (s *listing) sent() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changes
}

func (s *listing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method == http.MethodGet {
		switch {
		case s.blind && s.changes > 0:
			reply(w, 403, map[string]string{"response": "No.", "code": "forbidden"})
		case s.property == nil:
			reply(w, 404, map[string]string{"response": "There is none.", "code": "not_found"})
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
		reply(w, 404, map[string]string{"response": "There is none.", "code": "not_found"})
		return
	case ifMatch != "" && (ifMatch != s.etag() || s.compares):
		reply(w, 412, map[string]string{"response": "It has changed.", "code": "precondition_failed"})
		return
	case r.Method == http.MethodDelete:
		s.property = nil
	default:
		s.change(patch)
	}
	s.made++
	if s.cut {
		panic(http.ErrAbortHandler)
	}
	reply(w, 200, api.Message{Message: "done"})
}

func house() *listing {
	return &listing{property: &api.Property{ID: 42, Title: "Flat", City: "Leeds", Images: []string{}}, version: 1}
}

// edit reads the property and sends a change of it, after which somebody may have done something.
func edit(t *testing.T, s *listing, remove bool) (client.Editing, *client.Client) {
	t.Helper()
	c := serve(t, s)
	base, err := c.Version(t.Context(), 42)
	if err != nil {
		t.Fatal(err)
	}
	e := client.EditingOf(42, base, api.PropertyPatch{Title: api.Some("Loft")})
	if remove {
		e.Patch, e.Delete = api.PropertyPatch{}, true
	}
	return e.Send(t.Context(), c), c
}

func TestEditingFindsOutWhatBecameOfIt(t *testing.T) {
	moved := func(s *listing) { s.change(api.PropertyPatch{City: api.Some("York")}) }
	same := func(s *listing) { s.change(api.PropertyPatch{Title: api.Some("Loft")}) }
	gone := func(s *listing) { s.property = nil }
	for name, test := range map[string]struct {
		change func(*listing)
		want   string // of a patch, and of a deletion
	}{
		"answered":                        {func(*listing) {}, "made, made"},
		"the answer is lost":              {func(s *listing) { s.cut = true }, "made lost, made lost"},
		"the request is lost":             {func(s *listing) { s.drop = true }, "unknown read, unknown read"},
		"nothing can be read":             {func(s *listing) { s.cut, s.blind = true, true }, "unknown, unknown"},
		"somebody changed it":             {func(s *listing) { s.between = moved }, "changed read, changed read"},
		"somebody did the same":           {func(s *listing) { s.between = same }, "changed read done, changed read"},
		"somebody deleted it":             {func(s *listing) { s.between = gone }, "missing, missing"},
		"changed, and nothing is read":    {func(s *listing) { s.between, s.blind = moved, true }, "changed, changed"},
		"no ETags":                        {func(s *listing) { s.noETags = true }, "made, made"},
		"no ETags, and the answer lost":   {func(s *listing) { s.noETags, s.cut = true, true }, "made lost, made lost"},
		"strong ETags that never match":   {func(s *listing) { s.compares = true }, "changed read, changed read"},
		"weak ETags":                      {func(s *listing) { s.weak = true }, "made, made"},
		"weak ETags that never match":     {func(s *listing) { s.weak, s.compares = true, true }, "made, made"},
		"never match, and changed":        {func(s *listing) { s.weak, s.compares, s.between = true, true, moved }, "changed read, changed read"},
		"never match, the answer lost":    {func(s *listing) { s.weak, s.compares, s.cut = true, true, true }, "made lost, made lost"},
		"never match, and not to be read": {func(s *listing) { s.weak, s.compares, s.blind = true, true, true }, "changed, changed"},
	} {
		var got string
		for _, remove := range []bool{false, true} {
			s := house()
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

func outcome(e client.Editing) string {
	var words string
	switch {
	case e.Err == nil:
		words = "made"
	case client.OutcomeUnknown(e.Err):
		words = "unknown"
	case client.IsVersionConflict(e.Err):
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

func TestEditingOfWhatChangedBeforeIsNotSentWithoutETags(t *testing.T) {
	s := house()
	s.noETags = true
	c := serve(t, s)
	base, _ := c.Version(t.Context(), 42)
	s.change(api.PropertyPatch{City: api.Some("York")})
	e := client.EditingOf(42, base, api.PropertyPatch{Title: api.Some("Loft")}).Send(t.Context(), c)
	if outcome(e) != "changed read" || api.CodeOf(e.Err) != api.CodePreconditionFailed || s.sent() != 0 || e.Current.Property.City != "York" {
		t.Errorf("%s, %d sent, %+v", outcome(e), s.sent(), e.Current)
	}
	s.property = nil
	if e := e.Send(t.Context(), c); outcome(e) != "missing" || s.sent() != 0 {
		t.Errorf("%s, %d sent", outcome(e), s.sent())
	}
}

func TestALateChangeIsFoundByLookingAgain(t *testing.T) {
	s := house()
	s.drop = true
	e, c := edit(t, s, false)
	s.change(s.late)
	if e = e.Check(t.Context(), c); outcome(e) != "made lost" {
		t.Error(outcome(e))
	}
}

func TestALateChangeIsNotSomebodyElses(t *testing.T) {
	for _, remove := range []bool{false, true} {
		s := house()
		s.drop = true
		e, c := edit(t, s, remove)
		if e.IsDone() {
			t.Errorf("%s is taken for done", outcome(e))
		}
		s.drop = false
		if remove {
			s.property = nil
		} else {
			s.change(s.late)
		}
		if e = e.Send(t.Context(), c); !remove && (!client.IsVersionConflict(e.Err) || !e.IsDone()) || remove && !client.IsNotFound(e.Err) {
			t.Errorf("sent again it is %s", outcome(e))
		}
	}
}

func TestAnEditOfAnyVersionIsTriedOnce(t *testing.T) {
	s := house()
	s.cut = true
	c := serve(t, s)
	e := client.Editing{ID: 42, Patch: api.PropertyPatch{Title: api.Some("Loft")}}.Try(t.Context(), c)
	if !client.OutcomeUnknown(e.Err) || e.HasCurrent || s.sent() != 1 {
		t.Errorf("%+v, %d sent", e, s.sent())
	}
	e = client.Editing{ID: 42, Patch: e.Patch, ETag: `"other"`}.Send(t.Context(), c)
	if outcome(e) != "changed" {
		t.Errorf("a stranger's version: %s", outcome(e))
	}
}

// FuzzEditing lets everything go wrong in any order: what is called made was made, once, to the version that was read.
func FuzzEditing(f *testing.F) {
	for flags := range uint8(128) {
		f.Add(flags, true)
	}
	f.Add(uint8(0), false)
	f.Fuzz(func(t *testing.T, flags uint8, patch bool) {
		on := func(bit int) bool { return flags>>bit&1 == 1 }
		s := house()
		s.noETags, s.weak, s.compares, s.drop, s.cut, s.blind = on(0), on(1), on(2), on(3), on(4), on(5)
		if on(6) {
			s.between = func(s *listing) { s.change(api.PropertyPatch{City: api.Some("York")}) }
		}
		e, _ := edit(t, s, !patch)
		switch {
		case s.made > 1:
			t.Errorf("made %d times", s.made)
		case e.Err == nil && s.made != 1:
			t.Errorf("not made, but taken for it: %+v", e)
		case e.Err != nil && s.made == 1 && !client.OutcomeUnknown(e.Err):
			t.Errorf("made, but said not to be: %v", e.Err)
		case s.made == 1 && on(6) && !on(0) && !on(1):
			t.Error("made to another version than the one that was read")
		}
	})
}
