package command_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/creack/pty"

	"example.com/perks/cli/command"
)

// clock is a clock that only the test advances.
type clock struct{ at time.Time }

func newClock() *clock { return &clock{time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)} }

func (c *clock) now() time.Time          { return c.at }
func (c *clock) advance(d time.Duration) { c.at = c.at.Add(d) }

// screen returns what a terminal shows after the text.
func screen(text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		var row []byte
		for part := range strings.SplitSeq(line, "\r") {
			row = append([]byte(part), row[min(len(part), len(row)):]...)
		}
		lines = append(lines, strings.TrimRight(string(row), " "))
	}
	return strings.Join(lines, "\n")
}

func onTerminal(width int) (*command.Streams, *bytes.Buffer) {
	s, _, err := command.BufferedStreams("")
	s.ErrTTY, s.Width = true, width
	return s, err
}

func TestBarOnATerminal(t *testing.T) {
	s, text := onTerminal(100)
	c := newClock()
	p := command.NewProgress(s, 10_000, c.now)
	wantScreen := func(want string) {
		t.Helper()
		if got := screen(text.String()); got != want {
			t.Errorf("the screen shows\n%q, want\n%q", got, want)
		}
	}
	wantScreen("[........................................]    0%  0/10,000")
	for done := int64(1); done <= 4500; done++ {
		c.advance(2 * time.Millisecond)
		p.Update(command.Counts{Done: done, OK: done - min(3, done), Failed: min(3, done)})
	}
	wantScreen("[=================>......................]   45%  4,500/10,000  3 failed  500/s  11s left")

	c.advance(20 * time.Second)
	p.Update(command.Counts{Done: 4501, OK: 4497, Failed: 3, Unknown: 1})
	wantScreen("[============>.................]   45%  4,501/10,000  3 failed  1 unknown  143/s  38s left")

	p.Update(command.Counts{Done: 10_000, OK: 9996, Failed: 3, Unknown: 1})
	p.End()
	final := "[==============================]  100%  10,000/10,000  3 failed  1 unknown  345/s  took 29s\n"
	wantScreen(final)
	p.End()
	p.Update(command.Counts{Done: 1})
	wantScreen(final)
	if strings.Contains(text.String(), "\x1b") {
		t.Error("wrote an escape sequence without colour")
	}
}

func TestFailuresAreRed(t *testing.T) {
	s, text := onTerminal(60)
	s.Colour = true
	c := newClock()
	p := command.NewProgress(s, 10, c.now)
	c.advance(time.Second)
	p.Update(command.Counts{Done: 2, OK: 1, Failed: 1})
	p.End()
	if !strings.Contains(text.String(), "  \x1b[31m1 failed\x1b[0m  ") {
		t.Errorf("%q", text.String())
	}
}

func TestBarFitsTheScreen(t *testing.T) {
	for width := range 201 {
		for _, total := range []int64{0, 7, 12_345_678} {
			s, text := onTerminal(width)
			c := newClock()
			p := command.NewProgress(s, total, c.now)
			c.advance(90 * time.Minute)
			p.Update(command.Counts{Done: 1_234_567, OK: 1, Failed: 234_567, Unknown: 98_765, Skipped: 54_321})
			p.End()
			for drawn := range strings.FieldsFuncSeq(text.String(),
				func(r rune) bool { return r == '\r' || r == '\n' }) {
				if len(drawn) >= max(width, 1) { // the last column stays empty: some terminals wrap there
					t.Fatalf("%d columns, total %d: %q is %d wide", width, total, drawn, len(drawn))
				}
			}
		}
	}
}

func TestNarrowScreensDropDetails(t *testing.T) {
	for width, want := range map[int]string{
		120: "[=>......................................]    6%  100/1,500  13 failed  2 unknown  9.0/s  2m36s left  " +
			"10 skipped",
		90: "[..........]    6%  100/1,500  13 failed  2 unknown  9.0/s  2m36s left  10 skipped",
		60: "  6%  100/1,500  13 failed  2 unknown  9.0/s  2m36s left",
		50: "  6%  100/1,500  13 failed  2 unknown  2m36s left",
		40: "  6%  100/1,500  13 failed  2 unknown",
		30: "  6%  100/1,500  13 failed",
		20: "  6%  13 failed",
		6:  "  6%",
		3:  "",
	} {
		s, text := onTerminal(width)
		c := newClock()
		p := command.NewProgress(s, 1500, c.now)
		c.advance(10 * time.Second)
		p.Update(command.Counts{Done: 100, OK: 75, Failed: 13, Unknown: 2, Skipped: 10})
		if got := screen(text.String()); got != want {
			t.Errorf("%d columns:\n%q, want\n%q", width, got, want)
		}
		p.End()
	}
}

// writeCounter counts writes.
type writeCounter struct{ count int }

func (d *writeCounter) Write(text []byte) (int, error) { d.count++; return len(text), nil }

func TestBarIsDrawnAtMostTenTimesASecond(t *testing.T) {
	s, _ := onTerminal(80)
	var drawn writeCounter
	s.Err = &drawn
	c := newClock()
	p := command.NewProgress(s, 100_000, c.now)
	for done := range int64(100_000) {
		c.advance(100 * time.Microsecond)
		p.Update(command.Counts{Done: done})
	}
	p.End()
	if drawn.count < 90 || drawn.count > 104 {
		t.Errorf("drawn %d times in 10 s", drawn.count)
	}
}

func TestPlainLinesWithoutTerminal(t *testing.T) {
	s, out, text := command.BufferedStreams("")
	c := newClock()
	p := command.NewProgress(s, 10_000, c.now)
	for done := int64(1); done <= 2_500; done++ {
		c.advance(10 * time.Millisecond)
		p.Update(command.Counts{Done: done, OK: done - min(done, 1500), Failed: min(done, 1200),
			Skipped: min(done, 300)})
	}
	p.End()
	want := "1,000 of 10,000 done (10%), 1,000 failed, 78/s, 1m56s left, 300 skipped\n" +
		"2,000 of 10,000 done (20%), 1,200 failed, 100/s, 1m20s left, 300 skipped\n"
	if text.String() != want || out.Len() > 0 {
		t.Errorf("got\n%swant\n%s", text.String(), want)
	}
}

func TestUnknownTotalHasNoBar(t *testing.T) {
	s, text := onTerminal(80)
	c := newClock()
	p := command.NewProgress(s, 0, c.now)
	c.advance(65 * time.Second)
	p.Update(command.Counts{Done: 1300, OK: 1300})
	if got, want := screen(text.String()), "1,300  20/s  1m05s"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	p.End()
}

func TestQuietShowsNoProgress(t *testing.T) {
	for _, terminal := range []bool{true, false} {
		s, text := onTerminal(80)
		s.ErrTTY, s.Quiet = terminal, true
		c := newClock()
		p := command.NewProgress(s, 10, c.now)
		c.advance(time.Hour)
		p.Update(command.Counts{Done: 5, Failed: 5})
		p.Note("a note")
		p.End()
		if text.Len() > 0 {
			t.Errorf("terminal %t: wrote %q", terminal, text)
		}
	}
}

func TestNotesAreAboveTheBar(t *testing.T) {
	s, text := onTerminal(80)
	c := newClock()
	p := command.NewProgress(s, 10, c.now)
	p.Note("row 3: is\x1b[2J missing")
	p.Note("row 4: is missing")
	p.End()
	p.Note("after the end")
	want := "row 3: is[2J missing\nrow 4: is missing\n[........................................]    0%  0/10  took " +
		"0s\nafter the end\n"
	if got := screen(text.String()); got != want {
		t.Errorf("%q, want\n%q", got, want)
	}
}

func TestTimeAdvancesWithoutUpdates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // a fake clock; it also fails if a goroutine leaks
		s, text := onTerminal(80)
		p := command.NewProgress(s, 0, time.Now)
		time.Sleep(65*time.Second + time.Millisecond)
		synctest.Wait()
		if got, want := screen(text.String()), "0  0.0/s  1m05s"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
		p.End()
	})
}

func TestBarFollowsWindowSize(t *testing.T) {
	control, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer control.Close()
	read := make(chan string)
	go func() {
		text, err := io.ReadAll(control)
		// Linux's error when the other end is closed
		if pathErr := (*os.PathError)(nil); err != nil && !errors.As(err, &pathErr) {
			text = fmt.Append(text, err)
		}
		read <- string(text)
	}()
	s := &command.Streams{Out: io.Discard, Err: tty, ErrTTY: true}
	c := newClock()
	resize := func(columns uint16) {
		if err := pty.Setsize(tty, &pty.Winsize{Rows: 24, Cols: columns}); err != nil {
			t.Fatal(err)
		}
	}
	resize(30)
	p := command.NewProgress(s, 4, c.now)
	resize(60)
	c.advance(time.Second)
	p.Update(command.Counts{Done: 1})
	tty.Close()
	p.End()
	want := "\r[..........]    0%  0/4" + "\r[======>.......................]   25%  1/4  1.0/s  3s left"
	if got := <-read; got != want {
		t.Errorf("%q, want\n%q", got, want)
	}
}

func BenchmarkUpdate(b *testing.B) {
	s, _ := onTerminal(80)
	s.Err = io.Discard
	p := command.NewProgress(s, int64(b.N), time.Now)
	var done int64
	for b.Loop() {
		done++
		p.Update(command.Counts{Done: done})
	}
	p.End()
}
