package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/perks/api"
)

type items = []map[string]any

// redeemed serves a list of what a user has redeemed, in its own order and with its own fields.
type redeemed struct {
	items    items
	links    bool          // has Link headers instead of page numbers
	ahead    time.Duration // of the server's clock
	perPage  int           // overrides the client's per_page; 0 does not
	requests []string
	cached   bool // a request allowed a cached response
}

func (l *redeemed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.requests = append(l.requests, r.URL.RequestURI())
	l.cached = l.cached || r.Header.Get("Cache-Control") != "no-cache"
	query := r.URL.Query()
	page, _ := strconv.Atoi(query.Get("page"))
	page = max(page, 1)
	perPage, _ := strconv.Atoi(query.Get("per_page"))
	if l.perPage > 0 {
		perPage = l.perPage
	}
	begin, end := min((page-1)*perPage, len(l.items)), min(page*perPage, len(l.items))
	pages := (len(l.items) + perPage - 1) / perPage
	body := map[string]any{"data": l.items[begin:end]}
	if l.links {
		w.Header().Set("Link", `<?page=1>; rel="first"`)
		if page < pages {
			query.Set("page", strconv.Itoa(page+1))
			w.Header().Add("Link", "<"+"/v2"+r.URL.Path+"?"+query.Encode()+`>; rel="next"`)
		}
	} else {
		body["meta"] = map[string]any{"page": page, "per_page": perPage, "total": len(l.items), "total_pages": pages}
	}
	w.Header().Set("Date", time.Now().Add(l.ahead).UTC().Format(http.TimeFormat))
	reply(w, 200, body)
}

// listItem returns a redemption as another server lists it: without a user, and in its own time zone.
func listItem(id, perk string, at time.Time, metadata string) map[string]any {
	item := map[string]any{"id": id, "perk_id": perk, "status": "approved"}
	if !at.IsZero() {
		item["redeemed_at"] = at.In(time.FixedZone("", -9*3600-1800)).Format(time.RFC3339)
	}
	if metadata != "" {
		item["metadata"] = json.RawMessage(metadata)
	}
	return item
}

func with(item map[string]any, name string, value any) map[string]any {
	item[name] = value
	return item
}

func TestFindRedemption(t *testing.T) {
	now := time.Now()
	long := now.Add(-24 * time.Hour)
	old := func(n int) (made items) {
		for i := range n {
			made = append(made, listItem(fmt.Sprint("old-", i), "p", long.Add(-time.Duration(i)*time.Minute), ""))
		}
		return made
	}
	mine := func(metadata string) items { return items{listItem("ours", "p", now, metadata)} }
	at := func(d time.Duration) items { return items{listItem("ours", "p", now.Add(d), "")} }
	for name, test := range map[string]struct {
		items    items
		list     redeemed // serves the items
		metadata string
		since    time.Duration // before now
		taken    string
		want     string // "": not found
		pages    int    // 0: one
	}{
		"nothing redeemed":                {},
		"found":                           {items: mine(""), want: "ours"},
		"another perk":                    {items: items{listItem("x", "q", now, "")}},
		"another user":                    {items: items{with(mine("")[0], "user_id", "bob")}},
		"this user":                       {items: items{with(mine("")[0], "user_id", "ann")}, want: "ours"},
		"rejected":                        {items: items{with(mine("")[0], "status", "rejected")}, want: "ours"},
		"made before":                     {items: old(3)},
		"made within the tolerance":       {items: at(-500 * time.Millisecond), want: "ours"},
		"made beyond the tolerance":       {items: at(-5 * time.Second)},
		"made before, searched from then": {items: old(3), since: 24*time.Hour + time.Second, want: "old-0"},
		"belongs to another":              {items: mine(""), taken: "ours"},
		"one of two belongs to another": {
			items: append(items{listItem("theirs", "p", now, "")}, mine("")...), taken: "theirs", want: "ours",
		},

		"on the third page by numbers": {items: append(old(250), mine("")...), want: "ours", pages: 3},
		"on the third page by links": {
			list: redeemed{links: true}, items: append(old(250), mine("")...), want: "ours", pages: 3,
		},
		"with the server's page size": {
			list: redeemed{perPage: 2}, items: append(old(4), mine("")...), want: "ours", pages: 3,
		},
		"on no page": {items: old(250), pages: 3},

		"the server is an hour ahead":  {list: redeemed{ahead: time.Hour}, items: at(time.Hour), want: "ours"},
		"the server is an hour behind": {list: redeemed{ahead: -time.Hour}, items: at(-time.Hour), want: "ours"},
		"made before, the server is an hour ahead": {
			list: redeemed{ahead: time.Hour}, items: at(time.Hour - 5*time.Second),
		},

		"metadata empty and absent": {items: mine(""), metadata: `{}`, want: "ours"},
		"metadata absent and null":  {items: mine(`null`), want: "ours"},
		"metadata in another order": {
			items: mine(`{"b": [1, {"x": null}], "a": "é"}`), metadata: `{"a":"\u00e9","b":[1,{"x":null}]}`,
			want: "ours",
		},
		"a number in another notation": {
			items: mine(`{"n":2.5,"m":100}`), metadata: `{"n":2.50,"m":1e2}`, want: "ours",
		},
		"a number too large for a float": {items: mine(`{"n":1e999}`), metadata: `{"n":1e999}`, want: "ours"},
		"another number":                 {items: mine(`{"n":2.6}`), metadata: `{"n":2.5}`},
		"a number and its text":          {items: mine(`{"n":"2.5"}`), metadata: `{"n":2.5}`},
		"an extra field":                 {items: mine(`{"n":1,"m":1}`), metadata: `{"n":1}`},
		"a missing field":                {items: mine(`{}`), metadata: `{"n":null}`},
		"an extra element":               {items: mine(`{"n":[1,2]}`), metadata: `{"n":[1]}`},
		"metadata is not an object":      {items: mine(`["a"]`)},
		"an empty PHP array":             {items: mine(`[]`), want: "ours"},
	} {
		t.Run(name, func(t *testing.T) {
			test.list.items = test.items
			c := serve(t, &test.list)
			taken := func(id string) bool { return id == test.taken }
			if test.taken == "" {
				taken = nil
			}
			request := api.RedeemRequest{UserID: "ann", Metadata: json.RawMessage(test.metadata)}
			got, found, err := c.FindRedemption(t.Context(), "p", request, now.Add(-test.since), taken)
			if err != nil || found != (test.want != "") || got.ID != test.want || found && got.UserID != "ann" {
				t.Errorf("found %+v, %t, %v; want %q", got, found, err, test.want)
			}
			if test.list.cached {
				t.Error("a cached list was allowed")
			}
			if len(test.list.requests) != max(test.pages, 1) ||
				!strings.HasPrefix(test.list.requests[0], "/partners/perks/users/ann?per_page=100&type=redeemed") {
				t.Errorf("requested %q", test.list.requests)
			}
		})
	}
}

func TestFindRedemptionFailsWhenUncertain(t *testing.T) {
	now := time.Now()
	for name, list := range map[string]http.Handler{
		"no such list":    status(404),
		"no time":         &redeemed{items: items{listItem("x", "p", time.Time{}, "")}},
		"an endless list": &recorder{body: `{"data":[{"id":"x","perk_id":"q"}]}`},
		"not a list":      &recorder{body: `<html>`},
		"a failed page": &scriptedServer{
			script: []http.HandlerFunc{(&redeemed{items: make(items, 101)}).ServeHTTP, status(503)},
		},
	} {
		got, found, err := serve(t, list).FindRedemption(t.Context(), "p", api.RedeemRequest{UserID: "ann"}, now, nil)
		if err == nil || found {
			t.Errorf("%s: %+v, %t", name, got, found)
		}
	}
	c := serve(t, &redeemed{})
	if _, _, err := c.FindRedemption(t.Context(), "p",
		api.RedeemRequest{UserID: "ann", Metadata: json.RawMessage(`{} {}`)}, now, nil); err == nil {
		t.Error("searched for invalid metadata")
	}
}

// Only a server known to follow the contract is trusted to sort its list, and only while the list is sorted.
func TestFindRedemptionStopsEarlyOnlyInSortedLists(t *testing.T) {
	now := time.Now()
	list := func(newest string) (made items) {
		for i := range 300 {
			made = append(made, listItem(fmt.Sprint(i), "p", now.Add(-time.Duration(i+10)*time.Hour), ""))
		}
		if newest != "" {
			at, _ := strconv.Atoi(newest)
			made[at] = listItem("newer", "q", now, "")
		}
		return made
	}
	for name, test := range map[string]struct {
		items  items
		honour bool
		pages  int
	}{
		"an unknown server":          {list(""), false, 3},
		"a server with our contract": {list(""), true, 1},
		"an unsorted list":           {list("1"), true, 3},
	} {
		l := &redeemed{items: test.items}
		mux := http.NewServeMux()
		mux.Handle("/", l)
		mux.HandleFunc("POST /", withKey(status(200)))
		c := serve(t, mux)
		if test.honour {
			_ = calls["keyed redeem"](context.Background(), c)
		}
		_, found, err := c.FindRedemption(t.Context(), "p", api.RedeemRequest{UserID: "ann"}, now, nil)
		if err != nil || found || len(l.requests) != test.pages {
			t.Errorf("%s: %d pages, want %d: found %t, %v", name, len(l.requests), test.pages, found, err)
		}
	}
}
