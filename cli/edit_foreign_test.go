package cli_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/perks/cli/session"
)

// listing is a foreign server's one property: its price is a number, its title breaks our rules, and its ETag, if it has
// one at all, is weak.
type listing struct {
	etag    string
	city    atomic.Value
	patched atomic.Value // the last body
}

func (l *listing) start(t *testing.T) *terminal {
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
		body, _ := json.Marshal(map[string]any{"title": "", "city": l.city.Load(), "price_pw": json.Number("99.90"), "images": []string{"/x.jpg"}})
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

func TestEditAtAForeignServer(t *testing.T) {
	for _, etag := range []string{"", `W/"1"`} {
		l := &listing{etag: etag}
		x := l.start(t)
		read := x.edits("keep shown; put bedrooms 2; put price_pw 99.9")
		r := x.typing("y\n", "property", "edit", "1", "-o", "json")
		if r.code != 0 || l.patched.Load() != `{"bedrooms":2}` {
			t.Errorf("%q: %+v sent %s", etag, r, l.patched.Load())
		}
		if text := read("shown"); !strings.Contains(text, "\nprice_pw: \"99.90\"\n") || !strings.Contains(text, "\n  - /x.jpg\n") {
			t.Error(text)
		}
	}
}

func TestEditNoticesAChangeWithoutAnETag(t *testing.T) {
	for _, etag := range []string{"", `W/"1"`} {
		l := &listing{etag: etag}
		x := l.start(t)
		x.edits("put bedrooms 2")
		answers := &meanwhile{Reader: strings.NewReader("y\ny\n"), act: func() { l.city.Store("York") }}
		r := x.typingFrom(answers, "property", "edit", "1")
		if r.code != 0 || !strings.Contains(r.err, "  city\n    before: Leeds\n    theirs: York\n") || l.patched.Load() != `{"bedrooms":2}` {
			t.Errorf("%q: %+v sent %s", etag, r, l.patched.Load())
		}
	}
}

// meanwhile is a person during whose first answer something happens.
type meanwhile struct {
	io.Reader
	act func()
}

func (m *meanwhile) Read(into []byte) (int, error) {
	if m.act != nil {
		m.act()
		m.act = nil
	}
	return m.Reader.Read(into)
}
