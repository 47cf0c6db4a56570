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

func TestBasicPairsReadsBothWaysOfWritingCredentials(t *testing.T) {
	rows := []struct {
		name, header string
		want         []Pair
	}{
		{"nothing", "", nil},
		{"another scheme", "Bearer " + basic("id:secret")[6:], nil},
		{"not base64", "Basic !!!", nil},
		{"base64 up to there", basic("id:secret:::") + "!", nil},
		{"no colon", basic("id"), nil},
		{"no id", basic(":secret"), nil},
		{"plain", basic("id:secret"), []Pair{{"id", "secret"}}},
		{"in another case", "bAsIc " + basic("id:secret")[6:], []Pair{{"id", "secret"}}},
		{"colon in the secret", basic("id:a:b"), []Pair{{"id", "a:b"}}},
		{"empty secret", basic("id:"), []Pair{{"id", ""}}},
		{"encoded", basic("my%3Aid:a%2Bb+c"), []Pair{{"my%3Aid", "a%2Bb+c"}, {"my:id", "a+b c"}}},
		{"a percent sign that encodes nothing", basic("id:100%"), []Pair{{"id", "100%"}}},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			if diff := cmp.Diff(r.want, BasicPairs(r.header)); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
		})
	}
}

// FuzzBasicPairs proves that whatever id and secret are, sent raw or encoded, they are among the readings.
func FuzzBasicPairs(f *testing.F) {
	f.Add("id", "s+e%c:r=t")
	f.Add("i d", "%2B")
	f.Fuzz(func(t *testing.T, id, secret string) {
		if id == "" {
			return
		}
		pair := Pair{id, secret}
		encoded := basic(url.QueryEscape(id) + ":" + url.QueryEscape(secret))
		if !slices.Contains(BasicPairs(encoded), pair) {
			t.Errorf("%q, encoded, is read as %q", pair, BasicPairs(encoded))
		}
		request := http.Request{Header: http.Header{}}
		request.SetBasicAuth(id, secret)
		rawID, _, _ := request.BasicAuth()
		if rawID == id && !slices.Contains(BasicPairs(request.Header.Get("Authorization")), pair) {
			t.Errorf("%q, raw, is read as %q", pair, BasicPairs(request.Header.Get("Authorization")))
		}
	})
}
