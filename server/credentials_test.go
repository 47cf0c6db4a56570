package server

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func basic(credentials string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(credentials))
}

func TestBasicPairsReadsRawAndEncodedCredentials(t *testing.T) {
	rows := []struct {
		name, header string
		want         []Credentials
	}{
		{"nothing", "", nil},
		{"another scheme", "Bearer " + basic("id:secret")[6:], nil},
		{"not base64", "Basic !!!", nil},
		{"base64 with a wrong end", basic("id:secret:::") + "!", nil},
		{"no colon", basic("id"), nil},
		{"no id", basic(":secret"), nil},
		{"plain", basic("id:secret"), []Credentials{{"id", "secret"}}},
		{"in another case", "bAsIc " + basic("id:secret")[6:], []Credentials{{"id", "secret"}}},
		{"colon in the secret", basic("id:a:b"), []Credentials{{"id", "a:b"}}},
		{"empty secret", basic("id:"), []Credentials{{"id", ""}}},
		{"encoded", basic("my%3Aid:a%2Bb+c"), []Credentials{{"my%3Aid", "a%2Bb+c"}, {"my:id", "a+b c"}}},
		{"a percent sign that encodes nothing", basic("id:100%"), []Credentials{{"id", "100%"}}},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			if diff := cmp.Diff(r.want, BasicCredentials(r.header)); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
		})
	}
}

// FuzzBasicPairs checks that any id and secret, sent raw or encoded, are among the readings.
func FuzzBasicPairs(f *testing.F) {
	f.Add("id", "s+e%c:r=t")
	f.Add("i d", "%2B")
	f.Fuzz(func(t *testing.T, id, secret string) {
		if id == "" {
			return
		}
		pair := Credentials{id, secret}
		encoded := basic(url.QueryEscape(id) + ":" + url.QueryEscape(secret))
		if !slices.Contains(BasicCredentials(encoded), pair) {
			t.Errorf("%q, encoded, is read as %q", pair, BasicCredentials(encoded))
		}
		request := http.Request{Header: http.Header{}}
		request.SetBasicAuth(id, secret)
		rawID, _, _ := request.BasicAuth()
		if rawID == id && !slices.Contains(BasicCredentials(request.Header.Get("Authorization")), pair) {
			t.Errorf("%q, raw, is read as %q", pair, BasicCredentials(request.Header.Get("Authorization")))
		}
	})
}
