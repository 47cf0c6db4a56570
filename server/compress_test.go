package server_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"example.com/perks/api"
	"example.com/perks/server"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

// raw sends a request without net/http's own compression, redirects and checks, and returns the bytes on the wire.
func raw(t *testing.T, request *http.Request, header ...string) (*http.Response, []byte) {
	t.Helper()
	for i := 0; i < len(header); i += 2 {
		request.Header.Add(header[i], header[i+1])
	}
	response, err := (&http.Transport{DisableCompression: true, DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, body
}

func TestALongTextIsCompressed(t *testing.T) {
	s := servertest.Start(t, func(c *server.Config) { c.CORSOrigins = []string{"https://app.example"} })
	var perks []store.PerkRecord
	for i := range 50 {
		perks = append(perks, store.PerkRecord{Perk: api.Perk{ID: fmt.Sprint("perk-", i),
			Title: fmt.Sprint("Two coffees ", i)}})
	}
	s.ImportPerks(perks...)
	token := s.Token()
	list := func(method string, header ...string) (*http.Response, []byte) {
		return raw(t, s.Request(token, method, s.LiveURL()+"/perks?per_page=50", ""), header...)
	}
	plain, text := list("GET")
	packed, sent := list("GET", "Accept-Encoding", "gzip")
	t.Logf("50 perks are %d bytes, and %d compressed", len(text), len(sent))
	if packed.Header.Get("Content-Encoding") != "gzip" || !bytes.Equal(unpack(t, sent), text) ||
		len(sent) > len(text)/5 {
		t.Errorf("%d bytes are sent as %d, with %v", len(text), len(sent), packed.Header)
	}
	tag := plain.Header.Get("ETag")
	if want := strings.TrimSuffix(tag, `"`) + `-gzip"`; packed.Header.Get("ETag") != want ||
		plain.Header.Get("Content-Encoding") != "" {
		t.Errorf("the forms have the tags %s and %s", tag, packed.Header.Get("ETag"))
	}
	for response, length := range map[*http.Response]int{plain: len(text), packed: len(sent)} {
		if response.ContentLength != int64(length) ||
			!slices.Equal(response.Header.Values("Vary"), []string{"Origin", "Accept-Encoding"}) {
			t.Errorf("%d bytes have %v", length, response.Header)
		}
	}
	head, none := list("HEAD", "Accept-Encoding", "gzip")
	if len(none) != 0 || head.ContentLength != int64(len(sent)) ||
		head.Header.Get("ETag") != packed.Header.Get("ETag") {
		t.Errorf("HEAD has %v", head.Header)
	}
	for _, known := range []struct{ listed, accepted, tag string }{
		{tag, "", tag}, {packed.Header.Get("ETag"), "gzip", packed.Header.Get("ETag")}, {tag, "gzip", tag},
		{packed.Header.Get("ETag"), "", packed.Header.Get("ETag")}, {"*", "gzip", packed.Header.Get("ETag")},
	} {
		response, body := list("GET", "If-None-Match", known.listed, "Accept-Encoding", known.accepted)
		if response.StatusCode != http.StatusNotModified || len(body) != 0 ||
			response.Header.Get("ETag") != known.tag || response.Header.Values("Vary")[1] != "Accept-Encoding" {
			t.Errorf("If-None-Match %s with %q: %d with %v", known.listed, known.accepted, response.StatusCode,
				response.Header)
		}
	}
}

func TestShortAndSecretTextsAreNotCompressed(t *testing.T) {
	s := servertest.Start(t)
	s.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "tea"}})
	id, secret := s.Client()
	token := s.TokenFor(id, secret)
	tokenRequest := s.Request("", "POST", s.URL+"/auth/token", `{"scope":"`+strings.Repeat("x", 2000)+`"}`)
	tokenRequest.SetBasicAuth(id, secret)
	for what, request := range map[string]*http.Request{
		"a perk": s.Request(token, "GET", s.LiveURL()+"/perks/tea", ""),
		"a token request that repeats what the caller sent": tokenRequest,
		"a redemption": redeemRequest(s, token, "tea", `{"user_id":"alice"}`, ""),
		"an error":     s.Request(token, "GET", s.LiveURL()+"/perks/none", ""),
	} {
		response, body := raw(t, request, "Accept-Encoding", "gzip")
		if response.Header.Get("Content-Encoding") != "" || response.Header.Get("Vary") != "" ||
			!bytes.HasPrefix(body, []byte("{")) {
			t.Errorf("%s: %v", what, response.Header)
		}
		if request == tokenRequest && len(body) < 1024 {
			t.Errorf("%s has only %d bytes", what, len(body))
		}
	}
}
