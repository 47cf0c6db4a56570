package operation_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/operation"
)

// archive is a service with the history of property 42, whose versions are known by their titles.
type archive struct {
	mu       sync.Mutex
	changes  []api.PropertyVersion // the newest first
	isGone   bool
	answered map[string]string // the title that each idempotency key has restored
	restores []string          // If-Match and body of each request

	noKeys, noHistory bool
	loses             int // requests to restore that are carried out without a reply
	drops             int // requests to restore that do not arrive
}

var began = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

func listing(title string) api.Property {
	return api.Property{ID: 42, Title: title, City: "Leeds", Images: []string{}}
}

// note puts a change first: "acme updated One".
func (a *archive) note(clientID, action, title string) {
	before := a.current()
	at := began.Add(time.Duration(len(a.changes)) * time.Hour)
	v := api.PropertyVersion{At: at, ClientID: &clientID, Action: action}
	after, tag := listing(title), `"`+title+`"`
	now := &after
	if a.isGone = action == api.VersionDeleted; a.isGone {
		now = nil
	} else {
		v.ETag = &tag
	}
	if err := v.SetChange(before, now); err != nil {
		panic(err)
	}
	a.changes = append([]api.PropertyVersion{v}, a.changes...)
}

func (a *archive) current() *api.Property {
	if a.isGone || len(a.changes) == 0 {
		return nil
	}
	p := listing(strings.Trim(*a.changes[0].ETag, `"`))
	return &p
}

func (a *archive) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	missing := func() { reply(w, 404, map[string]string{"response": "Not found.", "code": "not_found"}) }
	show := func(title string) {
		w.Header().Set("ETag", `"`+title+`"`)
		reply(w, 200, listing(title))
	}
	asOf := r.URL.Query().Get("as_of")
	switch isHistory := strings.HasSuffix(r.URL.Path, "/history"); {
	case a.noHistory && (isHistory || r.Method == http.MethodPost):
		http.NotFound(w, r)
	case isHistory:
		reply(w, 200, map[string]any{"data": a.changes, "meta": api.NewPageMeta(1, 50, int64(len(a.changes)))})
	case r.Method == http.MethodPost:
		a.restore(w, r, show, missing)
	case asOf != "":
		w.Header().Set(api.HeaderAsOf, asOf)
		at, _ := time.Parse(time.RFC3339, asOf)
		for _, v := range a.changes {
			if !v.At.After(at) && v.ETag != nil {
				show(strings.Trim(*v.ETag, `"`))
				return
			}
		}
		missing()
	case a.current() == nil:
		missing()
	default:
		show(a.current().Title)
	}
}

func (a *archive) restore(w http.ResponseWriter, r *http.Request, show func(string), missing func()) {
	var to api.PropertyRestore
	_ = json.NewDecoder(r.Body).Decode(&to)
	key, ifMatch := r.Header.Get("Idempotency-Key"), r.Header.Get("If-Match")
	a.restores = append(a.restores, ifMatch+" "+to.ETag)
	if !a.noKeys {
		w.Header().Set("Idempotency-Key", key)
	}
	if a.drops--; a.drops >= 0 {
		panic(http.ErrAbortHandler)
	}
	if done, known := a.answered[key]; known && !a.noKeys {
		w.Header().Set("Idempotent-Replayed", "true")
		show(done)
		return
	}
	last := ""
	for _, v := range a.changes {
		if last == "" && v.ETag != nil {
			last = *v.ETag
		}
	}
	title := strings.Trim(to.ETag, `"`)
	switch {
	case title == "" && !a.isGone:
		reply(w, 409, map[string]string{"response": "It lives.", "code": "not_deleted"})
		return
	case ifMatch != "" && ifMatch != last:
		reply(w, 412, map[string]string{"response": "It has changed.", "code": "precondition_failed"})
		return
	case title == "":
		title = strings.Trim(last, `"`)
	}
	a.note("acme", api.VersionRestored, title)
	a.answered[key] = title
	if a.loses--; a.loses >= 0 {
		panic(http.ErrAbortHandler)
	}
	show(title)
}

func newArchive(changes ...string) *archive {
	a := &archive{answered: map[string]string{}}
	for _, change := range changes {
		var by, action, title string
		_, _ = fmt.Sscan(change, &by, &action, &title)
		a.note(by, action, title)
	}
	return a
}

// TestRestoring has what becomes of a deleted listing, whatever happens to the requests.
func TestRestoring(t *testing.T) {
	for name, test := range map[string]struct {
		service func(*archive) // how it is
		ifMatch string
		to      api.PropertyRestore
		want    string // the title that is restored, or the error, and how often it was restored
	}{
		"the last version":            {want: "Two, 1"},
		"a version by its ETag":       {to: api.PropertyRestore{ETag: `"One"`}, want: "One, 1"},
		"guarded":                     {ifMatch: `"Two"`, want: "Two, 1"},
		"of another version":          {ifMatch: `"One"`, want: "It has changed., 0"},
		"reply lost, by the key":      {service: func(a *archive) { a.loses = 1 }, want: "Two, 1"},
		"reply lost, by reading":      {service: func(a *archive) { a.loses, a.noKeys = 1, true }, want: "Two, 1 lost"},
		"request lost, without a key": {service: func(a *archive) { a.drops, a.noKeys = 9, true }, want: "unknown, 0"},
		"nothing to restore with":     {service: func(a *archive) { a.noHistory = true }, want: "unsupported, 0"},
	} {
		a := newArchive("acme created One", "acme updated Two", "acme deleted")
		if test.service != nil {
			test.service(a)
		}
		c := serve(t, a)
		s := operation.PropertySaving{
			Kind: operation.Properties, ID: "42", Restore: &test.to, ETag: test.ifMatch, Key: "key",
		}.Send(t.Context(), c)
		made := 0
		for _, v := range a.changes {
			if v.Action == api.VersionRestored {
				made++
			}
		}
		got := s.Current.Record.Title
		switch {
		case client.IsUnsupported(s.Err):
			got = "unsupported"
		case client.OutcomeUnknown(s.Err):
			got = "unknown"
		case s.Err != nil:
			got = s.Err.Error()
		}
		got += fmt.Sprintf(", %d", made)
		if s.Lost && a.noKeys {
			got += " lost"
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// TestARestorationThatDidNotArriveIsSentOnce sends it again under its key, once by a person who does not know that the
// first request was carried out.
func TestARestorationThatDidNotArriveIsSentOnce(t *testing.T) {
	a := newArchive("acme created One", "acme deleted")
	c := serve(t, a)
	edit, _, err := operation.Properties.ReadRestoration(t.Context(), c, "42", a.changes[0], "key")
	if err != nil {
		t.Fatal(err)
	}
	edit.Confirm()
	a.noKeys, a.drops = true, 1
	if event := edit.Sent(edit.Saving().Send(t.Context(), c)); event != operation.FoundDoubt {
		t.Fatalf("event %d", event)
	}
	if event := edit.Read(operation.PropertyVersion{}, &client.Error{Status: 404}); event != operation.FoundUnsaved {
		t.Errorf("a listing that is still deleted: event %d", event)
	}
	a.noKeys = false
	a.note("other", api.VersionRestored, "One") // the first request, which was only late
	a.answered["key"] = "One"
	edit.Confirm()
	if event := edit.Sent(edit.Saving().Send(t.Context(), c)); event != operation.FoundSaved || len(a.changes) != 3 {
		t.Errorf("event %d, %d changes", event, len(a.changes))
	}
}

// TestARestorationIsReviewedAsOfNow restores versions of a listing that lives, was deleted, and changes in between.
func TestARestorationIsReviewedAsOfNow(t *testing.T) {
	for name, test := range map[string]struct {
		changes []string
		of      int    // which change, the newest is 0
		between string // a change while it is reviewed
		review  string // what would change
		want    string // If-Match, the version, and the title afterwards; or that there is another review
	}{
		"of a living one": {[]string{"acme created One", "acme updated Two"}, 1, "", "Two → One", `"Two" "One" One`},
		"of a deleted one": {[]string{"acme created One", "acme updated Two", "acme deleted"}, 2, "", " → One",
			`"Two" "One" One`},
		"the last before the deletion": {[]string{"acme created One", "acme deleted"}, 0, "", " → One",
			`"One" "One" One`},
		"before an earlier deletion": {[]string{"acme created One", "acme deleted", "acme restored Two"}, 1, "",
			"Two → One", `"Two" "One" One`},
		"of one that somebody else changes": {[]string{"acme created One", "acme updated Two"}, 1,
			"other updated Three", "Two → One", `"Two" "One" Three → One`},
		"of one that somebody else restores and changes": {[]string{"acme created One", "acme deleted"}, 0,
			"other restored Three", " → One", `"One" "One" Three → One`},
		"of one that somebody else restores": {[]string{"acme created One", "acme deleted"}, 0,
			"other restored One", " → One", `"One" "One" One`},
	} {
		a := newArchive(test.changes...)
		c := serve(t, a)
		edit, now, err := operation.Properties.ReadRestoration(t.Context(), c, "42", a.changes[test.of], "key")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		review := func() string { return edit.Base.Record.Title + " → " + edit.Wanted().Title }
		if review() != test.review || edit.IsOfDeleted() != a.isGone || (now.Record.ID == 0) != a.isGone {
			t.Errorf("%s: the review is of %s", name, review())
		}
		if test.between != "" {
			var by, action, title string
			_, _ = fmt.Sscan(test.between, &by, &action, &title)
			a.note(by, action, title)
		}
		edit.Confirm()
		done := edit.Saving().Send(t.Context(), c)
		got := review
		if edit.Sent(done) == operation.FoundSaved {
			got = func() string { return a.current().Title }
		}
		if got := a.restores[0] + " " + got(); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// TestUndoOfTheLastEdit undoes what the client did last, in the listing as it is now, and nothing that somebody else
// did.
func TestUndoOfTheLastEdit(t *testing.T) {
	kept := &api.PropertyVersion{Action: api.VersionUpdated, Before: json.RawMessage(`{"title":"One"}`),
		After: json.RawMessage(`{"title":"Two"}`)}
	for _, test := range []struct {
		name, changes string
		kept          *api.PropertyVersion
		noHistory     bool
		want          string // the review, the conflicts, or why there is nothing to undo
	}{
		{"own", "acme created One, acme updated Two", nil, false, "Two → One"},
		{"an undo", "acme created One, acme updated Two, acme updated One", nil, false, "One → Two"},
		{"overwritten", "acme updated One, acme updated Two, other updated Three", nil, false, "conflict title"},
		{"undone by somebody", "acme updated One, acme updated Two, other updated One", nil, false, "already has"},
		{"a deletion", "acme created One, acme deleted", nil, false, " → One"},
		{"an undone deletion", "acme updated One, acme deleted, other restored One", nil, false, "was restored"},
		{"a creation", "acme created One", nil, false, "your last change was that property 42 was created"},
		{"a restoration", "acme updated One, other deleted, acme restored One", nil, false, "was restored"},
		{"somebody else's", "other created One, other updated Two", nil, false, "no change of property 42 is yours"},
		{"not kept", "acme created One, acme updated Two", nil, true, "keeps no history"},
		{"kept", "acme created One, acme updated Two", kept, true, "Two → One"},
		{"kept, overwritten", "acme created Three", kept, true, "conflict title"},
		{"kept, and known better", "other created Three, acme updated Four", kept, false, "Four → Three"},
		{"kept, deleted by now", "acme created Two, other deleted", kept, true, "Not found"},
		{"kept, and undone by somebody", "other updated One", kept, true, "already has"},
	} {
		a := newArchive(strings.Split(test.changes, ", ")...)
		a.noHistory = test.noHistory
		edit, _, err := operation.Properties.ReadLastEdit(t.Context(), serve(t, a), "42", "acme", "key", test.kept)
		got := ""
		switch {
		case err != nil:
			got = err.Error()
		case edit.State() == operation.Merging:
			got = "conflict " + strings.Join(edit.Merge.Conflicts, ", ")
		default:
			got = edit.Base.Record.Title + " → " + edit.Wanted().Title
		}
		if !strings.Contains(got, test.want) || len(a.restores) > 0 {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}
