package specserver_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/perks/cmd/dev/specserver"
)

const redeems = "POST /v2/partners/perks/*/redeem"

// caller sends requests as a client without any of perksctl's code.
type caller struct {
	*specserver.Server
	http.Client
	token string
}

func start(t *testing.T, options specserver.Options) *caller {
	t.Helper()
	c := &caller{Server: specserver.Start(t, options)}
	c.Client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.Transport = &http.Transport{DisableKeepAlives: true} // a connection that closes must not be taken for an idle one
	c.send("POST", "auth/token", "")
	c.token = c.Record().Tokens[0].Value
	return c
}

// send returns the status and, as one text, the headers and the body of the response; 0 and the error if there is none.
func (c *caller) send(method, path, body string, headers ...string) (int, string) {
	r, err := http.NewRequest(method, c.URL+"/"+path, strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+c.token)
	if path == "auth/token" {
		id, secret := specserver.ClientID, specserver.ClientSecret
		if c.Secrets == specserver.SecretsDecoded {
			id, secret = url.QueryEscape(id), url.QueryEscape(secret)
		}
		r.SetBasicAuth(id, secret)
	}
	for _, header := range headers {
		if name, value, isHeader := strings.Cut(header, ": "); isHeader {
			r.Header.Set(name, value)
		}
	}
	res, err := c.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err.Error()
	}
	var head strings.Builder
	_ = res.Header.Write(&head)
	return res.StatusCode, head.String() + string(text)
}

func (c *caller) redeem(perk, user int, headers ...string) (int, string) {
	path := fmt.Sprintf("partners/perks/%s/redeem", url.PathEscape(c.PerkID(perk)))
	return c.send("POST", path, fmt.Sprintf(`{"user_id":%q}`, c.UserID(user)), headers...)
}

// TestEachFreedomShows compares what a server sends with the freedom and without it.
func TestEachFreedomShows(t *testing.T) {
	now := func() time.Time { return time.Date(2026, 3, 2, 10, 0, 0, 123456789, time.UTC) }
	const login, list = "POST auth/token", "GET partners/perks"
	const perk, bare = "GET partners/perks/PERK1", "GET partners/perks/PERK2"
	const flat, plain, redeem, missing = "GET get-property/1", "GET get-property/2", "REDEEM", "GET get-property/77"
	const bareID = "GET partners/perks/perk-002"
	const mine = "GET partners/perks/users/USER1?type=redeemed"
	tested := map[string]bool{}
	for _, test := range []struct {
		freedom  specserver.Freedoms
		requests string // of which the last one counts
		want     string
	}{
		{specserver.Freedoms{Keys: specserver.KeysHonoured}, "REDEEM REDEEM", `"id":"red_1"`},
		{specserver.Freedoms{EchoesKeys: true}, redeem, "Idempotency-Key: k"},
		{specserver.Freedoms{ETags: specserver.ETagsStrong}, flat, `Etag: "v1"`},
		{specserver.Freedoms{ETags: specserver.ETagsWeak}, flat, `Etag: W/"v1"`},
		{specserver.Freedoms{ETags: specserver.ETagsWeakMatching}, flat, `Etag: W/"v1"`},
		{specserver.Freedoms{Codes: specserver.CodesWords}, missing, `"code":"ERR_NOT_FOUND"`},
		{specserver.Freedoms{Codes: specserver.CodesNumbers}, missing, `"code":404`},
		{specserver.Freedoms{ErrorType: specserver.ErrorsProblem}, missing, "application/problem+json"},
		{specserver.Freedoms{NewStatus: specserver.StatusPending}, redeem, `"status":"pending"`},
		{specserver.Freedoms{NewStatus: specserver.StatusEmpty}, redeem, `"status":""`},
		{specserver.Freedoms{RedeemedCode: 200}, redeem, "200 "},
		{specserver.Freedoms{RefusalCode: 422, OncePerUser: true}, "REDEEM REDEEM", "422 "},
		{specserver.Freedoms{LoginCode: 404}, "POST auth/token?as=nobody", "404 "},
		{specserver.Freedoms{Numbers: specserver.NumbersText}, flat, `"bedrooms":"2"`},
		{specserver.Freedoms{Numbers: specserver.NumbersExponent}, flat, `"price_pw":2.505e+02`},
		{specserver.Freedoms{Numbers: specserver.NumbersFloat}, flat, `"bedrooms":2.0`},
		{specserver.Freedoms{Blanks: specserver.BlanksText}, bare, `"category":""`},
		{specserver.Freedoms{ExtraFields: true}, perk, `"_links":{`},
		{specserver.Freedoms{IDs: specserver.IDsPercent}, perk, `"id":"perk%2F001"`},
		{specserver.Freedoms{PropertyIDs: specserver.PropertyIDsText}, flat, `"propertyId":"1"`},
		{specserver.Freedoms{Images: specserver.ImagesText}, flat, `"images":"https://img.example/a.jpg,https://`},
		{specserver.Freedoms{Images: specserver.ImagesNull}, plain, `"images":null`},
		{specserver.Freedoms{Wrapped: true}, perk, `{"data":{`},
		{specserver.Freedoms{Meta: specserver.MetaText}, list, `"total_pages":"6"`},
		{specserver.Freedoms{Dates: specserver.DatesMillis}, perk, `"created_at":"2026-03-02T10:00:00.123Z"`},
		{specserver.Freedoms{Dates: specserver.DatesNanos}, perk, `"created_at":"2026-03-02T10:00:00.123456789Z"`},
		{specserver.Freedoms{Dates: specserver.DatesOffset}, perk, `"created_at":"2026-03-02T12:00:00+02:00"`},
		{specserver.Freedoms{ExpiresIn: specserver.ExpiresText}, login, `"expires_in":"3600"`},
		{specserver.Freedoms{ExpiresIn: specserver.ExpiresFloat}, login, `"expires_in":3600.0`},
		{specserver.Freedoms{OncePerUser: true}, "REDEEM REDEEM", "409 "},
		{specserver.Freedoms{MixedLists: true}, mine, `"title":"Offer 001`},
		{specserver.Freedoms{IgnoresPage: true}, list + "?page=2", `"title":"Offer 001`},
		{specserver.Freedoms{IgnoresSort: true}, list + "?per_page=1&sort=-title", `"title":"Offer 001`},
		{specserver.Freedoms{IgnoresWords: true}, list + "?city=Leeds", `"city":"York"`},
		{specserver.Freedoms{Elsewhere: specserver.ElsewhereLanding}, "GET health", "<title>Edge 200</title>"},
		{specserver.Freedoms{ClockOff: specserver.ClockOffset(time.Minute)}, redeem, "T10:01:00Z"},
	} {
		reply := func(freedoms specserver.Freedoms) (text string) {
			c := start(t, specserver.Options{Freedoms: freedoms, Now: now})
			for request := range strings.SplitSeq(strings.ReplaceAll(test.requests, redeem+" ", redeem+"\n"), "\n") {
				status := 0
				if request == redeem {
					status, text = c.redeem(1, 1, "Idempotency-Key: k")
				} else {
					method, path, _ := strings.Cut(request, " ")
					path, isWrong := strings.CutSuffix(path, "?as=nobody")
					for n := 1; n < 3; n++ {
						path = strings.ReplaceAll(path, fmt.Sprintf("PERK%d", n), url.PathEscape(c.PerkID(n)))
						path = strings.ReplaceAll(path, fmt.Sprintf("USER%d", n), url.PathEscape(c.UserID(n)))
					}
					var headers []string
					if isWrong {
						headers = []string{"Authorization: Basic bm9ib2R5Og=="}
					}
					status, text = c.send(method, path, "", headers...)
				}
				text = fmt.Sprintf("%d %s", status, text)
			}
			return text
		}
		without := specserver.Freedoms{}
		if without.OncePerUser = test.freedom.RefusalCode != 0; reply(without) == "" {
			t.Fatal("no reply")
		}
		with, plain := reply(test.freedom), reply(without)
		if !strings.Contains(with, test.want) || strings.Contains(plain, test.want) {
			t.Errorf("%v: no %s in\n%s\nor it is in\n%s", test.freedom, test.want, with, plain)
		}
		for name := range strings.SplitSeq(strings.Trim(test.freedom.String(), "{}"), ", ") {
			name, _, _ = strings.Cut(name, "=")
			tested[name] = true
		}
	}
	// These take something away.
	tested["NoLinks"], tested["NoTotal"], tested["Secrets"] = true, true, true
	c := start(t, specserver.Options{Freedoms: specserver.Freedoms{
		NoLinks: true, NoTotal: true, Meta: specserver.MetaNone, Blanks: specserver.BlanksAbsent,
		ExpiresIn: specserver.ExpiresAbsent, Secrets: specserver.SecretsDecoded,
	}})
	for request, unwanted := range map[string]string{
		list: "Link: ", list + "?": "X-Total-Count", list + "?page=1": `"meta"`,
		bareID: `"category"`, login: "expires_in",
	} {
		method, path, _ := strings.Cut(request, " ")
		if status, text := c.send(method, path, ""); status != 200 || strings.Contains(text, unwanted) {
			t.Errorf("%s: %d, with %s\n%s", request, status, unwanted, text)
		}
	}
	for freedom := range reflect.TypeFor[specserver.Freedoms]().Fields() {
		if !tested[freedom.Name] {
			t.Errorf("nothing shows the freedom %s", freedom.Name)
		}
	}
}

func TestMixturesAreRepeatableAndTakeEveryFreedom(t *testing.T) {
	taken := map[string]bool{}
	for seed := range uint64(200) {
		mixture := specserver.Mixture(seed)
		if mixture != specserver.Mixture(seed) {
			t.Fatalf("seed %d: two mixtures", seed)
		}
		value := reflect.ValueOf(mixture)
		for i := range value.NumField() {
			name, isTaken := value.Type().Field(i).Name, !value.Field(i).IsZero()
			taken[name] = taken[name] || isTaken
			if isTaken && !strings.Contains(mixture.String(), name) {
				t.Fatalf("%s is not in %v", name, mixture)
			}
			if !taken[name] && seed == 199 {
				t.Errorf("no mixture takes %s", name)
			}
		}
	}
}

func TestFaults(t *testing.T) {
	for _, test := range []struct {
		fault    specserver.Fault
		status   int
		contains string
		made     int // at once
		late     int // by Release
	}{
		{specserver.Fault{}, 0, "EOF", 0, 0},
		{specserver.Fault{Work: specserver.Done}, 0, "EOF", 1, 0},
		{specserver.Fault{Reply: specserver.ReplyReset}, 0, "reset", 0, 0},
		{specserver.Fault{Reply: specserver.ReplyStatus, Work: specserver.Done}, 502, "Bad Gateway", 1, 0},
		{specserver.Fault{Status: 504, Reply: specserver.ReplyStatus, Work: specserver.DoneLater}, 504, "Time", 0, 1},
		{specserver.Fault{Reply: specserver.ReplyStatus, Status: 429, RetryAfter: "7"}, 429, "Retry-After: 7", 0, 0},
		{specserver.Fault{Reply: specserver.ReplyPage, Work: specserver.Done}, 200, "<html>", 1, 0},
		{specserver.Fault{Reply: specserver.ReplyEmpty, Work: specserver.Done}, 200, "Content-Length: 0", 1, 0},
		{specserver.Fault{Reply: specserver.ReplyRedirect}, 302, "Location: /elsewhere", 0, 0},
	} {
		test.fault.Request, test.fault.Nth = redeems, 2
		c := start(t, specserver.Options{Faults: []specserver.Fault{test.fault}})
		if status, text := c.redeem(1, 1); status != 201 {
			t.Errorf("%v: the first request: %d %s", test.fault, status, text)
		}
		status, text := c.redeem(1, 2)
		made := len(c.Record().Redeemed("perk-001", "user-002"))
		isRight := status == test.status && strings.Contains(text, test.contains) && made == test.made
		if !isRight || c.Release() != test.late {
			t.Errorf("%v: %d redemptions, %d %s", test.fault, made, status, text)
		}
		if made := len(c.Record().Redemptions); made != 1+test.made+test.late {
			t.Errorf("%v: %d redemptions in the end", test.fault, made)
		}
	}
}

func TestATokenExpires(t *testing.T) {
	now := time.Now()
	c := start(t, specserver.Options{Now: func() time.Time { return now }})
	for _, want := range []int{200, 401} {
		if status, _ := c.send("GET", "get-property/1", ""); status != want {
			t.Errorf("status %d, want %d", status, want)
		}
		now = now.Add(time.Hour)
	}
}

func TestLateWorkWaitsForALaterRequest(t *testing.T) {
	c := start(t, specserver.Options{Faults: []specserver.Fault{
		{Request: redeems, Nth: 1, Work: specserver.DoneLater, After: redeems},
	}})
	for user, want := range []int{0, 2} {
		if c.redeem(1, user+1); len(c.Record().Redemptions) != want {
			t.Errorf("redeemed: %+v, want %d", c.Record().Redemptions, want)
		}
	}
}

func TestLateWorkFollowsTheRequestThatItWaitsFor(t *testing.T) {
	c := start(t, specserver.Options{Faults: []specserver.Fault{
		{Request: redeems, Work: specserver.DoneLater, After: "GET /v2/partners/perks/users/*"},
	}})
	c.redeem(1, 1)
	for _, want := range []bool{false, true} {
		_, text := c.send("GET", "partners/perks/users/user-001?type=redeemed", "")
		if strings.Contains(text, "red_1") != want {
			t.Errorf("listed: %t\n%s", !want, text)
		}
	}
}

func TestChanceDependsOnTheSeed(t *testing.T) {
	outcome := func(seed uint64) (text string) {
		c := start(t, specserver.Options{Seed: seed, Faults: []specserver.Fault{
			{Request: redeems, Chance: 0.5, Reply: specserver.ReplyStatus, Status: 503},
		}})
		for n := range 20 {
			status, _ := c.redeem(1, n+1)
			text += fmt.Sprint(status, " ")
		}
		return text
	}
	one := outcome(1)
	if again, other := outcome(1), outcome(2); one != again || one == other || !strings.Contains(one, "503 201") {
		t.Errorf("seed 1: %s and %s\nseed 2: %s", one, again, other)
	}
}

func TestTheRecordHasWhatWasDone(t *testing.T) {
	freedoms := specserver.Freedoms{ETags: specserver.ETagsStrong, Keys: specserver.KeysHonoured}
	c := start(t, specserver.Options{Freedoms: freedoms})
	var all sync.WaitGroup
	for n := range 20 {
		all.Go(func() { c.redeem(1, n+1, fmt.Sprintf("Idempotency-Key: k%d", n)) })
		all.Go(func() { c.redeem(1, n+1, fmt.Sprintf("Idempotency-Key: k%d", n)) })
	}
	all.Wait()
	for _, step := range []struct {
		method, path, body, header string
		want                       int
	}{
		{"PATCH", "update-property/1", `{"bedrooms":3,"images":"https://a.example/1"}`, `If-Match: "v1"`, 200},
		{"PATCH", "update-property/1", `{"bedrooms":4}`, `If-Match: "v1"`, 412},
		{"PATCH", "update-property/2", "city=Bath", "Content-Type: application/x-www-form-urlencoded", 200},
		{"PATCH", "update-property/2", `{"bedrooms":-1}`, "", 422},
		{"PATCH", "update-property/2", `{"price_pw":"0x1p4"}`, "", 422},
		{"PATCH", "update-property/2", `{`, "", 400},
		{"DELETE", "delete-property/3", "", "", 200},
		{"DELETE", "delete-property/3", "", "", 404},
		{"DELETE", "delete-property/6", "", "", 403},
		{"GET", "get-property/1", "", "Authorization: Bearer other", 401},
		{"POST", "get-property/1", "", "", 405},
	} {
		if status, text := c.send(step.method, step.path, step.body, step.header); status != step.want {
			t.Errorf("%v: %d %s", step, status, text)
		}
	}
	record := c.Record()
	var changes []string
	for _, change := range record.Changes {
		changes = append(changes, fmt.Sprint(change.PropertyID, change.Deleted, change.Fields))
	}
	want := "1false [bedrooms:3 images:https://a.example/1]2false [city:Bath]3true []"
	got, made := strings.ReplaceAll(strings.Join(changes, ""), "map", ""), len(record.Redemptions)
	if got != want || made != 20 || record.Asked(redeems) != 40 {
		t.Errorf("%s, %d redemptions by %d requests", got, made, record.Asked(redeems))
	}
	if city, exists := c.Property("2", "city"); city != "Bath" || !exists {
		t.Errorf("the city is %q", city)
	}
}
