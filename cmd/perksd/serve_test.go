package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/cmd/dev/programs"
	"example.com/perks/server"
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
	o.must("client", "update", "acme", "--actors")
	sandbox := servertest.DatabaseAddress(t)
	o.must("import", "perks", "--database", sandbox, o.file("perks.csv", importable["perks"]))
	o.env["PERKSD_TOKEN_TTL"] = "5m"
	o.env["PERKSD_CREATE_USERS"] = "true"
	s, stop := o.serve("--sandbox-database", sandbox, "--hourly", "--rate-limit", "1/s", "--log-format", "json",
		"--four-eyes")
	token := programs.TokenOf(t, http.DefaultClient, s.url, "acme", secret)
	again := programs.TokenOf(t, http.DefaultClient, s.url, "acme", secret)
	if sameHour := token.ExpiresAt.Equal(again.ExpiresAt); sameHour && token.AccessToken != again.AccessToken {
		t.Error("--hourly: two tokens of one hour differ")
	}
	if token.ExpiresIn > int((65 * time.Minute).Seconds()) {
		t.Errorf("PERKSD_TOKEN_TTL=5m: the token is valid for %d s", token.ExpiresIn)
	}
	response, body, err := programs.Send(http.DefaultClient, http.MethodGet, s.url+"/v2/sandbox/partners/perks/tea",
		token.AccessToken, "", map[string]string{api.HeaderActor: "ann"})
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("--sandbox-database: %s, %v", body, err)
	}
	if header := response.Header; header.Get(api.HeaderFourEyes) != "on" || header.Get(api.HeaderActor) != "ann" {
		t.Errorf("--four-eyes, client update --actors: %v", header)
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

func TestServeNeedsAFreeAddress(t *testing.T) {
	s, _ := newOperator(t).serve()
	taken := strings.TrimPrefix(s.url, "http://")
	newOperator(t).refuses(exitFailure, fmt.Sprintf("--addr: %s is already in use, perhaps by another perksd: stop "+
		"that, or choose another address", taken), "serve", "--addr", taken)
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

func TestTheRateOfTheAuditLogReachesTheServer(t *testing.T) {
	for _, test := range []struct {
		flags []string
		last  int
	}{
		{[]string{"--audit-rate", "100B/s"}, http.StatusTooManyRequests},
		{[]string{"--audit-rate", "0"}, http.StatusCreated},
		{nil, http.StatusCreated},
	} {
		o := newOperator(t)
		secret := o.newClient("acme")
		o.must("import", "perks", o.file("perks.csv", "id,title,description,city\na,A,A,A\nb,B,B,B\n"))
		o.must("import", "users", o.file("users.csv", "id\nann\n"))
		s, stop := o.serve(test.flags...)
		token := programs.TokenOf(t, http.DefaultClient, s.url, "acme", secret).AccessToken
		last := 0
		for _, perk := range []string{"a", "b"} {
			body := fmt.Sprintf(`{"user_id":"ann","metadata":{"note":%q}}`, strings.Repeat("x", 10_000))
			response, _, err := programs.Send(http.DefaultClient, http.MethodPost,
				s.url+"/v2/partners/perks/"+perk+"/redeem", token, body, nil)
			if err != nil {
				t.Fatal(err)
			}
			last = response.StatusCode
		}
		if last != test.last {
			t.Errorf("%q: the status is %d, want %d", test.flags, last, test.last)
		}
		stop()
	}
}

func TestLimitFlagsReachTheServer(t *testing.T) {
	o := newOperator(t)
	secret := o.newClient("acme")
	s, stop := o.serve("--rate-limit", "0.01/s", "--rate-burst", "3", "--max-connections", "1", "--behind-proxy",
		"--trusted-proxies", "192.0.2.0/24")
	client := &http.Client{Transport: &http.Transport{}}
	token := programs.TokenOf(t, client, s.url, "acme", secret).AccessToken
	var statuses []int
	for range 4 {
		response, _, err := programs.Send(client, http.MethodGet, s.url+"/v2/partners/perks", token, "",
			map[string]string{"X-Forwarded-For": "203.0.113.9"})
		if err != nil {
			t.Fatal(err)
		}
		statuses = append(statuses, response.StatusCode)
	}
	if statuses[2] != http.StatusOK || statuses[3] != http.StatusTooManyRequests {
		t.Errorf("--rate-burst 3: the statuses are %v", statuses)
	}
	// The connection above is idle: with a limit of one, the next closes it.
	other, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := other.SetDeadline(time.Now().Add(commandTime)); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Write([]byte("GET /livez HTTP/1.0\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if n, err := other.Read(make([]byte, 10)); n == 0 {
		t.Errorf("the other connection got no response: %v", err)
	}
	if _, log := stop(); strings.Contains(log, "203.0.113.9") {
		t.Errorf("a header of an unknown proxy was trusted:\n%s", log)
	}
}

func TestNetworks(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "",
		"10.0.0.5":                 "10.0.0.5/32",
		"10.0.0.5, 10.1.2.3/16,":   "10.0.0.5/32,10.1.0.0/16",
		"2001:db8::1,fd00::/8":     "2001:db8::1/128,fd00::/8",
		"0.0.0.0/0,::ffff:1.2.3.4": "0.0.0.0/0,::ffff:1.2.3.4/128",
	} {
		list, err := parseNetworks(text)
		if got := strings.ReplaceAll(strings.Trim(fmt.Sprint(list), "[]"), " ", ","); err != nil || got != want {
			t.Errorf("%q is %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"proxy.example", "10.0.0", "10.0.0.0/33", "10.0.0.1-10.0.0.9"} {
		if _, err := parseNetworks(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

const notWithoutTLS = ", because anyone on the network could read tokens and secrets: " +
	"use --tls-cert and --tls-key, or --behind-proxy if a proxy in front terminates TLS"

func TestServeListensWithoutTLSOnLoopback(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "127.1.2.3:0", "localhost:0", "[::ffff:127.0.0.1]:0"} {
		l, err := listenAt(serveOptions{address: address})
		if err != nil {
			t.Errorf("listening on %s: %v", address, err)
			continue
		}
		if ip := l.Addr().(*net.TCPAddr).IP; !ip.IsLoopback() {
			t.Errorf("for %s it listens on %s", address, ip)
		}
		l.Close()
	}
}

func listenAt(o serveOptions) (net.Listener, error) {
	l, _, err := o.listen(time.Now)
	return l, err
}

// The address counts to which a name resolves, not the name.
func TestServeListensWithoutTLSOnlyOnNamesOfLoopback(t *testing.T) {
	inside, outside := net.IPv4(127, 0, 0, 1), net.IPv4(192, 0, 2, 7)
	lookUpAs(t, outside)
	newOperator(t).refuses(exitUsage, "perksd does not serve plain HTTP on localhost.perks.example:0"+notWithoutTLS,
		"serve", "--addr", "localhost.perks.example:0")
	lookUpAs(t, inside)
	l, err := listenAt(serveOptions{address: "perks.example:0"})
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}

// lookUpAs makes every name resolve to an address, until the test ends.
func lookUpAs(t *testing.T, address net.IP) {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		packet := make([]byte, 1<<10)
		for {
			n, from, err := server.ReadFrom(packet)
			if err != nil {
				return
			}
			_, _ = server.WriteTo(answerWith(packet[:n], address.To4()), from)
		}
	}()
	before := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
	t.Cleanup(func() {
		net.DefaultResolver = before
		server.Close()
	})
}

// answerWith answers a question for an IPv4 address as RFC 1035, section 4 has it, and knows no others.
func answerWith(question []byte, ip net.IP) []byte {
	const header = 12
	name := bytes.IndexByte(question[header:], 0) + header + 1
	answer := append([]byte{}, question[:name+4]...) // the name, its type and class
	answer[2] |= 0x80                                // it is a response
	answer[7], answer[9], answer[11] = 0, 0, 0       // with no records
	if question[name+1] == 1 {
		answer[7] = 1
		answer = append(answer, 0xc0, header, 0, 1, 0, 1, 0, 0, 0, 0, 0, byte(len(ip)))
		answer = append(answer, ip...)
	}
	return answer
}

func TestBehindAProxyItListensAnywhere(t *testing.T) {
	l, err := listenAt(serveOptions{address: ":0", Config: server.Config{BehindProxy: true}})
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}
