package storetest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// process is a running server program. It exits on stop or kill, by itself, or when this process exits.
type process struct {
	name     string
	command  *exec.Cmd
	lifeline *os.File // a pipe: when it is closed, also by this process's exit, a watcher stops the server
	output   *tail
	done     chan struct{} // closed once it and all its children are gone
}

// watchScript becomes the server and starts a watcher beside it, which stops the server when its input closes. A line
// of input stops the watcher: then the server has exited, and another process may have its id.
const watchScript = `signal=$1; shift
{ read -r line <&3 || kill -s "$signal" $$; } >/dev/null 2>&1 &
exec "$@" 3<&-`

// start starts a server in the directory; the signal, named as for kill, stops it at once.
func (f *directory) start(signal, program string, args ...string) (*process, error) {
	watched, lifeline, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer watched.Close()
	p := &process{name: filepath.Base(program), lifeline: lifeline, output: &tail{}, done: make(chan struct{})}
	p.command = f.command("sh", append([]string{"-c", watchScript, "watch", signal, program}, args...)...)
	p.command.ExtraFiles = append([]*os.File{watched}, p.command.ExtraFiles...) // the first is 3
	p.command.Stdout, p.command.Stderr = p.output, p.output
	if err := p.command.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", program, err), lifeline.Close())
	}
	go p.wait()
	return p, nil
}

// wait returns when the process and, because they share its output, all its children are gone.
func (p *process) wait() {
	_ = p.command.Wait() // its output says how it exited
	_, _ = p.lifeline.WriteString("\n")
	_ = p.lifeline.Close()
	close(p.done)
}

// stop stops the process and waits until it is gone.
func (p *process) stop() {
	_ = p.lifeline.Close() // an error means that it has exited
	<-p.done
}

// kill kills the process and its children, and waits until they are gone.
func (p *process) kill() error {
	if err := killFamily(p.command.Process); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill %s: %w", p.name, err)
	}
	<-p.done
	return nil
}

// connectEvery is how long to wait before the next try to connect to a server that is starting.
const connectEvery = 10 * time.Millisecond

// startLimit bounds the start of a server. Recovery after a crash takes the longest.
const startLimit = time.Minute

// awaitConnections waits until the process lets a client connect to the address.
func (p *process) awaitConnections(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	next := time.NewTicker(connectEvery)
	defer next.Stop()
	for {
		conn, err := pgx.Connect(ctx, address)
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-next.C:
		case <-p.done:
			return fmt.Errorf("%s exited while it was starting: %s", p.name, p.output)
		case <-ctx.Done():
			return fmt.Errorf("%s did not start in time: %w; its output: %s", p.name, err, p.output)
		}
	}
}

var errNoPostgres = errors.New("PostgreSQL's server programs were found neither on the PATH nor in " +
	"/usr/lib/postgresql; " +
	"install PostgreSQL 14 or newer (apt-get install postgresql), or let " + namedServer +
	" hold the address of a running server")

var errNoPgBouncer = errors.New("pgbouncer was found neither on the PATH nor in /usr/sbin; " +
	"install PgBouncer (apt-get install pgbouncer)")

// programs is the directory of one PostgreSQL's programs. All are taken from the same one: Debian puts scripts of the
// same names on the PATH, which choose a version by themselves.
type programs string

// namedPrograms is the environment variable that holds the directory of the programs to use, for tests on another
// version.
const namedPrograms = "PERKS_TEST_POSTGRES_BIN"

func findPostgres() (programs, error) {
	if named := os.Getenv(namedPrograms); named != "" {
		account, err := unprivileged()
		if err != nil {
			return "", err
		}
		if !account.canEnter(named) {
			return "", fmt.Errorf("%s must name a directory that every user can enter, as PostgreSQL does not run as "+
				"root: %s", namedPrograms, named)
		}
		return programs(named), nil
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return programs(filepath.Dir(path)), nil
		}
	}
	return newestPostgres("/usr/lib/postgresql")
}

// newestPostgres searches Debian's directories, which are named by their versions.
func newestPostgres(root string) (programs, error) {
	found, err := filepath.Glob(filepath.Join(root, "*", "bin", "postgres"))
	if err != nil || len(found) == 0 {
		return "", errNoPostgres
	}
	version := func(path string) float64 {
		n, _ := strconv.ParseFloat(filepath.Base(filepath.Dir(filepath.Dir(path))), 64)
		return n
	}
	newest := slices.MaxFunc(found, func(a, b string) int { return int(10 * (version(a) - version(b))) })
	return programs(filepath.Dir(newest)), nil
}

func (p programs) path(name string) string { return filepath.Join(string(p), name) }

// major is the version of the programs, such as 15.
func (p programs) major() (int, error) {
	said, err := exec.Command(p.path("postgres"), "--version").Output()
	if err != nil {
		return 0, fmt.Errorf("ask %s for its version: %w", p.path("postgres"), err)
	}
	return majorVersion(strings.TrimPrefix(string(said), "postgres (PostgreSQL) ")), nil
}

func findPgBouncer() (string, error) {
	for _, name := range []string{"pgbouncer", "/usr/sbin/pgbouncer"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errNoPgBouncer
}

// directory is a temporary directory that belongs to the account. It is removed once this process and every process
// that was started in it have exited.
type directory struct {
	path    string
	account account

	held   *os.File // a pipe's end that this process and all that it starts here hold open
	guard  *exec.Cmd
	remove func() error
}

// guardScript waits until no process holds the other end of its input open.
const guardScript = `read -r line; rm -rf "$1"`

// longestDirectory leaves space for a socket's name in the 104 bytes that the narrowest system gives to its path.
const longestDirectory = 104 - len("/.s.PGSQL.5432") - 1

// newDirectory makes one in the directory for temporary files, or in /tmp if the account cannot enter that or its path
// is too long.
func newDirectory() (*directory, error) {
	a, err := unprivileged()
	if err != nil {
		return nil, err
	}
	parents := []string{os.TempDir(), "/tmp"}
	for _, parent := range parents {
		path := filepath.Join(parent, "perks-pg-"+strings.ToLower(rand.Text()[:12]))
		if len(path) > longestDirectory {
			continue
		}
		f, err := guardDirectory(path, a)
		if err != nil {
			return nil, fmt.Errorf("guard the directory %s: %w", path, err)
		}
		if os.Mkdir(path, 0o700) == nil && a.own(path) == nil && a.canEnter(path) {
			return f, nil
		}
		if err := f.remove(); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("neither %s nor %s can hold a database; let TMPDIR name a directory with a short path that "+
		"every user can enter",
		parents[0], parents[1])
}

// guardDirectory guards a directory that is not there yet, so that it never exists without its guard.
func guardDirectory(path string, a account) (*directory, error) {
	waiting, held, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer waiting.Close()
	f := &directory{path: path, account: a, held: held}
	// returns once all processes that hold the directory have exited and it is removed
	f.remove = sync.OnceValue(func() error {
		if err := errors.Join(f.held.Close(), f.guard.Wait()); err != nil {
			return fmt.Errorf("remove the directory %s: %w", f.path, err)
		}
		return nil
	})
	f.guard = exec.Command("sh", "-c", guardScript, "guard", path)
	f.guard.Dir = "/"
	f.guard.Stdin = waiting
	f.guard.SysProcAttr = detached(account{}) // the user that made the directory may remove it
	if err := f.guard.Start(); err != nil {
		return nil, errors.Join(err, held.Close())
	}
	return f, nil
}

// command makes a command that runs as the account and keeps the directory from being removed while it or a child of it
// runs. It sees nothing of this process's environment that could redirect PostgreSQL's programs.
func (f *directory) command(program string, args ...string) *exec.Cmd {
	command := exec.Command(program, args...)
	command.Dir = f.path
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	command.ExtraFiles = []*os.File{f.held}
	command.SysProcAttr = detached(f.account)
	return command
}

// run runs a command to its end. The error holds what it wrote.
func (f *directory) run(ctx context.Context, program string, args ...string) error {
	command := f.command(program, args...)
	output := &tail{}
	command.Stdout, command.Stderr = output, output
	if err := command.Start(); err != nil {
		return err
	}
	kill := context.AfterFunc(ctx, func() { _ = command.Process.Kill() })
	defer kill()
	if err := command.Wait(); err != nil {
		return errors.Join(ctx.Err(), fmt.Errorf("%s: %w: %s", program, err, output))
	}
	return nil
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailSize = 1024

var _ io.Writer = (*tail)(nil)

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if excess := len(t.text) - tailSize; excess > 0 {
		t.text = append(t.text[:0], t.text[excess:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
