package main

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"example.com/perks/server/servertest"
	"example.com/perks/store"
	"example.com/perks/store/storetest"
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
}

// diagnose returns the outcome of each check by its name.
func (o *operator) diagnose(code int) map[string]store.Finding {
	o.t.Helper()
	said := o.run("doctor", "-o", "json")
	if said.code != code {
		o.t.Errorf("exit code %d, want %d: %s", said.code, code, said.stderr)
	}
	var findings []store.Finding
	if err := json.Unmarshal([]byte(said.stdout), &findings); err != nil {
		o.t.Fatalf("%v: %s", err, said.stdout)
	}
	found := map[string]store.Finding{}
	for _, f := range findings {
		found[f.Check] = f
	}
	return found
}

func TestDoctorChecksAFile(t *testing.T) {
	o := newSQLiteOperator(t)
	f := o.diagnose(exitFailure)["database"]
	if f.Outcome != store.Failed || !strings.Contains(f.Found, "perksd migrate") {
		t.Errorf("without a database: %+v", f)
	}
	o.must("migrate")
	if f := o.diagnose(exitDone); f["file"].Outcome != store.OK || f["disk"].Outcome != store.OK {
		t.Errorf("a new file: %+v", f)
	}
	if err := os.Chmod(o.path("perks.db"), 0o644); err != nil {
		t.Fatal(err)
	}
	if f := o.diagnose(exitDone)["file"]; f.Outcome != store.Warning || !strings.Contains(f.Advice, "chmod 600") {
		t.Errorf("a file that others read: %+v", f)
	}
}

// TestDoctorChecksAServer has a server without fsync, and one whose role may not connect.
func TestDoctorChecksAServer(t *testing.T) {
	o := newOperatorOf(t, storetest.PostgresDatabase(t))
	o.must("migrate")
	f := o.diagnose(exitFailure)
	if f["fsync"].Outcome != store.Failed || f["server"].Outcome != store.OK || f["disk"].Outcome != store.NotChecked {
		t.Errorf("%+v", f)
	}
	o.env["PERKSD_DATABASE"] = strings.Replace(o.env["PERKSD_DATABASE"], "postgres://", "postgres://nobody:hunter2@", 1)
	o.env["PERKSD_DATABASE"] = withParameter(t, o.env["PERKSD_DATABASE"], "user", "nobody")
	said := o.run("doctor")
	if said.code != exitFailure || strings.Contains(said.stdout+said.stderr, "hunter2") {
		t.Errorf("as nobody: %+v", said)
	}
}
