package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/server"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

// auditWriter is a client that writes into the audit log.
type auditWriter struct {
	*servertest.Server
	t         *testing.T
	clock     *servertest.Clock
	id, token string
}

// newAuditWriter starts a server with a limit, and adds a listing of the client.
func newAuditWriter(t *testing.T, rate float64) *auditWriter {
	t.Helper()
	w := &auditWriter{t: t, clock: clockAt(10)}
	w.Server = servertest.Start(t, servertest.WithClock(w.clock), func(c *server.Config) { c.AuditRate = rate })
	w.id, w.token = w.Caller()
	w.ImportProperties(w.id, api.Property{ID: 1, Title: "Flat"})
	return w
}

// patch changes the images of the listing to 50 long ones, and returns the status and Retry-After.
func (w *auditWriter) patch(n int) (status int, retryAfter time.Duration) {
	w.t.Helper()
	var images []string
	for i := range 50 {
		images = append(images, fmt.Sprintf("https://example.com/%d/%d/%s.jpg", n, i, strings.Repeat("x", 2000)))
	}
	body, err := json.Marshal(map[string]any{"images": images})
	if err != nil {
		w.t.Fatal(err)
	}
	return w.send("PATCH", w.Root()+"/v2/update-property/1", string(body))
}

func (w *auditWriter) send(method, address, body string) (status int, retryAfter time.Duration) {
	w.t.Helper()
	response, _ := w.Send(w.Request(w.token, method, address, body))
	seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
	return response.StatusCode, time.Duration(seconds) * time.Second
}

// written is the bytes of the client's entries.
func (w *auditWriter) written() (bytes int) {
	w.t.Helper()
	for _, entry := range collected(w.t,
		w.Live.Audit(w.t.Context(), store.AuditQuery{Actor: string(store.ClientActor(w.id, ""))})) {
		for _, record := range []json.RawMessage{entry.Before, entry.After} {
			if string(record) != "null" {
				bytes += len(record)
			}
		}
	}
	return bytes
}

// TestRestoresCountAsWhatAClientAdds takes a listing back and forth.
func TestRestoresCountAsWhatAClientAdds(t *testing.T) {
	w := newAuditWriter(t, 20_000)
	response, _ := w.Get(w.token, w.URL+"/get-property/1")
	versions := []string{response.Header.Get("ETag"), ""}
	if status, _ := w.patch(1); status != http.StatusOK {
		t.Fatalf("the status is %d", status)
	}
	response, _ = w.Get(w.token, w.URL+"/get-property/1")
	versions[1] = response.Header.Get("ETag")
	status, wait := http.StatusOK, time.Duration(0)
	for n := 0; status == http.StatusOK && n < 40; n++ {
		status, wait = w.send("POST", w.LiveURL()+"/properties/1/restore", fmt.Sprintf(`{"etag":%q}`, versions[n%2]))
	}
	if status != http.StatusTooManyRequests || wait <= 0 {
		t.Errorf("40 restores of 100 kB each end with %d and a wait of %s", status, wait)
	}
}

func TestWhatAClientAddsToTheAuditLogIsLimited(t *testing.T) {
	const rate = 20_000 // bytes a second, so that a minute's worth is a few changes
	w := newAuditWriter(t, rate)
	n := 0
	var wait time.Duration
	for status := http.StatusOK; status != http.StatusTooManyRequests && n < 20; n++ {
		if status, wait = w.patch(n); status != http.StatusOK && status != http.StatusTooManyRequests {
			t.Fatalf("the status is %d", status)
		}
	}
	written := w.written()
	const entry = 250_000
	if written < 60*rate || written > 60*rate+entry {
		t.Errorf("%d bytes were written before the first refusal", written)
	}
	debt := time.Duration(written-60*rate) * time.Second / rate
	if wait < debt || wait > debt+2*time.Second {
		t.Errorf("Retry-After is %s, and the debt is paid in %s", wait, debt)
	}
	other := *w
	other.id, other.token = w.Caller()
	for _, request := range []string{
		"POST " + w.LiveURL() + "/properties", "DELETE " + w.Root() + "/v2/delete-property/1",
		"POST " + w.LiveURL() + "/perks/none/redeem", "POST " + w.LiveURL() + "/redemptions/none/approve",
		"POST " + w.LiveURL() + "/redemptions/none/reject", "POST " + w.LiveURL() + "/redemptions/none/void",
	} {
		method, address, _ := strings.Cut(request, " ")
		if status, _ := w.send(method, address, `{}`); status != http.StatusTooManyRequests {
			t.Errorf("%s is %d", request, status)
		}
	}
	if again := w.written(); again != written {
		t.Errorf("what was refused has added %d bytes", again-written)
	}
	if status, _ := w.send("GET", w.Root()+"/v2/get-property/1", ""); status != http.StatusOK {
		t.Errorf("reading is %d", status)
	}
	status, _ := w.send("POST", w.SandboxURL()+"/perks/none/redeem", `{"user_id":"ann"}`)
	if status != http.StatusNotFound {
		t.Errorf("the sandbox is %d", status)
	}
	status, _ = other.send("POST", w.LiveURL()+"/properties", `{"title":"New","price_pw":"1"}`)
	if status != http.StatusCreated {
		t.Errorf("another client's creation is %d", status)
	}
	w.clock.Advance(wait)
	if status, _ := w.patch(n); status != http.StatusOK {
		t.Errorf("after Retry-After the status is %d", status)
	}
}

func TestAChangeLargerThanTheBurstIsPossible(t *testing.T) {
	w := newAuditWriter(t, 100) // 6,000 bytes at once
	if status, _ := w.patch(1); status != http.StatusOK {
		t.Fatalf("the first change is %d", status)
	}
	written := w.written()
	status, wait := w.patch(2)
	if debt := time.Duration(written-6000) * time.Second / 100; status != http.StatusTooManyRequests || wait < debt {
		t.Errorf("the second is %d, to be retried after %s, want at least %s", status, wait, debt)
	}
	w.clock.Advance(wait)
	if status, _ := w.patch(3); status != http.StatusOK {
		t.Errorf("when the debt is paid, it is %d", status)
	}
}

func TestRedemptionsAndDecisionsCountByTheirMetadata(t *testing.T) {
	for what, metadata := range map[string]int{"short": 10, "long": 15_000} {
		t.Run(what, func(t *testing.T) {
			w := newAuditWriter(t, 1000)
			for i := range 40 {
				w.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: fmt.Sprint("p", i)}, Approval: store.ApprovalManual})
			}
			w.ImportUsers("ann")
			refused := 0
			for i := range 20 {
				body := fmt.Sprintf(`{"user_id":"ann","metadata":{"note":%q}}`, strings.Repeat("x", metadata))
				status, _ := w.send("POST", fmt.Sprintf("%s/perks/p%d/redeem", w.LiveURL(), i), body)
				if status == http.StatusTooManyRequests {
					refused++
				} else if status != http.StatusCreated {
					t.Fatalf("the status is %d", status)
				}
			}
			if written := w.written(); (refused > 0) != (written > 60_000) || (what == "long") != (refused > 0) {
				t.Errorf("%d are refused, and %d bytes written", refused, written)
			}
		})
	}
}

// TestABulkRunIsNotLimited updates a hundredth of 20,000 listings within a hundredth of what is allowed by default,
// and in no time. The listings are imported, so each entry has the whole record.
func TestABulkRunIsNotLimited(t *testing.T) {
	w := newAuditWriter(t, (1<<20)/100)
	var listings []api.Property
	for i := range 200 {
		p := api.Property{ID: int64(i + 1), Title: "Bright flat near the station",
			Description: strings.Repeat("Sunny and quiet. ", 25),
			Address:     "12 Long Street", City: "Leeds", Postcode: "LS1 1AA", Bedrooms: 2, Bathrooms: 1}
		for n := range 5 {
			p.Images = append(p.Images, fmt.Sprintf("https://images.example.com/listings/%d/%d.jpg", i, n))
		}
		listings = append(listings, p)
	}
	w.ImportProperties(w.id, listings...)
	for i := range listings {
		address := fmt.Sprintf("%s/v2/update-property/%d", w.Root(), i+1)
		if status, _ := w.send("PATCH", address, `{"price_pw":"120.50","bedrooms":3}`); status != http.StatusOK {
			t.Fatalf("update %d is %d, after %d bytes", i, status, w.written())
		}
	}
}

// TestAReplayAddsNothing repeats a redemption under its key as often as the rate would allow redemptions of its size.
func TestAReplayAddsNothing(t *testing.T) {
	w := newAuditWriter(t, 400)
	w.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "p"}})
	w.ImportUsers("ann")
	body := fmt.Sprintf(`{"user_id":"ann","metadata":{"note":%q}}`, strings.Repeat("x", 10_000))
	for range 5 {
		request := w.Request(w.token, "POST", w.LiveURL()+"/perks/p/redeem", body)
		request.Header.Set("Idempotency-Key", "once")
		if response, _ := w.Send(request); response.StatusCode != http.StatusCreated {
			t.Fatalf("the status is %d", response.StatusCode)
		}
	}
}
