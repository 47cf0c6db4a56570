//go:build unix

package cli_test

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"example.com/perks/cli/session"
	"example.com/perks/server/servertest"
)

// forwarder is perksctl tail in a process of its own.
type forwarder struct {
	*testing.T
	cmd  *exec.Cmd
	said *bufio.Reader
	seen strings.Builder
}

// interrupt sends a signal, and returns once perksctl has said that it waits for what runs.
func (f *forwarder) interrupt(signal os.Signal) {
	f.Helper()
	if err := f.cmd.Process.Signal(signal); err != nil {
		f.Fatal(err)
	}
	for !strings.Contains(f.seen.String(), "Waiting for 1 delivery to end.\n") {
		line, err := f.said.ReadString('\n')
		f.seen.WriteString(line)
		if err != nil {
			f.Fatalf("%v after %s", err, f.seen.String())
		}
	}
}

// end returns the exit code, and all that was said.
func (f *forwarder) end() (code int, said string) {
	f.Helper()
	if _, err := io.Copy(&f.seen, f.said); err != nil {
		f.Fatal(err)
	}
	_ = f.cmd.Wait()
	return f.cmd.ProcessState.ExitCode(), f.seen.String()
}

// TestAnInterruptEndsADeliveryAndSavesThePosition interrupts perksctl while a receiver and a program are at work. It
// waits for them, and the same command resumes without a repetition.
func TestAnInterruptEndsADeliveryAndSavesThePosition(t *testing.T) {
	facts := seed(servertest.Start(t))
	reached, release := make(chan string, 1), make(chan struct{})
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		reached <- string(body)
		<-release
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(receiver.Close)
	x := newTerminal(t, nil)
	x.env[session.EnvAPIURL], x.env[session.EnvClientID] = facts["API_URL"], facts["CLIENT"]
	x.env[session.EnvClientSecret] = facts["SECRET"]
	x.must("perk", "redeem", "coffee", "--user", "alice")
	cursor := strings.TrimSpace(x.must("events", "--last", "1", "--jq", ".[0].cursor").out)
	x.must("perk", "redeem", "coffee", "--user", "bob")
	x.must("perk", "redeem", "museum", "--user", "bob")
	file := filepath.Join(t.TempDir(), "state")
	start := func(args ...string) *forwarder {
		cmd := exec.Command("perksctl", append([]string{"tail", "--state", file}, args...)...)
		cmd.Env = os.Environ()
		for name, value := range x.env {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		said, err := cmd.StderrPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		return &forwarder{T: t, cmd: cmd, said: bufio.NewReader(said)}
	}
	f := start("--after", cursor, "--forward-to", receiver.URL)
	if body := <-reached; !strings.Contains(body, `"perk_id":"coffee"`) {
		t.Errorf("the first delivery is %s", body)
	}
	f.interrupt(os.Interrupt)
	close(release)
	code, said := f.end()
	want := "To resume:\n  perksctl tail --forward-to " + receiver.URL + " --state " + file
	if code != 130 || !strings.Contains(said, want) || !strings.Contains(said, "Not delivered yet: 1 event.") {
		t.Errorf("exit code %d\n%s", code, said)
	}
	pipe := filepath.Join(t.TempDir(), "pipe") // opening it waits for the other end
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	f = start("--exec", `sh -c 'cat; echo here >"$0"; read -r go <"$0"' `+pipe)
	if _, err := os.ReadFile(pipe); err != nil {
		t.Fatal(err)
	}
	f.interrupt(syscall.SIGTERM)
	if err := os.WriteFile(pipe, []byte("go\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, said = f.end()
	if code != 130 || strings.Count(said, "redemption.made") != 1 || !strings.Contains(said, `"perk_id":"museum"`) ||
		strings.Contains(said, "Not delivered") {
		t.Errorf("exit code %d\n%s", code, said)
	}
}
