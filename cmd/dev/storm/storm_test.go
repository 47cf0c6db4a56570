package main

import (
	"bufio"
	"bytes"
	"net/http"
	"strings"
	"testing"
)

func TestAShortStormFindsNothing(t *testing.T) {
	if err := run(t.Context(), options{requests: 3000, seed: 7, workers: 8, only: -1}); err != nil {
		t.Error(err)
	}
}

// someFixtures returns the records that a generator chooses from.
func someFixtures() fixtures {
	names := map[string]string{"owner": "one.two.three", "other": "four.five.six", "reader": "7.8.9", "sandbox": "a.b.c"}
	return fixtures{perks: []string{"tea", "spa"}, users: []string{"alice", "bob"}, properties: []string{"1", "2"}, redemptions: []string{"r1", "r2"}, secrets: names, tokens: names}
}

func TestRequestsDependOnlyOnSeedAndNumber(t *testing.T) {
	first, second := newGenerator(3, someFixtures()), newGenerator(3, someFixtures())
	other := newGenerator(4, someFixtures())
	same := 0
	for number := range 2000 {
		wire := first.request(number).bytes("perks.example")
		if !bytes.Equal(wire, second.request(number).bytes("perks.example")) {
			t.Fatalf("request %d differs for the same seed", number)
		}
		if bytes.Equal(wire, other.request(number).bytes("perks.example")) {
			same++
		}
	}
	if same > 20 {
		t.Errorf("%d of 2000 requests of another seed are the same", same)
	}
}

func TestWrongResponsesAreReported(t *testing.T) {
	const id = "X-Request-Id: 1\r\n"
	health := `{"status":"ok","version":"dev"}`
	for name, c := range map[string]struct {
		method, target, response, want string
	}{
		"as described":     {"GET", "/v2/health", "200 OK\r\n" + id + "Cache-Control: no-store\r\nContent-Type: application/json\r\n\r\n" + health, ""},
		"a missing member": {"GET", "/v2/health", "200 OK\r\n" + id + "Cache-Control: no-store\r\nContent-Type: application/json\r\n\r\n{}", "against the API description"},
		"a server error":   {"GET", "/v2/health", "500 Oops\r\n" + id + "Content-Type: application/json\r\n\r\n{}", "status 500"},
		"no id":            {"GET", "/v2/health", "200 OK\r\nContent-Type: application/json\r\n\r\n" + health, "without an X-Request-Id"},
		"an unknown route": {"GET", "/v2/nothing", "200 OK\r\n" + id + "Content-Type: application/json\r\n\r\n{}", "must be 404"},
		"Go's own refusal": {"GET", "/v2/health", "400 Bad Request\r\nContent-Type: text/plain\r\n\r\nno", ""},
	} {
		t.Run(name, func(t *testing.T) {
			asked := &request{method: c.method, target: c.target}
			head, body, _ := strings.Cut(c.response, "\r\n\r\n")
			response := parsed(t, head, c.method)
			got := verify(asked, asked.bytes("perks.example"), reply{response, []byte(body)}, "perks.example")
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestBytesAfterARequestNeedNoResponse(t *testing.T) {
	for sent, want := range map[string]bool{
		"GET / HTTP/1.1\r\nHost: a\r\n\r\n":                                 true,
		"GET / HTTP/1.1\r\nHost: a\r\n\r\n[[":                               false,
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n[]":         true,
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n[":          false,
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n[]":         false,
		"GET / HTTP/1.1\r\nX: " + strings.Repeat("a", maxHead) + "\r\n\r\n": false,
	} {
		if got := isRequest([]byte(sent)); got != want {
			t.Errorf("%.80q is one request: %t, want %t", sent, got, want)
		}
	}
}

func parsed(t *testing.T, head, method string) *http.Response {
	t.Helper()
	response, err := http.ReadResponse(bufio.NewReader(strings.NewReader("HTTP/1.1 "+head+"\r\n\r\n")), &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	return response
}

func TestGrowingMemoryIsReported(t *testing.T) {
	flat, heap, outside := make([]usage, 50), make([]usage, 50), make([]usage, 50)
	for i := range flat {
		flat[i] = usage{50<<10 + i*2<<10, 20 << 10} // the caches of SQLite fill
		heap[i] = usage{100 << 10, 20<<10 + i<<10}
		outside[i] = usage{50<<10 + i*4<<10, 20 << 10}
	}
	if what := growth(flat); what != "" {
		t.Error(what)
	}
	for name, memory := range map[string][]usage{"the heap": heap, "all memory": outside} {
		if growth(memory) == "" {
			t.Errorf("growing %s is not reported", name)
		}
	}
}
