package client_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
)

// Other servers and proxies reply differently. The client must not mistake their responses.

func TestOtherLinksDoNotEndList(t *testing.T) {
	c := serve(t, perkServer{perks: 5, link: func(*http.Request, int, int) string { return `</docs>; rel="describedby"` }})
	if got, err := walkIDs(c, client.PerkListOptions{}); got != "1 2 3 4 5" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// endless drops the connection after more requests than any list here has pages.
func endless(t *testing.T, requests *atomic.Int64, h http.HandlerFunc) *client.Client {
	return serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) > 50 {
			panic(http.ErrAbortHandler)
		}
		h(w, r)
	}))
}

func TestPagesWithoutNumbersAreCounted(t *testing.T) {
	var requests atomic.Int64
	c := endless(t, &requests, func(w http.ResponseWriter, r *http.Request) {
		reply(w, 200, map[string]any{"data": []map[string]any{{"id": "p" + r.URL.Query().Get("page")}}, "meta": map[string]any{"total_pages": 3}})
	})
	if got, err := walkIDs(c, client.PerkListOptions{}); got != "p p2 p3" || err != nil || requests.Load() != 3 {
		t.Errorf("%q, %v after %d requests", got, err, requests.Load())
	}
}

func TestLinkLoopIsAnError(t *testing.T) {
	next := map[string]string{"": "a", "a": "b", "b": "c", "c": "a"}
	var requests atomic.Int64
	c := endless(t, &requests, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "<?at="+next[r.URL.Query().Get("at")]+">; rel=next")
		reply(w, 200, map[string]any{"data": []map[string]any{{"id": "x"}}})
	})
	if _, err := walkIDs(c, client.PerkListOptions{}); err == nil || !strings.Contains(err.Error(), "a loop") {
		t.Errorf("%v after %d requests", err, requests.Load())
	}
}

func TestResponseWithoutListIsNotAnEmptyList(t *testing.T) {
	now := time.Now()
	request := api.RedeemRequest{UserID: "ann", Metadata: json.RawMessage(`{"t":1}`)}
	for name, body := range map[string]string{
		"an empty object":              `{}`,
		"a gateway's message":          `{"status":"maintenance"}`,
		"a list under another name":    `{"redemptions":[{"id":"r","perk_id":"p"}],"meta":{"page":1,"total_pages":1}}`,
		"an item without a perk":       fmt.Sprintf(`{"data":[{"id":"r","redeemed_at":%q,"metadata":{"t":1}}],"meta":{"page":1,"total_pages":1}}`, now.Format(time.RFC3339)),
		"an item without its metadata": fmt.Sprintf(`{"data":[{"id":"r","perk_id":"p","redeemed_at":%q}],"meta":{"page":1,"total_pages":1}}`, now.Format(time.RFC3339)),
	} {
		if _, found, err := serve(t, &recorder{body: body}).FindRedemption(t.Context(), "p", request, now, nil); found || err == nil {
			t.Errorf("%s: found %t, %v", name, found, err)
		}
	}
}

func TestOutcomeIsUnknownWithoutTheRedemption(t *testing.T) {
	for _, body := range []string{`{}`, `null`, `{"error":"maintenance"}`, `{"data":{"id":"r"}}`, `{"id":"r","perk_id":"q"}`, `{"id":"r","perk_id":"p","user_id":"bob"}`} {
		_, _, err := serve(t, &recorder{body: body}).Redeem(t.Context(), "p", api.RedeemRequest{UserID: "ann"}, "k")
		if !client.OutcomeUnknown(err) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestWrongRecordIsAnError(t *testing.T) {
	const id = "0190f3a0-7c4e-7a10-8f00-abcdef000001"
	for body, want := range map[string]string{
		`{"id":"q","title":"T"}`:               `it is the perk "q"`,
		`{"propertyId":7,"title":"T"}`:         "it is the property 7",
		`{"id":"` + strings.ToUpper(id) + `"}`: "",
		`{"propertyId":42}`:                    "",
		`{"title":"T"}`:                        "",
	} {
		c := serve(t, &recorder{body: body})
		_, perkErr := c.Perk(t.Context(), id)
		_, _, propertyErr := c.Property(t.Context(), 42)
		err := errors.Join(perkErr, propertyErr)
		if (err != nil) != (want != "") ||
			err != nil && (!strings.Contains(err.Error(), want) || api.CodeOf(err) != "http_200") {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestOutcomeIsUnknownAfterSeeOther(t *testing.T) {
	c := serve(t, status(http.StatusSeeOther, "Location: /v2/redemptions/1"))
	if _, _, err := c.Redeem(t.Context(), "p", api.RedeemRequest{UserID: "ann"}, "k"); !client.OutcomeUnknown(err) {
		t.Error(err)
	}
}

func TestEchoServerDoesNotHonourKeys(t *testing.T) {
	c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, values := range r.Header {
			w.Header()[name] = values
		}
		w.Header().Del("Content-Length")
		reply(w, 201, map[string]any{"id": "r"})
	}))
	if _, _, err := c.Redeem(t.Context(), "p", api.RedeemRequest{UserID: "ann"}, "k"); err != nil || c.HonoursKeys() {
		t.Errorf("honours keys: %t, %v", c.HonoursKeys(), err)
	}
}
