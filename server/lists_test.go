package server_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/perks/api"
	"example.com/perks/server"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

var (
	linkPattern   = regexp.MustCompile(`<([^>]*)>; rel="([a-z]+)"`)
	cursorPattern = regexp.MustCompile(`after=[^&]*&`)
)

// links reads a Link header into relation -> address.
func links(header http.Header) map[string]string {
	found := map[string]string{}
	for _, link := range linkPattern.FindAllStringSubmatch(header.Get("Link"), -1) {
		found[link[2]] = link[1]
	}
	return found
}

// walk returns the pages from an address on, by their links to the next.
func walk[T any](s *servertest.Server, token, address string) iter.Seq2[api.Page[T], *http.Response] {
	return func(yield func(api.Page[T], *http.Response) bool) {
		for address != "" {
			page, response := servertest.Read[api.Page[T]](s, token, address)
			if !yield(page, response) {
				return
			}
			address = links(response.Header)["next"]
		}
	}
}

type perkPage = api.Page[api.Perk]

func day(n int) time.Time             { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
func clockAt(n int) *servertest.Clock { return servertest.NewClock(day(n)) }

// manyPerks have equal values, nulls, and letters in both cases.
func manyPerks() []store.PerkRecord {
	perks := make([]store.PerkRecord, 23)
	titles := []string{"apple", "Apple", "banana", "Äpfel", "cherry"}
	categories := []*string{new("Food"), new("food"), nil, new("Travel")}
	cities := []string{"Berlin", "berlin", "Paris"}
	ends := []*time.Time{new(day(30)), nil, new(day(31))}
	for i := range perks {
		perks[i] = store.PerkRecord{Lat: new(52 + float64(i%6)/100), Lng: new(13.0),
			Perk: api.Perk{ID: fmt.Sprintf("p%02d", (i*7)%23), Title: titles[i%5], City: cities[i%3],
				Category: categories[i%4], ValidTo: ends[i%3], CreatedAt: day(1 + i%4)}}
	}
	return perks
}

// manyListed starts a server with many perks, and returns a token for it.
func manyListed(t *testing.T, options ...func(*server.Config)) (s *servertest.Server, token string) {
	t.Helper()
	s = servertest.Start(t, append(options, servertest.WithClock(clockAt(10)))...)
	s.ImportPerks(manyPerks()...)
	return s, s.Token()
}

func TestTheDescribedLinkIsARealOne(t *testing.T) {
	s := servertest.Start(t)
	var perks []store.PerkRecord
	for i := range 61 {
		perks = append(perks, store.PerkRecord{Perk: api.Perk{ID: fmt.Sprint("p", i)}})
	}
	s.ImportPerks(perks...)
	response, _ := s.Get(s.Token(), s.LiveURL()+"/perks?page=2&per_page=25")
	got := strings.ReplaceAll(response.Header.Get("Link"), strings.TrimSuffix(s.URL, "/v2"), "https://HOST")
	got = cursorPattern.ReplaceAllString(got, "after=WyIt...&")
	if !strings.Contains(string(api.OpenAPI()), "\n    Link: "+got+"\n") {
		t.Errorf("the description has another example than\n%s", got)
	}
}

func TestFollowingNextListsEveryPerkOnce(t *testing.T) {
	s, token := manyListed(t)
	for _, order := range []string{"-distance", "category,-title,city,valid_to"} {
		seen, n, last, reached := map[string]bool{}, int64(0), "", ""
		for p, response := range walk[api.Perk](s, token,
			s.LiveURL()+"/perks?per_page=4&lat=52&lng=13&radius=50&sort="+url.QueryEscape(order)) {
			n++
			if p.Meta != (api.PageMeta{Page: n, PerPage: 4, Total: 23, TotalPages: 6}) ||
				response.Header.Get("X-Total-Count") != "23" {
				t.Fatalf("page %d: meta %+v, X-Total-Count %s", n, p.Meta, response.Header.Get("X-Total-Count"))
			}
			for _, perk := range p.Data {
				seen[perk.ID] = true
			}
			neighbours := links(response.Header)
			if last == "" {
				last = neighbours["last"]
			}
			for _, relation := range []string{"first", "prev", "last"} {
				if strings.Contains(neighbours[relation], "after=") {
					t.Errorf("page %d: %s has a cursor: %s", n, relation, neighbours[relation])
				}
			}
			reached = response.Request.URL.String()
		}
		if found := cursorPattern.ReplaceAllString(reached, ""); found == reached || found != last || len(seen) != 23 {
			t.Errorf("by %s the pages have %d perks up to %s, but last is %s", order, len(seen), reached, last)
		}
	}
}

func TestDistancesAreInAHeader(t *testing.T) {
	s, token := manyListed(t)
	for query, want := range map[string]string{"sort=distance&lat=52&lng=13&radius=500": "0, 0, 0", "sort=title": ""} {
		response, _ := s.Get(token, s.LiveURL()+"/perks?per_page=3&"+query)
		if got := response.Header.Get(api.HeaderDistances); got != want {
			t.Errorf("%s: the distances are %q, want %q", query, got, want)
		}
	}
}

func TestTheMiddleOfACityIsInAHeader(t *testing.T) {
	s, token := manyListed(t)
	for query, want := range map[string]string{
		"city=berlin&per_page=100": "52.02,13", "city=berlin": "", "per_page=100": "",
		"city=berlin&lat=52&lng=13&per_page=100": "",
	} {
		response, _ := s.Get(token, s.LiveURL()+"/perks?"+query)
		if got := response.Header.Get(api.HeaderCentre); got != want {
			t.Errorf("%s: the middle is %q, want %q", query, got, want)
		}
	}
}

func TestLinksKeepEveryOtherParameter(t *testing.T) {
	s, token := manyListed(t)
	query := "city=BERLIN&per_page=5&sort=title&mine=a%26b&page=2&latitude=52.00&longitude=13&radius=500"
	response, _ := s.Get(token, s.LiveURL()+"/perks?"+query)
	found := links(response.Header)
	for relation, wantPage := range map[string]string{"first": "1", "prev": "1", "next": "3", "last": "4"} {
		address, err := url.Parse(found[relation])
		if err != nil || !address.IsAbs() {
			t.Fatalf("%s is %q", relation, found[relation])
		}
		want, _ := url.ParseQuery(query)
		want.Set("page", wantPage)
		got := address.Query()
		if got.Has("after") != (relation == "next") {
			t.Errorf("%s has a cursor: %t", relation, got.Has("after"))
		}
		got.Del("after")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: want (-), got (+):\n%s", relation, diff)
		}
	}
}

func TestPageBeyondTheEndIsEmptyAndLinksBack(t *testing.T) {
	s, token := manyListed(t)
	for _, n := range []int64{4, 1000, 1 << 60} {
		p, response := servertest.Read[perkPage](s, token, fmt.Sprint(s.LiveURL(), "/perks?per_page=10&page=", n))
		if p.Data == nil || len(p.Data) != 0 || p.Meta.Total != 23 || p.Meta.Page != n {
			t.Errorf("page %d: %d perks, meta %+v", n, len(p.Data), p.Meta)
		}
		found := links(response.Header)
		if !strings.Contains(found["prev"], "page=3") || found["next"] != "" ||
			!strings.Contains(found["last"], "page=3") {
			t.Errorf("page %d: links %v", n, found)
		}
	}
	empty, response := servertest.Read[perkPage](s, token, s.LiveURL()+"/perks?city=nowhere")
	if header := response.Header; empty.Data == nil || header.Get("Link") != "" || header.Get("X-Total-Count") != "0" {
		t.Errorf("an empty list: %+v, Link %q", empty, header.Get("Link"))
	}
}

func TestCategoriesAreAPlainArray(t *testing.T) {
	s := fixture(t)
	token := s.Token()
	_, raw := s.Get(token, s.LiveURL()+"/perks/categories")
	if strings.TrimSpace(string(raw)) != "[]" {
		t.Errorf("without categories: %s", raw)
	}
	s.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "a", Category: new("Food")}})
	categories, _ := servertest.Read[[]api.Category](s, token, s.LiveURL()+"/perks/categories")
	if diff := cmp.Diff([]api.Category{{ID: "food", Name: "Food"}}, categories); diff != "" {
		t.Error(diff)
	}
}

func TestReadsReturn304ForAMatchingETag(t *testing.T) {
	s := fixture(t)
	id, token := s.Caller()
	s.ImportProperties(id, api.Property{ID: 1})
	for _, path := range []string{"/partners/perks", "/partners/perks/tea", "/partners/perks/categories",
		"/partners/perks/users/alice", "/partners/perks/users/alice?type=redeemed", "/get-property/1"} {
		response, _ := s.Get(token, s.URL+path)
		tag := response.Header.Get("ETag")
		for known, want := range map[string]int{tag: http.StatusNotModified, `"other"`: http.StatusOK} {
			request := s.Request(token, "GET", s.URL+path, "")
			request.Header.Set("If-None-Match", known)
			again, body := s.Send(request)
			if again.StatusCode != want || (len(body) == 0) != (known == tag) || again.Header.Get("ETag") != tag {
				t.Errorf("%s with If-None-Match %s: %d, ETag %s, %d bytes", path, known, again.StatusCode,
					again.Header.Get("ETag"), len(body))
			}
		}
	}
}

// TestMadeUpCursorsAreRefused sends cursors that no list has given, in each order of each list.
func TestMadeUpCursorsAreRefused(t *testing.T) {
	s := fixture(t)
	s.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "e", Title: "e"}, Lat: new(52.0), Lng: new(13.0)})
	owner, _ := s.Client()
	s.ImportProperties(owner, priced(t, 1, "Berlin", "3", 2), priced(t, 2, "Berlin", "4", 1))
	token := s.Token(api.ScopePerksRead, api.ScopePropertiesRead, api.ScopeRedemptionsRead, api.ScopeRedemptionsReadAll)
	values := []string{
		`-9223372036854775808`, `9223372036854775807`, `-2147483649`, `2147483648`, `253402300800000000`,
		`1e400`, `1e-400`, `1.5`,
		`-1`, `0`, `null`, `true`, `[]`, `{}`, `"x"`, `""`, `"\u0000"`, `"\ud800"`, `"` + strings.Repeat("é", 700) +
			`"`,
	}
	ids := []string{`"x"`, `""`, `"1"`, `"\u0000"`, `7`, `"-9223372036854775809"`}
	check := func(path, sort, raw string) {
		cursor := base64.RawURLEncoding.EncodeToString([]byte(raw))
		response, body := s.Get(token, s.LiveURL()+path+"&sort="+sort+"&after="+cursor)
		var refusal api.ErrorBody
		if response.StatusCode == http.StatusOK {
			return
		}
		decode(t, body, &refusal)
		if response.StatusCode != http.StatusUnprocessableEntity || len(refusal.Errors["after"]) == 0 {
			t.Errorf("%s in the order %s, after %.80s: %d %s", path, sort, raw, response.StatusCode, body)
		}
	}
	for path, fields := range map[string][]string{
		"/perks?lat=52&lng=13&q=e":             api.PerkSortFields(),
		"/perks/users/alice?lat=52&lng=13&q=e": {"created_at", "valid_to", api.SortRelevance},
		"/redemptions?":                        api.RedemptionRecordSortFields(),
		"/redemptions?user=alice":              api.RedemptionRecordSortFields(),
		"/properties?":                         api.PropertySortFields(),
		"/properties?max_price=5&q=e":          api.PropertySortFields(),
	} {
		for i, field := range fields {
			sort := []string{"-", ""}[i%2] + field
			for j, value := range values {
				check(path, sort, `["`+sort+`",`+value+`,`+ids[j%3]+`]`)
			}
			for _, id := range ids {
				check(path, sort, `["`+sort+`",0,`+id+`]`)
			}
		}
	}
	for _, id := range ids {
		check("/users?", "", `["",`+id+`]`)
	}
}

// TestAClientCannotTakeAllConnections lets one client send lists that do not end, as many as it can, and another one
// work beside it.
func TestAClientCannotTakeAllConnections(t *testing.T) {
	held := &heldLists{began: make(chan struct{}, 1000), release: make(chan struct{})}
	s := fixture(t, func(c *server.Config) { held.Store, c.Live = c.Live, held })
	greedy, modest := s.Token(), s.Token()
	const requests = 100
	statuses := make(chan int, requests)
	var running sync.WaitGroup
	for range requests {
		running.Go(func() {
			response, err := http.DefaultClient.Do(s.Request(greedy, "GET", s.LiveURL()+"/perks?sort=description", ""))
			if err != nil {
				t.Error(err)
				return
			}
			response.Body.Close()
			if response.StatusCode == http.StatusTooManyRequests && response.Header.Get("Retry-After") == "" {
				t.Error("429 without Retry-After")
			}
			statuses <- response.StatusCode
		})
	}
	const share = 4 // a quarter of 16
	for range share {
		<-held.began
	}
	const refused = requests - share - 64
	for range refused { // each reply is there at once
		if got := <-statuses; got != http.StatusTooManyRequests {
			t.Errorf("a list beyond those that wait: %d", got)
		}
	}
	for name, do := range map[string]func() int{
		"list":   func() int { return s.Status(modest, "GET", s.LiveURL()+"/perks", "") },
		"get":    func() int { return s.Status(modest, "GET", s.LiveURL()+"/perks/tea", "") },
		"redeem": func() int { return s.Do(redeemRequest(s, modest, "tea", `{"user_id":"alice"}`, ""), nil) },
		"ready":  func() int { return s.Status("", "GET", s.Root()+"/readyz", "") },
		"token":  func() int { s.Token(); return http.StatusOK },
	} {
		begin := time.Now()
		if got := do(); got != http.StatusOK && got != http.StatusCreated || time.Since(begin) > 5*time.Second {
			t.Errorf("%s of another client: %d after %s", name, got, time.Since(begin))
		}
	}
	if begun := len(held.began); begun != 0 {
		t.Errorf("%d lists of the greedy client more than its share have begun", begun)
	}
	close(held.release)
	running.Wait()
	for range requests - refused {
		if got := <-statuses; got != http.StatusOK {
			t.Errorf("a list that had waited: %d", got)
		}
	}
}

// heldLists holds a connection for each list by description, until it is released.
type heldLists struct {
	store.Store
	began, release chan struct{}
}

func (h *heldLists) ListPerks(ctx context.Context, query store.PerkQuery) (store.List[api.Perk], error) {
	if len(query.Sort) == 0 || query.Sort[0].Field != "description" {
		return h.Store.ListPerks(ctx, query)
	}
	next, stop := iter.Pull2(h.Store.ExportPerks(ctx)) // a read that lasts
	defer stop()
	next()
	h.began <- struct{}{}
	select {
	case <-h.release:
	case <-ctx.Done():
	}
	return h.Store.ListPerks(ctx, query)
}

func TestAListThatTakesTooLongNamesCheaperOnes(t *testing.T) {
	s := servertest.Start(t, func(c *server.Config) { c.Live = tooLong{c.Live} })
	request := s.Request(s.Token(), "GET", s.LiveURL()+"/perks?sort=terms,title", "")
	_, body := wantError(t, s, request, http.StatusUnprocessableEntity, problemType, api.CodeTooExpensive)
	const want = "This list takes longer than 5s. No index has the order by terms: " +
		"sort by title, city, created_at or valid_to, or add a filter."
	if body.Response != want {
		t.Errorf("the response is %q", body.Response)
	}
}

// tooLong is a store in which each list takes too long.
type tooLong struct{ store.Store }

func (tooLong) ListPerks(context.Context, store.PerkQuery) (list store.List[api.Perk], err error) {
	return list, store.ErrTimeLimit
}
