package client_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"example.com/perks/api"
	"example.com/perks/api/client"
)

func TestAServiceThatKeepsNoNamesIsNoticed(t *testing.T) {
	for _, keeps := range []bool{true, false} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if name := r.Header.Get(api.HeaderActor); keeps {
				w.Header().Set(api.HeaderActor, name)
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write([]byte(`{"id":"r","perk_id":"tea","user_id":"ann","redeemed_at":"2026-03-02T09:00:00Z",` +
				`"status":"approved","metadata":{}}`))
		}))
		defer server.Close()
		unnamed := 0
		c, err := client.New(client.Config{BaseURL: server.URL, Actor: "alice", OnUnnamed: func() { unnamed++ }})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.Redeem(t.Context(), "tea", api.RedeemRequest{UserID: "ann"}, ""); err != nil {
			t.Fatal(err)
		}
		if (unnamed == 1) == keeps {
			t.Errorf("a service that keeps names: %t, noticed %d times", keeps, unnamed)
		}
	}
}

func TestFourEyesAreKnownOnceTheServiceHasShownThem(t *testing.T) {
	header := http.Header{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for name, values := range header {
			w.Header()[name] = values
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"data":[]}`))
	}))
	defer server.Close()
	c, err := client.New(client.Config{BaseURL: server.URL, ClientID: "desk", Actor: "alice"})
	if err != nil {
		t.Fatal(err)
	}
	alice, bob := "alice", "bob"
	for _, on := range []bool{false, true, false} {
		header.Del(api.HeaderFourEyes)
		if on {
			header.Set(api.HeaderFourEyes, "on")
		}
		if _, err := c.Perks(t.Context(), api.PerkFilter{}, client.ListOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct {
			record    api.RedemptionRecord
			decision  api.RedemptionStatus
			isRefused bool
		}{
			{api.RedemptionRecord{ClientID: "desk", Actor: &alice}, api.StatusApproved, true},
			{api.RedemptionRecord{ClientID: "desk"}, api.StatusVoided, true},
			{api.RedemptionRecord{ClientID: "desk", Actor: &alice}, api.StatusRejected, false},
			{api.RedemptionRecord{ClientID: "desk", Actor: &bob}, api.StatusApproved, false},
			{api.RedemptionRecord{ClientID: "till"}, api.StatusApproved, false},
			{api.RedemptionRecord{}, api.StatusApproved, false}, // of another service
		} {
			if err := c.FourEyes(test.record, test.decision); (err != nil) != (test.isRefused && on) {
				t.Errorf("four eyes %t, %+v: %v", on, test, err)
			}
		}
	}
}
