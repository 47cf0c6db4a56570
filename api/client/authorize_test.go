package client

import (
	"net/http"
	"net/url"
	"testing"
)

type tripperFunc func(*http.Request) (*http.Response, error)

func (f tripperFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func TestTokenIsSentOnlyToItsServer(t *testing.T) {
	origin, _ := url.Parse("https://perks.example/v2")
	for address, want := range map[string]string{
		"https://perks.example/v2/x":      "Bearer t",
		"https://PERKS.example:443/other": "Bearer t",
		"http://perks.example/v2/x":       "",
		"https://perks.example:8443/v2/x": "",
		"https://evil.example/v2/x":       "",
		"https://perks.example.evil/v2/x": "",
	} {
		sent := "not sent"
		tripper := &authorize{tokens: StaticToken("t"), origin: origin,
			next: tripperFunc(func(req *http.Request) (*http.Response, error) {
				sent = req.Header.Get("Authorization")
				return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
			})}
		req, err := http.NewRequest(http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tripper.RoundTrip(req); err != nil || sent != want {
			t.Errorf("%s got %q, %v; want %q", address, sent, err, want)
		}
		if req.Header.Get("Authorization") != "" {
			t.Errorf("the caller's request was changed")
		}
	}
}
