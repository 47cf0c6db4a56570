package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"example.com/perks/server/servertest"
)

func TestHealthFindsTheServerByItsVariables(t *testing.T) {
	o := newOperator(t)
	s, stop := o.serve()
	o.env["PERKSD_ADDR"] = strings.TrimPrefix(s.url, "http://")
	equal(t, "perksd health", "ready\n", o.must("health"))
	stop()
	o.refuses(exitFailure, "no server listens on "+o.env["PERKSD_ADDR"], "health")
}

// TestHealthAcceptsTheServersOwnCertificate names a server as one does that listens on every address.
func TestHealthAcceptsTheServersOwnCertificate(t *testing.T) {
	o := newOperator(t)
	certFile, keyFile := o.put(servertest.NewAuthority(t, "Our own").Issue())
	s, _ := o.serve("--tls-cert", certFile, "--tls-key", keyFile)
	_, port, err := net.SplitHostPort(strings.TrimPrefix(s.url, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{":" + port, "0.0.0.0:" + port} {
		equal(t, "perksd health", "ready\n", o.must("health", "--addr", address, "--tls-cert", certFile))
		if got := o.run("health", "--addr", address); got.code != exitFailure ||
			!strings.Contains(got.stderr, "is not ready: 400 Bad Request") {
			t.Errorf("without TLS: exit code %d, %s", got.code, got.stderr)
		}
	}
}

func TestHealthSaysWhyAServerIsNotReady(t *testing.T) {
	o := newSQLiteOperator(t)
	s, _ := o.serve()
	if err := os.Remove(o.path("perks.db")); err != nil {
		t.Fatal(err)
	}
	address := strings.TrimPrefix(s.url, "http://")
	o.refuses(exitFailure, "the server on "+address+" is not ready: The database does not accept writes now.", "health",
		"--addr", address)
}

func TestHealthIsNotFooledByAnotherServer(t *testing.T) {
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	o := newOperator(t)
	address := other.Listener.Addr().String()
	o.refuses(exitFailure, "the server on "+address+" is not ready: 404 Not Found", "health", "--addr", address)
	o.refuses(exitUsage, `unexpected argument "x" (see 'perksd health --help')`, "health", "x")
}
