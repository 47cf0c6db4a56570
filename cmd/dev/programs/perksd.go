// Package programs runs the real perksd and perksctl for tests, the demo, the benchmarks and the pictures: over databases of
// their own, in an environment that nothing else on the machine reaches.
//
// It knows the programs' command lines and HTTP addresses, and nothing of how either is made.
package programs

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

// folder holds the program while Main runs.
var folder string

// Main runs a package's tests. Its TestMain has to call it, so that the program is built once for all of them and removed
// in the end.
func Main(m *testing.M) { os.Exit(Tests{m}.Run()) }

// Tests is Main for a TestMain that has more to do and ends the process itself.
type Tests struct{ Of *testing.M }

// Run runs the tests and returns their exit code.
func (t Tests) Run() int {
	var err error
	if folder, err = os.MkdirTemp("", "perksd-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	return t.Of.Run()
}

// built is the program's path. Who asks first builds it.
var built = sync.OnceValues(func() (path string, err error) {
	// go test takes a result from its cache unless a file that the test has read is another now. It sees what this process
	// reads, and not what a compiler does.
	if _, err := os.ReadDir(sources()); err != nil {
		return "", err
	}
	path = filepath.Join(folder, "perksd")
	if output, err := exec.Command("go", "build", "-o", path, "example.com/perks/cmd/perksd").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building perksd: %w\n%s", err, output)
	}
	return path, nil
})

// sources is the folder of the program's source, above the one of this file.
func sources() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", "perksd")
}

// Installation is perksd over one database.
type Installation struct {
	Environment []string // what its commands find beside the address of the database, each as NAME=VALUE

	t       testing.TB
	program string
	address string // of the database
	disk    *Disk  // that the program sees, or nil
}

// Install gives perksd an empty database of the kind that the environment variable PERKS_TEST_DATABASE names.
func Install(t testing.TB) *Installation {
	t.Helper()
	return InstallOver(t, servertest.DatabaseAddress(t))
}

// InstallOver gives perksd the database at an address.
func InstallOver(t testing.TB, address string) *Installation {
	t.Helper()
	program, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return &Installation{t: t, program: program, address: address}
}

// InstallOn gives perksd the SQLite file perks.db on a disk.
func InstallOn(t testing.TB, disk *Disk) *Installation {
	t.Helper()
	i := InstallOver(t, "sqlite:"+filepath.Join(disk.Folder, "perks.db"))
	i.disk = disk
	return i
}

// Command is a command line of perksd over the database, with nothing in its environment but what it was given.
func (i *Installation) Command(args ...string) *exec.Cmd {
	cmd := exec.Command(i.program, args...)
	if i.disk != nil {
		cmd = i.disk.Command(i.program, args...)
	}
	cmd.Env = append([]string{"PERKSD_DATABASE=" + i.address}, i.Environment...)
	return cmd
}

// Must runs a command with an input and returns its output.
func (i *Installation) Must(stdin string, args ...string) string {
	i.t.Helper()
	cmd := i.Command(args...)
	cmd.Stdin = strings.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		i.t.Fatalf("perksd %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(output)
}

// Refuses runs a command that has to fail with a text in what it says.
func (i *Installation) Refuses(text string, args ...string) {
	i.t.Helper()
	output, err := i.Command(args...).CombinedOutput()
	if err == nil || !strings.Contains(string(output), text) {
		i.t.Errorf("perksd %s: %v, want a refusal with %q\n%s", strings.Join(args, " "), err, text, output)
	}
}

// ImportCSV imports records of a kind.
func (i *Installation) ImportCSV(kind, text string) {
	i.t.Helper()
	i.Must(text, "import", kind, "--format", "csv", "-")
}

// Client makes a client with all scopes and returns its id and secret.
func (i *Installation) Client(name string) (id, secret string) {
	i.t.Helper()
	var created struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	if err := json.Unmarshal([]byte(i.Must("", "client", "create", "--name", name, "-o", "json")), &created); err != nil {
		i.t.Fatal(err)
	}
	return created.ID, created.Secret
}

// Redemptions reads the database, beside servers that may be running.
func (i *Installation) Redemptions() []store.RedemptionRecord {
	i.t.Helper()
	var all []store.RedemptionRecord
	for line := range strings.Lines(i.Must("", "export", "redemptions", "-o", "jsonl")) {
		var r store.RedemptionRecord
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			i.t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

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

// Log is what a server writes to stderr. It is read as it comes, so that the server never waits for a reader.
type Log struct {
	mu    sync.Mutex
	more  sync.Cond
	lines []string
	ended bool
	seen  int // lines that WaitFor has passed
}

// Follow reads a log to its end.
func Follow(from io.Reader) *Log {
	l := &Log{}
	l.more.L = &l.mu
	go func() {
		scanner := bufio.NewScanner(from)
		for scanner.Scan() {
			l.add(scanner.Text())
		}
		l.end()
	}()
	return l
}

func (l *Log) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
	l.more.Broadcast()
}

func (l *Log) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.more.Broadcast()
}

// WaitFor waits for a line that holds the text, after the one that it returned before.
func (l *Log) WaitFor(t testing.TB, text string) string {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		for ; l.seen < len(l.lines); l.seen++ {
			if line := l.lines[l.seen]; strings.Contains(line, text) {
				l.seen++
				return line
			}
		}
		if l.ended {
			t.Fatalf("the server ended before it said %q; its log is\n%s", text, strings.Join(l.lines, "\n"))
		}
		l.more.Wait()
	}
}

var listening = regexp.MustCompile(`listening on (https?://[^\s"]+)`)

// WaitForURL waits until the server says where it listens.
func (l *Log) WaitForURL(t testing.TB) string {
	t.Helper()
	return listening.FindStringSubmatch(l.WaitFor(t, "listening on"))[1]
}

var metrics = regexp.MustCompile(`msg=metrics url=(\S+)`)

// MetricsURL is where a server that listens shows its metrics: it has said so before.
func (l *Log) MetricsURL(t testing.TB) string {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		if found := metrics.FindStringSubmatch(line); found != nil {
			return found[1]
		}
	}
	t.Fatalf("the server does not say where its metrics are; its log is\n%s", strings.Join(l.lines, "\n"))
	return ""
}

// Rest waits until the log ends and returns it whole.
func (l *Log) Rest() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.ended {
		l.more.Wait()
	}
	return strings.Join(l.lines, "\n")
}

// Token makes a client with all scopes and gets a token for it from the server at the address.
func (i *Installation) Token(url string) string {
	i.t.Helper()
	id, secret := i.Client("Test")
	return TokenOf(i.t, http.DefaultClient, url, id, secret).AccessToken
}

// TokenOf gets a token for a client from the server at the address.
func TokenOf(t testing.TB, over *http.Client, url, id, secret string) api.Token {
	t.Helper()
	request, err := http.NewRequest(http.MethodPost, url+"/v2/auth/token", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth(id, secret)
	response, err := over.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var token api.Token
	if err := json.NewDecoder(response.Body).Decode(&token); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("getting a token: status %d, %v", response.StatusCode, err)
	}
	return token
}

// StatusOf reads an address with a token.
func StatusOf(t testing.TB, url, token string) int {
	t.Helper()
	status, err := Get(url, token)
	if err != nil {
		t.Fatal(err)
	}
	return status
}

// Get is StatusOf for goroutines other than the test's: it returns what goes wrong.
func Get(url, token string) (status int, err error) {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}
