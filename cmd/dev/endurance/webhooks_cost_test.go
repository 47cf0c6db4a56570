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
	costQuiet    = 2 * time.Second // without a delivery, after which none runs
	costLeast    = 0.95            // of its rate, that redeeming keeps with healthy webhooks
	costWebhooks = 100
	manyWebhooks = 1000
)

// TestWebhooksCostRedeemingLittle redeems with a hundred healthy webhooks and while they are disabled, in turn at one
// server, and says how much memory a thousand take. Its short form only shows that it works. Run it on a quiet machine:
//
//	PERKS_ENDURANCE=long go test ./cmd/dev/endurance -run WebhooksCost -v -timeout 30m
func TestWebhooksCostRedeemingLittle(t *testing.T) {
	rounds, webhooks, many, slice := 1, 5, 10, costSlice/10
	if isLong() {
		rounds, webhooks, many, slice = 10, costWebhooks, manyWebhooks, costSlice
	}
	for name, address := range map[string]func(t *testing.T) string{
		"SQLite":     func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "perks.db") },
		"PostgreSQL": func(t *testing.T) string { return storetest.PostgresDatabase(t) },
	} {
		t.Run(name, func(t *testing.T) {
			c, receiver := newCost(t, address(t)), newCountingReceiver(t)
			c.makeHooks(receiver.URL, webhooks)
			var plain, delivering float64
			for round := range rounds {
				var rates [2]float64 // without and with webhooks
				for _, side := range [][]int{{0, 1}, {1, 0}}[round%2] {
					c.enable(side == 1, receiver)
					c.redeemFor(slice) // until each webhook is read, and reads on from its position
					rates[side] = c.redeemFor(slice)
				}
				plain, delivering = plain+rates[0], delivering+rates[1]
				t.Logf("round %d: %.0f redemptions a second without webhooks, %.0f with %d; %d deliveries so far",
					round+1, rates[0], rates[1], webhooks, receiver.arrived.Load())
			}
			kept := delivering / plain
			t.Logf("redeeming keeps %.3f of its rate", kept)
			if isLong() && kept < costLeast {
				t.Errorf("redeeming keeps %.3f of its rate, want at least %.2f", kept, costLeast)
			}
			c.enable(true, receiver)
			before := memory(t, c.server)
			c.makeHooks(receiver.URL, many-webhooks)
			c.redeemFor(slice)
			t.Logf("the server takes %d MiB with %d webhooks, %d with %d", before>>10, webhooks,
				memory(t, c.server)>>10, many)
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
	hooks     []costHook
}

// costHook is a webhook, and the token of its client.
type costHook struct{ url, token string }

// costUsers is more than can be redeemed for.
const costUsers = 2_000_000

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
			c.hooks = append(c.hooks, costHook{response.Header.Get("Location"), token})
		}
	}
}

// enable lets the webhooks deliver, or disables them and waits until nothing is delivered any more.
func (c *cost) enable(isEnabled bool, receiver *countingReceiver) {
	c.Helper()
	for _, hook := range c.hooks {
		response, body, err := programs.Send(http.DefaultClient, http.MethodPatch, hook.url, hook.token,
			fmt.Sprintf(`{"enabled":%t}`, isEnabled), nil)
		if err != nil || response.StatusCode != http.StatusOK {
			c.Fatalf("changing a webhook: %s, %v", body, err)
		}
	}
	before, quiet := int64(-1), time.Now()
	eventually(c.T, atLast, "the webhooks are silent", func() bool {
		now := receiver.arrived.Load()
		if now != before {
			before, quiet = now, time.Now()
		}
		return isEnabled || time.Since(quiet) > costQuiet
	})
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
