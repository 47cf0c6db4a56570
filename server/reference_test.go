package server_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"example.com/perks/server/servertest"
)

var link = regexp.MustCompile(`(?:href|src)="([^"]+)"`)

// referenceLinks returns what the page loads and links to, relative to /docs/.
func referenceLinks(t *testing.T, s *servertest.Server) []string {
	t.Helper()
	_, page := get200(t, s, "GET", s.Root()+"/docs/")
	var found []string
	for _, match := range link.FindAllSubmatch(page, -1) {
		found = append(found, string(match[1]))
	}
	if len(found) < 5 {
		t.Fatalf("the page links to %q only", found)
	}
	return found
}

// referenceNamed returns the address of the file with the prefix and suffix.
func referenceNamed(t *testing.T, s *servertest.Server, prefix, suffix string) string {
	t.Helper()
	all := referenceLinks(t, s)
	for _, name := range all {
		if strings.HasPrefix(name, prefix) && strings.HasSuffix(name, suffix) {
			return s.Root() + "/docs/" + name
		}
	}
	t.Fatalf("the page does not load %s*%s, but %q", prefix, suffix, all)
	return ""
}

func TestThePageHasAContentSecurityPolicy(t *testing.T) {
	s := servertest.Start(t)
	for _, address := range []string{s.Root() + "/docs/", referenceNamed(t, s, "page.", ".js")} {
		response, _ := get200(t, s, "GET", address)
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; " +
				"img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := response.Header.Get(name); got != want {
				t.Errorf("%s has %s %q, want %q", address, name, got, want)
			}
		}
	}
	response, page := get200(t, s, "GET", s.Root()+"/docs/")
	if response.Header.Get("Cache-Control") != "no-store" ||
		response.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("the page has %v", response.Header)
	}
	if bytes.Contains(page, []byte("<style")) || regexp.MustCompile(`<script[^>]*>[^<]`).Match(page) ||
		bytes.Contains(page, []byte(" on")) {
		t.Errorf("the page has inline script or style:\n%s", page)
	}
	for _, part := range []string{`<html lang="en">`, "<title>", `name="viewport"`, "<noscript>", "../v2/openapi.json",
		"../v2/openapi.yaml"} {
		if !bytes.Contains(page, []byte(part)) {
			t.Errorf("the page has no %s", part)
		}
	}
}

func TestEveryLinkOfThePageExists(t *testing.T) {
	s := servertest.Start(t)
	for _, name := range referenceLinks(t, s) {
		if strings.Contains(name, ":") || strings.HasPrefix(name, "/") {
			t.Errorf("the link %q is not relative", name)
		}
		target, err := url.JoinPath(s.Root(), "docs", name)
		if err != nil {
			t.Fatal(err)
		}
		get200(t, s, "GET", target)
	}
}

func get200(
	t *testing.T, s *servertest.Server, method, address string, header ...string,
) (*http.Response, []byte) {
	t.Helper()
	response, body := raw(t, s.Request("", method, address, ""), header...)
	if response.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: status %d: %s", method, address, response.StatusCode, body)
	}
	return response, body
}

func TestAFileIsSentInAnAcceptedEncoding(t *testing.T) {
	s := servertest.Start(t)
	bundle := referenceNamed(t, s, "swagger-ui-bundle.", ".js")
	_, plain := get200(t, s, "GET", bundle)
	if !bytes.Contains(plain, []byte("SwaggerUIBundle")) {
		t.Fatal("the bundle is not Swagger UI")
	}
	for accepted, want := range map[string]string{
		"gzip": "gzip", "GZIP": "gzip", "gzip, deflate, br": "gzip", "br;q=1.0, gzip;q=0.8, *;q=0.1": "gzip",
		"*": "gzip", "*;q=0, gzip": "gzip", "x-gzip": "gzip", "gzip;q=0.5, identity;q=0.5": "gzip",
		"identity, *;q=0":            "",
		"gzip;q=0.5, identity;q=0.9": "", "identity;q=0, gzip;q=0.1": "gzip", "*;q=0.5, identity": "",
		"": "", "identity": "", "br": "", "gzip;q=0": "", "gzip; q=0.000": "", "*;q=0": "", "gzip;q=0, *": "",
		"gzip;q=x": "",
	} {
		response, body := get200(t, s, "GET", bundle, "Accept-Encoding", accepted)
		if got := response.Header.Get("Content-Encoding"); got != want {
			t.Errorf("%q is answered with the coding %q, want %q", accepted, got, want)
		}
		if got := response.Header.Get("Vary"); got != "Accept-Encoding" {
			t.Errorf("%q: Vary is %q", accepted, got)
		}
		if response.ContentLength != int64(len(body)) {
			t.Errorf("%q: Content-Length is %d and the length %d", accepted, response.ContentLength, len(body))
		}
		if want == "gzip" {
			body = unpack(t, body)
		}
		if !bytes.Equal(body, plain) {
			t.Errorf("%q gets different content", accepted)
		}
		head, none := get200(t, s, "HEAD", bundle, "Accept-Encoding", accepted)
		if len(none) != 0 || head.ContentLength != response.ContentLength ||
			head.Header.Get("Content-Encoding") != want || head.Header.Get("ETag") != response.Header.Get("ETag") {
			t.Errorf("%q: HEAD is not GET without the body: %v", accepted, head.Header)
		}
	}
}

func unpack(t *testing.T, packed []byte) []byte {
	t.Helper()
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestFilesAreCached(t *testing.T) {
	s := servertest.Start(t)
	for _, part := range [][2]string{{"swagger-ui-bundle.", ".js"}, {"swagger-ui.", ".css"}, {"page.", ".js"},
		{"page.", ".css"}, {"icon.", ".png"}} {
		address := referenceNamed(t, s, part[0], part[1])
		plain, _ := get200(t, s, "GET", address)
		if got := plain.Header.Get("Cache-Control"); got != "public, max-age=31536000, immutable" {
			t.Errorf("%s: Cache-Control %q", address, got)
		}
		packed, _ := get200(t, s, "GET", address, "Accept-Encoding", "gzip")
		if packed.Header.Get("Content-Encoding") == "gzip" && packed.Header.Get("ETag") == plain.Header.Get("ETag") {
			t.Errorf("%s: both forms have the ETag %s", address, packed.Header.Get("ETag"))
		}
		tag := packed.Header.Get("ETag")
		known, body := raw(t, s.Request("", "GET", address, ""), "Accept-Encoding", "gzip", "If-None-Match", tag)
		if known.StatusCode != http.StatusNotModified || len(body) != 0 || known.Header.Get("ETag") != tag {
			t.Errorf("%s, If-None-Match %s: status %d with %d bytes", address, tag, known.StatusCode, len(body))
		}
		get200(t, s, "GET", address, "If-None-Match", `"other"`)
	}
}

func TestNothingElseIsServedUnderDocs(t *testing.T) {
	s := servertest.Start(t)
	for _, path := range []string{
		"/docs/none.js", "/docs/page.js", "/docs/page.html", "/docs/swagger-ui-bundle.js", "/docs/page/page.js",
		"/docs/..", "/docs/../docs.go", "/docs/%2e%2e%2fdocs.go", "/docs/..%2freference.go",
		"/docs/%2e%2e/%2e%2e/etc/passwd", "/docs/%00", "/docs//etc/passwd",
	} {
		response, body := s.Get("", s.Root()+path)
		if response.StatusCode != http.StatusNotFound || !bytes.Contains(body, []byte(`"not_found"`)) {
			t.Errorf("%s: status %d: %.200s", path, response.StatusCode, body)
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE"} {
		if got := s.Status("", method, s.Root()+"/docs/", ""); got != http.StatusMethodNotAllowed {
			t.Errorf("%s /docs/: status %d", method, got)
		}
	}
}
