package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// newFolder makes one where temporary files go, or in /tmp if those are out of the account's reach or too far down.
func newFolder(a account) (*folder, error) {
	parents := []string{os.TempDir(), "/tmp"}
	for _, parent := range parents {
		path := filepath.Join(parent, "perks-pg-"+strings.ToLower(rand.Text()[:12]))
		if len(path) > longestFolder {
			continue
		}
		f, err := guardFolder(path, a)
		if err != nil {
			return nil, fmt.Errorf("guard the folder %s: %w", path, err)
		}
		if os.Mkdir(path, 0o700) == nil && a.own(path) == nil && a.canEnter(path) {
			return f, nil
		}
		if err := f.remove(); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("neither %s nor %s can hold a database; let TMPDIR name a folder with a short path that every user can enter",
		parents[0], parents[1])
}

// guardFolder guards a folder that is not there yet, so that it is never there without its guard.
func guardFolder(path string, a account) (*folder, error) {
	waiting, held, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer waiting.Close()
	f := &folder{path: path, account: a, held: held}
	f.remove = sync.OnceValue(f.letGo)
	f.guard = exec.Command("sh", "-c", guardScript, "guard", path)
	f.guard.Dir = "/"
	f.guard.Stdin = waiting
	f.guard.SysProcAttr = detached(account{}) // whoever made the folder may remove it
	if err := f.guard.Start(); err != nil {
		return nil, errors.Join(err, held.Close())
	}
	return f, nil
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
