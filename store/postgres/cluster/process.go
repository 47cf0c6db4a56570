package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
)

// process is a server program at work. It ends by stop or kill, by itself, or when this process is no more.
type process struct {
	name    string
	command *exec.Cmd
	leash   *os.File // at the end of this pipe a watcher ends the server
	said    *tail
	ended   chan struct{} // closed once it and all its children are gone
}

// watchScript becomes the server and leaves a watcher beside it, which ends the server at the end of its input. A line
// of input dismisses it: then the server has ended before, and its id may be someone else's.
const watchScript = `signal=$1; shift
{ read -r line <&3 || kill -s "$signal" $$; } >/dev/null 2>&1 &
exec "$@" 3<&-`

// start starts a server in the folder that the signal, as kill names it, ends at once.
func (f *folder) start(signal, program string, args ...string) (*process, error) {
	watched, leash, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer watched.Close()
	p := &process{name: filepath.Base(program), leash: leash, said: &tail{}, ended: make(chan struct{})}
	p.command = f.command("sh", append([]string{"-c", watchScript, "watch", signal, program}, args...)...)
	p.command.ExtraFiles = append([]*os.File{watched}, p.command.ExtraFiles...) // the first is 3
	p.command.Stdout, p.command.Stderr = p.said, p.said
	if err := p.command.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", program, err), leash.Close())
	}
	go p.wait()
	return p, nil
}

// wait returns when the process and, because they share its output, all its children are gone.
func (p *process) wait() {
	_ = p.command.Wait() // how it ended is in what it said
	_, _ = p.leash.WriteString("\n")
	_ = p.leash.Close()
	close(p.ended)
}

// stop ends the process and waits until it is gone.
func (p *process) stop() {
	_ = p.leash.Close() // an error means that it has ended already
	<-p.ended
}

// kill ends the process and its children without a chance to say or write anything, and waits until they are gone.
func (p *process) kill() error {
	if err := killFamily(p.command.Process); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill %s: %w", p.name, err)
	}
	<-p.ended
	return nil
}

// connectEvery is how long to wait before the next try to connect to a server that is starting.
const connectEvery = 10 * time.Millisecond

// startLimit is when a server that takes no connections is given up. Recovery after a crash takes the longest.
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
		case <-p.ended:
			return fmt.Errorf("%s ended while it was starting: %s", p.name, p.said)
		case <-ctx.Done():
			return fmt.Errorf("%s did not start in time: %w; it said: %s", p.name, err, p.said)
		}
	}
}
