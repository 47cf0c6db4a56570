package cli_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/perks/cli/session"
	"example.com/perks/server/servertest"
)

// behindCompressor returns a terminal behind a proxy that weakens ETags, as nginx does when it compresses. The proxy
// calls before for each request.
func behindCompressor(t *testing.T, before func(*http.Request)) *terminal {
	t.Helper()
	server := servertest.Start(t)
	facts := seed(server)
	address, err := url.Parse(server.Root())
	if err != nil {
		t.Fatal(err)
	}
	real := httputil.NewSingleHostReverseProxy(address)
	real.ModifyResponse = func(res *http.Response) error {
		if etag := res.Header.Get("ETag"); etag != "" {
			res.Header.Set("ETag", "W/"+etag)
		}
		return nil
	}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		before(r)
		real.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	return newTerminal(t, map[string]string{
		session.EnvAPIURL: proxy.URL + "/v2", session.EnvClientID: facts["CLIENT"],
		session.EnvClientSecret: facts["SECRET"],
	})
}

func TestEditBehindCompressingProxyIsGuarded(t *testing.T) {
	var other *terminal
	var guards []string
	x := behindCompressor(t, func(r *http.Request) {
		if r.Method != http.MethodPatch {
			return
		}
		guards = append(guards, r.Header.Get("If-Match"))
		if len(guards) == 1 { // another client is faster
			other.must("property", "update", "42", "--city", "York")
		}
	})
	other = newTerminal(t, map[string]string{
		session.EnvAPIURL: x.env[session.EnvAPIURL], session.EnvClientID: x.env[session.EnvClientID],
		session.EnvClientSecret: x.env[session.EnvClientSecret],
	})
	x.edits("put city Bath")
	r := x.typing("y\nn\n", "property", "edit", "42")
	if city := x.property("42", "city"); city != "city\tYork" || !strings.Contains(r.err, "theirs: York") {
		t.Errorf("the other edit was overwritten: %s, If-Match %q\n%s", city, guards, r.err)
	}
	if len(guards) == 0 || !strings.HasPrefix(guards[0], `W/"`) {
		t.Errorf("the edits have If-Match %q", guards)
	}
}

func TestWeakETagsAreAcceptedAsIfMatch(t *testing.T) {
	x := behindCompressor(t, func(*http.Request) {})
	etag := strings.TrimSpace(x.must("property", "get", "42", "--jq", ".etag").out)
	if !strings.HasPrefix(etag, `W/"`) {
		t.Fatalf("the ETag is %q, want a weak one", etag)
	}
	file := filepath.Join(t.TempDir(), "rows.jsonl")
	row, _ := json.Marshal(map[string]any{"id": 42, "city": "Bath", "if_match": etag})
	if err := os.WriteFile(file, row, 0o600); err != nil {
		t.Fatal(err)
	}
	x.must("property", "update", "--file", file, "--dry-run")
	strong := filepath.Join(t.TempDir(), "strong.csv")
	write(t, strong, "id,city,if_match\n42,Bath,"+strings.Trim(strings.TrimPrefix(etag, "W/"),
		`"`)+"\n")
	x.must("property", "update", "--file", strong, "--dry-run")
	x.must("property", "update", "42", "--title", "Loft", "--if-match", etag)
	for _, args := range [][]string{
		{"property", "update", "42", "--title", "Flat", "--if-match", etag},
		{"property", "update", "--file", file},
		{"property", "update", "--file", file, "--dry-run"},
		{"property", "delete", "42", "--yes", "--if-match", etag},
	} {
		if r := x.run(args...); r.code == 0 {
			t.Errorf("%q changed another version: %+v", args, r)
		}
	}
	if got := x.property("42", "title,city"); got != "title\tLoft city\tLeeds" {
		t.Error(got)
	}
}
