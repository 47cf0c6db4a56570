package cli_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/perks/cli/session"
	"example.com/perks/server/servertest"
)

// foreignProperty is the only property of another server: its price is a number, its title is invalid for us, and it
// has no ETag or a weak one.
type foreignProperty struct {
	etag    string
	city    atomic.Value
	patched atomic.Value // the last body
}

func (l *foreignProperty) start(t *testing.T) *terminal {
	t.Helper()
	l.city.Store("Leeds")
	l.patched.Store("")
	mux := http.NewServeMux()
	mux.HandleFunc("/v2/auth/token", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"access_token":"opaque","expires_at":"2099-01-01T00:00:00Z"}`)
	})
	mux.HandleFunc("/v2/get-property/1", func(w http.ResponseWriter, r *http.Request) {
		if l.etag != "" {
			w.Header().Set("ETag", l.etag)
		}
		body, _ := json.Marshal(map[string]any{"title": "", "city": l.city.Load(), "price_pw": json.Number("99.90"),
			"images": []string{"/x.jpg"}})
		_, _ = w.Write(body)
	})
	mux.HandleFunc("/v2/update-property/1", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("If-Match") != "" {
			w.WriteHeader(http.StatusPreconditionFailed)
			return
		}
		body, _ := io.ReadAll(r.Body)
		l.patched.Store(string(body))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return newTerminal(t, map[string]string{
		session.EnvAPIURL: server.URL + "/v2", session.EnvClientID: "c", session.EnvClientSecret: "s",
	})
}

func TestEditOnForeignServer(t *testing.T) {
	for _, etag := range []string{"", `W/"1"`} {
		l := &foreignProperty{etag: etag}
		x := l.start(t)
		read := x.edits("keep shown; put bedrooms 2; put price_pw 99.9")
		r := x.typing("y\n", "property", "edit", "1", "-o", "json")
		if r.code != 0 || l.patched.Load() != `{"bedrooms":2}` {
			t.Errorf("%q: %+v sent %s", etag, r, l.patched.Load())
		}
		if text := read("shown"); !strings.Contains(text, "\nprice_pw: \"99.90\"\n") ||
			!strings.Contains(text, "\n  - /x.jpg\n") {
			t.Error(text)
		}
	}
}

func TestEditDetectsChangeWithoutStrongETag(t *testing.T) {
	for _, etag := range []string{"", `W/"1"`} {
		l := &foreignProperty{etag: etag}
		x := l.start(t)
		x.edits("put bedrooms 2")
		input := &readerWithAction{Reader: strings.NewReader("y\ny\n"), act: func() { l.city.Store("York") }}
		r := x.typingFrom(input, "property", "edit", "1")
		if r.code != 0 || !strings.Contains(r.err, "  city\n    before: Leeds\n    theirs: York\n") ||
			l.patched.Load() != `{"bedrooms":2}` {
			t.Errorf("%q: %+v sent %s", etag, r, l.patched.Load())
		}
	}
}

// readerWithAction runs act before its first read.
type readerWithAction struct {
	io.Reader
	act func()
}

func (m *readerWithAction) Read(into []byte) (int, error) {
	if m.act != nil {
		m.act()
		m.act = nil
	}
	return m.Reader.Read(into)
}

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
