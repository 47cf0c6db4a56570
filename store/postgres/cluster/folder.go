package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
)

// folder is a temporary folder that belongs to the account. It is removed when this process has ended in whatever way,
// and so has every process that was started in it.
type folder struct {
	path    string
	account account

	held   *os.File // a pipe's end that this process and all that it starts here hold open
	guard  *exec.Cmd
	remove func() error
}

// guardScript waits until nobody holds the other end of its input any more.
const guardScript = `read -r line; rm -rf "$1"`

// longestFolder leaves room for a socket's name in the 104 bytes that the narrowest system gives to its path.
const longestFolder = 104 - len("/.s.PGSQL.5432") - 1

func newFolder(a account) (*folder, error) {
	path, err := makeFolder(a)
	if err != nil {
		return nil, err
	}
	f := &folder{path: path, account: a}
	if err := f.startGuard(); err != nil {
		return nil, errors.Join(fmt.Errorf("guard the folder %s: %w", path, err), os.RemoveAll(path))
	}
	f.remove = sync.OnceValue(f.letGo)
	return f, nil
}

// makeFolder makes it where temporary files go, or in /tmp if those are out of the account's reach or too far down.
func makeFolder(a account) (string, error) {
	parents := []string{os.TempDir(), "/tmp"}
	for _, parent := range parents {
		path, err := os.MkdirTemp(parent, "perks-pg-")
		if err != nil {
			continue
		}
		if len(path) <= longestFolder && a.own(path) == nil && a.canEnter(path) {
			return path, nil
		}
		if err := os.Remove(path); err != nil {
			return "", err
		}
	}
	return "", fmt.Errorf("neither %s nor %s can hold a database: let TMPDIR name a folder with a short path that every user can enter",
		parents[0], parents[1])
}

func (f *folder) startGuard() error {
	waiting, held, err := os.Pipe()
	if err != nil {
		return err
	}
	defer waiting.Close()
	f.held = held
	f.guard = exec.Command("sh", "-c", guardScript, "guard", f.path)
	f.guard.Dir = "/"
	f.guard.Stdin = waiting
	f.guard.SysProcAttr = detached(account{}) // whoever made the folder may remove it
	if err := f.guard.Start(); err != nil {
		return errors.Join(err, held.Close())
	}
	return nil
}

// letGo waits until all who hold the folder have ended and it is removed.
func (f *folder) letGo() error {
	if err := errors.Join(f.held.Close(), f.guard.Wait()); err != nil {
		return fmt.Errorf("remove the folder %s: %w", f.path, err)
	}
	return nil
}

// command makes a command that runs as the account and keeps the folder from being removed while it or a child of it
// runs. It sees nothing of this process's environment that could turn PostgreSQL's programs elsewhere.
func (f *folder) command(program string, args ...string) *exec.Cmd {
	command := exec.Command(program, args...)
	command.Dir = f.path
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	command.ExtraFiles = []*os.File{f.held}
	command.SysProcAttr = detached(f.account)
	return command
}

// run runs a command to its end. The error holds what it wrote.
func (f *folder) run(ctx context.Context, program string, args ...string) error {
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
	kept []byte
}

const tailSize = 1024

var _ io.Writer = (*tail)(nil)

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if excess := len(t.kept) - tailSize; excess > 0 {
		t.kept = append(t.kept[:0], t.kept[excess:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.kept)
}
