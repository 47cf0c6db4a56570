package screen

import (
	"sync"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// Reports is what a command tells before it ends, such as how far it is. Only the latest counts.
type Reports[T any] struct {
	latest  chan T
	stopped chan struct{}
	stop    func()
}

// NewReports makes a Reports. Run Wait beside the command, and Stop it when that has ended.
func NewReports[T any]() *Reports[T] {
	r := &Reports[T]{latest: make(chan T, 1), stopped: make(chan struct{})}
	r.stop = sync.OnceFunc(func() { close(r.stopped) })
	return r
}

// Tell reports something. Call it from one goroutine at a time.
func (r *Reports[T]) Tell(what T) {
	select {
	case <-r.latest: // nobody has seen it yet
	default:
	}
	r.latest <- what
}

// Stop ends the last Wait.
func (r *Reports[T]) Stop() { r.stop() }

// report is what was told last; nil if that was nothing.
type report[T any] struct {
	of   *Reports[T]
	what *T
}

// waitTime is how long one Wait takes at most: whoever runs commands one after the other must get to those that report.
const waitTime = 100 * time.Millisecond

// Wait is the command that waits for a report, for a while.
func (r *Reports[T]) Wait() tea.Msg {
	select {
	case what := <-r.latest:
		return report[T]{r, &what}
	case <-r.stopped:
		return nil
	case <-time.After(waitTime):
		return report[T]{r, nil}
	}
}

// Handle returns the report if the message has one, and waits for the next.
func (r *Reports[T]) Handle(msg tea.Msg) (what *T, next tea.Cmd, mine bool) {
	told, is := msg.(report[T])
	if !is || told.of != r {
		return nil, nil, false
	}
	return told.what, r.Wait, true
}
