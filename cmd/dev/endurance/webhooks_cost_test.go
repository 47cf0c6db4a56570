package endurance

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/cmd/dev/programs"
	"example.com/perks/store/storetest"
)

const (
	costWorkers  = 64              // that redeem
	costSlice    = 5 * time.Second // of each side, in turn
	costLeast    = 0.95            // of its rate, that redeeming keeps with healthy webhooks
	costWebhooks = 100
	manyWebhooks = 1000
)

// TestWebhooksCostRedeemingLittle redeems with and without a hundred healthy webhooks, side by side, and says how much
// memory a thousand take. Its short form only shows that it works. Run it on a quiet machine:
//
//	PERKS_ENDURANCE=long go test ./cmd/dev/endurance -run WebhooksCost -v -timeout 30m
func TestWebhooksCostRedeemingLittle(t *testing.T) {
	rounds, webhooks, many, slice := 1, 5, 10, costSlice/10
	if isLong() {
		rounds, webhooks, many, slice = 6, costWebhooks, manyWebhooks, costSlice
	}
	for name, address := range map[string]func(t *testing.T) string{
		"SQLite":     func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "perks.db") },
		"PostgreSQL": func(t *testing.T) string { return storetest.PostgresDatabase(t) },
	} {
		t.Run(name, func(t *testing.T) {
			without, with := newCost(t, address(t)), newCost(t, address(t))
			receiver := newCountingReceiver(t)
			with.makeHooks(receiver.URL, webhooks)
			var plain, delivering float64
			for round := range rounds {
				first, second := without, with
				if round%2 == 1 {
					first, second = with, without
				}
				rates := map[*cost]float64{first: first.redeemFor(slice)}
				rates[second] = second.redeemFor(slice)
				plain, delivering = plain+rates[without], delivering+rates[with]
				t.Logf("round %d: %.0f redemptions a second without webhooks, %.0f with %d; %d deliveries so far",
					round+1, rates[without], rates[with], webhooks, receiver.arrived.Load())
			}
			kept := delivering / plain
			t.Logf("redeeming keeps %.3f of its rate", kept)
			if isLong() && kept < costLeast {
				t.Errorf("redeeming keeps %.3f of its rate, want at least %.2f", kept, costLeast)
			}
			before := memory(t, with.server)
			with.makeHooks(receiver.URL, many-webhooks)
			with.redeemFor(slice)
			t.Logf("the server takes %d MiB with %d webhooks, %d with %d", before>>10, webhooks,
				memory(t, with.server)>>10, many)
		})
	}
}

// cost is a server whose rate is measured.
type cost struct {
	*testing.T
	installed *programs.Installation
	server    *programs.Server
	redeemer  *redeemer
	begun     atomic.Int64
}

// costUsers is more than can be redeemed for.
const costUsers = 1_000_000

func newCost(t *testing.T, address string) *cost {
	t.Helper()
	i := programs.InstallOver(t, address)
	i.ImportCSV("perks", perkCSV("rush", costUsers))
	server := i.Start("--create-users", "--webhook-allow", "127.0.0.1/32")
	return &cost{T: t, installed: i, server: server, redeemer: newRedeemer(t, i.Token(server.URL), costWorkers)}
}

// makeHooks makes webhooks that get every redemption, of as many clients as that needs.
func (c *cost) makeHooks(url string, count int) {
	c.Helper()
	for made := 0; made < count; made += api.MaxWebhooks {
		id, secret := c.installed.Client("Partner", "--scope", strings.ReplaceAll(api.AllScopes().String(), " ", ","))
		token := programs.TokenOf(c.T, http.DefaultClient, c.server.URL, id, secret).AccessToken
		for range min(api.MaxWebhooks, count-made) {
			response, body, err := programs.Send(http.DefaultClient, http.MethodPost,
				c.server.URL+"/v2/partners/webhooks", token, `{"url":"`+url+`"}`, nil)
			if err != nil || response.StatusCode != http.StatusCreated {
				c.Fatalf("making a webhook: %s, %v", body, err)
			}
		}
	}
}

// redeemFor redeems for a while and returns how many redemptions were made in a second.
func (c *cost) redeemFor(long time.Duration) float64 {
	c.Helper()
	var working sync.WaitGroup
	var made atomic.Int64
	begun := time.Now()
	for range costWorkers {
		working.Go(func() {
			for time.Since(begun) < long {
				user := fmt.Sprintf("user-%07d", c.begun.Add(1))
				answer, err := c.redeemer.redeem(c.server.URL, attempt{perk: "rush", user: user})
				if err != nil || answer.status != http.StatusCreated {
					c.Errorf("redeeming: %+v, %v", answer, err)
					return
				}
				made.Add(1)
			}
		})
	}
	working.Wait()
	return float64(made.Load()) / time.Since(begun).Seconds()
}

// countingReceiver answers everything with 200.
type countingReceiver struct {
	URL     string
	arrived atomic.Int64
}

func newCountingReceiver(t *testing.T) *countingReceiver {
	t.Helper()
	r := &countingReceiver{}
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { r.arrived.Add(1) }))
	t.Cleanup(server.Close)
	r.URL = server.URL
	return r
}
