package webhook_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"example.com/perks/api"
	"example.com/perks/api/webhook"
)

var sent = time.Date(2026, 3, 4, 5, 6, 7, 891_000_000, time.UTC)

func newSecret(t *testing.T) (string, webhook.Secret) {
	t.Helper()
	text := webhook.NewSecret()
	secret, err := webhook.ParseSecret(text)
	if err != nil {
		t.Fatal(err)
	}
	return text, secret
}

// The specification's library accepts what this package signs, also beside another signature, and the reverse.
func TestTheReferenceLibraryAgrees(t *testing.T) {
	text, secret := newSecret(t)
	_, other := newSecret(t)
	body, now := []byte(`{"type":"x"}`), time.Now()
	reference, err := standardwebhooks.NewWebhook(text)
	if err != nil {
		t.Fatal(err)
	}
	header := webhook.Header("event/1", now, body, other, secret)
	if err := reference.Verify(body, header); err != nil {
		t.Error("the library refuses:", err)
	}
	if reference.Verify(body, webhook.Header("event/1", now, body, other)) == nil {
		t.Error("the library accepts another secret")
	}
	signature, err := reference.Sign("event/1", now, body)
	if err != nil || signature != secret.Sign("event/1", now, body) {
		t.Errorf("the library signs %q (%v)", signature, err)
	}
}

func TestVerifySaysWhichCheckFailed(t *testing.T) {
	_, secret := newSecret(t)
	_, other := newSecret(t)
	body := []byte("{}")
	good := func() http.Header { return webhook.Header("id", sent, body, secret) }
	if err := webhook.Verify(good(), body, sent.Add(webhook.Tolerance-time.Second), other, secret); err != nil {
		t.Error(err)
	}
	for name, c := range map[string]struct {
		change func(http.Header)
		body   string
		now    time.Time
		secret webhook.Secret
		says   string
	}{
		"no id":         {change: func(h http.Header) { h.Del("webhook-id") }, says: "webhook-id"},
		"two times":     {change: func(h http.Header) { h.Add("webhook-timestamp", "1") }, says: "webhook-timestamp"},
		"no signature":  {change: func(h http.Header) { h.Set("webhook-signature", "") }, says: "webhook-signature"},
		"no time":       {change: func(h http.Header) { h.Set("webhook-timestamp", "x") }, says: "not a number"},
		"old":           {now: sent.Add(6 * time.Minute), says: "too old"},
		"future":        {now: sent.Add(-6 * time.Minute), says: "future"},
		"other secret":  {secret: other, says: "no signature"},
		"other body":    {body: "{ }", says: "no signature"},
		"other id":      {change: func(h http.Header) { h.Set("webhook-id", "other") }, says: "no signature"},
		"other version": {change: func(h http.Header) { h.Set("webhook-signature", "v1a,x") }, says: "no signature"},
	} {
		header := good()
		if c.change != nil {
			c.change(header)
		}
		if c.body == "" {
			c.body = "{}"
		}
		if c.now.IsZero() {
			c.now = sent
		}
		if c.secret == (webhook.Secret{}) {
			c.secret = secret
		}
		if err := webhook.Verify(header, []byte(c.body), c.now, c.secret); err == nil ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSecretsAreReadStrictlyAndNotPrinted(t *testing.T) {
	text, secret := newSecret(t)
	for _, wrong := range []string{"", "whsec_", "whsec_!!", "whsec_c2hvcnQ=", text[6:], " " + text} {
		if _, err := webhook.ParseSecret(wrong); err == nil || wrong != "" && strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	if printed := fmt.Sprintf("%v %+v %#v %s", secret, secret, secret, secret); strings.Contains(printed, text[6:]) ||
		strings.Count(printed, "[secret]") != 4 {
		t.Error(printed)
	}
}

func TestTheBodyOfAnEvent(t *testing.T) {
	e := api.Event{ID: "perk/A/1", Type: api.EventPerkChanged, At: sent, Subject: "perk/A", Cursor: "c<"}
	body, err := webhook.Body(e)
	want := `{"type":"perk.changed","timestamp":"2026-03-04T05:06:07.891Z",` +
		`"data":{"id":"perk/A/1","type":"perk.changed","at":"2026-03-04T05:06:07.891Z","actor":null,"subject":"perk/A","redemption":null,"property":null,"cursor":"c<"}}`
	if err != nil || !bytes.Equal(body, []byte(want)) {
		t.Errorf("%s (%v)", body, err)
	}
}

func TestRetry(t *testing.T) {
	middle := func() float64 { return 0.5 }
	var waits []string
	attempt := 1
	for ; ; attempt++ {
		wait, again := webhook.Retry(attempt, nil, middle)
		if !again {
			break
		}
		waits = append(waits, wait.String())
	}
	if got := strings.Join(waits, " "); got != "5s 5m0s 30m0s 2h0m0s 5h0m0s 10h0m0s 14h0m0s 20h0m0s 24h0m0s" ||
		attempt != webhook.MaxAttempts {
		t.Error(got, attempt)
	}
	shortest, _ := webhook.Retry(2, nil, func() float64 { return 0 })
	longest, _ := webhook.Retry(2, nil, func() float64 { return 1 })
	if shortest != 270*time.Second || longest != 330*time.Second {
		t.Error("the jitter leads to", shortest, longest)
	}
	answer := func(status int, header ...string) *http.Response {
		h := http.Header{}
		for i := 0; i < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return &http.Response{StatusCode: status, Header: h}
	}
	if _, again := webhook.Retry(1, answer(http.StatusGone), middle); again {
		t.Error("410 is tried again")
	}
	date := sent.Format(http.TimeFormat)
	later := sent.Add(time.Hour).Format(http.TimeFormat)
	for after, want := range map[*http.Response]time.Duration{
		answer(503, "Retry-After", "120"):                  2 * time.Minute,
		answer(503, "Retry-After", "1"):                    5 * time.Second,
		answer(503, "Retry-After", "-5"):                   5 * time.Second,
		answer(503, "Retry-After", "soon"):                 5 * time.Second,
		answer(429, "Retry-After", "99999999"):             24 * time.Hour,
		answer(429, "Retry-After", "99999999999999999999"): 5 * time.Second,
		answer(503, "Retry-After", later, "Date", date):    time.Hour,
	} {
		if wait, again := webhook.Retry(1, after, middle); wait != want || !again {
			t.Errorf("%v: %s", after.Header, wait)
		}
	}
}
