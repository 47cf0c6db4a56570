package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/perks/api"
)

var listening = regexp.MustCompile(`listening on (https?://[^\s"]+)`)

// serving is a server that a test has started and waited for.
type serving struct {
	url   string
	lines chan string // of its log, from the one that says where it listens; closed when it ends
	log   []string    // the lines that were taken from the channel
}

// follow reads a log until it says where the server listens.
func follow(t *testing.T, log io.Reader) *serving {
	t.Helper()
	s := &serving{lines: make(chan string, 10_000)}
	go func() {
		defer close(s.lines)
		scanner := bufio.NewScanner(log)
		for scanner.Scan() {
			s.lines <- scanner.Text()
		}
	}()
	s.url = listening.FindStringSubmatch(s.waitFor(t, "listening on"))[1]
	return s
}

// waitFor reads the log up to the line that holds the text.
func (s *serving) waitFor(t *testing.T, text string) string {
	t.Helper()
	for line := range s.lines {
		s.log = append(s.log, line)
		if strings.Contains(line, text) {
			return line
		}
	}
	t.Fatalf("the server ended before it said %q; its log is\n%s", text, strings.Join(s.log, "\n"))
	return ""
}

// rest reads the log to its end.
func (s *serving) rest() string {
	for line := range s.lines {
		s.log = append(s.log, line)
	}
	return strings.Join(s.log, "\n")
}

// serve runs perksd serve within the test. The function that it returns has it drain, and returns its exit code and log;
// the end of the test does so too.
func (o *operator) serve(args ...string) (s *serving, stop func() (code int, log string)) {
	o.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	read, write := io.Pipe()
	p := o.program("", io.Discard, write)
	p.now = time.Now
	ended := make(chan int, 1)
	go func() {
		ended <- p.run(ctx, append([]string{"serve", "--addr", "127.0.0.1:0"}, args...))
		write.Close()
	}()
	s = follow(o.t, read)
	stop = sync.OnceValues(func() (int, string) {
		cancel()
		log := s.rest()
		return <-ended, log
	})
	o.t.Cleanup(func() { stop() })
	return s, stop
}

// newClient makes a client and returns its secret.
func (o *operator) newClient(id string) string {
	o.t.Helper()
	var created clientView
	if err := json.Unmarshal([]byte(o.must("client", "create", "--name", id, "--id", id, "-o", "json")), &created); err != nil {
		o.t.Fatal(err)
	}
	return created.Secret
}

func tokenOf(t *testing.T, client *http.Client, url, id, secret string) api.Token {
	t.Helper()
	request, err := http.NewRequest(http.MethodPost, url+"/v2/auth/token", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth(id, secret)
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var token api.Token
	if err := json.NewDecoder(response.Body).Decode(&token); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("getting a token: status %d, %v", response.StatusCode, err)
	}
	return token
}

// statusOf reads an address with a token.
func statusOf(t *testing.T, url, token string) int {
	t.Helper()
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	return response.StatusCode
}

func TestServeAnswersUntilItIsToldToStop(t *testing.T) {
	o := newOperator(t)
	secret := o.newClient("acme")
	o.must("import", "perks", o.file("perks.csv", importable["perks"]))
	s, stop := o.serve()
	token := tokenOf(t, http.DefaultClient, s.url, "acme", secret)
	if status := statusOf(t, s.url+"/v2/partners/perks/tea", token.AccessToken); status != http.StatusOK {
		t.Errorf("reading a perk: status %d", status)
	}
	if status := statusOf(t, s.url+"/v2/sandbox/partners/perks", token.AccessToken); status != http.StatusNotFound {
		t.Errorf("the sandbox, which is not there: status %d", status)
	}
	code, log := stop()
	if code != exitDone {
		t.Errorf("exit code %d", code)
	}
	if strings.Contains(log, secret) || strings.Contains(log, token.AccessToken) {
		t.Errorf("the log holds a secret:\n%s", log)
	}
	if !strings.Contains(log, "path=/v2/partners/perks/tea") {
		t.Errorf("the log lacks a request:\n%s", log)
	}
	if _, err := http.Get(s.url); err == nil {
		t.Error("somebody still listens")
	}
}

func TestTheFlagsOfServeReachTheServer(t *testing.T) {
	o := newOperator(t)
	secret := o.newClient("acme")
	o.must("import", "perks", "--database", "sqlite:"+o.path("sandbox.db"), o.file("perks.csv", importable["perks"]))
	o.env["PERKSD_TOKEN_TTL"] = "5m"
	s, stop := o.serve("--sandbox-database", "sqlite:"+o.path("sandbox.db"), "--hourly", "--rate-limit", "1/s", "--log-format", "json")
	token := tokenOf(t, http.DefaultClient, s.url, "acme", secret)
	again := tokenOf(t, http.DefaultClient, s.url, "acme", secret)
	if sameHour := token.ExpiresAt.Equal(again.ExpiresAt); sameHour && token.AccessToken != again.AccessToken {
		t.Error("--hourly: two tokens of one hour differ")
	}
	if token.ExpiresIn > int((65 * time.Minute).Seconds()) {
		t.Errorf("PERKSD_TOKEN_TTL=5m: the token lives for %d s", token.ExpiresIn)
	}
	if status := statusOf(t, s.url+"/v2/sandbox/partners/perks/tea", token.AccessToken); status != http.StatusOK {
		t.Errorf("--sandbox-database: status %d", status)
	}
	limited := false
	for range 100 {
		limited = limited || statusOf(t, s.url+"/v2/partners/perks", token.AccessToken) == http.StatusTooManyRequests
	}
	if !limited {
		t.Error("--rate-limit: 100 requests at once are let through")
	}
	code, log := stop()
	if code != exitDone {
		t.Errorf("exit code %d", code)
	}
	for line := range strings.Lines(log) {
		if !json.Valid([]byte(line)) {
			t.Errorf("--log-format json: a line is %s", line)
		}
	}
}

func TestServeRefusesToStart(t *testing.T) {
	o := newOperator(t)
	o.must("migrate")
	if err := os.Symlink(o.path("perks.db"), o.path("linked.db")); err != nil {
		t.Fatal(err)
	}
	for _, same := range []string{"perks.db", "./perks.db", "linked.db"} {
		o.refuses(exitUsage, "the sandbox needs a database of its own: --sandbox-database names the same one as --database",
			"serve", "--addr", "127.0.0.1:0", "--sandbox-database", "sqlite:"+o.folder+"/"+same)
	}
	o.refuses(exitFailure, "a token's lifetime must be between 1s and 24h0m0s, not 25h0m0s", "serve", "--addr", "127.0.0.1:0", "--token-ttl", "25h")
	o.refuses(exitUsage, `invalid argument "fast" for "--rate-limit" flag: it must be a number of requests a second, such as 50/s (see 'perksd serve --help')`,
		"serve", "--rate-limit", "fast")
	s, _ := newOperator(t).serve()
	taken := strings.TrimPrefix(s.url, "http://")
	o.refuses(exitFailure, fmt.Sprintf("taking the address: listen tcp %s: bind: address already in use", taken), "serve", "--addr", taken)
}

func TestRate(t *testing.T) {
	for text, want := range map[string]float64{"50/s": 50, "0.5": 0.5, "0": 0, "0/s": 0, "1e3/s": 1000} {
		var r rate
		if err := r.Set(text); err != nil || r.perSecond != want {
			t.Errorf("%q is %g, %v", text, r.perSecond, err)
		}
	}
	for _, text := range []string{"", "-1", "x/s", "1/m", "NaN", "Inf", "/s"} {
		var r rate
		if err := r.Set(text); err == nil {
			t.Errorf("%q is accepted as %g", text, r.perSecond)
		}
	}
}
