package main

import (
	"crypto/tls"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/perks/cmd/dev/programs"
	"example.com/perks/server/servertest"
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
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", accept)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
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
func (s *fixture) ask(method, path, token, body string, header ...string) (status int, requestID string) {
	s.t.Helper()
	request, err := http.NewRequest(method, s.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := s.client.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode, response.Header.Get("X-Request-Id")
}

// startTLSFixture starts one with a certificate.
func startTLSFixture(t *testing.T, args ...string) *fixture {
	t.Helper()
	authority := servertest.NewAuthority(t, "Our own")
	pair := authority.Issue()
	folder := t.TempDir()
	certFile, keyFile := filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	for path, text := range map[string][]byte{certFile: pair.Cert, keyFile: pair.Key} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authority.Roots()}}
	t.Cleanup(transport.CloseIdleConnections)
	return startFixture(t, &http.Client{Transport: transport}, nil,
		append([]string{"--tls-cert", certFile, "--tls-key", keyFile}, args...)...)
}
