package tui_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"example.com/perks/api"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
	"example.com/perks/tui/tuitest"
)

// many is how many users, listings and redemptions uncounted has: more than the service counts of a list.
const many = store.MaxCounted + 70

// uncounted starts a service of whose lists only the beginning is counted.
func uncounted(t *testing.T) (*servertest.Server, account) {
	t.Helper()
	server := servertest.Start(t)
	id, secret := server.Client()
	var users []string
	var properties []api.Property
	for i := range many {
		users = append(users, fmt.Sprintf("user-%04d", i+1))
		properties = append(properties, api.Property{ID: int64(i + 1), Title: fmt.Sprintf("Flat number %d.", i+1)})
	}
	server.ImportUsers(users...)
	server.ImportProperties(id, properties...)
	server.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "tea", Title: "Tea for two"}})
	begun, failed := time.Now().Add(-time.Hour), make(chan error, many)
	for i, user := range users {
		go func() {
			_, err := server.Live.Redeem(t.Context(), store.RedeemAttempt{
				ID: uuid.NewString(), PerkID: "tea", UserID: user, ClientID: id, Metadata: []byte(`{}`),
				At: begun.Add(time.Duration(i) * time.Second),
			})
			failed <- err
		}()
	}
	for range many {
		if err := <-failed; err != nil {
			t.Fatal(err)
		}
	}
	return server, account{id, secret}
}

// TestListsThatAreNotCountedAreWalkedToTheirEnds goes to the last row by pages and by rows, and back.
func TestListsThatAreNotCountedAreWalkedToTheirEnds(t *testing.T) {
	server, owner := uncounted(t)
	for _, list := range []struct{ key, heading, first, last, end string }{
		{"2", "Users 200+", "user-0001", "user-0270", "Only 200 are counted. / finds the others."},
		{"3", "Properties 200+", "Flat number 1.", "Flat number 270.",
			"Only 200 are counted. S starts at the other end."},
		{"4", "Redemptions 200+", "user-0270", "user-0001", "Only 200 are counted. S starts at the other end."},
	} {
		t.Run(list.heading, func(t *testing.T) {
			d := tuitest.StartAs(t, server, owner.id, owner.secret)
			d.Play("LIST => HEADING", "LIST", list.key, "HEADING", list.heading)
			if d.App.Top().Form() != nil {
				d.Press("enter")
			}
			last := fmt.Sprintf("%s | row %d of 200+", list.last, many)
			d.Play(`
				=> FIRST | row 1 of 200+
				G => row 50 of 200+
				settle G => row 100 of 200+
				settle G => row 150 of 200+
				settle G => row 200 of 200+
				settle G => row 250 of 200+
				settle G => LAST
				j ctrl+r settle => LAST
				k => of 200+
				settle g => FIRST | row 1 of 200+ | ≠ ABSENT`,
				"FIRST", list.first, "LAST", last, "ABSENT", list.last)
		})
	}
}
