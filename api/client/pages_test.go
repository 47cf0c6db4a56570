package client_test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
)

// perkServer lists perks, two to a page, with configurable faults.
type perkServer struct {
	perks    int
	link     func(r *http.Request, page, pages int) string // nil: no Link header
	failPage int
	stuck    bool // answers every page number with page 1
	noMeta   bool
	counts   bool // in X-Total-Count

	uncounted int // perks that are counted, but do not come
}

func (s perkServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	page, _ := strconv.Atoi(r.URL.Query().Get("page"))
	page = max(page, 1)
	if s.stuck {
		page = 1
	}
	if page == s.failPage {
		reply(w, 500, map[string]string{"response": "broken"})
		return
	}
	meta := api.NewPageMeta(int64(page), 2, int64(s.perks))
	if s.counts {
		w.Header().Set("X-Total-Count", strconv.Itoa(s.perks+s.uncounted))
	}
	if s.link != nil {
		w.Header().Set("Link", s.link(r, page, int(meta.TotalPages)))
	}
	data := []map[string]string{}
	for i := (page-1)*2 + 1; i <= min(page*2, s.perks); i++ {
		data = append(data, map[string]string{"id": fmt.Sprint(i)})
	}
	body := map[string]any{"data": data}
	if !s.noMeta {
		body["meta"] = meta
	}
	reply(w, 200, body)
}

func walkIDs(c *client.Client, options client.ListOptions) (string, error) {
	var ids []string
	for page, err := range c.PerkPages(context.Background(), api.PerkFilter{}, options) {
		if err != nil {
			return strings.Join(ids, " "), err
		}
		for _, perk := range page.Data {
			ids = append(ids, perk.ID)
		}
	}
	return strings.Join(ids, " "), nil
}

// linkTo builds a Link header with the function's target as its next page.
func linkTo(next func(r *http.Request, page int) string) func(*http.Request, int, int) string {
	return func(r *http.Request, page, pages int) string {
		link := `<http://x.example/first>; title="a, b"; rel=first`
		if page < pages {
			link += fmt.Sprintf(`, <%s>; rel="prefetch next"`, next(r, page+1))
		}
		return link
	}
}

func TestWalkOverAllPages(t *testing.T) {
	own := func(r *http.Request, page int) string {
		return fmt.Sprintf("http://%s/v2%s?page=%d&cursor=x", r.Host, r.URL.Path, page)
	}
	relative := func(r *http.Request, page int) string { return fmt.Sprintf("?page=%d", page) }
	foreign := func(r *http.Request, page int) string { return fmt.Sprintf("https://other.example/?page=%d", page) }
	for name, test := range map[string]struct {
		server perkServer
		from   int64
		want   string
		fails  string
	}{
		"by page numbers":   {server: perkServer{perks: 5}, want: "1 2 3 4 5"},
		"from a later page": {server: perkServer{perks: 5}, from: 2, want: "3 4 5"},
		"of an empty list":  {server: perkServer{}, want: ""},
		"by links": {server: perkServer{perks: 5, link: linkTo(own), noMeta: true},
			want: "1 2 3 4 5"},
		"by relative links":                {server: perkServer{perks: 5, link: linkTo(relative)}, want: "1 2 3 4 5"},
		"ignoring links to another server": {server: perkServer{perks: 5, link: linkTo(foreign)}, want: "1 2 3 4 5"},
		"with a failing page": {server: perkServer{perks: 7, failPage: 3}, want: "1 2 3 4",
			fails: "broken"},
		"endless": {server: perkServer{perks: 5, stuck: true}, want: "1 2",
			fails: "would not end"},
		"by endless links": {server: perkServer{perks: 5, stuck: true, noMeta: true,
			link: linkTo(relative)}, want: "1 2 1 2", fails: "would not end"},
		"a count says that all came": {server: perkServer{perks: 2, noMeta: true, counts: true}, want: "1 2"},
		"by a count": {
			server: perkServer{perks: 5, noMeta: true, counts: true}, want: "1 2 3 4 5"},
		"by a count, from a later page": {
			server: perkServer{perks: 7, noMeta: true, counts: true}, from: 2, want: "3 4 5 6 7"},
		"by a count, endless": {
			server: perkServer{perks: 5, noMeta: true, counts: true, stuck: true}, want: "1 2", fails: "would not end"},
		"by a count that is too high": {
			server: perkServer{perks: 4, noMeta: true, counts: true, uncounted: 1}, want: "1 2 3 4",
			fails: "nothing as page 3 of 3"},
		"without the number of pages": {
			server: perkServer{perks: 5, noMeta: true}, want: "1 2", fails: "whether there are more pages"},
	} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, test.server)
			got, err := walkIDs(c, client.ListOptions{Page: test.from})
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if (err != nil) != (test.fails != "") || err != nil && !strings.Contains(err.Error(), test.fails) {
				t.Errorf("got error %v, want %q", err, test.fails)
			}
		})
	}
}

func TestWalkCanStop(t *testing.T) {
	c := serve(t, perkServer{perks: 100, failPage: 2})
	for page, err := range c.PerkPages(context.Background(), api.PerkFilter{}, client.ListOptions{}) {
		if err != nil || len(page.Data) != 2 || page.Meta.Total != 100 {
			t.Errorf("got %+v, %v", page, err)
		}
		break
	}
}

// TestWalkRequestsTheNextPageMeanwhile works with each page after the first until the next is requested.
func TestWalkRequestsTheNextPageMeanwhile(t *testing.T) {
	const perks = 9
	requested := make(chan string, perks)
	c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requested <- r.URL.Query().Get("page")
		perkServer{perks: perks}.ServeHTTP(w, r)
	}))
	for page, err := range c.PerkPages(t.Context(), api.PerkFilter{}, client.ListOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		switch page.Meta.Page {
		case 1:
			if first := <-requested; first != "" || len(requested) > 0 {
				t.Errorf("page %q was requested first, and %d others", first, len(requested))
			}
		case page.Meta.TotalPages:
		default:
			if page.Meta.Page == 2 {
				<-requested // of page 2 itself
			}
			select {
			case next := <-requested:
				if next != fmt.Sprint(page.Meta.Page+1) {
					t.Errorf("page %s was requested after page %d", next, page.Meta.Page)
				}
			case <-time.After(10 * time.Second):
				t.Fatalf("no page was requested while the caller worked with page %d", page.Meta.Page)
			}
		}
	}
}

func TestWalkOverRawItemsKeepsFilters(t *testing.T) {
	var queries []string
	c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		queries = append(queries, r.URL.RawQuery)
		perkServer{perks: 3}.ServeHTTP(w, r)
	}))
	count := 0
	for page, err := range c.DoPages(context.Background(),
		client.Request{Method: "GET", Path: "partners/perks?city=Rome"}) {
		if err != nil {
			t.Fatal(err)
		}
		count += len(page.Data)
	}
	if count != 3 || len(queries) != 2 || queries[1] != "city=Rome&page=2" {
		t.Errorf("%d items, queries %q", count, queries)
	}
}
