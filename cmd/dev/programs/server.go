package programs

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Server is perksd serve in a process of its own. It ends at the latest with the test.
type Server struct {
	*Log
	URL string // where it listens, without a path

	t   testing.TB
	cmd *exec.Cmd
}

// Start starts a server on a free port and returns it when it listens.
func (i *Installation) Start(args ...string) *Server {
	i.t.Helper()
	return i.StartTogether(1, args...)[0]
}

// StartTogether starts several servers at the same moment.
func (i *Installation) StartTogether(n int, args ...string) []*Server {
	i.t.Helper()
	var servers []*Server
	for range n {
		servers = append(servers, i.launch(args...))
	}
	for _, s := range servers {
		s.URL = s.WaitForURL(i.t)
	}
	return servers
}

// StartLoggingTo starts a server whose stderr is a file that is empty. Its Log stays empty.
func (i *Installation) StartLoggingTo(file *os.File) *Server {
	i.t.Helper()
	cmd := i.Command("serve", "--addr", "127.0.0.1:0")
	cmd.Stderr = file
	cmd.Stdout = cmd.Stderr // what it should not write is in the log too
	if err := cmd.Start(); err != nil {
		i.t.Fatal(err)
	}
	i.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for late := time.After(time.Minute); ; {
		text := make([]byte, 4096)
		n, _ := file.ReadAt(text, 0)
		if found := listening.FindSubmatch(text[:n]); found != nil {
			return &Server{t: i.t, cmd: cmd, URL: string(found[1]), Log: Follow(strings.NewReader(""))}
		}
		select {
		case <-again.C:
		case <-late:
			i.t.Fatalf("the server does not say where it listens, but %s", text[:n])
		}
	}
}

// launch does not wait until the server listens.
func (i *Installation) launch(args ...string) *Server {
	i.t.Helper()
	cmd := i.Command(append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		i.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		i.t.Fatal(err)
	}
	s := &Server{t: i.t, cmd: cmd, Log: Follow(stderr)}
	i.t.Cleanup(func() {
		_ = cmd.Process.Kill() // whatever is still running
		s.Rest()
		_ = cmd.Wait()
	})
	return s
}

// PID is the server's process.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Kill ends the process without a chance to do anything more, and returns when it is gone.
func (s *Server) Kill() {
	s.t.Helper()
	if err := s.cmd.Process.Kill(); err != nil {
		s.t.Errorf("killing the server: %v", err)
	}
	log := s.Rest()
	if err := s.cmd.Wait(); err == nil || s.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		s.t.Errorf("the server was not killed: %v; its log is\n%s", err, log)
	}
}

// Terminate tells the server to end, and returns when it has done so in good order.
func (s *Server) Terminate() {
	s.t.Helper()
	s.TellToEnd()
	s.AwaitEnd()
}

// TellToEnd sends SIGTERM.
func (s *Server) TellToEnd() {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
}

// HangUp sends SIGHUP.
func (s *Server) HangUp() {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		s.t.Fatal(err)
	}
}

// AwaitEnd returns when the server that was told to end has done so in good order.
func (s *Server) AwaitEnd() {
	s.t.Helper()
	log := s.Rest()
	if err := s.cmd.Wait(); err != nil {
		s.t.Errorf("after SIGTERM the server ended with %v; its log is\n%s", err, log)
	}
}
