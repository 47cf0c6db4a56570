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
	fmt.Fprint(p.streams.Err, "\r"+line+strings.Repeat(" ", max(0, p.shown-columns)))
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

const (
	memory   = 10          // how many moments a pace remembers
	interval = time.Second // the least time between two of them
)

// pace measures how fast items go by over the last ten seconds or so: over the whole run it would take long to show that the
// service has become slow, and over less it would jump.
type pace struct {
	began   moment
	moments [memory]moment // a ring; those that are not filled yet are the beginning
	latest  int
	current moment
}

type moment struct {
	at     time.Time
	worked int64
}

func newPace(began time.Time) pace {
	p := pace{began: moment{at: began}, current: moment{at: began}}
	for i := range p.moments {
		p.moments[i] = p.began
	}
	return p
}

func (p *pace) add(at time.Time, worked int64) {
	p.current = moment{at, worked}
	if at.Sub(p.moments[p.latest].at) >= interval {
		p.latest = (p.latest + 1) % memory
		p.moments[p.latest] = p.current
	}
}

// rate returns items per second, 0 while nothing is known.
func (p *pace) rate() float64 {
	return p.moments[(p.latest+1)%memory].rateUntil(p.current)
}

func (p *pace) overall(now time.Time, worked int64) float64 {
	return p.began.rateUntil(moment{now, worked})
}

func (m moment) rateUntil(later moment) float64 {
	seconds := later.at.Sub(m.at).Seconds()
	if seconds <= 0 {
		return 0
	}
	return float64(later.worked-m.worked) / seconds
}

type status struct {
	Counts
	total int64
	ended bool
	took  time.Duration
	rate  float64 // items per second
}

// part is a piece of the bar's line. Those with the lowest rank are left out last when the screen is narrow.
type part struct {
	text  string
	rank  int
	alarm bool
}

const (
	gap     = "  "
	barStep = 10
	maxBar  = 40
)

// line returns the line for a screen of so many columns, and how many of them it takes. paint colours what is alarming.
func (s status) line(columns int, paint func(string) string) (line string, taken int) {
	parts, room := fitting(s.parts(), columns)
	if len(parts) == 0 {
		return "", 0
	}
	texts := make([]string, len(parts))
	for i, part := range parts {
		texts[i] = part.text
		if part.alarm {
			texts[i] = paint(part.text)
		}
	}
	// In steps, so that the bar does not jump with every digit behind it.
	if width := min((room-len("[]")-len(gap))/barStep*barStep, maxBar); s.total > 0 && width > 0 {
		texts = append([]string{s.bar(width)}, texts...)
		room -= len("[]") + width + len(gap)
	}
	return strings.Join(texts, gap), columns - room
}

// fitting leaves parts out until the rest fits, and returns how many columns it leaves.
func fitting(parts []part, columns int) ([]part, int) {
	for len(parts) > 0 {
		room := columns + len(gap)
		last := 0
		for i, part := range parts {
			room -= len(part.text) + len(gap)
			if part.rank > parts[last].rank {
				last = i
			}
		}
		if room >= 0 {
			return parts, room
		}
		parts = append(parts[:last:last], parts[last+1:]...)
	}
	return nil, columns
}

func (s status) parts() []part {
	var parts []part
	add := func(there bool, text string, rank int, alarm bool) {
		if there {
			parts = append(parts, part{text, rank, alarm})
		}
	}
	if s.total > 0 {
		add(true, fmt.Sprintf("%3d%%", s.percent()), 0, false)
		add(true, display.Count(s.Done)+"/"+display.Count(s.total), 2, false)
	} else {
		add(true, display.Count(s.Done), 0, false)
	}
	add(s.Failed > 0, display.Count(s.Failed)+" failed", 1, true)
	add(s.Unknown > 0, display.Count(s.Unknown)+" unknown", 3, true)
	add(s.worked() > 0 || s.took >= glance, s.perSecond(), 5, false) // before that the rate means nothing
	add(s.left() != "", s.left(), 4, false)
	add(s.Skipped > 0, display.Count(s.Skipped)+" skipped", 6, false)
	return parts
}

func (s status) bar(width int) string {
	filled := int(s.percent()) * width / 100
	bar := strings.Repeat("=", filled)
	if filled > 0 && filled < width {
		bar = bar[1:] + ">"
	}
	return "[" + bar + strings.Repeat(".", width-filled) + "]"
}

func (s status) sentence() string {
	text := display.Count(s.Done) + " done"
	if s.total > 0 {
		text = fmt.Sprintf("%s of %s done (%d%%)", display.Count(s.Done), display.Count(s.total), s.percent())
	}
	text += ", " + s.perSecond()
	if left := s.left(); left != "" {
		text += ", " + left
	}
	if s.Failed > 0 {
		text += ", " + display.Count(s.Failed) + " failed"
	}
	if s.Unknown > 0 {
		text += ", " + display.Count(s.Unknown) + " unknown"
	}
	if s.Skipped > 0 {
		text += ", " + display.Count(s.Skipped) + " skipped"
	}
	return text
}

// percent rounds down, so that 100 means all.
func (s status) percent() int64 { return min(s.Done, s.total) * 100 / s.total }

func (s status) perSecond() string {
	if s.rate < 9.95 {
		return strconv.FormatFloat(s.rate, 'f', 1, 64) + "/s"
	}
	return display.Count(int64(s.rate+0.5)) + "/s"
}

// left tells the time to go, or at the end the time that it took. "" is that nobody can know.
func (s status) left() string {
	switch {
	case s.ended:
		return "took " + display.Duration(s.took)
	case s.total == 0:
		return display.Duration(s.took)
	case s.rate <= 0 || s.Done >= s.total:
		return ""
	}
	seconds := float64(s.total-s.Done) / s.rate
	if seconds > (1000 * time.Hour).Seconds() {
		return ""
	}
	return display.Duration(time.Duration(seconds*float64(time.Second))) + " left"
}
