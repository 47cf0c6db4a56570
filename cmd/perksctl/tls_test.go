package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptrace"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/cmd/dev/programs"
	"example.com/perks/server/servertest"
)

// tlsServer is perksd over TLS, with a certificate of an authority that is not trusted by default.
type tlsServer struct {
	*programs.Server
	t                 *testing.T
	installation      *programs.Installation
	authority         *servertest.Authority
	certFile, keyFile string
	id, secret        string // of a client
}

func startTLSServer(t *testing.T, first func(*servertest.Authority) *servertest.Certificate) *tlsServer {
	t.Helper()
	i := programs.Install(t)
	i.ImportCSV("users", "id\nalice\n")
	i.ImportCSV("perks", "id,title,description,city\ntea,Tea,Hot,Bath\n")
	dir := t.TempDir()
	s := &tlsServer{t: t, installation: i, authority: servertest.NewAuthority(t, "Our own"),
		certFile: filepath.Join(dir, "cert.pem"), keyFile: filepath.Join(dir, "key.pem")}
	s.id, s.secret = i.Client("Test")
	s.writeCertificate(first(s.authority))
	s.Server = i.Start("--tls-cert", s.certFile, "--tls-key", s.keyFile)
	return s
}

// writeCertificate writes the certificate files of perksd.
func (s *tlsServer) writeCertificate(c *servertest.Certificate) {
	s.t.Helper()
	if err := errors.Join(os.WriteFile(s.certFile, c.Cert, 0o600), os.WriteFile(s.keyFile, c.Key, 0o600)); err != nil {
		s.t.Fatal(err)
	}
}

func issue(a *servertest.Authority) *servertest.Certificate { return a.Issue() }

// shell runs perksctl in a directory, with its own configuration and environment.
type shell struct {
	t           *testing.T
	dir, config string
	env         []string
}

// run runs perksctl, and fails the test unless it exits with the code.
func (s shell) run(code int, args ...string) (stdout, stderr string) {
	s.t.Helper()
	cmd := exec.Command("perksctl", args...)
	cmd.Dir = s.dir
	cmd.Env = append(append(os.Environ(), "PERKSCTL_CONFIG_DIR="+s.config, "PERKSCTL_KEYRING=off",
		"GORACE=atexit_sleep_ms=0"), s.env...)
	var out, err bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &err
	if failed := cmd.Run(); failed != nil && !errors.As(failed, new(*exec.ExitError)) {
		s.t.Fatal(failed)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		s.t.Fatalf("perksctl %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, &out, &err)
	}
	return out.String(), err.String()
}

func TestOwnAuthorityIsTrustedWithCACert(t *testing.T) {
	s := startTLSServer(t, issue)
	address := s.URL + "/v2"
	ca := s.authority.File()
	here := shell{t, filepath.Dir(ca), t.TempDir(), []string{"PERKSCTL_CLIENT_SECRET=" + s.secret}}
	login := []string{"auth", "login", "--api-url", address, "--client-id", s.id}

	_, stderr := here.run(8, login...)
	if want := "error: No reply from " + address +
		": the server's certificate was issued by CN=Our own, which this computer does not trust. " +
		"If that is your organisation's own authority, or its proxy's, pass its certificate with " +
		"--ca-cert.\n"; stderr != want {
		t.Errorf("\n got %swant %s", stderr, want)
	}
	if _, stderr := here.run(2, append(login, "--ca-cert", "nothing.pem")...); !strings.Contains(stderr,
		filepath.Join(here.dir, "nothing.pem")+", which --ca-cert names, does not exist.") {
		t.Errorf("a missing file: %s", stderr)
	}
	here.run(0, append(login, "--ca-cert", filepath.Base(ca))...)

	elsewhere := shell{t, t.TempDir(), here.config, nil}
	if listed, _ := elsewhere.run(0, "perk", "list", "--output", "id"); listed != "tea\n" {
		t.Errorf("listed %q", listed)
	}
	elsewhere.run(0, "perk", "redeem", "tea", "--user", "alice")
	if redeemed := s.installation.Redemptions(); len(redeemed) != 1 || redeemed[0].UserID != "alice" {
		t.Errorf("redeemed %+v", redeemed)
	}
	if found, _ := elsewhere.run(0, "doctor", "--jq", `map(select(.check == "tls"))[0].found`); !strings.Contains(found,
		ca) {
		t.Errorf("doctor reports %s", found)
	}

	other := servertest.NewAuthority(t, "Another").File()
	wrongCA := shell{t, elsewhere.dir, here.config, []string{"PERKSCTL_CA_CERT=" + other}}
	wrongCA.run(8, "perk", "list")
	wrongCA.run(8, "doctor")
	wrongCA.run(0, "perk", "list", "--ca-cert", ca)
	here.run(0, login...) // the profile keeps its CA certificate
	here.run(8, append(login, "--ca-cert", "")...)
}

func TestCertificateReloadKeepsConnections(t *testing.T) {
	var first *servertest.Certificate
	s := startTLSServer(t, func(a *servertest.Authority) *servertest.Certificate { first = a.Issue(); return first })
	token := programs.TokenOf(t, s.newClient(), s.URL, s.id, s.secret).AccessToken

	persistent := s.newClient()
	s.checkCertificate(persistent, first.Leaf.SerialNumber, false)
	returning := s.newClient() // reconnects each time, and resumes the TLS session if possible
	returning.Transport.(*http.Transport).DisableKeepAlives = true
	returning.Transport.(*http.Transport).TLSClientConfig.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	s.checkCertificate(returning, first.Leaf.SerialNumber, false)
	slow := s.beginRedeem(token)

	second := s.authority.Issue()
	s.writeCertificate(second)
	s.SendSIGHUP()
	s.WaitFor(t, "the certificate was reloaded")
	s.checkCertificate(returning, second.Leaf.SerialNumber, false)
	s.checkCertificate(s.newClient(), second.Leaf.SerialNumber, false)
	s.checkCertificate(persistent, first.Leaf.SerialNumber, true)

	made := slow.finish()
	if redeemed := s.installation.Redemptions(); len(redeemed) != 1 || redeemed[0].ID != made.ID {
		t.Errorf("got redemption %s, saved %v", made.ID, redeemed)
	}

	s.writeCertificate(&servertest.Certificate{Cert: second.Cert, Key: first.Key})
	s.SendSIGHUP()
	if line := s.WaitFor(t, "the certificate was not reloaded"); !strings.Contains(line, s.keyFile) {
		t.Errorf("the log does not name the file: %s", line)
	}
	s.checkCertificate(s.newClient(), second.Leaf.SerialNumber, false)
	s.checkCertificate(persistent, first.Leaf.SerialNumber, true)
	s.Terminate()
}

// newClient returns a client that keeps its connection.
func (s *tlsServer) newClient() *http.Client {
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.authority.Roots()}}
	s.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 20 * time.Second}
}

// checkCertificate requests the server's health, and checks the certificate of the connection.
func (s *tlsServer) checkCertificate(client *http.Client, serial *big.Int, reuse bool) {
	s.t.Helper()
	request, err := http.NewRequest(http.MethodGet, s.URL+"/v2/health", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	reused := false
	trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) { reused = info.Reused }}
	response, err := client.Do(request.WithContext(httptrace.WithClientTrace(s.t.Context(), trace)))
	if err != nil {
		s.t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, response.Body)
	response.Body.Close()
	if shown := response.TLS.PeerCertificates[0].SerialNumber; response.StatusCode != http.StatusOK ||
		shown.Cmp(serial) != 0 || reused != reuse {
		s.t.Errorf("%s: status %d, certificate %s, want %s; reused %t, want %t", response.Proto, response.StatusCode,
			shown, serial, reused, reuse)
	}
}

// pendingRedeem is a redeem request whose body was not sent yet.
type pendingRedeem struct {
	t      *testing.T
	conn   *tls.Conn
	reader *bufio.Reader
}

const redemption = `{"user_id":"alice"}`

// beginRedeem sends the headers, and returns when the handler waits for the body.
func (s *tlsServer) beginRedeem(token string) *pendingRedeem {
	s.t.Helper()
	conn, err := tls.Dial("tcp", strings.TrimPrefix(s.URL, "https://"), &tls.Config{RootCAs: s.authority.Roots()})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		s.t.Fatal(err)
	}
	fmt.Fprintf(conn, "POST /v2/partners/perks/tea/redeem HTTP/1.1\r\nHost: perks.example\r\nAuthorization: Bearer "+
		"%s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", token,
		len(redemption))
	reader := bufio.NewReader(conn)
	if line, err := reader.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		s.t.Fatalf("the server replied %q, %v", line, err)
	}
	if _, err := reader.ReadString('\n'); err != nil {
		s.t.Fatal(err)
	}
	return &pendingRedeem{s.t, conn, reader}
}

func (r *pendingRedeem) finish() api.Redemption {
	r.t.Helper()
	if _, err := io.WriteString(r.conn, redemption); err != nil {
		r.t.Fatal(err)
	}
	response, err := http.ReadResponse(r.reader, nil)
	if err != nil {
		r.t.Fatalf("no reply to the pending request: %v", err)
	}
	defer response.Body.Close()
	var made api.Redemption
	if err := json.NewDecoder(response.Body).Decode(&made); err != nil || response.StatusCode != http.StatusCreated {
		r.t.Errorf("status %d, %v", response.StatusCode, err)
	}
	return made
}
