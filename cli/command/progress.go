package command

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.com/perks/api/display"
)

// Counts is how many items there have been so far.
type Counts struct {
	Done                int64 // all that are finished, whatever their outcome
	OK, Failed, Unknown int64
	Pending             int64 // of the OK ones, those that somebody has yet to approve
	Skipped             int64 // needed no work; they count for neither the rate nor the time left
}

// worked returns how many items took the time that they take.
func (c Counts) worked() int64 { return c.Done - c.Skipped }

const (
	barInterval   = 100 * time.Millisecond // between two drawings of the bar
	lineInterval  = 10 * time.Second       // between two lines off a terminal
	clockInterval = time.Second            // between two looks at the clock while nothing is counted
)

// Progress draws a bar on a terminal, and writes a line now and then elsewhere. It is safe for use by many goroutines.
type Progress struct {
	streams *Streams
	total   int64
	now     func() time.Time

	mu      sync.Mutex
	counts  Counts
	began   sample
	latest  sample
	samples []sample  // of about the last ten seconds, the oldest first; never empty
	next    time.Time // not drawn again before
	shown   int       // columns that the bar on the screen takes
	done    bool

	stop, stopped chan struct{}
}

// sample is how many items had been worked on at a time.
type sample struct {
	at     time.Time
	worked int64
}

const (
	maxSamples     = 10
	sampleInterval = time.Second
)

func (s sample) rateUntil(later sample) float64 {
	seconds := later.at.Sub(s.at).Seconds()
	if seconds <= 0 {
		return 0
	}
	return float64(later.worked-s.worked) / seconds
}

// NewProgress begins to show progress towards a total, 0 if it is not known. End must be called.
func NewProgress(s *Streams, total int64, now func() time.Time) *Progress {
	began := sample{at: now()}
	p := &Progress{streams: s, total: total, now: now, began: began, latest: began, samples: []sample{began},
		stop: make(chan struct{}), stopped: make(chan struct{})}
	if s.Quiet {
		close(p.stopped)
		return p
	}
	p.next = began.at.Add(lineInterval)
	if s.ErrTTY {
		p.draw(began.at)
	}
	go p.watch()
	return p
}

// watch keeps the time and the rate right while nothing is counted, as when the service does not reply.
func (p *Progress) watch() {
	defer close(p.stopped)
	ticker := time.NewTicker(clockInterval)
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

// Update sets the counts. It is cheap enough to be called for each item.
func (p *Progress) Update(counts Counts) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts = counts
	if !p.done {
		p.show()
	}
}

// Note writes a line above the bar.
func (p *Progress) Note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown > 0 {
		fmt.Fprint(p.streams.Err, "\r"+strings.Repeat(" ", p.shown)+"\r")
		p.shown = 0
	}
	p.streams.Note("%s", text)
	if !p.done {
		p.drawIfShown()
	}
}

// End draws the bar for the last time and leaves it on a line of its own. A second call does nothing.
func (p *Progress) End() {
	p.mu.Lock()
	if p.done {
		p.mu.Unlock()
		return
	}
	p.done = true
	if p.drawIfShown() {
		fmt.Fprintln(p.streams.Err)
		p.shown = 0
	}
	p.mu.Unlock()
	close(p.stop)
	<-p.stopped
}

// show draws the bar or writes a line, if it is time to.
func (p *Progress) show() {
	if p.streams.Quiet {
		return
	}
	now := p.now()
	p.latest = sample{now, p.counts.worked()}
	if now.Sub(p.samples[len(p.samples)-1].at) >= sampleInterval {
		p.samples = append(p.samples[max(0, len(p.samples)+1-maxSamples):], p.latest)
	}
	if now.Before(p.next) || p.drawIfShown() {
		return
	}
	p.next = now.Add(lineInterval)
	text := display.Count(p.counts.Done) + " done"
	if p.total > 0 {
		text = fmt.Sprintf("%s of %s done (%d%%)", display.Count(p.counts.Done), display.Count(p.total), p.percent())
	}
	for _, part := range p.parts(now) {
		text += ", " + part.text
	}
	p.streams.Note("%s", text)
}

func (p *Progress) drawIfShown() bool {
	shown := p.streams.Draws() && !p.streams.Quiet
	if shown {
		p.draw(p.now())
	}
	return shown
}

// part is a piece of the bar's line. On a narrow screen those with the highest rank are left out first.
type part struct {
	text  string
	rank  int
	alarm bool
}

const (
	gap     = "  "
	barStep = 10 // the bar's length changes in steps, so that it does not jump with every digit behind it
	maxBar  = 40
)

// draw replaces the bar on the screen. Spaces erase the end of a longer one, because every terminal knows them.
func (p *Progress) draw(now time.Time) {
	p.next = now.Add(barInterval)
	columns := p.streams.ErrWidth() - 1
	parts := []part{{text: display.Count(p.counts.Done)}}
	if p.total > 0 {
		parts = []part{{text: fmt.Sprintf("%3d%%", p.percent())},
			{text: display.Count(p.counts.Done) + "/" + display.Count(p.total), rank: 2}}
	}
	parts, free := fit(append(parts, p.parts(now)...), columns)
	texts := make([]string, len(parts))
	for i, part := range parts {
		texts[i] = part.text
		if part.alarm {
			texts[i] = p.streams.Alarm(part.text)
		}
	}
	if width := min((free-len("[]")-len(gap))/barStep*barStep, maxBar); p.total > 0 && width > 0 && len(parts) > 0 {
		bar := strings.Repeat("=", int(p.percent())*width/100)
		if len(bar) > 0 && len(bar) < width {
			bar = bar[1:] + ">"
		}
		bar = "[" + bar + strings.Repeat(".", width-len(bar)) + "]"
		texts = append([]string{bar}, texts...)
		free -= len(bar) + len(gap)
	}
	taken := columns - free
	fmt.Fprint(p.streams.Err, "\r"+strings.Join(texts, gap)+strings.Repeat(" ", max(0, p.shown-taken)))
	p.shown = taken
}

// fit leaves parts out until the rest fits, and returns how many columns are free.
func fit(parts []part, columns int) (fitting []part, free int) {
	for len(parts) > 0 {
		free, last := columns+len(gap), 0
		for i, part := range parts {
			free -= len(part.text) + len(gap)
			if part.rank > parts[last].rank {
				last = i
			}
		}
		if free >= 0 {
			return parts, free
		}
		parts = append(parts[:last:last], parts[last+1:]...)
	}
	return nil, columns
}

// parts returns what the line shows beside the number of items done.
func (p *Progress) parts(now time.Time) (parts []part) {
	add := func(count int64, what string, rank int, alarm bool) {
		if count > 0 {
			parts = append(parts, part{display.Count(count) + what, rank, alarm})
		}
	}
	took, rate := now.Sub(p.began.at), p.samples[0].rateUntil(p.latest)
	if p.done {
		rate = p.began.rateUntil(sample{now, p.counts.worked()})
	}
	add(p.counts.Failed, " failed", 1, true)
	add(p.counts.Unknown, " unknown", 3, true)
	if p.counts.worked() > 0 || took >= time.Second { // before that the rate means nothing
		perSecond := display.Count(int64(rate + 0.5))
		if rate < 9.95 {
			perSecond = strconv.FormatFloat(rate, 'f', 1, 64)
		}
		parts = append(parts, part{text: perSecond + "/s", rank: 5})
	}
	if left := p.left(took, rate); left != "" {
		parts = append(parts, part{text: left, rank: 4})
	}
	add(p.counts.Skipped, " skipped", 6, false)
	return parts
}

// percent rounds down, so that 100 means all.
func (p *Progress) percent() int64 { return min(p.counts.Done, p.total) * 100 / p.total }

// left says how much time is left, or at the end how much it took; "" if that cannot be known.
func (p *Progress) left(took time.Duration, rate float64) string {
	switch {
	case p.done:
		return "took " + display.Duration(took)
	case p.total == 0:
		return display.Duration(took)
	case rate <= 0 || p.counts.Done >= p.total:
		return ""
	}
	seconds := float64(p.total-p.counts.Done) / rate
	if seconds > (1000 * time.Hour).Seconds() {
		return ""
	}
	return display.Duration(time.Duration(seconds*float64(time.Second))) + " left"
}
