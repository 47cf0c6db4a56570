package server_test

import (
	"cmp"
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"testing"

	"example.com/perks/server"
	"example.com/perks/server/servertest"
)

func TestHSTSIsSentOverTLS(t *testing.T) {
	const promise = "max-age=31536000"
	for name, test := range map[string]struct {
		behindProxy, tls bool
		forwarded, host  string
		want             string
	}{
		"over TLS":                               {tls: true, want: promise},
		"over TLS with an invalid host":          {tls: true, host: "a, b", want: promise},
		"plain HTTP":                             {},
		"plain HTTP, whatever the client claims": {forwarded: "https"},
		"over TLS to a proxy":                    {behindProxy: true, forwarded: "https", want: promise},
		"plain HTTP to a proxy":                  {behindProxy: true, forwarded: "http"},
		"a proxy that does not set the header":   {behindProxy: true},
	} {
		service, err := server.New(t.Context(),
			server.Config{Live: servertest.OpenStore(t), BehindProxy: test.behindProxy})
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/v2/health", "/nothing", "/v2/partners/perks", "/v2//health"} {
			request := httptest.NewRequest(http.MethodGet, path, nil)
			if request.TLS = nil; test.tls {
				request.TLS = &tls.ConnectionState{}
			}
			request.Host = cmp.Or(test.host, "perks.example")
			if test.forwarded != "" {
				request.Header.Set("X-Forwarded-Proto", test.forwarded)
			}
			answer := httptest.NewRecorder()
			service.ServeHTTP(answer, request)
			if got := answer.Header().Get("Strict-Transport-Security"); got != test.want {
				t.Errorf("%s, %s (status %d): %q, want %q", name, path, answer.Code, got, test.want)
			}
		}
	}
}
