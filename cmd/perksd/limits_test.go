package main

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/perks/cmd/dev/programs"
)

func TestServeRefusesInvalidLimits(t *testing.T) {
	o := newOperator(t)
	o.refuses(exitUsage, "--rate-burst needs --rate-limit", "serve", "--rate-burst", "5")
	o.refuses(exitUsage, "--rate-burst must not be negative", "serve", "--rate-limit", "1/s", "--rate-burst", "-1")
	o.refuses(exitUsage, "--max-connections must be at least 1", "serve", "--max-connections", "0")
	o.refuses(exitUsage, "--metrics-open needs --metrics-addr", "serve", "--addr", "127.0.0.1:0", "--metrics-open")
	o.refuses(exitUsage, `--cors-origin: "https://app.example/" is not an origin: write SCHEME://HOST or `+
		`SCHEME://HOST:PORT in lower case, such as https://app.example, or * for all origins`,
		"serve", "--cors-origin", "https://other.example,https://app.example/")
	o.refuses(exitUsage, `--public-url "https://a.example/v2": must be a scheme and a host, such as `+
		`https://api.example, `+
		`not "https://a.example/v2" (see 'perksd serve --help')`,
		"serve", "--public-url", "https://a.example/v2")
	o.refuses(exitUsage, "--trusted-proxies needs --behind-proxy", "serve", "--trusted-proxies", "10.0.0.1")
	o.refuses(exitUsage, `--trusted-proxies "proxy": "proxy" is neither an IP address nor a range of them such as `+
		`10.1.0.0/16 (see 'perksd serve --help')`,
		"serve", "--trusted-proxies", "proxy")
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "nonsense")
	o.refuses(exitUsage, "OTEL_EXPORTER_OTLP_ENDPOINT must be an address such as http://127.0.0.1:4318", "serve",
		"--addr", "127.0.0.1:0")
	o.hasNoDatabase()
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
			request, err := http.NewRequest(http.MethodPost, s.url+"/v2/partners/perks/"+perk+"/redeem",
				strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Authorization", "Bearer "+token)
			request.Header.Set("Content-Type", "application/json")
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
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
		request, err := http.NewRequest(http.MethodGet, s.url+"/v2/partners/perks", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+token)
		request.Header.Set("X-Forwarded-For", "203.0.113.9")
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
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
