package main

import (
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/perks/cmd/dev/programs"
	"example.com/perks/server/servertest"
	"example.com/perks/store/storetest"
)

// shownMetric is one line of what Prometheus reads.
type shownMetric struct {
	name   string
	labels map[string]string
	value  string
}

var (
	sampleLine = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$`)
	labelPair  = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"`)
)

// scrape reads metrics as Prometheus does.
func scrape(t *testing.T, url string) (text string, samples []shownMetric) {
	t.Helper()
	status, mediaType, text := fetch(t, url, "text/plain")
	if status != http.StatusOK || !strings.HasPrefix(mediaType, "text/plain") {
		t.Fatalf("the metrics got %d, %s", status, mediaType)
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "#") {
			continue
		}
		parts := sampleLine.FindStringSubmatch(line)
		if parts == nil {
			t.Fatalf("not a metric: %s", line)
		}
		s := shownMetric{name: parts[1], labels: map[string]string{}, value: parts[3]}
		for _, pair := range labelPair.FindAllStringSubmatch(parts[2], -1) {
			s.labels[pair[1]] = pair[2]
		}
		samples = append(samples, s)
	}
	return text, samples
}

// fetch reads an address without a token.
func fetch(t *testing.T, url, accept string) (status int, mediaType, body string) {
	t.Helper()
	response, text, err := programs.Send(http.DefaultClient, http.MethodGet, url, "", "",
		map[string]string{"Accept": accept})
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header.Get("Content-Type"), string(text)
}

// fixture is a running server with a tea, which alice may redeem, live and in a sandbox.
type fixture struct {
	*programs.Server
	t                 *testing.T
	client            *http.Client
	id, secret, token string
}

// startFixture starts one, with the variables of environment besides the database's address.
func startFixture(t *testing.T, client *http.Client, environment []string, args ...string) *fixture {
	t.Helper()
	i := programs.Install(t)
	i.Environment = environment
	sandbox := servertest.DatabaseAddress(t)
	for _, address := range []string{"", sandbox} {
		for kind, text := range map[string]string{"users": "id\nalice\n",
			"perks": "id,title,description,city\ntea,Tea,Hot,Bath\n"} {
			command := []string{"import", kind, "--format", "csv", "-"}
			if address != "" {
				command = append(command, "--database", address)
			}
			i.Must(text, command...)
		}
	}
	s := &fixture{t: t, client: client, Server: i.Start(append([]string{"--sandbox-database", sandbox}, args...)...)}
	s.id, s.secret = i.Client("Test")
	s.token = programs.TokenOf(t, client, s.URL, s.id, s.secret).AccessToken
	return s
}

// ask returns the status of the answer, and the id of the request.
func (s *fixture) ask(method, path, token, body string, header map[string]string) (status int, requestID string) {
	s.t.Helper()
	response, _, err := programs.Send(s.client, method, s.URL+path, token, body, header)
	if err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode, response.Header.Get("X-Request-Id")
}

// startTLSFixture starts one with a certificate.
func startTLSFixture(t *testing.T, args ...string) *fixture {
	t.Helper()
	authority := servertest.NewAuthority(t, "Our own")
	certFile, keyFile := newSQLiteOperator(t).put(authority.Issue())
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authority.Roots()}}
	t.Cleanup(transport.CloseIdleConnections)
	return startFixture(t, &http.Client{Transport: transport}, nil,
		append([]string{"--tls-cert", certFile, "--tls-key", keyFile}, args...)...)
}

// TestMetrics makes every kind of request to a server with all features, and checks its metrics.
func TestMetrics(t *testing.T) {
	t.Setenv("PERKS_TEST_DATABASE", "sqlite") // samplesOfPostgres are of the other
	s := startTLSFixture(t, "--metrics-addr", "127.0.0.1:0", "--search-metadata", "ticket")
	for _, base := range []string{"/v2/partners", "/v2/sandbox/partners"} {
		s.ask("GET", base+"/perks/tea", s.token, "", nil)
		s.ask("GET", base+"/perks", s.token, "", nil)
		s.ask("POST", base+"/perks/tea/redeem", s.token, `{"user_id":"alice"}`, nil)
	}
	s.ask("GET", "/v2/partners/perks/tea", "", "", nil)
	s.ask("GET", "/nothing", "", "", nil)
	text, samples := scrape(t, s.MetricsURL(t))
	shown := slices.Concat(samples, samplesOfPostgres(t))

	t.Run("names and labels", func(t *testing.T) {
		seen := map[string]bool{}
		for _, sample := range samples {
			if name := sample.name; strings.HasPrefix(name, "perks_") {
				seen[fmt.Sprintf("%s{%s}", name, strings.Join(slices.Sorted(maps.Keys(sample.labels)), ","))] = true
			}
		}
		golden(t, "metrics.txt", strings.Join(slices.Sorted(maps.Keys(seen)), "\n")+"\n")
	})
	t.Run("no secrets", func(t *testing.T) {
		for _, secret := range []string{s.token, s.secret, s.id, "alice", "tea"} {
			if strings.Contains(text, secret) {
				t.Errorf("the metrics hold %q", secret)
			}
		}
	})
	t.Run("values", func(t *testing.T) {
		for _, want := range []string{
			`perks_http_requests_total{code="200",method="GET",route="/v2/sandbox/partners/perks/:perkId"} 1`,
			`perks_http_requests_total{code="404",method="GET",route="other"} 1`,
			`perks_redemptions_total{database="sandbox",outcome="approved"} 1`,
			`perks_bearer_refusals_total{reason="missing"} 1`,
			`perks_database_ready{database="live"} 1`,
		} {
			if !strings.Contains(text, want+"\n") {
				t.Errorf("this is missing: %s", want)
			}
		}
	})
	t.Run("connections", func(t *testing.T) {
		if strings.Contains(text, "perks_http_connections 0\n") {
			t.Error("the connection of these requests is not counted")
		}
	})
	t.Run("dashboard", func(t *testing.T) { checkDashboard(t, shown) })
	t.Run("alerts", func(t *testing.T) { checkAlerts(t, shown) })
	t.Run("OpenMetrics", func(t *testing.T) {
		status, mediaType, text := fetch(t, s.MetricsURL(t), "application/openmetrics-text; version=1.0.0")
		if status != http.StatusOK || !strings.HasPrefix(mediaType, "application/openmetrics-text") ||
			!strings.HasSuffix(text, "# EOF\n") {
			t.Errorf("%d, %s", status, mediaType)
		}
	})
	t.Run("addresses", func(t *testing.T) {
		if status, _ := s.ask("GET", "/metrics", "", "", nil); status != http.StatusNotFound {
			t.Errorf("at the main address the metrics got %d", status)
		}
		root := strings.TrimSuffix(s.MetricsURL(t), "/metrics")
		if status, _, text := fetch(t, root+"/", ""); status != http.StatusOK ||
			text != "Metrics for Prometheus are at /metrics.\n" {
			t.Errorf("/ got %d %q", status, text)
		}
		for _, path := range []string{"/v2/health", "/debug/pprof/", "/other"} {
			if status, _, _ := fetch(t, root+path, ""); status != http.StatusNotFound {
				t.Errorf("%s at the metrics address got %d", path, status)
			}
		}
	})
	s.Terminate()
}

// samplesOfPostgres are those of a server that may read from a standby.
func samplesOfPostgres(t *testing.T) []shownMetric {
	o := newOperatorOf(t, storetest.PostgresDatabase(t))
	s, stop := o.serve("--metrics-addr", "127.0.0.1:0", "--read-database", o.env["PERKSD_DATABASE"])
	_, samples := scrape(t, s.MetricsURL(t))
	if code, log := stop(); code != 0 {
		t.Fatalf("exit %d: %s", code, log)
	}
	// The address is that of the primary, which is not read as a standby, so how far it is behind is not told.
	behind := shownMetric{name: "perks_database_standby_behind_seconds"}
	for _, sample := range samples {
		if sample.name == "perks_database_standby_read" {
			behind.labels = sample.labels
		}
	}
	return append(samples, behind)
}

func TestMetricsAreServedWhileTheServerDrains(t *testing.T) {
	o := newOperator(t)
	s, stop := o.serve("--metrics-addr", "127.0.0.1:0")
	url := s.MetricsURL(t)
	finish := postPart(t, s.url, "/v2/auth/token", "grant_type=client_credentials", aForm)
	exited := make(chan int, 1)
	go func() {
		code, _ := stop()
		exited <- code
	}()
	s.WaitFor(t, "draining")
	if text, _ := scrape(t, url); !strings.Contains(text, "perks_http_requests_in_flight 1\n") {
		t.Errorf("while one request is running, the metrics are\n%s", text)
	}
	finish().Body.Close()
	if code := <-exited; code != exitDone {
		t.Errorf("exit code %d", code)
	}
	if _, err := http.Get(url); err == nil {
		t.Error("the metrics are served after the exit")
	}
}

func TestMetricsAddresses(t *testing.T) {
	for _, address := range []string{"127.0.0.1:1", "[::1]:1", "10.1.2.3:1", "172.16.0.1:1", "192.168.1.1:1",
		"[fd00::1]:1"} {
		if _, err := (&serveOptions{metrics: address}).metricsAddress(); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	if _, err := (&serveOptions{metrics: ":1", metricsOpen: true}).metricsAddress(); err != nil {
		t.Errorf("--metrics-open: %v", err)
	}
}

func TestMetricsNeedAFreeAddress(t *testing.T) {
	o := newOperator(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	o.refuses(exitFailure, fmt.Sprintf("--metrics-addr: %s is already in use, perhaps by another perksd: stop that, "+
		"or choose another address", taken.Addr()),
		"serve", "--addr", "127.0.0.1:0", "--metrics-addr", taken.Addr().String())
	o.hasNoDatabase()
}
