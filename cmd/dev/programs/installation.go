// Package programs runs the real perksd and perksctl for tests, the demo, the benchmarks and the pictures: on databases
// of their own, in an environment isolated from the rest of the machine.
//
// It knows the programs' command lines and HTTP addresses, and nothing of how either is made.
package programs

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"example.com/perks/api"
	"example.com/perks/server/servertest"
)

// dir holds the programs while Main runs.
var dir string

// Main runs a package's tests. Its TestMain has to call it, so that the program is built once for all of them and
// removed in the end.
func Main(m *testing.M) { os.Exit(Tests{m}.Run()) }

// Tests is Main for a TestMain that has more to do and ends the process itself.
type Tests struct{ Of *testing.M }

// Run runs the tests and returns their exit code.
func (t Tests) Run() int {
	var err error
	if dir, err = os.MkdirTemp("", "perksd-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	return t.Of.Run()
}

// built is the path of perksd. Who asks first builds it.
var built = sync.OnceValues(func() (path string, err error) { return build("perksd") })

// Perksctl returns the path of perksctl, which exists while Main runs. Who asks first builds it.
var Perksctl = sync.OnceValues(func() (path string, err error) { return build("perksctl") })

func build(program string) (path string, err error) {
	// go test takes a result from its cache unless a file that the test has read is another now. It sees what this
	// process reads, and not what a compiler does.
	module, err := Output(exec.Command("go", "env", "GOMOD"))
	if err != nil {
		return "", err
	}
	if _, err := os.ReadDir(filepath.Join(filepath.Dir(module), "cmd", program)); err != nil {
		return "", err
	}
	return filepath.Join(dir, program), Build(context.Background(), dir, "example.com/perks/cmd/"+program)
}

// Installation is perksd with one database.
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
	i := InstallOver(t, "sqlite:"+filepath.Join(disk.Dir, "perks.db"))
	i.disk = disk
	return i
}

// Using is the same database with another perksd, at the path.
func (i *Installation) Using(program string) *Installation {
	other := *i
	other.program = program
	return &other
}

// fsyncOff lets perksd start over the PostgreSQL of the tests, of which most have fsync off.
const fsyncOff = "PERKSD_ALLOW_FSYNC_OFF=true"

// Command is a command line of perksd for the database, with nothing in its environment but what it was given.
func (i *Installation) Command(args ...string) *exec.Cmd {
	cmd := exec.Command(i.program, args...)
	if i.disk != nil {
		cmd = i.disk.Command(i.program, args...)
	}
	cmd.Env = append([]string{"PERKSD_DATABASE=" + i.address, fsyncOff}, i.Environment...)
	return cmd
}

// Must runs a command with an input and returns its output.
func (i *Installation) Must(stdin string, args ...string) string {
	i.t.Helper()
	cmd := i.Command(args...)
	cmd.Stdin = strings.NewReader(stdin)
	output, err := Output(cmd)
	if err != nil {
		i.t.Fatal(err)
	}
	return output
}

// Refuses runs a command that has to fail with a text in what it says.
func (i *Installation) Refuses(text string, args ...string) {
	i.t.Helper()
	output, err := i.Command(args...).CombinedOutput()
	if err == nil || !strings.Contains(string(output), text) {
		i.t.Errorf("perksd %s: %v, want a refusal with %q\n%s", strings.Join(args, " "), err, text, output)
	}
}

// Shell runs a command line in a shell that finds perksd and PostgreSQL's programs, and returns its output.
func (i *Installation) Shell(line string, environment ...string) string {
	i.t.Helper()
	postgres, err := filepath.Glob("/usr/lib/postgresql/*/bin") // of Debian
	if err != nil {
		i.t.Fatal(err)
	}
	shell := exec.Command("sh", "-c", line)
	path := append(postgres, filepath.Dir(i.program), os.Getenv("PATH"))
	shell.Env = append(environment, "PATH="+strings.Join(path, ":"))
	output, err := shell.CombinedOutput()
	if err != nil {
		i.t.Fatalf("%s: %v\n%s", line, err, output)
	}
	return string(output)
}

// ImportCSV imports records of a kind.
func (i *Installation) ImportCSV(kind, text string) {
	i.t.Helper()
	i.Must(text, "import", kind, "--format", "csv", "-")
}

// Client makes a client with the default scopes, unless flags say otherwise, and returns its id and secret.
func (i *Installation) Client(name string, flags ...string) (id, secret string) {
	i.t.Helper()
	created, err := readClient(i.Must("",
		append([]string{"client", "create", "--name", name, "-o", "json"}, flags...)...))
	if err != nil {
		i.t.Fatal(err)
	}
	return created.ID, created.Secret
}

// Redemptions reads the database, beside servers that may be running.
func (i *Installation) Redemptions() []api.RedemptionRecord {
	i.t.Helper()
	return Lines[api.RedemptionRecord](i, "export", "redemptions")
}

// Lines runs a command that prints JSON lines, and returns them.
func Lines[T any](i *Installation, args ...string) (all []T) {
	i.t.Helper()
	for line := range strings.Lines(i.Must("", append(args, "-o", "jsonl")...)) {
		var record T
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			i.t.Fatal(err)
		}
		all = append(all, record)
	}
	return all
}

// Server is perksd serve in a process of its own. It ends at the latest with the test.
type Server struct {
	*Process
	t testing.TB
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
		servers = append(servers, i.Launch(args...))
	}
	for _, s := range servers {
		s.URL = s.WaitForURL(i.t)
	}
	return servers
}

// StartLoggingTo starts a server whose stderr is a file that is empty.
func (i *Installation) StartLoggingTo(file *os.File) *Server {
	i.t.Helper()
	s := i.launch(file)
	s.URL = s.WaitForURL(i.t)
	return s
}

// Launch starts a server on a free port, which may not listen yet.
func (i *Installation) Launch(args ...string) *Server {
	i.t.Helper()
	return i.launch(logFile(i.t), args...)
}

func (i *Installation) launch(log *os.File, args ...string) *Server {
	i.t.Helper()
	p, err := launch(i.Command(append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...), log)
	if err != nil {
		i.t.Fatal(err)
	}
	i.t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // whatever is still running
		<-p.exited
	})
	return &Server{p, i.t}
}

// tell sends a signal.
func (s *Server) tell(signal syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(signal); err != nil {
		s.t.Errorf("sending the server %s: %v", signal, err)
	}
}

// Kill ends the process without a chance to do anything more, and returns when it is gone.
func (s *Server) Kill() {
	s.t.Helper()
	s.tell(syscall.SIGKILL)
	log := s.Rest()
	if s.err == nil || s.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		s.t.Errorf("the server was not killed: %v; its log is\n%s", s.err, log)
	}
}

// SendSIGTERM sends SIGTERM.
func (s *Server) SendSIGTERM() { s.tell(syscall.SIGTERM) }

// SendSIGHUP sends SIGHUP.
func (s *Server) SendSIGHUP() { s.tell(syscall.SIGHUP) }

// WaitForExit returns when the server that was told to end has done so in good order.
func (s *Server) WaitForExit() {
	s.t.Helper()
	if log := s.Rest(); s.err != nil {
		s.t.Errorf("after SIGTERM the server exited with %v; its log is\n%s", s.err, log)
	}
}

// Terminate tells the server to end, and returns when it has done so in good order.
func (s *Server) Terminate() {
	s.t.Helper()
	s.SendSIGTERM()
	s.WaitForExit()
}

// Follow reads a log as it comes, to its end, so that whoever writes it never waits for a reader.
func Follow(t testing.TB, from io.Reader) *Log {
	t.Helper()
	file, done := logFile(t), make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(file, from) // what a terminal shows ends with an error
	}()
	return newLog(file, done)
}

// logFile is a file that is gone with the test.
func logFile(t testing.TB) *os.File {
	t.Helper()
	file, err := os.CreateTemp(t.TempDir(), "log-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return file
}

// WaitFor waits for a line that holds the text, after the one that it returned before.
func (l *Log) WaitFor(t testing.TB, text string) string {
	t.Helper()
	line, err := l.await(context.Background(), text)
	if err != nil {
		t.Fatal(err)
	}
	return line
}

// WaitForURL waits until the server says where it listens.
func (l *Log) WaitForURL(t testing.TB) string {
	t.Helper()
	return listening.FindStringSubmatch(l.WaitFor(t, "listening on"))[1]
}

// MetricsURL is Metrics for tests.
func (l *Log) MetricsURL(t testing.TB) string {
	t.Helper()
	url, err := l.Metrics()
	if err != nil {
		t.Fatal(err)
	}
	return url
}

// Token makes a client with all scopes and gets a token for it from the server at the address.
func (i *Installation) Token(url string) string {
	i.t.Helper()
	id, secret := i.Client("Test")
	return TokenOf(i.t, http.DefaultClient, url, id, secret).AccessToken
}

// TokenOf gets a token for a client from the server at the address.
func TokenOf(t testing.TB, through *http.Client, url, id, secret string) api.Token {
	t.Helper()
	request, err := http.NewRequest(http.MethodPost, url+"/v2/auth/token", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth(id, secret)
	response, err := through.Do(request)
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
	response, _, err := Send(http.DefaultClient, http.MethodGet, url, token, "", nil)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, nil
}

// Send sends a request, with a token unless that is "", and reads the whole response. A body is JSON, unless the header
// says otherwise.
func Send(through *http.Client, method, url, token, body string, header map[string]string) (
	response *http.Response, text []byte, err error,
) {
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	if response, err = through.Do(request); err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	text, err = io.ReadAll(response.Body)
	return response, text, err
}
