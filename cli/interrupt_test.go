//go:build unix

package cli_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/perks/cli/session"
)

// An interrupted command exits at once, without checking the outcome.
func TestInterruptStopsTheCommand(t *testing.T) {
	reached, closed := make(chan struct{}), make(chan struct{})
	var lookups atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lookups.Add(1)
		if r.Method == http.MethodPost {
			lookups.Store(0) // the list before that does not count
			reached <- struct{}{}
			<-closed
		}
		_, _ = io.WriteString(w, `{"data":[],"meta":{"page":1,"total_pages":1}}`)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(closed) })
	cmd := exec.Command("perksctl", "perk", "redeem", "p", "--user", "u", "--idempotency-key", "k-2")
	cmd.Env = append(os.Environ(), session.EnvAPIURL+"="+server.URL+"/v2", session.EnvToken+"=t",
		session.EnvConfigDir+"="+t.TempDir())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-reached
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	code := cmd.ProcessState.ExitCode()
	if code != 130 || !strings.Contains(stderr.String(), "--idempotency-key k-2") || lookups.Load() != 0 {
		t.Errorf("exit code %d, %d lookups\n%s", code, lookups.Load(), stderr.String())
	}
}
