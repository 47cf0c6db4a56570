package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/perks/api"
	"example.com/perks/cli"
	"example.com/perks/cli/command"
)

// sent is a request as a server sees it.
type sent struct {
	Method, Host, URI, Body string
	Header                  http.Header
}

// keyForm matches an idempotency key: the batch, the row and a checksum of the row.
var keyForm = regexp.MustCompile(`^[0-9a-f-]{36}-2-[0-9a-f]{8}$`)

func read(t *testing.T, r *http.Request) sent {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	if key := r.Header.Get("Idempotency-Key"); keyForm.MatchString(key) {
		r.Header.Set("Idempotency-Key", "of the form")
	}
	return sent{r.Method, r.Host, r.RequestURI, string(body), r.Header}
}

func TestTheLoadGeneratorSendsTheSameAsPerksctl(t *testing.T) {
	var mu sync.Mutex
	var byPerksctl []sent
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Method == http.MethodGet { // what the user has before the first row is sent
			_, _ = io.WriteString(w, `{"data": [], "meta": {"page": 1, "total": 0, "total_pages": 0}}`)
			return
		}
		byPerksctl = append(byPerksctl, read(t, r))
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(api.Redemption{ID: "r-1", PerkID: "hot-07"})
	}))
	defer server.Close()
	s := &service{address: strings.TrimPrefix(server.URL, "http://"), token: "secret"}
	file := filepath.Join(t.TempDir(), "rows.csv")
	if err := writeRedemptions(file, "hot-07", 1, shuffled); err != nil {
		t.Fatal(err)
	}
	environment := map[string]string{"PERKSCTL_API_URL": s.url(""), "PERKSCTL_TOKEN": s.token,
		"PERKSCTL_CONFIG_DIR": t.TempDir()}
	var problems bytes.Buffer
	code := cli.Main([]string{"perk", "redeem", "--file", file},
		&command.Streams{In: strings.NewReader(""), Out: io.Discard, Err: &problems},
		func(name string) string { return environment[name] })
	if code != 0 || len(byPerksctl) != 1 {
		t.Fatalf("perksctl exited with %d after %d requests: %s", code, len(byPerksctl), problems.String())
	}
	request, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(fileRequest(s, "hot-07")(nil, 0))))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(byPerksctl[0], read(t, request)); diff != "" {
		t.Errorf("perksctl and the load generator differ (-perksctl +load generator):\n%s", diff)
	}
}
