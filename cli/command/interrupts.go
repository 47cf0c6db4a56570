package command

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Interrupts cancel a command, except while another program, such as an editor, has the terminal. That sends ctrl+c to
// both.
type Interrupts struct {
	cancel context.CancelFunc
	ours   chan os.Signal
}

// HandleInterrupts returns a context that SIGTERM cancels, and an interrupt unless it is for another program. A second
// interrupt ends the process. The new context does not depend on ctx, which an earlier listener may cancel on any
// interrupt.
func HandleInterrupts(ctx context.Context) (context.Context, *Interrupts, context.CancelFunc) {
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

// Suspend leaves SIGINT and SIGQUIT to another program until resume is called. It catches them instead of ignoring
// them, because a child process inherits ignored signals.
func (i *Interrupts) Suspend() (resume func()) {
	theirs := make(chan os.Signal, 1)
	signal.Notify(theirs, os.Interrupt, syscall.SIGQUIT)
	signal.Stop(i.ours)
	close(i.ours)
	return func() {
		none := make(chan os.Signal, 1) // signal.Stop returns once all earlier signals are delivered
		signal.Notify(none, os.Interrupt)
		signal.Stop(none)
		i.listen()
		signal.Stop(theirs)
	}
}
