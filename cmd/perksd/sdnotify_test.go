package main

import (
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/perks/cmd/dev/programs"
)

func TestTheSupervisorIsNotifiedOfReadinessAndDraining(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	supervisor, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer supervisor.Close()
	if err := supervisor.SetDeadline(time.Now().Add(commandTime)); err != nil {
		t.Fatal(err)
	}
	hears := func(want string) {
		t.Helper()
		heard := make([]byte, 100)
		n, err := supervisor.Read(heard)
		if err != nil || string(heard[:n]) != want {
			t.Fatalf("it got %q, %v; want %q", heard[:n], err, want)
		}
	}

	o := newOperator(t)
	o.env["NOTIFY_SOCKET"] = socket
	s, stop := o.serve()
	hears("READY=1")
	if status := programs.StatusOf(t, s.url+"/livez", ""); status != http.StatusOK {
		t.Errorf("status %d after the notification of readiness", status)
	}
	stop()
	hears("STOPPING=1")
}

func TestServeWorksWithoutItsSupervisor(t *testing.T) {
	o := newOperator(t)
	o.env["NOTIFY_SOCKET"] = o.path("missing")
	_, stop := o.serve()
	if code, log := stop(); code != exitDone || !strings.Contains(log, "cannot notify systemd") {
		t.Errorf("exit code %d, log:\n%s", code, log)
	}
}
