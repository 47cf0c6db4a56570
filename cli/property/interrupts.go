package property

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Interrupts decides whose a Ctrl-C is. The terminal sends it to perksctl and to the editor alike; while the editor is
// open, it is the editor's alone.
type Interrupts struct {
	cancel context.CancelFunc
	ours   chan os.Signal
}

// Heed returns a context that an interrupt ends unless an editor is open, and SIGTERM always. A second one ends the
// process. It takes the place of ctx, whose end by an earlier listener could not be undone.
func heedInterrupts(ctx context.Context) (context.Context, *Interrupts, context.CancelFunc) {
	terminated, stop := signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM)
	context.AfterFunc(terminated, stop)
	heeded, cancel := context.WithCancel(terminated)
	i := &Interrupts{cancel: cancel}
	i.listen()
	return heeded, i, func() {
		signal.Stop(i.ours)
		close(i.ours)
		cancel()
		stop()
	}
}

func (i *Interrupts) listen() {
	ours := make(chan os.Signal, 1)
	signal.Notify(ours, os.Interrupt)
	i.ours = ours
	go func() {
		if _, came := <-ours; came {
			i.cancel()
			signal.Stop(ours)
		}
	}()
}

// lend leaves interrupts, and the key for SIGQUIT, to the editor until they are taken back. They are caught all the same
// and not ignored, because a process that is started inherits what is ignored.
func (i *Interrupts) lend() (takeBack func()) {
	theirs := make(chan os.Signal, 1)
	signal.Notify(theirs, os.Interrupt, syscall.SIGQUIT)
	signal.Stop(i.ours)
	close(i.ours)
	return func() {
		await()
		i.listen()
		signal.Stop(theirs)
	}
}

// await returns when every signal that has come so far has been handed out, as signal.Stop promises.
func await() {
	none := make(chan os.Signal, 1)
	signal.Notify(none, os.Interrupt)
	signal.Stop(none)
}
