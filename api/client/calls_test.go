package client_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"example.com/perks/api"
	"example.com/perks/api/client"
)

func errorOf[T any](_ T, err error) error { return err }

// TestCallsOnTheWire shows what each method sends.
func TestCallsOnTheWire(t *testing.T) {
	ctx := t.Context()
	price, _ := api.ParsePrice("120.50")
	request := api.RedeemRequest{UserID: "ann", Metadata: json.RawMessage(`{"a":"<"}`)}
	patch := api.PropertyPatch{PricePW: api.Some(price), Lat: api.Some[*float64](nil)}
	raw := client.Request{Method: "PUT", Path: "/x/y?z=1", Body: []byte("text"), ContentType: "text/plain"}
	filter := api.PerkFilter{
		Query: "free coffee", Category: "food & drink", City: "Zürich",
		Near: &api.Circle{Lat: 47.3769, Lng: -8.5, RadiusKM: 2.5}, IncludeExpired: true,
	}
	type options = client.ListOptions
	for name, test := range map[string]struct {
		call                func(c *client.Client) error
		sandbox             bool
		sent                string // the method and the address
		body                string
		header, headerValue string
	}{
		"perks": {
			call: func(c *client.Client) error {
				return errorOf(c.Perks(ctx, filter, options{Page: 2, PerPage: 50, Sort: "title,-created_at"}))
			},
			sent: "GET /partners/perks?category=food+%26+drink&city=Z%C3%BCrich&include_expired=true&lat=47.3769" +
				"&lng=-8.5&page=2&per_page=50&q=free+coffee&radius=2.5&sort=title%2C-created_at",
		},
		"perks of the sandbox": {
			call:    func(c *client.Client) error { return errorOf(c.Perks(ctx, api.PerkFilter{}, options{})) },
			sandbox: true, sent: "GET /sandbox/partners/perks",
		},
		"perk with an id that needs escaping": {
			call: func(c *client.Client) error { return errorOf(c.Perk(ctx, "a/b c?d")) },
			sent: "GET /partners/perks/a%2Fb%20c%3Fd",
		},
		"available": {
			call: func(c *client.Client) error {
				return errorOf(c.UserPerks(ctx, "ann@example.com", api.PerkFilter{City: "Rome"}, options{}))
			},
			sent: "GET /partners/perks/users/ann@example.com?city=Rome&type=available",
		},
		"redeemed": {
			call: func(c *client.Client) error { return errorOf(c.UserRedemptions(ctx, "ann", options{})) },
			sent: "GET /partners/perks/users/ann?type=redeemed",
		},
		"redeem": {
			call:    func(c *client.Client) error { _, _, err := c.Redeem(ctx, "p1", request, "key-1"); return err },
			sandbox: true, sent: "POST /sandbox/partners/perks/p1/redeem",
			body:   `{"user_id":"ann","metadata":{"a":"<"}}`,
			header: "Idempotency-Key", headerValue: "key-1",
		},
		"property": {
			call: func(c *client.Client) error { _, _, err := c.Property(ctx, "42"); return err },
			sent: "GET /get-property/42",
		},
		"update": {
			call: func(c *client.Client) error { return errorOf(c.UpdateProperty(ctx, "42", patch, `"v1"`)) },
			sent: "PATCH /update-property/42", body: `{"price_pw":"120.50","lat":null}`,
			header: "If-Match", headerValue: `"v1"`,
		},
		"delete": {
			call: func(c *client.Client) error { return errorOf(c.DeleteProperty(ctx, "42", "")) },
			sent: "DELETE /delete-property/42",
		},
		"raw": {
			call: func(c *client.Client) error { return errorOf(c.Do(ctx, raw)) },
			sent: "PUT /x/y?z=1", body: "text", header: "Content-Type", headerValue: "text/plain",
		},
		"raw in the sandbox": {
			call: func(c *client.Client) error {
				return errorOf(c.Do(ctx, client.Request{Method: "GET", Path: "partners/perks"}))
			},
			sandbox: true, sent: "GET /sandbox/partners/perks",
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := &recorder{body: `{"id":"a/b c?d","title":"T","data":[]}`}
			c := serve(t, server, func(config *client.Config) { config.Sandbox, config.Unguarded = test.sandbox, true })
			if err := test.call(c); err != nil {
				t.Fatal(err)
			}
			got := server.only(t)
			if got.Method+" "+got.URI != test.sent || got.Body != test.body {
				t.Errorf("sent %s %s %s\nwant %s %s", got.Method, got.URI, got.Body, test.sent, test.body)
			}
			if got.Header.Get("Authorization") != "Bearer good" {
				t.Errorf("Authorization is %q", got.Header.Get("Authorization"))
			}
			if test.header != "" && got.Header.Get(test.header) != test.headerValue {
				t.Errorf("%s is %q, want %q", test.header, got.Header.Get(test.header), test.headerValue)
			}
		})
	}
}

func TestIDsThatWouldChangeThePathAreRefused(t *testing.T) {
	ctx := context.Background()
	server := &recorder{body: `{}`}
	c := serve(t, server)
	for _, id := range []string{"", ".", "..", "categories", "users"} {
		if _, err := c.Perk(ctx, id); api.CodeOf(err) != api.CodeValidationFailed {
			t.Errorf("Perk(%q): %v", id, err)
		}
		if _, _, err := c.Redeem(ctx, id, api.RedeemRequest{UserID: "ann"},
			""); api.CodeOf(err) != api.CodeValidationFailed {
			t.Errorf("Redeem(%q): %v", id, err)
		}
	}
	_, err := c.UserPerks(ctx, "..", api.PerkFilter{}, client.ListOptions{})
	if api.CodeOf(err) != api.CodeValidationFailed {
		t.Errorf("UserPerks: %v", err)
	}
	if len(server.seen) != 0 {
		t.Errorf("the server received %+v", server.seen)
	}
}

func TestRawRequestsStayOnTheServer(t *testing.T) {
	c := serve(t, &recorder{body: `{}`})
	_, err := c.Do(context.Background(), client.Request{Method: "GET", Path: "https://other.example/v2/perks"})
	if err == nil || !strings.Contains(err.Error(), "The token goes to no other server") {
		t.Errorf("another server: %v", err)
	}
	_, err = c.Do(context.Background(),
		client.Request{Method: "GET", Path: strings.TrimSuffix(c.BaseURL(), "/v2") + "/v2/health"})
	if err != nil {
		t.Errorf("an absolute URL on the server: %v", err)
	}
}

func TestRawChangesStayInTheSandbox(t *testing.T) {
	server := &recorder{body: `{}`}
	c := serve(t, server, func(config *client.Config) { config.Sandbox = true })
	for _, path := range []string{"delete-property/1", c.BaseURL() + "/partners/perks/p/redeem", "/update-property/1"} {
		if _, err := c.Do(context.Background(), client.Request{Method: "POST", Path: path}); err == nil ||
			!strings.Contains(err.Error(), "not in the sandbox") {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, path := range []string{
		"sandbox/../delete-property/1", "sandbox/%2e%2e/delete-property/1", "sandbox/.%2E/x", "sandbox/%252e%252e/x",
		"sandbox/..%2fx", "sandbox%2f..%2fx", `sandbox\..\x`,
		"sandbox/..%5cx", "sandbox/..;a=b/x", "partners/./perks", "..", c.BaseURL() + "/sandbox/../x", c.BaseURL() +
			"/sandbox/%2e%2e/%25zz", "/sandbox/x/..?y",
	} {
		if _, err := c.Do(context.Background(), client.Request{Method: "DELETE", Path: path}); err == nil ||
			!strings.Contains(err.Error(), "has a part . or ..") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if len(server.seen) != 0 {
		t.Errorf("the server received %+v", server.seen)
	}
	for _, path := range []string{"partners/perks/p/redeem", "partners/perks/users/a..b%25zz?x=..",
		"partners/perks/..."} {
		if _, err := c.Do(context.Background(), client.Request{Method: "POST", Path: path}); err != nil {
			t.Error(err)
		}
	}
}

func TestResponsesWithoutABodyOrImages(t *testing.T) {
	c := serve(t, &recorder{body: `{"propertyId":7,"title":"Flat","price_pw":120.50,"images":null}`})
	property, _, err := c.Property(t.Context(), "7")
	if err != nil || property.PricePW.String() != "120.50" || property.Images == nil {
		t.Errorf("got %+v, %v", property, err)
	}
	c = serve(t, &recorder{status: 204})
	if message, err := c.DeleteProperty(t.Context(), "7", ""); err != nil || message.Message != "" {
		t.Errorf("got %+v, %v", message, err)
	}
}

func TestWeakETagIsReturnedUnchanged(t *testing.T) {
	for etag, want := range map[string]string{`"v1"`: `"v1"`, `W/"v1"`: `W/"v1"`, "": ""} {
		c := serve(t, &recorder{body: `{"propertyId":1}`, header: map[string]string{"ETag": etag}})
		if _, got, err := c.Property(t.Context(), "1"); err != nil || got != want {
			t.Errorf("%s: %q, %v", etag, got, err)
		}
	}
}
