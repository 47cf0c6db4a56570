package storetest_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/perks/store/storetest"
)

// runServers names the environment variable that turns this test program into one that starts a server, a standby and a
// bouncer, writes their addresses as lines, and panics when it reads something.
const runServers = "RUN_SERVERS"

func TestMain(m *testing.M) {
	if os.Getenv(runServers) != "" {
		fmt.Fprintln(os.Stderr, runUntilInput())
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func runUntilInput() error {
	ctx := context.Background()
	server, err := storetest.StartPostgres(ctx, storetest.PostgresOptions{})
	if err != nil {
		return err
	}
	standby, err := server.Standby(ctx)
	if err != nil {
		return err
	}
	bouncer, err := server.StartPgBouncer(ctx)
	if err != nil {
		return err
	}
	for _, address := range []string{server.DSN("postgres"), standby.DSN("postgres"), bouncer.DSN("postgres")} {
		fmt.Println(address)
	}
	if _, err := io.ReadFull(os.Stdin, make([]byte, 1)); err != nil {
		return err
	}
	panic("as a test may")
}

// child is a process that runs servers in a directory.
type child struct {
	*exec.Cmd
	input  io.WriteCloser
	output io.Reader
}

func startChild(t *testing.T, directory string) child {
	t.Helper()
	c := child{Cmd: exec.CommandContext(t.Context(), os.Args[0])}
	c.Env = append(os.Environ(), runServers+"=1", "TMPDIR="+directory)
	var err error
	if c.input, err = c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if c.output, err = c.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	noError(t, c.Start())
	return c
}

// temporaryDirectory is one with a path as short as a socket's must be, which every user can enter.
func temporaryDirectory(t *testing.T) string {
	t.Helper()
	directory := must(os.MkdirTemp("/tmp", "perks-"))(t)
	t.Cleanup(func() {
		if err := os.RemoveAll(directory); err != nil {
			t.Error(err)
		}
	})
	noError(t, os.Chmod(directory, 0o777))
	return directory
}

// eventually polls until the condition is true.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for !condition() {
		select {
		case <-poll.C:
		case <-ctx.Done():
			t.Fatalf("timed out waiting for %s", what)
		}
	}
}

func isEmpty(directory string) func() bool {
	return func() bool {
		entries, err := os.ReadDir(directory)
		return err == nil && len(entries) == 0
	}
}

func exists(pattern string) func() bool {
	return func() bool {
		found, err := filepath.Glob(pattern)
		return err == nil && len(found) > 0
	}
}

func TestNothingOutlivesTheProcess(t *testing.T) {
	for _, r := range []struct {
		how string
		end func(child) error
	}{
		{"killed", func(c child) error { return c.Process.Kill() }},
		{"in a panic", func(c child) error { _, err := c.input.Write([]byte("\n")); return err }},
	} {
		t.Run(r.how, func(t *testing.T) {
			t.Parallel()
			directory := temporaryDirectory(t)
			c := startChild(t, directory)
			var connections []*pgx.Conn
			for lines := bufio.NewScanner(c.output); len(connections) < 3 && lines.Scan(); {
				connections = append(connections, connect(t, lines.Text()))
			}
			if len(connections) < 3 {
				t.Fatal("the servers did not start")
			}
			noError(t, r.end(c))
			_ = c.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			for i, conn := range connections {
				if _, err := conn.WaitForNotification(ctx); ctx.Err() != nil {
					t.Errorf("server %d still holds its connection (%v)", i, err)
				}
			}
			eventually(t, "the servers' directories to vanish", isEmpty(directory))
		})
	}
}

func TestNothingOutlivesAProcessThatIsKilledWhileAServerStarts(t *testing.T) {
	for _, r := range []struct{ when, file string }{
		{"its directory exists", "perks-pg-*"},
		{"its files exist", "perks-pg-*/data/base"},
		{"it starts to run", "perks-pg-*/data/postmaster.pid"},
		{"it listens", "perks-pg-*/.s.PGSQL.*"},
	} {
		t.Run(r.when, func(t *testing.T) {
			t.Parallel()
			directory := temporaryDirectory(t)
			c := startChild(t, directory)
			eventually(t, r.file, exists(filepath.Join(directory, r.file)))
			noError(t, c.Process.Kill())
			_ = c.Wait()
			eventually(t, "the server's directory to vanish", isEmpty(directory))
		})
	}
}
