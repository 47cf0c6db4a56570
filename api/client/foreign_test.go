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

// Servers and proxies that are not ours answer in ways of their own. None of them may pass for what it is not.

func TestLinkThatIsNotAboutPagesEndsNoList(t *testing.T) {
	c := serve(t, shelf{perks: 5, link: func(*http.Request, int, int) string { return `</docs>; rel="describedby"` }})
	if got, err := walkIDs(c, client.PerkListOptions{}); got != "1 2 3 4 5" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// endless fails the test when it is asked more often than any list of its is long.
func endless(t *testing.T, asked *atomic.Int64, h http.HandlerFunc) *client.Client {
	return serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) > 50 {
			panic(http.ErrAbortHandler)
		}
		h(w, r)
	}))
}

func TestPagesWithoutNumbersAreCounted(t *testing.T) {
	var asked atomic.Int64
	c := endless(t, &asked, func(w http.ResponseWriter, r *http.Request) {
		reply(w, 200, map[string]any{"data": []map[string]any{{"id": "p" + r.URL.Query().Get("page")}}, "meta": map[string]any{"total_pages": 3}})
	})
	if got, err := walkIDs(c, client.PerkListOptions{}); got != "p p2 p3" || err != nil || asked.Load() != 3 {
		t.Errorf("%q, %v after %d requests", got, err, asked.Load())
	}
}

func TestLinksInACircleEnd(t *testing.T) {
	next := map[string]string{"": "a", "a": "b", "b": "c", "c": "a"}
	var asked atomic.Int64
	c := endless(t, &asked, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "<?at="+next[r.URL.Query().Get("at")]+">; rel=next")
		reply(w, 200, map[string]any{"data": []map[string]any{{"id": "x"}}})
	})
	if _, err := walkIDs(c, client.PerkListOptions{}); err == nil || !strings.Contains(err.Error(), "a loop") {
		t.Errorf("%v after %d requests", err, asked.Load())
	}
}

func TestAnswerThatIsNoListIsNoProofThatNothingWasRedeemed(t *testing.T) {
	now := time.Now()
	request := api.RedeemRequest{UserID: "ann", Metadata: json.RawMessage(`{"t":1}`)}
	for name, body := range map[string]string{
		"an empty object":                              `{}`,
		"a word of a gateway":                          `{"status":"maintenance"}`,
		"a list by another name":                       `{"redemptions":[{"id":"r","perk_id":"p"}],"meta":{"page":1,"total_pages":1}}`,
		"an item without a perk":                       fmt.Sprintf(`{"data":[{"id":"r","redeemed_at":%q,"metadata":{"t":1}}],"meta":{"page":1,"total_pages":1}}`, now.Format(time.RFC3339)),
		"an item that hides what it was redeemed with": fmt.Sprintf(`{"data":[{"id":"r","perk_id":"p","redeemed_at":%q}],"meta":{"page":1,"total_pages":1}}`, now.Format(time.RFC3339)),
	} {
		if _, found, err := serve(t, &recorder{body: body}).FindRedemption(t.Context(), "p", request, now, nil); found || err == nil {
			t.Errorf("%s: found %t, %v", name, found, err)
		}
	}
}

func TestSuccessThatIsNotTheRedemptionLeavesTheOutcomeOpen(t *testing.T) {
	for _, body := range []string{`{}`, `null`, `{"error":"maintenance"}`, `{"data":{"id":"r"}}`, `{"id":"r","perk_id":"q"}`, `{"id":"r","perk_id":"p","user_id":"bob"}`} {
		_, _, err := serve(t, &recorder{body: body}).Redeem(t.Context(), "p", api.RedeemRequest{UserID: "ann"}, "k")
		if !client.OutcomeUnknown(err) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestAnotherRecordThanTheOneAskedForIsAnError(t *testing.T) {
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
		if (err != nil) != (want != "") || err != nil && (!strings.Contains(err.Error(), want) || api.CodeOf(err) != api.CodeInternal) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestSeeOtherAfterARedeemLeavesTheOutcomeOpen(t *testing.T) {
	c := serve(t, status(http.StatusSeeOther, "Location: /v2/redemptions/1"))
	if _, _, err := c.Redeem(t.Context(), "p", api.RedeemRequest{UserID: "ann"}, "k"); !client.OutcomeUnknown(err) {
		t.Error(err)
	}
}

func TestServerThatRepeatsWhateverItIsSentHonoursNoKeys(t *testing.T) {
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
