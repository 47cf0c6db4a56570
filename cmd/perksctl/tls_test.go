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

// secured is perksd over TLS, with a certificate by an authority that nobody knows but who is told.
type secured struct {
	*programs.Server
	t                 *testing.T
	installation      *programs.Installation
	authority         *servertest.Authority
	certFile, keyFile string
	id, secret        string // of a client
}

func startSecured(t *testing.T, first func(*servertest.Authority) *servertest.Certificate) *secured {
	t.Helper()
	i := programs.Install(t)
	i.ImportCSV("users", "id\nalice\n")
	i.ImportCSV("perks", "id,title,description,city\ntea,Tea,Hot,Bath\n")
	dir := t.TempDir()
	s := &secured{t: t, installation: i, authority: servertest.NewAuthority(t, "Our own"), certFile: filepath.Join(dir, "cert.pem"), keyFile: filepath.Join(dir, "key.pem")}
	s.id, s.secret = i.Client("Test")
	s.put(first(s.authority))
	s.Server = i.Start("--tls-cert", s.certFile, "--tls-key", s.keyFile)
	return s
}

// put writes a certificate to where perksd reads it.
func (s *secured) put(c *servertest.Certificate) {
	s.t.Helper()
	if err := errors.Join(os.WriteFile(s.certFile, c.Cert, 0o600), os.WriteFile(s.keyFile, c.Key, 0o600)); err != nil {
		s.t.Fatal(err)
	}
}

func ordinary(a *servertest.Authority) *servertest.Certificate { return a.Issue() }

// shell runs perksctl in a folder, with a configuration and an environment of its own.
type shell struct {
	t           *testing.T
	dir, config string
	env         []string
}

// run fails the test unless perksctl ends with the code.
func (s shell) run(code int, args ...string) (stdout, stderr string) {
	s.t.Helper()
	cmd := exec.Command("perksctl", args...)
	cmd.Dir = s.dir
	cmd.Env = append(append(os.Environ(), "PERKSCTL_CONFIG_DIR="+s.config, "PERKSCTL_KEYRING=off", "GORACE=atexit_sleep_ms=0"), s.env...)
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

func TestACertificateOfOnesOwnAuthorityIsTrustedWhenItIsNamed(t *testing.T) {
	s := startSecured(t, ordinary)
	address := s.URL + "/v2"
	ca := s.authority.File()
	here := shell{t, filepath.Dir(ca), t.TempDir(), []string{"PERKSCTL_CLIENT_SECRET=" + s.secret}}
	login := []string{"auth", "login", "--api-url", address, "--client-id", s.id}

	_, said := here.run(8, login...)
	if want := "error: No answer from " + address + ": the server's certificate was issued by CN=Our own, which this computer does not trust. " +
		"If that is your organisation's own authority, or its proxy's, pass its certificate with --ca-cert.\n"; said != want {
		t.Errorf("\n got %swant %s", said, want)
	}
	if _, said := here.run(2, append(login, "--ca-cert", "nothing.pem")...); !strings.Contains(said, filepath.Join(here.dir, "nothing.pem")+", which --ca-cert names, does not exist.") {
		t.Errorf("of a missing file it is said: %s", said)
	}
	here.run(0, append(login, "--ca-cert", filepath.Base(ca))...)

	elsewhere := shell{t, t.TempDir(), here.config, nil}
	if listed, _ := elsewhere.run(0, "perk", "list", "--output", "id"); listed != "tea\n" {
		t.Errorf("listed %q", listed)
	}
	elsewhere.run(0, "perk", "redeem", "tea", "--user", "alice")
	if kept := s.installation.Redemptions(); len(kept) != 1 || kept[0].UserID != "alice" {
		t.Errorf("redeemed %+v", kept)
	}
	if found, _ := elsewhere.run(0, "doctor", "--jq", `map(select(.check == "tls"))[0].found`); !strings.Contains(found, ca) {
		t.Errorf("the doctor says %s", found)
	}

	other := servertest.NewAuthority(t, "Another").File()
	misled := shell{t, elsewhere.dir, here.config, []string{"PERKSCTL_CA_CERT=" + other}}
	misled.run(8, "perk", "list")
	misled.run(8, "doctor")
	misled.run(0, "perk", "list", "--ca-cert", ca)
	here.run(0, login...) // again: the profile keeps what it has
	here.run(8, append(login, "--ca-cert", "")...)
}

func TestANewCertificateDropsNobody(t *testing.T) {
	var first *servertest.Certificate
	s := startSecured(t, func(a *servertest.Authority) *servertest.Certificate { first = a.Issue(); return first })
	token := programs.TokenOf(t, s.visitor(), s.URL, s.id, s.secret).AccessToken

	kept := s.visitor()
	s.visit(kept, first.Leaf.SerialNumber, false)
	returning := s.visitor() // connects anew each time, and takes up the former session if it may
	returning.Transport.(*http.Transport).DisableKeepAlives = true
	returning.Transport.(*http.Transport).TLSClientConfig.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	s.visit(returning, first.Leaf.SerialNumber, false)
	slow := s.beginRedeeming(token)

	second := s.authority.Issue()
	s.put(second)
	s.SendSIGHUP()
	s.WaitFor(t, "the certificate was reloaded")
	s.visit(returning, second.Leaf.SerialNumber, false)
	s.visit(s.visitor(), second.Leaf.SerialNumber, false)
	s.visit(kept, first.Leaf.SerialNumber, true)

	made := slow.end()
	if redeemed := s.installation.Redemptions(); len(redeemed) != 1 || redeemed[0].ID != made.ID {
		t.Errorf("the redemption %s was answered, and kept are %v", made.ID, redeemed)
	}

	s.put(&servertest.Certificate{Cert: second.Cert, Key: first.Key})
	s.SendSIGHUP()
	if line := s.WaitFor(t, "the certificate was not reloaded"); !strings.Contains(line, s.keyFile) {
		t.Errorf("the log does not name the file: %s", line)
	}
	s.visit(s.visitor(), second.Leaf.SerialNumber, false)
	s.visit(kept, first.Leaf.SerialNumber, true)
	s.Terminate()
}

// visitor keeps one connection.
func (s *secured) visitor() *http.Client {
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.authority.Roots()}}
	s.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 20 * time.Second}
}

// visit asks for the server's health, and looks which certificate the connection was made with.
func (s *secured) visit(visitor *http.Client, serial *big.Int, again bool) {
	s.t.Helper()
	request, err := http.NewRequest(http.MethodGet, s.URL+"/v2/health", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	reused := false
	trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) { reused = info.Reused }}
	answer, err := visitor.Do(request.WithContext(httptrace.WithClientTrace(s.t.Context(), trace)))
	if err != nil {
		s.t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	answer.Body.Close()
	if shown := answer.TLS.PeerCertificates[0].SerialNumber; answer.StatusCode != http.StatusOK || shown.Cmp(serial) != 0 || reused != again {
		s.t.Errorf("over %s: status %d, certificate %s, want %s; reused %t, want %t", answer.Proto, answer.StatusCode, shown, serial, reused, again)
	}
}

// redeeming is a request whose body has not been sent yet.
type redeeming struct {
	t       *testing.T
	conn    *tls.Conn
	answers *bufio.Reader
}

const redemption = `{"user_id":"alice"}`

// beginRedeeming returns when a handler waits for the body.
func (s *secured) beginRedeeming(token string) *redeeming {
	s.t.Helper()
	conn, err := tls.Dial("tcp", strings.TrimPrefix(s.URL, "https://"), &tls.Config{RootCAs: s.authority.Roots()})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		s.t.Fatal(err)
	}
	fmt.Fprintf(conn, "POST /v2/partners/perks/tea/redeem HTTP/1.1\r\nHost: perks.example\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", token, len(redemption))
	answers := bufio.NewReader(conn)
	if line, err := answers.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		s.t.Fatalf("the server answers %q, %v", line, err)
	}
	if _, err := answers.ReadString('\n'); err != nil {
		s.t.Fatal(err)
	}
	return &redeeming{s.t, conn, answers}
}

func (r *redeeming) end() api.Redemption {
	r.t.Helper()
	if _, err := io.WriteString(r.conn, redemption); err != nil {
		r.t.Fatal(err)
	}
	answer, err := http.ReadResponse(r.answers, nil)
	if err != nil {
		r.t.Fatalf("the request under way was not answered: %v", err)
	}
	defer answer.Body.Close()
	var made api.Redemption
	if err := json.NewDecoder(answer.Body).Decode(&made); err != nil || answer.StatusCode != http.StatusCreated {
		r.t.Errorf("status %d, %v", answer.StatusCode, err)
	}
	return made
}
