package tui_test

import (
	"fmt"
	"strings"
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
			d.Press(list.key)
			d.See(list.heading)
			if d.App.Top().Form() != nil {
				d.Press("enter")
			}
			d.See(list.first, "row 1 of 200+, page 1")
			d.Press("}")
			d.See(list.end)
			d.Press("G", "G")
			d.See(list.end, "row 50 of 200+, page 1")
			for page := 2; page <= 6; page++ {
				if page%2 == 0 {
					d.Press("n")
				} else {
					d.Press("G", "j")
				}
				d.See(fmt.Sprintf("row %d of 200+, page %d", 50*page-49, page))
				d.Settle()
			}
			d.Press("n")
			d.See("This is the last page.")
			d.Press("G")
			d.See(list.last, fmt.Sprintf("row %d of 200+, page 6", many))
			d.Press("j", "ctrl+r") // nothing is behind it; the page is read again where it is
			d.Settle()
			d.See(list.last, fmt.Sprintf("row %d of 200+, page 6", many))
			d.Press("g")
			for page := 5; page >= 1; page-- {
				if page%2 == 0 {
					d.Press("p")
				} else {
					d.Press("k")
				}
				d.See(fmt.Sprintf("of 200+, page %d", page))
				d.Settle()
			}
			d.Press("g")
			d.See(list.first, "row 1 of 200+, page 1")
			if strings.Contains(d.Screen(), list.last) {
				t.Errorf("the first page shows the last row:\n%s", d.Screen())
			}
		})
	}
}
