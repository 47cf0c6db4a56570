package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/cmd/dev/programs"
)

// postPart sends a request without its body, until it is running: the server asks for the body when a handler begins to
// read it. The returned function sends it, and returns the response.
func postPart(t *testing.T, url, path, body, header string) (finish func() *http.Response) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(commandTime)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: perks.example\r\n%sContent-Length: %d\r\nExpect: 100-continue\r\n\r\n",
		path, header, len(body))
	answers := bufio.NewReader(conn)
	if line, err := answers.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("the server sends %q, %v", line, err)
	}
	if _, err := answers.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return func() *http.Response {
		t.Helper()
		if _, err := io.WriteString(conn, body); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatalf("the running request got no response: %v", err)
		}
		return response
	}
}

const aForm = "Content-Type: application/x-www-form-urlencoded\r\n"

func TestARunningRequestIsFinishedAfterSIGTERM(t *testing.T) {
	i := programs.Install(t)
	i.ImportCSV("users", "id\nalice\n")
	i.ImportCSV("perks", "id,title,description,city\ntea,Tea,Hot,Bath\n")
	s := i.Start()
	token := i.Token(s.URL)

	finish := postPart(t, s.URL, "/v2/partners/perks/tea/redeem", `{"user_id":"alice"}`,
		"Authorization: Bearer "+token+"\r\nContent-Type: application/json\r\n")
	s.SendSIGTERM()
	s.WaitFor(t, "draining")
	response := finish()
	defer response.Body.Close()
	var made api.Redemption
	if err := json.NewDecoder(response.Body).Decode(&made); err != nil || response.StatusCode != http.StatusCreated {
		t.Errorf("status %d, %v", response.StatusCode, err)
	}
	s.WaitForExit()
	if kept := i.Redemptions(); len(kept) != 1 || kept[0].ID != made.ID {
		t.Errorf("redemption %s was returned, and the stored ones are %v", made.ID, kept)
	}
}

func TestSIGHUPWithoutACertificateKeepsServing(t *testing.T) {
	s := programs.Install(t).Start()
	s.SendSIGHUP()
	s.WaitFor(t, "SIGHUP reloads the certificate, but there is none")
	if status := programs.StatusOf(t, s.URL+"/v2/health", ""); status != http.StatusOK {
		t.Errorf("status %d", status)
	}
	s.Terminate()
}

func TestExitCodesReachTheShell(t *testing.T) {
	i := programs.Install(t)
	for code, args := range map[int][]string{exitDone: {"--version"}, exitFailure: {"client", "list"},
		exitUsage: {"clients"}} {
		cmd := i.Command(args...)
		if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
			t.Fatal(err)
		}
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Errorf("perksd %s exits with %d, want %d", strings.Join(args, " "), got, code)
		}
	}
}

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
