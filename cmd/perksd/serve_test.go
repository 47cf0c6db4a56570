package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/perks/cmd/dev/programs"
	"example.com/perks/server/servertest"
)

// served is a server within the test.
type served struct {
	*programs.Log
	url string
}

// serve runs perksd serve within the test. The returned function stops it, and returns its exit code and log; so does
// the end of the test.
func (o *operator) serve(args ...string) (s *served, stop func() (code int, log string)) {
	o.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	read, write := io.Pipe()
	p := o.program("", io.Discard, write)
	p.now = time.Now
	exited := make(chan int, 1)
	go func() {
		exited <- p.run(ctx, append([]string{"serve", "--addr", "127.0.0.1:0"}, args...))
		write.Close()
	}()
	s = &served{Log: programs.Follow(o.t, read)}
	s.url = s.WaitForURL(o.t)
	stop = sync.OnceValues(func() (int, string) {
		cancel()
		log := s.Rest()
		return <-exited, log
	})
	o.t.Cleanup(func() { stop() })
	return s, stop
}

// newClient makes a client and returns its secret.
func (o *operator) newClient(id string) string {
	o.t.Helper()
	var created clientView
	if err := json.Unmarshal([]byte(o.must("client", "create", "--name", id, "--id", id, "-o", "json")),
		&created); err != nil {
		o.t.Fatal(err)
	}
	return created.Secret
}

func TestServeAnswersUntilItIsStopped(t *testing.T) {
	o := newOperator(t)
	secret := o.newClient("acme")
	o.must("import", "perks", o.file("perks.csv", importable["perks"]))
	s, stop := o.serve()
	token := programs.TokenOf(t, http.DefaultClient, s.url, "acme", secret)
	if status := programs.StatusOf(t, s.url+"/v2/partners/perks/tea", token.AccessToken); status != http.StatusOK {
		t.Errorf("reading a perk: status %d", status)
	}
	if status := programs.StatusOf(t, s.url+"/v2/sandbox/partners/perks",
		token.AccessToken); status != http.StatusNotFound {
		t.Errorf("the missing sandbox: status %d", status)
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
		t.Error("the port is still open")
	}
}

func TestServeFlagsReachTheServer(t *testing.T) {
	o := newOperator(t)
	secret := o.newClient("acme")
	sandbox := servertest.DatabaseAddress(t)
	o.must("import", "perks", "--database", sandbox, o.file("perks.csv", importable["perks"]))
	o.env["PERKSD_TOKEN_TTL"] = "5m"
	o.env["PERKSD_CREATE_USERS"] = "true"
	s, stop := o.serve("--sandbox-database", sandbox, "--hourly", "--rate-limit", "1/s", "--log-format", "json")
	token := programs.TokenOf(t, http.DefaultClient, s.url, "acme", secret)
	again := programs.TokenOf(t, http.DefaultClient, s.url, "acme", secret)
	if sameHour := token.ExpiresAt.Equal(again.ExpiresAt); sameHour && token.AccessToken != again.AccessToken {
		t.Error("--hourly: two tokens of one hour differ")
	}
	if token.ExpiresIn > int((65 * time.Minute).Seconds()) {
		t.Errorf("PERKSD_TOKEN_TTL=5m: the token is valid for %d s", token.ExpiresIn)
	}
	if status := programs.StatusOf(t, s.url+"/v2/sandbox/partners/perks/tea",
		token.AccessToken); status != http.StatusOK {
		t.Errorf("--sandbox-database: status %d", status)
	}
	if status := programs.StatusOf(t, s.url+"/v2/partners/perks/users/nobody",
		token.AccessToken); status != http.StatusOK {
		t.Errorf("PERKSD_CREATE_USERS=true: status %d for an unknown user", status)
	}
	limited := false
	for range 100 {
		limited = limited || programs.StatusOf(t, s.url+"/v2/partners/perks",
			token.AccessToken) == http.StatusTooManyRequests
	}
	if !limited {
		t.Error("--rate-limit: 100 requests at once are accepted")
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
	o.refuses(exitUsage, "--token-ttl must be between 1s and 24h0m0s, not 25h0m0s", "serve", "--addr", "127.0.0.1:0",
		"--token-ttl", "25h")
	o.refuses(exitUsage, `--rate-limit "fast": it must be a number of requests a second, such as 50/s (see 'perksd `+
		`serve --help')`,
		"serve", "--rate-limit", "fast")
	for text, problem := range map[string]string{
		"1MB/s":  "it must be a size a second, such as 512KiB/s or 1MiB/s, or 0",
		"5":      "it must be a size a second, such as 512KiB/s or 1MiB/s, or 0",
		"0.5B/s": "it must be from 1B/s to 1024GiB/s, or 0", "1025GiB/s": "it must be from 1B/s to 1024GiB/s, or 0",
	} {
		o.refuses(exitUsage, fmt.Sprintf("--audit-rate %q: %s (see 'perksd serve --help')", text, problem),
			"serve", "--audit-rate", text)
	}
	s, _ := newOperator(t).serve()
	taken := strings.TrimPrefix(s.url, "http://")
	o.refuses(exitFailure, fmt.Sprintf("--addr: %s is already in use, perhaps by another perksd: stop that, or choose "+
		"another address", taken),
		"serve", "--addr", taken)
	o.refuses(exitFailure, "--addr: this computer does not have the address 192.0.2.77", "serve", "--addr",
		"192.0.2.77:0", "--behind-proxy")
}

func TestRate(t *testing.T) {
	for text, want := range map[string]float64{"50/s": 50, "0.5": 0.5, "0": 0, "0/s": 0, "1e3/s": 1000} {
		if rate, err := parseRate(text); err != nil || rate != want {
			t.Errorf("%q is %g, %v", text, rate, err)
		}
	}
	for _, text := range []string{"", "-1", "x/s", "1/m", "NaN", "Inf", "/s"} {
		if rate, err := parseRate(text); err == nil {
			t.Errorf("%q is accepted as %g", text, rate)
		}
	}
}

func TestLogLevel(t *testing.T) {
	for level, want := range map[string]int{"info": 1, "warn": 0, "error": 0} {
		s, stop := newOperator(t).serve("--log-format", "json", "--log-level", level)
		programs.StatusOf(t, s.url+"/livez", "")
		_, log := stop()
		if got := strings.Count(log, `"msg":"request"`); got != want {
			t.Errorf("--log-level %s: %d requests are logged, want %d:\n%s", level, got, want, log)
		}
	}
}
