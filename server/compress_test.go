package server_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
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
	for what, response := range map[string]*http.Response{"plain": plain, "packed": packed} {
		if vary := strings.Join(response.Header.Values("Vary"), ", "); vary != "Origin, Accept-Encoding" {
			t.Errorf("%s: Vary is %s", what, vary)
		}
	}
	for _, length := range []struct {
		of   *http.Response
		body []byte
	}{{plain, text}, {packed, sent}} {
		if length.of.Header.Get("Content-Length") != strconv.Itoa(len(length.body)) {
			t.Errorf("Content-Length is %q of %d", length.of.Header.Get("Content-Length"), len(length.body))
		}
	}
	head, none := list("HEAD", "Accept-Encoding", "gzip")
	if len(none) != 0 || head.Header.Get("ETag") != packed.Header.Get("ETag") ||
		head.Header.Get("Content-Length") != strconv.Itoa(len(sent)) {
		t.Errorf("HEAD has %v", head.Header)
	}
	for _, known := range []struct{ listed, accepted, tag string }{
		{tag, "", tag}, {packed.Header.Get("ETag"), "gzip", packed.Header.Get("ETag")}, {tag, "gzip", tag},
		{packed.Header.Get("ETag"), "", packed.Header.Get("ETag")},
		{"W/" + tag, "", tag}, {"*", "gzip", packed.Header.Get("ETag")},
		{strings.TrimSuffix(tag, `"`) + `-br"`, "", tag},
	} {
		response, body := list("GET", "If-None-Match", known.listed, "Accept-Encoding", known.accepted)
		if response.StatusCode != http.StatusNotModified || len(body) != 0 ||
			response.Header.Get("ETag") != known.tag || response.Header.Values("Vary")[1] != "Accept-Encoding" {
			t.Errorf("If-None-Match %s with %q: %d with %v", known.listed, known.accepted, response.StatusCode,
				response.Header)
		}
	}
	for _, other := range []string{strings.TrimSuffix(tag, `"`) + `-x"`, tag[:5], strings.ToUpper(tag), `"-gzip"`} {
		if response, _ := list("GET", "If-None-Match", other); response.StatusCode != http.StatusOK {
			t.Errorf("If-None-Match %s: %d", other, response.StatusCode)
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

// TestAVersionSurvivesAProxyThatCompresses updates a listing through a proxy, guarded by the ETag that the proxy made.
func TestAVersionSurvivesAProxyThatCompresses(t *testing.T) {
	for name, change := range map[string]func(string) string{
		"weak, as nginx makes it":        func(tag string) string { return "W/" + tag },
		"with a suffix, as Apache httpd": func(tag string) string { return strings.TrimSuffix(tag, `"`) + `-gzip"` },
		"with another, as mod_brotli":    func(tag string) string { return strings.TrimSuffix(tag, `"`) + `-br"` },
		"with Jetty's":                   func(tag string) string { return strings.TrimSuffix(tag, `"`) + `--gzip"` },
		"of the server's own form":       nil,
	} {
		t.Run(name, func(t *testing.T) {
			s := servertest.Start(t)
			id, token := s.Caller()
			s.ImportProperties(id, api.Property{ID: 1, Title: "Old",
				Description: strings.Repeat("A quiet flat. ", 200)})
			proxy := httptest.NewServer(compressingProxy(t, s.Root(), change))
			defer proxy.Close()
			request := func(method, path, body string) *http.Request {
				return s.Request(token, method, proxy.URL+path,
					body)
			}

			read, sent := raw(t, request("GET", "/v2/get-property/1", ""), "Accept-Encoding", "gzip")
			tag := read.Header.Get("ETag")
			if read.Header.Get("Content-Encoding") != "gzip" ||
				!bytes.Contains(unpack(t, sent), []byte("A quiet flat.")) || len(sent) > 1000 {
				t.Fatalf("%d bytes with %v", len(sent), read.Header)
			}
			if again, _ := raw(t, request("GET", "/v2/get-property/1", ""), "Accept-Encoding", "gzip", "If-None-Match",
				tag); again.StatusCode != http.StatusNotModified {
				t.Errorf("If-None-Match %s: %d", tag, again.StatusCode)
			}
			for _, want := range []int{http.StatusOK, http.StatusPreconditionFailed} { // the second time the tag is old
				patched, body := raw(t, request("PATCH", "/v2/update-property/1", `{"title":"New"}`), "If-Match", tag,
					"Content-Type", "application/json")
				if patched.StatusCode != want {
					t.Errorf("If-Match %s: %d, want %d: %s", tag, patched.StatusCode, want, body)
				}
			}
		})
	}
}

// compressingProxy hides from the server what the caller accepts, and compresses itself. With a nil change it leaves
// both to the server.
func compressingProxy(t *testing.T, target string, change func(tag string) string) http.Handler {
	address, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(address) },
		Transport: &http.Transport{DisableCompression: true}}
	if change == nil {
		return proxy
	}
	proxy.Rewrite = func(r *httputil.ProxyRequest) {
		r.SetURL(address)
		r.Out.Header.Del("Accept-Encoding")
	}
	proxy.ModifyResponse = func(r *http.Response) error {
		if r.StatusCode != http.StatusOK || r.Request.Method != http.MethodGet {
			return nil
		}
		var packed bytes.Buffer
		writer := gzip.NewWriter(&packed)
		if _, err := io.Copy(writer, r.Body); err != nil {
			return err
		}
		if err := writer.Close(); err != nil {
			return err
		}
		r.Body = io.NopCloser(&packed)
		r.ContentLength = int64(packed.Len())
		r.Header.Set("Content-Length", strconv.Itoa(packed.Len()))
		r.Header.Set("Content-Encoding", "gzip")
		r.Header.Set("ETag", change(r.Header.Get("ETag")))
		return nil
	}
	return proxy
}
