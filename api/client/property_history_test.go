package client_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/perks/api"
	"example.com/perks/api/client"
)

var noon = time.Date(2026, 3, 2, 13, 0, 0, 5e6, time.FixedZone("", 3600))

// versionCalls has one call of each address that knows versions of listings.
var versionCalls = map[string]func(context.Context, *client.Client) error{
	"history": func(ctx context.Context, c *client.Client) error {
		return errorOf(c.PropertyHistory(ctx, "a/7", client.ListOptions{PerPage: 9}))
	},
	"as of": func(ctx context.Context, c *client.Client) error {
		_, _, err := c.PropertyAsOf(ctx, "a/7", noon)
		return err
	},
	"restore": func(ctx context.Context, c *client.Client) error {
		_, _, _, err := c.RestoreProperty(ctx, "a/7", api.PropertyRestore{ETag: `"v<1"`}, "", "k")
		return err
	},
	"restore as of": func(ctx context.Context, c *client.Client) error {
		_, _, _, err := c.RestoreProperty(ctx, "a/7", api.PropertyRestore{AsOf: noon}, "", "")
		return err
	},
}

func TestVersionCallsOnTheWire(t *testing.T) {
	for name, want := range map[string]string{
		"history":       "GET /partners/properties/a%2F7/history?per_page=9",
		"as of":         "GET /get-property/a%2F7?as_of=2026-03-02T12%3A00%3A00.005Z",
		"restore":       `POST /partners/properties/a%2F7/restore {"etag":"\"v<1\""} k`,
		"restore as of": `POST /partners/properties/a%2F7/restore {"as_of":"2026-03-02T13:00:00.005+01:00"}`,
	} {
		server := &recorder{body: `{"propertyId":"a/7","data":[],"meta":{"page":1,"total_pages":1}}`,
			header: map[string]string{api.HeaderAsOf: "2026-03-02T12:00:00.005Z"}}
		if err := versionCalls[name](t.Context(), serve(t, server)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got := server.only(t)
		line := strings.TrimSpace(strings.Join([]string{got.Method, got.URI, got.Body,
			got.Header.Get("Idempotency-Key")}, " "))
		if line != want {
			t.Errorf("%s sends\n%s\nwant\n%s", name, line, want)
		}
	}
}

// TestAServiceWithoutVersionsIsToldFromAListingThatNeverWas has an older perksd, which ignores as_of, and proxies with
// pages at addresses that a service does not have.
func TestAServiceWithoutVersionsIsToldFromAListingThatNeverWas(t *testing.T) {
	refuse := func(w http.ResponseWriter, status int, code string) {
		reply(w, status, map[string]any{"response": "No.", "code": code})
	}
	for name, test := range map[string]struct {
		serve       func(http.ResponseWriter, *http.Request)
		unsupported bool
	}{
		"older, with the listing": {func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/get-property/") {
				reply(w, 200, map[string]any{"propertyId": "a/7", "title": "Now"})
				return
			}
			refuse(w, 404, "not_found")
		}, true},
		"older, without it": {func(w http.ResponseWriter, _ *http.Request) { refuse(w, 404, "not_found") }, true},
		"without these methods": {func(w http.ResponseWriter, _ *http.Request) {
			refuse(w, 405, "method_not_allowed")
		}, true},
		"behind a proxy's page": {func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/get-property/") {
				refuse(w, 404, "not_found")
				return
			}
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte("<html><title>Welcome</title></html>"))
		}, true},
		"with versions, but no such listing": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set(api.HeaderAsOf, "2026-03-02T12:00:00.005Z")
			if r.URL.Query().Get("page") == "0" {
				refuse(w, 422, "validation_failed")
				return
			}
			refuse(w, 404, "not_found")
		}, false},
	} {
		for kind, call := range versionCalls {
			err := call(t.Context(), serve(t, http.HandlerFunc(test.serve)))
			if client.IsUnsupported(err) != test.unsupported || !client.IsNotFound(err) {
				t.Errorf("%s, %s: %v", name, kind, err)
			}
			says := map[string]string{"history": "no history of listings", "as of": "no history of listings"}[kind]
			if says == "" {
				says = "no way to restore a listing"
			}
			if test.unsupported && !strings.Contains(err.Error(), "This service has "+says+": ") {
				t.Errorf("%s, %s: %v", name, kind, err)
			}
		}
	}
}

func TestOddVersionsOfOtherServices(t *testing.T) {
	for body, want := range map[string]string{
		`{"data":[null]}`:                                   "item 1 of the list has no action",
		`{"data":[{"etag":"\"a\""}]}`:                       "item 1 of the list has no action",
		`{"data":[{"action":"updated","before":"a text"}]}`: "before must be an object or null",
		`{"data":[{"action":"updated","changed":"title"}]}`: "changed",
		`{"data":[{"action":"updated","at":"yesterday"}]}`:  "yesterday",
		`[{"action":"updated"}]`:                            "it is a list",
		`{"versions":[]}`:                                   "holds no list",
		`{"data":[{"action":"moved","at":"","before":{"x":1}}],"meta":{"page":1,"total_pages":1}}`: "",
	} {
		page, err := serve(t, &recorder{body: body}).PropertyHistory(t.Context(), "7", client.ListOptions{})
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) ||
				!strings.Contains(err.Error(), "not with what was asked") {
				t.Errorf("%s: %+v, %v", body, page, err)
			}
			continue
		}
		version := api.PropertyVersion{Action: "moved", Changed: []string{}, Before: []byte(`{"x":1}`),
			After: []byte("null")}
		if diff := cmp.Diff([]api.PropertyVersion{version}, page.Data); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", body, err, diff)
		}
	}
	for body, want := range map[string]string{
		`{}`: "it is an empty object", `{"message":"restored"}`: "it is an object with", `null`: "it is null",
		`{"propertyId":8,"title":"Other"}`: "it is the property 8",
	} {
		c := serve(t, &recorder{body: body})
		_, _, _, err := c.RestoreProperty(t.Context(), "7", api.PropertyRestore{}, "", "k")
		if err == nil || !strings.Contains(err.Error(), want) || !client.OutcomeUnknown(err) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// TestARestoreIsRepeatedUnderItsKey has a server that loses the first reply.
func TestARestoreIsRepeatedUnderItsKey(t *testing.T) {
	for key, want := range map[string]int{"k": 2, "": 1} {
		requests := 0
		c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requests++
			w.Header().Set("Idempotency-Key", r.Header.Get("Idempotency-Key"))
			if requests == 1 {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			w.Header().Set("Idempotent-Replayed", "true")
			w.Header().Set("ETag", `"v1"`)
			reply(w, 200, map[string]any{"propertyId": 7})
		}), (&fakeClock{}).config)
		_, etag, replay, err := c.RestoreProperty(t.Context(), "7", api.PropertyRestore{}, "", key)
		if requests != want || (err == nil) != (want == 2) || replay || etag == "" && err == nil {
			t.Errorf("under the key %q: %d requests, %s, %t, %v", key, requests, etag, replay, err)
		}
		if key == "" && !client.OutcomeUnknown(err) {
			t.Errorf("without a key the outcome is known: %v", err)
		}
	}
}

func TestOneWhoseRestoreIsRefusedUnderItsKeyKnowsThatNothingWasDone(t *testing.T) {
	script := []http.HandlerFunc{status(503, "Idempotency-Key: k"), func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Idempotency-Key", "k")
		reply(w, 409, map[string]any{"response": "No.", "code": api.CodeNotDeleted})
	}}
	c := serve(t, &scriptedServer{script: script}, (&fakeClock{}).config)
	_, _, _, err := c.RestoreProperty(t.Context(), "7", api.PropertyRestore{}, "", "k")
	if api.CodeOf(err) != api.CodeNotDeleted || client.OutcomeUnknown(err) || !client.KeyUnused(err) {
		t.Errorf("%v", err)
	}
}

// TestAnUpdateTellsTheETagThatItLeft ignores the weak ones that frameworks give to any body.
func TestAnUpdateTellsTheETagThatItLeft(t *testing.T) {
	for etag, want := range map[string]string{`"v2"`: `"v2"`, `W/"1b-x"`: "", "": ""} {
		c := serve(t, &recorder{body: `{"message":"done"}`, header: map[string]string{"ETag": etag}})
		message, err := c.UpdateProperty(t.Context(), "7", api.PropertyPatch{Title: api.Some("T")}, "")
		if err != nil || message.ETag != want || message.Message != "done" {
			t.Errorf("%s: %+v, %v", etag, message, err)
		}
	}
}

func TestAnETagGuardsTheRestoreOfADeletedListing(t *testing.T) {
	server := &recorder{status: 404, body: `{"response":"No.","code":"not_found"}`}
	c := serve(t, server)
	_, _, _, err := c.RestoreProperty(t.Context(), "7", api.PropertyRestore{}, `"v1"`, "")
	if !client.IsNotFound(err) || len(server.seen) < 2 || server.seen[1].Header.Get("If-Match") != `"v1"` {
		t.Errorf("%v after %+v", err, server.seen)
	}
	c = serve(t, &recorder{body: `{"propertyId":7}`})
	_, _, _, err = c.RestoreProperty(t.Context(), "7", api.PropertyRestore{}, `"v1"`, "")
	if api.CodeOf(err) != client.CodeUnguarded {
		t.Errorf("at a server without ETags: %v", err)
	}
}
