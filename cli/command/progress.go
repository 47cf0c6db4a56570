package command

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// Counts is how many items there have been so far.
type Counts struct {
	Done int64 // all that are behind, whatever came of them

	OK, Failed, Unknown int64
	Skipped             int64 // needed no work; they count for neither the rate nor the time left
}

// worked returns how many items took the time that they take.
func (c Counts) worked() int64 { return c.Done - c.Skipped }

const (
	redraw = 100 * time.Millisecond // between two bars
	report = 10 * time.Second       // between two lines off a terminal
	glance = time.Second            // how often the clock is looked at when nothing happens
)

// Progress is safe for use by many goroutines.
type Progress struct {
	streams *Streams
	total   int64
	now     func() time.Time

	mu     sync.Mutex
	counts Counts
	pace   pace
	began  time.Time
	next   time.Time // not drawn again before
	shown  int       // columns that the bar on the screen takes
	ended  bool

	stop, stopped chan struct{}
}

// New begins to show progress towards a total, 0 if it is not known. End must be called.
func NewProgress(s *Streams, total int64, now func() time.Time) *Progress {
	began := now()
	p := &Progress{streams: s, total: total, now: now, began: began, pace: newPace(began), stop: make(chan struct{}), stopped: make(chan struct{})}
	if s.Quiet {
		close(p.stopped)
		return p
	}
	p.next = began.Add(report)
	if s.ErrTTY {
		p.draw(began)
	}
	go p.watch()
	return p
}

// watch keeps the time and the rate true while nothing is counted, as when the service does not answer.
func (p *Progress) watch() {
	defer close(p.stopped)
	ticker := time.NewTicker(glance)
	defer ticker.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-ticker.C:
			p.mu.Lock()
			p.show()
			p.mu.Unlock()
		}
	}
}

// Update tells the counts. It is cheap enough to be called for each item.
func (p *Progress) Update(counts Counts) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts = counts
	if !p.ended {
		p.show()
	}
}

// Note tells a line without breaking the bar.
func (p *Progress) Note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	p.streams.Note("%s", text)
	if p.streams.Draws() && !p.streams.Quiet && !p.ended {
		p.draw(p.now())
	}
}

// End shows where the run has come to for the last time and leaves the bar on a line of its own. A second call does nothing.
func (p *Progress) End() {
	p.mu.Lock()
	if p.ended {
		p.mu.Unlock()
		return
	}
	p.ended = true
	if p.streams.Draws() && !p.streams.Quiet {
		p.draw(p.now())
		fmt.Fprintln(p.streams.Err)
		p.shown = 0
	}
	p.mu.Unlock()
	close(p.stop)
	<-p.stopped
}

// show draws if it is time to.
func (p *Progress) show() {
	if p.streams.Quiet {
		return
	}
	now := p.now()
	p.pace.add(now, p.counts.worked())
	if now.Before(p.next) {
		return
	}
	if p.streams.Draws() {
		p.draw(now)
		return
	}
	p.next = now.Add(report)
	p.streams.Note("%s", p.status(now).sentence())
}

// draw replaces the bar on the screen. Blanks instead of an escape erase the end of a longer one, so that any terminal shows
// it right.
func (p *Progress) draw(now time.Time) {
	p.next = now.Add(redraw)
	line, columns := p.status(now).line(p.streams.ErrWidth()-1, p.streams.Alarm)
	blanks := strings.Repeat(" ", max(0, p.shown-columns))
	fmt.Fprint(p.streams.Err, "\r"+line+blanks)
	p.shown = columns
}

func (p *Progress) erase() {
	if p.shown > 0 {
		fmt.Fprint(p.streams.Err, "\r"+strings.Repeat(" ", p.shown)+"\r")
		p.shown = 0
	}
}

// status gathers what a bar or a line tells.
func (p *Progress) status(now time.Time) status {
	s := status{Counts: p.counts, total: p.total, ended: p.ended, took: now.Sub(p.began), rate: p.pace.rate()}
	if p.ended {
		s.rate = p.pace.overall(now, p.counts.worked())
	}
	return s
}
