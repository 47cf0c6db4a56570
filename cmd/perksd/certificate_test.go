package main

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"strings"
	"testing"

	"example.com/perks/cmd/dev/programs"
	"example.com/perks/server/servertest"
)

// put writes a certificate's files and returns their paths.
func (o *operator) put(c *servertest.Certificate) (certFile, keyFile string) {
	o.t.Helper()
	return o.file("cert.pem", string(c.Cert)), o.file("key.pem", string(c.Key))
}

// serveTLS is serve with a certificate, which those trust who have the roots.
func (o *operator) serveTLS() (s *served, roots *x509.CertPool, stop func() (code int, log string)) {
	o.t.Helper()
	authority := servertest.NewAuthority(o.t, "Our own")
	certFile, keyFile := o.put(authority.Issue())
	s, stop = o.serve("--tls-cert", certFile, "--tls-key", keyFile)
	return s, authority.Roots(), stop
}

func TestServeWithACertificate(t *testing.T) {
	o := newOperator(t)
	secret := o.newClient("acme")
	s, roots, stop := o.serveTLS()
	if !strings.HasPrefix(s.url, "https://") {
		t.Errorf("it says that it listens on %s", s.url)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots},
		ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	programs.TokenOf(t, client, s.url, "acme", secret)
	answer, err := client.Get(s.url + "/v2/health")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.ProtoMajor != 1 || answer.TLS.Version != tls.VersionTLS13 ||
		answer.Header.Get("Strict-Transport-Security") == "" {
		t.Errorf("over %s and %s; header %v", answer.Proto, tls.VersionName(answer.TLS.Version), answer.Header)
	}
	open, err := http.Get(strings.Replace(s.url, "https:", "http:", 1))
	if err != nil {
		t.Fatal(err)
	}
	defer open.Body.Close()
	if said, _ := io.ReadAll(open.Body); open.StatusCode != http.StatusBadRequest ||
		!strings.Contains(string(said), "HTTP request to an HTTPS server") {
		t.Errorf("a plain HTTP request got %d %s", open.StatusCode, said)
	}
	if code, log := stop(); code != exitDone {
		t.Errorf("exit code %d; the log is\n%s", code, log)
	}
}

func TestOnlySecureTLSIsOffered(t *testing.T) {
	s, roots, _ := newOperator(t).serveTLS()
	offers := func(name string, taken bool, offer *tls.Config) {
		offer.RootCAs = roots
		conn, err := tls.Dial("tcp", strings.TrimPrefix(s.url, "https://"), offer)
		if taken != (err == nil) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			conn.Close()
		}
	}
	offers("TLS 1.1", false, &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})
	offers("TLS 1.2 with CBC", false,
		&tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA}})
	offers("TLS 1.2 with AEAD", true,
		&tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384}})
	offers("TLS 1.3", true, &tls.Config{MinVersion: tls.VersionTLS13})
}

func TestOnlyHTTP1IsOffered(t *testing.T) {
	s, roots, _ := newOperator(t).serveTLS()
	conn, err := tls.Dial("tcp", strings.TrimPrefix(s.url, "https://"),
		&tls.Config{RootCAs: roots, NextProtos: []string{"h2", "http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if chosen := conn.ConnectionState().NegotiatedProtocol; chosen != "http/1.1" {
		t.Errorf("it chooses %q", chosen)
	}
	if _, err := io.WriteString(conn,
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"); err != nil {
		t.Fatal(err)
	}
	if said, _ := io.ReadAll(conn); !strings.HasPrefix(string(said), "HTTP/1.1 4") {
		t.Errorf("HTTP/2 got %q", said)
	}
}
