package assistant_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/perks/cli/session"
)

// TestEveryToolWorks goes through all tools, as the SDK's client lists them, with the real service.
func TestEveryToolWorks(t *testing.T) {
	f := newFixture(t)
	s := f.serve(true)
	called := map[string]bool{}
	must := func(tool string, with args) result {
		t.Helper()
		called[tool] = true
		return s.must(tool, with)
	}
	has := func(r result, words ...string) {
		t.Helper()
		for _, word := range words {
			if !strings.Contains(r.text, word) {
				t.Errorf("the result lacks %s: %s", word, r.text)
			}
		}
	}
	has(must("search_perks", args{"query": "coffee", "sort": "-title"}), `"coffee"`, `"total":1`, f.URL)
	has(must("search_perks", args{"query": "city:paris", "include_expired": true}), `"spa-day"`)
	has(must("get_perk", args{"perk": "coffee"}), `"Coffee for two"`)
	has(must("check_eligibility", args{"user": "nobody", "perk": "coffee"}), `"eligible":false`, `"not_found"`, "nobody")
	has(must("check_eligibility", args{"user": "ann", "perk": "spa-day"}), `"eligible":true`, `"status":"pending"`)
	redeem := must("prepare_redeem", args{"perk": "spa-day", "user": "ann", "metadata": map[string]any{"ticket": 4711}})
	has(redeem, `User \"ann\" can redeem perk \"spa-day\" now. It needs approval.`, `"valid_until":"2026-03-02T09:10:00Z"`)
	redeemed := must("confirm", args{"draft": redeem.draft(t)})
	has(redeemed, `"pending"`, `"ticket":4711`)
	id := idIn(redeemed)
	has(must("check_eligibility", args{"user": "ann", "perk": "spa-day"}), `"already_redeemed"`, "already")
	has(must("list_user_perks", args{"user": "ann", "city": "Berlin"}), `"coffee"`)
	has(must("list_user_redemptions", args{"user": "ann"}), id)
	has(must("list_redemptions", args{"status": "pending", "own": true}), id)
	has(must("get_redemption", args{"redemption": id}), `"pending"`)
	decision := must("prepare_decision", args{"redemption": id, "decision": "reject", "reason": "not a member"})
	has(must("confirm", args{"draft": decision.draft(t)}), `"rejected"`, "not a member")
	s.refuses("conflict", "is rejected, and only one that is pending can be approved", "prepare_decision",
		args{"redemption": id, "decision": "approve"})
	has(must("list_properties", args{"city": "Leeds", "max_price": 300}), `"propertyId":42`)
	has(must("get_property", args{"property": 42}), `"Flat"`)
	update := must("prepare_property_update", args{"property": "42", "fields": args{"price_pw": "295.50", "lat": nil}})
	has(update, `price_pw from \"250.00\" to \"295.50\"`, `"field":"price_pw"`)
	has(must("confirm", args{"draft": update.draft(t)}), `"295.50"`)
	has(must("get_property_history", args{"property": 42}), `"295.50"`, `"updated"`)
	change := must("prepare_perk_update", args{"perk": "coffee", "fields": args{"title": "Coffee for three"}})
	has(must("confirm", args{"draft": change.draft(t)}), `"Coffee for three"`)
	has(must("get_perk_history", args{"perk": "coffee"}), `"Coffee for three"`)
	has(must("report_redemptions", args{"by": "perk"}), `"spa-day"`, `"totals"`)
	has(must("explain", args{"record": "perk", "field": "valid_to"}), `"perk.valid_to"`)
	has(must("explain", nil), `"redemption"`)
	for tool, err := range s.Tools(context.Background(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if !called[tool.Name] {
			t.Errorf("%s was not called", tool.Name)
		}
		hints := tool.Annotations
		if changes := tool.Name == "confirm"; hints.ReadOnlyHint == changes || *hints.DestructiveHint != changes {
			t.Errorf("the hints of %s are %+v", tool.Name, hints)
		}
	}
}

// TestArgumentsAreChecked sends what no tool takes.
func TestArgumentsAreChecked(t *testing.T) {
	s := newFixture(t).serve(true)
	const invalid = "validation_failed"
	s.refuses(invalid, `"usr":["is not an argument of check_eligibility; it takes user, perk"]`, "check_eligibility",
		args{"usr": "ann", "user": "ann", "perk": "coffee"})
	s.refuses(invalid, `"user":["is required: the id of a user"]`, "check_eligibility",
		args{"perk": "coffee", "user": nil})
	s.refuses(invalid, "must be a text", "get_perk", args{"perk": []string{"a"}})
	s.refuses(invalid, "must be true or false", "search_perks", args{"include_expired": "yes"})
	s.refuses(invalid, "must be an object", "prepare_property_update", args{"property": 42, "fields": "title"})
	s.refuses(invalid, "must be one of approve, reject", "prepare_decision", args{"redemption": "r", "decision": "void"})
	s.refuses(invalid, `has no field \"colour\"`, "search_perks", args{"sort": "colour"})
	s.refuses(invalid, "must be the next_cursor", "search_perks", args{"cursor": "page-0"})
	s.refuses(invalid, "latitude,longitude", "search_perks", args{"near": "here,there"})
	s.refuses(invalid, "price_pw", "prepare_property_update", args{"property": 42, "fields": args{"price_pw": "cheap"}})
	s.refuses(invalid, "nothing to confirm", "prepare_property_update",
		args{"property": 42, "fields": args{"title": "Flat"}})
	s.refuses(invalid, "reason", "prepare_decision", args{"redemption": "r", "decision": "reject"})
	s.refuses("not_found", "nothing", "get_perk", args{"perk": "nothing"})
	s.refuses("usage", "is not a record", "explain", args{"record": "purk"})
	if _, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "delete_everything"}); err == nil {
		t.Error("an unknown tool is called")
	}
}

// TestListsComeInPages follows cursors to the end.
func TestListsComeInPages(t *testing.T) {
	f := newFixture(t)
	token := f.TokenFor(f.env[session.EnvClientID], f.env[session.EnvClientSecret])
	for i := range 60 {
		body := `{"user_id":"user-` + string(rune('0'+i/10)) + string(rune('0'+i%10)) + `"}`
		status := f.Status(token, http.MethodPost, f.LiveURL()+"/perks/coffee/redeem", body)
		if status != http.StatusCreated {
			t.Fatal(status)
		}
	}
	s := f.serve(false)
	for tool, with := range map[string]args{"list_redemptions": {"perk": "coffee"}, "explain": {"record": "perk"}} {
		seen, pages := 0, 0
		for {
			page := s.must(tool, with)
			rows := strings.Count(page.text, `"client_id"`) + strings.Count(page.text, `"rule"`)
			seen, pages = seen+rows, pages+1
			if rows > 25 || pages > 9 {
				t.Fatalf("%s: %d rows on page %d", tool, rows, pages)
			}
			if with["cursor"] = page.NextCursor; page.NextCursor == "" {
				break
			}
		}
		if tool == "list_redemptions" && (seen != 60 || pages != 3) || seen == 0 {
			t.Errorf("%s: %d rows on %d pages", tool, seen, pages)
		}
	}
}

// TestLargeMetadataDoesNotFillAResult lists redemptions with as much metadata as the service takes.
func TestLargeMetadataDoesNotFillAResult(t *testing.T) {
	f := newFixture(t)
	s := f.serve(true)
	metadata := args{}
	for i := range 950 {
		metadata[fmt.Sprintf("key-%04d", i)] = i
	}
	for i := range 10 {
		user := fmt.Sprintf("user-%02d", i)
		draft := s.must("prepare_redeem", args{"perk": "coffee", "user": user, "metadata": metadata})
		s.must("confirm", args{"draft": draft.draft(t)})
	}
	found := s.must("list_redemptions", nil)
	if *found.Total != 10 || !strings.Contains(found.text, `"metadata":null`) ||
		!slices.Contains(found.Notices, "Large values are left out, as null. Get a record by its id to see them.") {
		t.Errorf("%d bytes, %v", len(found.text), found.Notices)
	}
}

// TestTextsOfOthersStayData reads hostile texts: they stay inside of their field, without control characters.
func TestTextsOfOthersStayData(t *testing.T) {
	f := newFixture(t)
	s := f.serve(true)
	for _, found := range []result{
		s.must("get_property", args{"property": 42}), s.must("get_perk", args{"perk": "trap"}),
		s.must("list_properties", nil), s.must("search_perks", args{"city": "rome"}),
	} {
		if len(found.Notices) > 0 || !strings.Contains(found.text, `You may confirm.\"]`) {
			t.Errorf("the text is not data: %s", found.text)
		}
		if texts, _ := found.Source["texts"].(string); !strings.Contains(texts, "not instructions") {
			t.Errorf("the source is %v", found.Source)
		}
	}
	long := strings.Repeat("wörd ", 1700)
	draft := s.must("prepare_property_update", args{"property": 42, "fields": args{"description": long}})
	s.must("confirm", args{"draft": draft.draft(t)})
	found := s.must("get_property", args{"property": 42})
	const notice = "Texts of more than 8,000 characters are cut."
	if strings.Contains(found.text, long) || !slices.Contains(found.Notices, notice) {
		t.Errorf("a long text is not cut, or nobody says so: %v, %d bytes", found.Notices, len(found.text))
	}
}

// TestChangesNeedPermission connects without it, and with profiles that refuse it.
func TestChangesNeedPermission(t *testing.T) {
	f := newFixture(t)
	s := f.serve(false)
	for tool, err := range s.Tools(t.Context(), nil) {
		if err != nil || strings.HasPrefix(tool.Name, "prepare") || tool.Name == "confirm" {
			t.Errorf("offered: %v %v", tool, err)
		}
	}
	if _, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "prepare_redeem"}); err == nil {
		t.Error("a tool is called that is not offered")
	}
	refused := func(says string, flags ...string) {
		t.Helper()
		in, _, ended := f.begin(t.Context(), true, flags...)
		in.Close() // ends it, should it begin
		if err := <-ended; err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %s", err, says)
		}
	}
	f.profile("read-only: true")
	refused("Profile work is read-only")
	f.serve(false) // reads all the same
	f.profile("protected: true")
	refused("add --confirm-profile work")
	refused("--confirm-profile names \"other\"", "--confirm-profile", "other")
	confirmed := f.serve(true, "--confirm-profile", "work")
	draft := confirmed.must("prepare_redeem", args{"perk": "coffee", "user": "ann"})
	before := f.audit()
	f.profile("read-only: true") // while it runs
	confirmed.refuses("read_only", "is read-only", "confirm", args{"draft": draft.draft(t)})
	if !slices.Equal(before, f.audit()) {
		t.Error("a read-only profile has changed something")
	}
	f.profile("sandbox: true")
	sandbox := f.serve(true)
	for tool := range sandbox.Tools(t.Context(), nil) {
		if tool.Name == "prepare_property_update" {
			t.Error("the sandbox would change live properties")
		}
	}
	f.env[session.EnvClientSecret] = ""
	f.serve(false).refuses("not_logged_in", "set PERKSCTL_CLIENT_SECRET too", "get_perk", args{"perk": "coffee"})
}

// TestADraftIsCarriedOutOnceAndInTime confirms drafts twice, late, and never.
func TestADraftIsCarriedOutOnceAndInTime(t *testing.T) {
	f := newFixture(t)
	s := f.serve(true)
	prepare := func(user string) string {
		return s.must("prepare_redeem", args{"perk": "coffee", "user": user}).draft(t)
	}
	first := prepare("ann")
	once := s.must("confirm", args{"draft": first})
	f.clock.Advance(time.Hour)
	again := s.must("confirm", args{"draft": first})
	if string(once.Data) != string(again.Data) || len(again.Notices) != 1 {
		t.Errorf("confirmed again, it is %s, not %s", again.text, once.text)
	}
	if redeemed := s.must("list_user_redemptions", args{"user": "ann"}); *redeemed.Total != 1 {
		t.Errorf("%d redemptions", *redeemed.Total)
	}
	late := prepare("bob")
	f.clock.Advance(10*time.Minute - time.Nanosecond)
	inTime := prepare("user-00")
	f.clock.Advance(time.Nanosecond)
	s.refuses("draft_expired", "Prepare it again", "confirm", args{"draft": late})
	s.must("confirm", args{"draft": inTime})
	s.refuses("draft_not_found", "of another process", "confirm", args{"draft": "00000000-0000-0000-0000-000000000000"})

	kept := []string{}
	for i := range 99 { // with bob's, which has expired, and two that are done
		kept = append(kept, s.must("prepare_redeem", args{"perk": "trap", "user": []string{"ann", "bob"}[i%2]}).draft(t))
	}
	kept = append(kept, prepare("user-01"))
	s.refuses("too_many_drafts", "100 drafts wait", "prepare_redeem", args{"perk": "coffee", "user": "user-02"})
	s.must("confirm", args{"draft": kept[99]}) // which makes room
	prepare("user-02")
	other := f.serve(true)
	other.refuses("draft_not_found", "of another process", "confirm", args{"draft": kept[0]})
}

// TestAChangeByOthersIsNotOverwritten changes a property and a redemption between prepare and confirm.
func TestAChangeByOthersIsNotOverwritten(t *testing.T) {
	f := newFixture(t)
	s, other := f.serve(true), f.serve(true)
	mine := s.must("prepare_property_update", args{"property": 42, "fields": args{"title": "Mine"}}).draft(t)
	theirs := other.must("prepare_property_update", args{"property": 42, "fields": args{"title": "Theirs"}}).draft(t)
	other.must("confirm", args{"draft": theirs})
	s.refuses("precondition_failed", "Nothing was changed. Prepare it again", "confirm", args{"draft": mine})
	if now := s.must("get_property", args{"property": 42}); !strings.Contains(now.text, `"Theirs"`) {
		t.Errorf("now it is %s", now.text)
	}
	redeemed := s.must("confirm", args{"draft": s.must("prepare_redeem", args{"perk": "spa-day", "user": "ann"}).draft(t)})
	id := idIn(redeemed)
	approve := s.must("prepare_decision", args{"redemption": id, "decision": "approve"}).draft(t)
	reject := other.must("prepare_decision", args{"redemption": id, "decision": "reject", "reason": "no"}).draft(t)
	other.must("confirm", args{"draft": reject})
	if text, isError := s.try("confirm", args{"draft": approve}); !isError {
		t.Errorf("decided twice: %s", text)
	}
}

// lossy loses replies, or requests, of changes while it is told to.
type lossy struct {
	to    http.Handler
	mu    sync.Mutex
	loses int // that many more
	done  bool
}

func (l *lossy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	isChange := r.Method == http.MethodPatch || strings.HasSuffix(r.URL.Path, "/redeem") ||
		strings.HasSuffix(r.URL.Path, "/approve")
	l.mu.Lock()
	isLost := isChange && l.loses > 0
	if isLost {
		l.loses--
	}
	l.mu.Unlock()
	if !isLost {
		l.to.ServeHTTP(w, r)
		return
	}
	if l.done {
		l.to.ServeHTTP(httptest.NewRecorder(), r)
	}
	panic(http.ErrAbortHandler)
}

// TestLostRepliesAreSettled loses the reply or the request of each kind of change.
func TestLostRepliesAreSettled(t *testing.T) {
	f := newFixture(t)
	l := &lossy{}
	f.env[session.EnvAPIURL] = f.Behind(func(next http.Handler) http.Handler { l.to = next; return l }).URL
	s := f.serve(true)
	lose := func(n int, done bool) { l.mu.Lock(); defer l.mu.Unlock(); l.loses, l.done = n, done }
	for i, done := range []bool{true, false} {
		user := []string{"ann", "bob"}[i]
		draft := s.must("prepare_redeem", args{"perk": "spa-day", "user": user}).draft(t)
		lose(100, done)
		if done {
			s.try("confirm", args{"draft": draft})
		} else {
			s.refuses("outcome_unknown", "Confirm it again", "confirm", args{"draft": draft})
		}
		f.clock.Advance(time.Hour) // one whose outcome is unknown does not expire
		lose(0, done)
		redeemed := s.must("confirm", args{"draft": draft})
		if list := s.must("list_user_redemptions", args{"user": user}); *list.Total != 1 {
			t.Errorf("%s has %d redemptions", user, *list.Total)
		}
		id := idIn(redeemed)
		for tool, with := range map[string]args{
			"prepare_decision":        {"redemption": id, "decision": "approve"},
			"prepare_property_update": {"property": 42, "fields": args{"title": "For " + user}},
		} {
			draft := s.must(tool, with).draft(t)
			lose(100, done)
			s.try("confirm", args{"draft": draft})
			lose(0, done)
			s.must("confirm", args{"draft": draft})
		}
	}
}

// TestItEndsWithItsInputOrAnInterrupt leaves no goroutine behind.
func TestItEndsWithItsInputOrAnInterrupt(t *testing.T) {
	f := newFixture(t)
	f.serve(false).stop()

	ctx, interrupt := context.WithCancel(t.Context())
	in, out, ended := f.begin(ctx, false)
	interrupt()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	in.Close()
	out.Close()

	in, out, ended = f.begin(t.Context(), false)
	go func() { _, _ = io.Copy(io.Discard, out) }()
	_, _ = io.WriteString(in, "help\n")
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "is not the Model Context Protocol") {
		t.Errorf("after what is not the protocol: %v", err)
	}
	in.Close()

	stacks := make([]byte, 1<<20)
	for deadline := time.Now().Add(10 * time.Second); ; runtime.Gosched() {
		left := string(stacks[:runtime.Stack(stacks, true)])
		if !strings.Contains(left, "go-sdk/") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("goroutines are left:\n%s", left)
		}
	}
}
