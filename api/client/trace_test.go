package client_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"example.com/perks/api"
	"example.com/perks/api/client"
)

func TestTraceShowsExchangesWithoutSecrets(t *testing.T) {
	const secret, bearer, issued = "s3cr+t/value", "sent-token-value", "issued-token-value"
	mux := http.NewServeMux()
	mux.HandleFunc("/auth/token", func(w http.ResponseWriter, r *http.Request) {
		reply(w, 200, map[string]any{"access_token": issued, "deep": []any{map[string]string{"client_secret": secret}},
			"count": json.Number("12345678901234567890")})
	})
	mux.HandleFunc("/partners/perks/echo", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", "session="+issued)
		w.WriteHeader(500)
		_, _ = w.Write([]byte("you sent " + r.Header.Get("Authorization")))
	})
	mux.HandleFunc("/auth/broken", func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(`{"access_token":"` + issued + `"`))
	})
	var text bytes.Buffer
	c := serve(t, mux, tracing(&text), withTokens(client.StaticToken(bearer)))
	ctx := context.Background()
	_, _ = c.Token(ctx, client.Credentials{ID: "my-id", Secret: secret})
	_, _ = c.Perk(ctx, "echo")
	_, _ = c.Do(ctx, client.Request{Method: "GET", Path: "auth/broken"})
	_, _ = c.Do(ctx, client.Request{Method: "POST", Path: "form?token=" + issued,
		ContentType: "application/x-www-form-urlencoded",
		Body:        []byte("client_secret=" + url.QueryEscape(secret) + "&a=b")})

	got := text.String()
	for _, hidden := range []string{secret, url.QueryEscape(secret), bearer, issued,
		base64.StdEncoding.EncodeToString([]byte("my-id:" + url.QueryEscape(secret)))} {
		if strings.Contains(got, hidden) {
			t.Errorf("the trace shows %q:\n%s", hidden, got)
		}
	}
	for _, shown := range []string{
		"> POST " + c.BaseURL() + "/auth/token\n", "> Authorization: [redacted]\n", "> {}\n",
		"< 200 OK (", `"access_token":"[redacted]"`, `"count":12345678901234567890`, "< 500 Internal Server Error (",
		"< you sent Bearer [redacted]\n", "> a=b&client_secret=%5Bredacted%5D\n",
	} {
		if !strings.Contains(got, shown) {
			t.Errorf("the trace lacks %q:\n%s", shown, got)
		}
	}
}

func TestTraceDoesNotTruncateResponse(t *testing.T) {
	long := strings.Repeat("x", 300<<10)
	var text bytes.Buffer
	c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reply(w, 200, map[string]string{"id": "p", "description": long})
	}), tracing(&text))
	perk, err := c.Perk(context.Background(), "p")
	if err != nil || perk.Description != long {
		t.Errorf("got %d characters, %v", len(perk.Description), err)
	}
	if text.Len() > 2000 || !strings.Contains(text.String(), "a body of more than") {
		t.Errorf("traced %d bytes", text.Len())
	}
}

func TestDryRunSendsNothing(t *testing.T) {
	dryRun := &client.DryRun{}
	c := dial(t, "http://127.0.0.1:1/v2", func(config *client.Config) { config.Transport = dryRun })
	_, _, err := c.Redeem(context.Background(), "p", api.RedeemRequest{UserID: "ann"}, "key")
	if !errors.Is(err, client.ErrDryRun) || client.OutcomeUnknown(err) {
		t.Errorf("got %v", err)
	}
	requests := dryRun.Requests()
	if len(requests) != 1 {
		t.Fatalf("got %+v", requests)
	}
	got := requests[0]
	if got.Method != "POST" || got.URL != "http://127.0.0.1:1/v2/partners/perks/p/redeem" ||
		string(got.Body) != `{"user_id":"ann"}` ||
		got.Headers["Idempotency-Key"] != "key" || got.Headers["Authorization"] != "[redacted]" {
		t.Errorf("got %+v, body %s", got, got.Body)
	}
}
