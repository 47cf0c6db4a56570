package client_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

// clientOf returns a client with the scopes, or all, that calls a server at an address.
func clientOf(t *testing.T, s *servertest.Server, address string, scopes ...api.Scope) *client.Client {
	t.Helper()
	token := client.StaticToken(s.Token(scopes...))
	return dial(t, address, func(c *client.Config) { c.Tokens = token })
}

// nearest returns the ids of the perks near a place, the nearest first, and what the service calls the place.
func nearest(t *testing.T, c *client.Client, name string) (ids, place string, err error) {
	t.Helper()
	var found []string
	filter := api.PerkFilter{Near: &api.Circle{Name: name, RadiusKM: 50}}
	for page, failure := range c.PerkPages(t.Context(), filter, client.ListOptions{Sort: api.SortDistance}) {
		if failure != nil {
			return "", "", failure
		}
		for _, perk := range page.Data {
			found = append(found, perk.ID)
		}
		place = page.Near
	}
	return strings.Join(found, " "), place, nil
}

func TestPerksNearACityAndAPerk(t *testing.T) {
	s := servertest.Start(t)
	perk := func(id, city string, position ...float64) store.PerkRecord {
		record := store.PerkRecord{Perk: api.Perk{ID: id, City: city}}
		if position != nil {
			record.Lat, record.Lng = &position[0], &position[1]
		}
		return record
	}
	s.ImportPerks(perk("north", "Berlin", 52.6, 13.4), perk("middle", "Berlin", 52.5, 13.4),
		perk("south", "Berlin", 52.4, 13.4), perk("nowhere", "Berlin"), perk("spa", "Rome"))
	for _, test := range []struct {
		scopes            []api.Scope
		name, ids, called string
	}{
		{nil, "berlin", "middle north south", "Berlin"},
		{nil, "south", "south middle north", "south"},
		{[]api.Scope{api.ScopePerksRead}, "BERLIN", "middle north south", "Berlin"},
		// who may not see where a perk is gets its city
		{[]api.Scope{api.ScopePerksRead}, "south", "middle north south", "Berlin"},
		{nil, "nowhere", "middle north south", "Berlin"},
	} {
		c := clientOf(t, s, s.API(), test.scopes...)
		if ids, called, err := nearest(t, c, test.name); ids != test.ids || called != test.called || err != nil {
			t.Errorf("near %s: %q, near %q, %v", test.name, ids, called, err)
		}
	}
	c := clientOf(t, s, s.API())
	for _, name := range []string{"Rome", "spa", "Berln", "Bad Homburg"} {
		_, _, err := nearest(t, c, name)
		want := "No perk in " + name + " has a position. Use numbers: 52.52,13.405."
		if !client.IsNoPlace(err) || err.Error() != want || api.CodeOf(err) != api.CodeNotFound {
			t.Errorf("near %s: %v", name, err)
		}
	}
}

// TestAPlaceIsLookedUpOnceForAllPages counts the requests by city.
func TestAPlaceIsLookedUpOnceForAllPages(t *testing.T) {
	s, lookUps := servertest.Start(t), 0
	lat, lng := 52.5, 13.4
	for i := range 3 {
		s.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: fmt.Sprint("p", i), City: "Berlin"}, Lat: &lat, Lng: &lng})
	}
	counted := s.Behind(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Has("city") {
				lookUps++
			}
			next.ServeHTTP(w, r)
		})
	})
	c := clientOf(t, s, counted.API())
	filter := api.PerkFilter{Near: &api.Circle{Name: "Berlin"}}
	for page := range int64(3) {
		got, err := c.Perks(t.Context(), filter, client.ListOptions{Page: page + 1, PerPage: 1})
		if err != nil || len(got.Data) != 1 {
			t.Fatalf("page %d: %d perks, %v", page+1, len(got.Data), err)
		}
	}
	if lookUps != 1 {
		t.Errorf("Berlin was looked up %d times", lookUps)
	}
}

// TestAnotherServiceMayShowPositionsAndIgnoreTheCity has a service with positions in its perks.
func TestAnotherServiceMayShowPositionsAndIgnoreTheCity(t *testing.T) {
	asked := ""
	c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("lat") {
			asked = r.URL.Query().Get("lat") + "," + r.URL.Query().Get("lng")
		}
		if !strings.HasSuffix(r.URL.Path, "/perks") {
			reply(w, 404, map[string]any{"response": "There is no such perk."})
			return
		}
		reply(w, 200, map[string]any{"meta": map[string]any{"page": 1, "total": 2, "total_pages": 1},
			"data": []map[string]any{
				{"id": "a", "city": "Rome", "lat": 41.9, "lng": 12.5},
				{"id": "b", "city": "Berlin", "lat": 52.5, "lng": 13.4},
			}})
	}))
	if _, called, err := nearest(t, c, "berlin"); err != nil || called != "Berlin" || !strings.HasPrefix(asked, "52.5") {
		t.Errorf("near Berlin: it was asked for %s, near %q, %v", asked, called, err)
	}
	if _, _, err := nearest(t, c, "Paris"); !client.IsNoPlace(err) {
		t.Errorf("near Paris: %v", err)
	}
}
