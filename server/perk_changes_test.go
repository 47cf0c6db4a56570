package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"example.com/perks/api"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

// lead returns the token of a client that may read and change perks.
func lead(s *servertest.Server) string { return s.Token(api.ScopePerksRead, api.ScopePerksWrite) }

func TestAPerkIsCreatedChangedAndRestocked(t *testing.T) {
	s := servertest.Start(t)
	token, perks := lead(s), s.LiveURL()+"/perks"
	create := s.Request(token, "POST", perks,
		`{"id":"cake","title":"Cake","description":"A slice.","city":"Leeds","stock":2}`)
	create.Header.Set("Idempotency-Key", "k")
	response, body := s.Send(create)
	if response.StatusCode != http.StatusCreated || response.Header.Get("Location") != perks+"/cake" {
		t.Fatalf("%d %s, at %q", response.StatusCode, body, response.Header.Get("Location"))
	}
	created := response.Header.Get("ETag")
	read, _ := s.Get(token, perks+"/cake")
	if got := read.Header.Get("ETag"); got != created {
		t.Errorf("GET has the ETag %s, and POST %s", got, created)
	}
	update := s.Request(token, "PATCH", perks+"/cake",
		`{"id":"cake","title":"Carrot cake","category":"Food","lat":53.8,"lng":-1.5}`)
	update.Header.Set("If-Match", created)
	response, body = s.Send(update)
	if response.StatusCode != http.StatusOK || response.Header.Get(api.HeaderPreviousETag) != created ||
		!strings.Contains(string(body), `"lat":53.8,"lng":-1.5,"stock":2,"approval":"auto"`) {
		t.Fatalf("%d %s after %s", response.StatusCode, body, response.Header.Get(api.HeaderPreviousETag))
	}
	if got := s.Status(token, "PATCH", perks+"/cake", `{"title":"Carrot cake"}`); got != http.StatusOK {
		t.Errorf("the same title again is %d", got)
	}
	stale := s.Request(token, "PATCH", perks+"/cake", `{"title":"Late"}`)
	stale.Header.Set("If-Match", created)
	if response, _ := s.Send(stale); response.StatusCode != http.StatusPreconditionFailed {
		t.Errorf("a change of what has changed is %d", response.StatusCode)
	}
	for range 2 {
		more := s.Request(token, "POST", perks+"/cake/stock", `{"add":3}`)
		more.Header.Set("Idempotency-Key", "more")
		if _, body := s.Send(more); string(body) != `{"stock":5,"held":0,"left":5,"approval":"auto"}`+"\n" {
			t.Errorf("the stock is %s", body)
		}
	}
	history, _ := servertest.Read[api.Page[api.PerkVersion]](s, token, perks+"/cake/history")
	var actions []string
	for _, version := range history.Data {
		actions = append(actions, version.Action+" "+strings.Join(version.Changed, " "))
	}
	if got := strings.Join(actions, ", "); got != "stock stock, updated title category lat lng, created " {
		t.Errorf("the history is %q", got)
	}
	at := history.Data[2].At.Format("2006-01-02T15:04:05.000Z")
	if was, _ := servertest.Read[api.PerkRecord](s, token, perks+"/cake?as_of="+at); was.Approval == "" {
		t.Errorf("as of %s it was %v", at, was)
	}
}

func TestOnlyWhoMayChangeAPerkSeesItsStock(t *testing.T) {
	s := servertest.Start(t)
	ten := int64(10)
	s.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "spa"}, Stock: &ten})
	lead, till := lead(s), s.Token(api.ScopePerksRead, api.ScopePerksRedeem)
	for token, want := range map[string]bool{lead: true, till: false} {
		for _, address := range []string{"/perks/spa", "/perks?per_page=1", "/events"} {
			_, body := s.Get(token, s.LiveURL()+address)
			if got := strings.Contains(string(body), `"stock"`); got != (want && address == "/perks/spa") {
				t.Errorf("%s: %s", address, body)
			}
		}
	}
	asOf := s.LiveURL() + "/perks/spa?as_of=2026-01-01T00:00:00Z"
	if got := s.Status(till, "GET", asOf, ""); got != http.StatusForbidden {
		t.Errorf("a till reads what a perk was: %d", got)
	}
}

func TestARefusedChangeOfAPerkNamesTheField(t *testing.T) {
	s := servertest.Start(t)
	ten := int64(10)
	s.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "spa"}, Stock: &ten},
		store.PerkRecord{Perk: api.Perk{ID: "0195b2c4-9a02-7d10-8f44-c2a77b1d0e52"}})
	token, perks := lead(s), s.LiveURL()+"/perks"
	for _, c := range []struct {
		method, path, body string
		status             int
		code               api.Code
		field              string
	}{
		{"POST", "", `{"title":"x","description":"x"}`, 422, "validation_failed", "city"},
		{"POST", "", `{"title":1,"description":"x","city":"x"}`, 422, "validation_failed", "title"},
		{"POST", "", `{"id":"a b","title":"x","description":"x","city":"x"}`, 422, "validation_failed", "id"},
		{"POST", "", `{"title":"x","description":"x","city":"x","created_at":"2026-01-01T00:00:00Z"}`, 422,
			"validation_failed", "created_at"},
		{"POST", "", `{"id":"spa","title":"x","description":"x","city":"x"}`, 409, "perk_exists", ""},
		{"POST", "", `{"id":"0195B2C4-9A02-7D10-8F44-C2A77B1D0E52","title":"x","description":"x","city":"x"}`, 409,
			"perk_exists", ""},
		{"PATCH", "/spa", `{"titel":"x"}`, 422, "validation_failed", "titel"},
		{"PATCH", "/spa", `{"title":null}`, 422, "validation_failed", "title"},
		{"PATCH", "/spa", `{"id":"other"}`, 422, "validation_failed", "id"},
		{"PATCH", "/spa", `{"stock":"many"}`, 422, "validation_failed", "stock"},
		{"PATCH", "/spa", `{"approval":"later"}`, 422, "validation_failed", "approval"},
		{"PATCH", "/spa", `{"lat":1}`, 422, "validation_failed", "lng"},
		{"PATCH", "/spa", `{"valid_from":"2026-02-01T00:00:00Z","valid_to":"2026-01-01T00:00:00Z"}`, 422,
			"validation_failed", "valid_to"},
		{"PATCH", "/none", `{"title":"x"}`, 404, "not_found", ""},
		{"POST", "/spa/stock", `{}`, 422, "validation_failed", "add"},
		{"POST", "/spa/stock", `{"add":1,"set":2}`, 422, "validation_failed", "set"},
		{"POST", "/spa/stock", `{"add":0}`, 422, "validation_failed", "add"},
		{"POST", "/spa/stock", `{"add":9223372036854775807}`, 422, "validation_failed", "add"},
		{"POST", "/spa/stock", `{"set":-1}`, 422, "validation_failed", "set"},
		{"POST", "/spa/stock", `{"take":1}`, 422, "validation_failed", "take"},
		{"POST", "/spa/stock", `{"add":-11}`, 409, "stock_below_held", ""},
		{"POST", "/0195b2c4-9a02-7d10-8f44-c2a77b1d0e52/stock", `{"add":1}`, 409, "conflict", ""},
	} {
		var refusal api.ErrorBody
		response, body := s.Send(s.Request(token, c.method, perks+c.path, c.body))
		err := json.Unmarshal(body, &refusal)
		if err != nil || response.StatusCode != c.status || refusal.Code != c.code ||
			c.field != "" && len(refusal.Errors[c.field]) == 0 {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, response.StatusCode, body)
		}
	}
	if got := s.Status(token, "PATCH", perks+"/0195B2C4-9A02-7D10-8F44-C2A77B1D0E52", `{"title":"Found"}`); got != 200 {
		t.Errorf("a UUID in upper case is %d", got)
	}
}
