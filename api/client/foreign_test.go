package client_test

import (
	"context"
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
	c := serve(t, perkServer{perks: 5,
		link: func(*http.Request, int, int) string { return `</docs>; rel="describedby"` }})
	if got, err := walkIDs(c, client.ListOptions{}); got != "1 2 3 4 5" || err != nil {
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
		reply(w, 200, map[string]any{"data": []map[string]any{{"id": "p" + r.URL.Query().Get("page")}},
			"meta": map[string]any{"total_pages": 3}})
	})
	if got, err := walkIDs(c, client.ListOptions{}); got != "p p2 p3" || err != nil || requests.Load() != 3 {
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
	if _, err := walkIDs(c, client.ListOptions{}); err == nil || !strings.Contains(err.Error(), "a loop") {
		t.Errorf("%v after %d requests", err, requests.Load())
	}
}

func TestResponseWithoutListIsNotAnEmptyList(t *testing.T) {
	now := time.Now()
	request := api.RedeemRequest{UserID: "ann", Metadata: json.RawMessage(`{"t":1}`)}
	for name, body := range map[string]string{
		"an empty object":           `{}`,
		"a gateway's message":       `{"status":"maintenance"}`,
		"a list under another name": `{"redemptions":[{"id":"r","perk_id":"p"}],"meta":{"page":1,"total_pages":1}}`,
		"an item without a perk": fmt.Sprintf(`{"data":[{"id":"r","redeemed_at":%q,"metadata":{"t":1}}],`+
			`"meta":{"page":1,"total_pages":1}}`, now.Format(time.RFC3339)),
		"an item without its metadata": fmt.Sprintf(`{"data":[{"id":"r","perk_id":"p","redeemed_at":%q}],`+
			`"meta":{"page":1,"total_pages":1}}`, now.Format(time.RFC3339)),
	} {
		if _, found, err := serve(t, &recorder{body: body}).FindRedemption(t.Context(), "p", request, now,
			nil); found || err == nil {
			t.Errorf("%s: found %t, %v", name, found, err)
		}
	}
}

func TestOutcomeIsUnknownWithoutTheRedemption(t *testing.T) {
	for _, body := range []string{`{}`, `null`, `{"error":"maintenance"}`, `{"data":{"id":"r"}}`,
		`{"id":"r","perk_id":"q"}`, `{"id":"r","perk_id":"p","user_id":"bob"}`} {
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
		`{"id":"` + strings.ToUpper(id) + `"}`: `it is an object with "id"`,
		`{"propertyId":42,"title":"T"}`:        "",
		`{"title":"T"}`:                        "",
		`{"propertyId":42}`:                    `it is an object with "propertyId"`,
	} {
		c := serve(t, &recorder{body: body})
		_, perkErr := c.Perk(t.Context(), id)
		_, _, propertyErr := c.Property(t.Context(), "42")
		err := errors.Join(perkErr, propertyErr)
		if (err != nil) != (want != "") ||
			err != nil && (!strings.Contains(err.Error(), want) || api.CodeOf(err) != "http_200") {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// reads asks for each kind of record and list. Each returns the identity of what it read.
var reads = map[string]func(context.Context, *client.Client) (string, error){
	"perk": func(ctx context.Context, c *client.Client) (string, error) {
		perk, err := c.Perk(ctx, "7")
		return perk.ID, err
	},
	"property": func(ctx context.Context, c *client.Client) (string, error) {
		property, _, err := c.Property(ctx, "7")
		return fmt.Sprint(property.ID), err
	},
	"redemption": func(ctx context.Context, c *client.Client) (string, error) {
		record, _, err := c.Redemption(ctx, "7")
		return record.ID, err
	},
	"redeem": func(ctx context.Context, c *client.Client) (string, error) {
		redemption, _, err := c.Redeem(ctx, "p", api.RedeemRequest{UserID: "ann"}, "")
		return redemption.ID, err
	},
	"created": func(ctx context.Context, c *client.Client) (string, error) {
		created, _, err := c.CreateProperty(ctx, api.PropertyPatch{}, "")
		return fmt.Sprint(created.Record.ID), err
	},
	"eligibility": func(ctx context.Context, c *client.Client) (string, error) {
		answer, err := c.Eligibility(ctx, "7", "ann")
		return answer.PerkID, err
	},
	"categories": func(ctx context.Context, c *client.Client) (string, error) {
		all, err := c.Categories(ctx)
		if len(all) != 1 {
			return fmt.Sprint(all), err
		}
		return all[0].ID, err
	},
	"perks": func(ctx context.Context, c *client.Client) (string, error) {
		page, err := c.Perks(ctx, api.PerkFilter{}, client.ListOptions{})
		return fmt.Sprint(len(page.Data)), err
	},
	"properties": func(ctx context.Context, c *client.Client) (string, error) {
		page, err := c.Properties(ctx, api.PropertyFilter{}, client.ListOptions{})
		return fmt.Sprint(len(page.Data)), err
	},
}

func TestWhatIsNoRecordIsAnError(t *testing.T) {
	for body, want := range map[string]string{
		``:                                  "it is an empty body",
		`null`:                              "null",
		`"maintenance"`:                     "it is a text",
		`7`:                                 "it is a number",
		`{}`:                                "an empty object",
		`{"status":"maintenance"}`:          `an object with "status"`,
		`{"data":null}`:                     "",
		`{"data":{"status":"up"}}`:          "",
		`{"data":[{}],"meta":{"total":1}}`:  "",
		"<html><title>Hello</title></html>": `the web page "Hello"`,
	} {
		for name, read := range reads {
			if body == `{"data":null}` && (name == "perks" || name == "properties") {
				continue // how some servers write an empty list
			}
			_, err := read(t.Context(), serve(t, &recorder{body: body}))
			refused, ok := errors.AsType[*client.Error](err)
			if !ok || !strings.Contains(refused.Message, want) || !strings.Contains(refused.Message, " /v2/") {
				t.Errorf("%s of %s: %v", name, body, err)
			}
		}
	}
	for _, body := range []string{`{"data":null,"meta":{"total":3}}`, `{"data":[null],"meta":{"total":1}}`} {
		if _, err := reads["perks"](t.Context(), serve(t, &recorder{body: body})); err == nil {
			t.Errorf("%s passes as a list of perks", body)
		}
	}
}

func TestWrappedRecord(t *testing.T) {
	const record = `{"id":"7","propertyId":7,"title":"T","perk_id":"p","user_id":"ann","eligible":true}`
	for name, read := range reads {
		body, want := record, "7"
		switch name {
		case "categories":
			body = `[` + record + `]`
		case "eligibility":
			want = "p"
		case "perks", "properties":
			continue
		}
		for body, wraps := range map[string]int64{body: 0, `{"data":` + body + `}`: 1} {
			var notes atomic.Int64
			count := func(config *client.Config) { config.OnWrapped = func() { notes.Add(1) } }
			got, err := read(t.Context(), serve(t, &recorder{body: body}, count))
			if got != want || err != nil || notes.Load() != wraps {
				t.Errorf("%s of %s: %q, %v, %d notes", name, body, got, err, notes.Load())
			}
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
