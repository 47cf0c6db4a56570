package server_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"example.com/perks/server"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

func TestLoggedPathsAreSanitizedAndTruncated(t *testing.T) {
	const secret = "q3ZxGxGmB0Jk7kS3nUoW9m1y6y2zVtYpLr8cDfEhAaB"
	tests := []struct{ path, want string }{
		{"/v2/partners/perks/0198c5e0-7b7a-7e7c-8b1a-3b5f0c9d2e11",
			"/v2/partners/perks/0198c5e0-7b7a-7e7c-8b1a-3b5f0c9d2e11"},
		{"/a\nlevel=INFO msg=forged", "/a\uFFFDlevel=INFO msg=forged"},
		{"/\x1b[2J\u009b31m", "/\uFFFD[2J\uFFFD31m"},
		{"/a\u202eb\u2028c", "/a\uFFFDb\uFFFDc"},
		{"/\xff\xfe", "/\uFFFD"},
		{"/" + strings.Repeat("a/", 30000), "/" + strings.Repeat("a/", 255) + "a... (60001 bytes)"},
		{"/v2/partners/perks/eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln", "/v2/partners/perks/[hidden]"},
		{"/v2/partners/perks/" + secret, "/v2/partners/perks/[hidden]"},
		{"/v2/" + url.PathEscape(secret) + "%20", "/v2/[hidden]%20"}, // encoded twice
	}
	var logged bytes.Buffer
	s := servertest.Start(t, func(c *server.Config) { c.Logger = slog.New(slog.NewJSONHandler(&logged, nil)) })
	for _, test := range tests {
		request := s.Request("", "GET", s.Root(), "")
		request.URL.Path = test.path
		s.Send(request)
	}
	s.Stop()
	if strings.ContainsFunc(logged.String(), func(r rune) bool { return r != '\n' && unicode.IsControl(r) }) {
		t.Errorf("the log holds a control character: %q", logged.String())
	}
	lines := slices.Collect(strings.Lines(logged.String()))
	if len(lines) != len(tests) {
		t.Fatalf("%d requests left %d lines:\n%s", len(tests), len(lines), logged.String())
	}
	for i, test := range tests {
		var line struct{ Path string }
		if decode(t, []byte(lines[i]), &line); line.Path != test.want {
			t.Errorf("the log has the path\n%q, want\n%q", line.Path, test.want)
		}
	}
}

func TestAnErrorDoesNotRepeatASecret(t *testing.T) {
	s := servertest.Start(t)
	token := s.Token()
	for _, path := range []string{"/partners/perks/", "/partners/perks/users/", "/get-property/"} {
		response, body := s.Get(token, s.URL+path+token)
		if response.StatusCode != http.StatusNotFound || strings.Contains(string(body), token) {
			t.Errorf("%d %s", response.StatusCode, body)
		}
	}
}

func TestTheLogSaysWhyATokenWasRefused(t *testing.T) {
	var logged bytes.Buffer
	s := servertest.Start(t, servertest.LogTo(&logged))
	good := s.Token()
	for _, token := range []string{"nonsense", forgeryOf(t, good).withHeader("alg", "none").unsigned()} {
		s.Status(token, "GET", s.LiveURL()+"/perks", "")
	}
	s.Stop()
	for _, want := range []string{"invalid number of segments", "signing method none is invalid"} {
		if !strings.Contains(logged.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, logged.String())
		}
	}
}

func TestTheLogLimitsTheLinesOfAnOutage(t *testing.T) {
	db := offline{broken{ready: errors.New("the database is down")}}
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s, err := server.New(t.Context(), server.Config{Live: db, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		ask := func() { s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/readyz", nil)) }
		for range 100 {
			ask()
		}
		if explained := strings.Count(log.String(), `msg="request failed"`); explained != 5 {
			t.Errorf("%d of 100 failures are explained, want 5", explained)
		}
		if lines := strings.Count(log.String(), "msg=request "); lines != 100 {
			t.Errorf("100 requests have %d lines", lines)
		}
		time.Sleep(2 * time.Second) // of the test's own clock
		ask()
		if explained := strings.Count(log.String(), `msg="request failed"`); explained != 6 ||
			!strings.Contains(log.String(), "others_like_it=95") {
			t.Errorf("after 2 s %d failures are explained, and the others not counted", explained)
		}
	})
}

// offline is a store that needs no database to start a server.
type offline struct{ broken }

func (offline) Stats() store.Stats { return store.Stats{} }

func (offline) EnsureSigningKey(context.Context, store.SigningKey) error { return nil }
