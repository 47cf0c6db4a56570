package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/perks/cmd/perksd/perksdtest"
)

func TestServeListensInTheOpenOnlyOnLoopback(t *testing.T) {
	const why = " in the open, because tokens and secrets would cross the network for all to read: " +
		"give it --tls-cert and --tls-key, or --behind-proxy if a proxy before it ends TLS"
	for _, address := range []string{":0", "0.0.0.0:0", "[::]:0", "192.0.2.1:0", "[2001:db8::1]:0"} {
		newOperator(t).refuses(exitUsage, "perksd does not listen on "+address+why, "serve", "--addr", address)
	}
	for _, address := range []string{"127.0.0.1:0", "127.1.2.3:0", "localhost:0"} {
		l, err := listenOptions{address: address}.open()
		if err != nil {
			t.Errorf("listening on %s: %v", address, err)
			continue
		}
		l.Close()
	}
}

func TestBehindAProxyItListensAnywhere(t *testing.T) {
	l, err := listenOptions{address: ":0", behindProxy: true}.open()
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}

func TestServeRefusesHalfACertificateAndABadAddress(t *testing.T) {
	o := newOperator(t)
	const both = "--tls-cert and --tls-key belong together; only one of them is given"
	o.refuses(exitUsage, both, "serve", "--tls-cert", "cert.pem")
	o.refuses(exitUsage, both, "serve", "--tls-key", "key.pem")
	o.refuses(exitFailure, "reading the certificate: open none.pem: no such file or directory", "serve", "--addr", ":0", "--tls-cert", "none.pem", "--tls-key", "none.pem")
	o.refuses(exitUsage, "--addr must be HOST:PORT: address nowhere: missing port in address", "serve", "--addr", "nowhere")
	o.hasNoDatabase()
}

func TestServeWithACertificate(t *testing.T) {
	o := newOperator(t)
	secret := o.newClient("acme")
	certFile, keyFile, roots := o.certificate()
	s, stop := o.serve("--tls-cert", certFile, "--tls-key", keyFile)
	if !strings.HasPrefix(s.url, "https://") {
		t.Errorf("it says that it listens on %s", s.url)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	perksdtest.TokenOf(t, client, s.url, "acme", secret)

	old := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	if conn, err := tls.Dial("tcp", strings.TrimPrefix(s.url, "https://"), old); err == nil {
		conn.Close()
		t.Error("TLS 1.1 is accepted")
	}
	if code, log := stop(); code != exitDone {
		t.Errorf("exit code %d; the log is\n%s", code, log)
	}
}

// certificate makes a certificate for 127.0.0.1 that signs itself.
func (o *operator) certificate() (certFile, keyFile string, roots *x509.CertPool) {
	o.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		o.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		o.t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		o.t.Fatal(err)
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	roots = x509.NewCertPool()
	roots.AppendCertsFromPEM(cert)
	return o.file("cert.pem", string(cert)), o.file("key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}))), roots
}
