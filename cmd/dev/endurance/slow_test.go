package endurance

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/perks/cmd/dev/programs"
)

const (
	connectionsPerKind = 400 // connections of each of five kinds
	tick               = 200 * time.Millisecond
	tolerance          = 4 * time.Second // how late a timeout may be on a busy machine

	normalPace    = 2 * time.Millisecond // of normal requests, if they do not take longer
	normalWithin  = time.Second
	memoryAllowed = 288 << 10 // KiB
)

// slowKind is a kind of connection that stays open as long as the server allows.
type slowKind struct {
	name    string
	hello   string        // what is sent at once
	drip    string        // sent after that in a loop, a byte at each tick
	reading bool          // the answer is read a few bytes at each tick
	cutOff  time.Duration // when the server closes it; zero is after this test
}

// slowConnections are many connections of one kind.
type slowConnections struct {
	slowKind
	conns   []net.Conn
	opened  time.Time
	cut     sync.WaitGroup
	cutLast atomic.Int64 // nanoseconds after opened at which the last one was cut off
	closed  atomic.Int64
}

// TestSlowAndIdleConnectionsDoNotExhaustTheServer checks that 2,000 slow connections use few resources: each is cut off
// after its timeout, and normal requests meanwhile are fast.
func TestSlowAndIdleConnectionsDoNotExhaustTheServer(t *testing.T) {
	allowManyFiles(t)
	i := programs.Install(t)
	i.ImportCSV("users", "id\nalice\n")
	i.ImportCSV("perks", longPerks(100))
	server := i.Start()
	token := i.Token(server.URL)
	before := memory(t, server)

	const get, end = "GET %s HTTP/1.1\r\nHost: perks.example\r\n", "\r\n"
	withToken := "Authorization: Bearer " + token + "\r\n"
	kinds := []*slowConnections{
		{slowKind: slowKind{name: "silent", cutOff: 5 * time.Second}},
		{slowKind: slowKind{name: "slow header", hello: fmt.Sprintf(get, "/v2/health"), drip: "X-Slow: 1\r\n",
			cutOff: 5 * time.Second}},
		{slowKind: slowKind{name: "slow body", cutOff: 10 * time.Second, drip: " ",
			hello: "POST /v2/partners/perks/perk-0/redeem HTTP/1.1\r\nHost: perks.example\r\nContent-Type: " +
				"application/json\r\nContent-Length: 1000\r\n" + withToken + end}},
		{slowKind: slowKind{name: "slow reader", hello: fmt.Sprintf(get, "/v2/partners/perks?per_page=100") +
			withToken + end, reading: true}},
		{slowKind: slowKind{name: "idle", hello: fmt.Sprintf(get, "/v2/health") + end}},
	}
	stop := make(chan struct{})
	var busy sync.WaitGroup
	for _, c := range kinds {
		c.open(t, strings.TrimPrefix(server.URL, "http://"))
		busy.Go(func() { c.keepBusy(stop) })
	}

	normal := sendNormalRequests(t, server.URL, token, stop)
	for _, c := range kinds {
		if c.cutOff > 0 {
			c.cut.Wait()
		}
	}
	for _, c := range kinds {
		c.check(t)
	}
	close(stop)
	busy.Wait()
	took := <-normal
	p99, peak := took[len(took)*99/100], memory(t, server)
	t.Logf("%d normal requests: p50 %s, p99 %s, slowest %s", len(took), took[len(took)/2], p99, took[len(took)-1])
	t.Logf("memory: %d MiB before, %d MiB with %d connections", before>>10, peak>>10, connectionsPerKind*len(kinds))
	if p99 > normalWithin {
		t.Errorf("normal requests take %s (p99), want at most %s", p99, normalWithin)
	}
	if peak > memoryAllowed {
		t.Errorf("the server takes %d MiB, want at most %d", peak>>10, memoryAllowed>>10)
	}
}

// allowManyFiles raises the limit of open files of this process and the server that it starts.
func allowManyFiles(t *testing.T) {
	t.Helper()
	const needed = 5*connectionsPerKind + 500
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if limit.Cur >= needed {
		return
	}
	limit.Cur = needed
	limit.Max = max(limit.Max, needed)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatalf("this test needs %d open files at once; allow them with ulimit -n: %v", needed, err)
	}
}

// longPerks returns perks so long that a page of them does not fit into a connection's buffers.
func longPerks(n int) string {
	var text strings.Builder
	text.WriteString("id,title,description,city\n")
	for number := range n {
		fmt.Fprintf(&text, "perk-%d,Long,%s,Bath\n", number, strings.Repeat("long ", 1600))
	}
	return text.String()
}

// open connects them all and sends hello.
func (c *slowConnections) open(t *testing.T, address string) {
	t.Helper()
	// A small window fills up quickly, so the server has to wait for the reader.
	dialer := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) error {
		return raw.Control(func(fd uintptr) {
			_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF,
				4096)
		})
	}}
	c.opened = time.Now()
	for range connectionsPerKind {
		conn, err := dialer.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		if _, err := io.WriteString(conn, c.hello); err != nil {
			t.Fatal(err)
		}
		c.conns = append(c.conns, conn)
		if !c.reading {
			c.cut.Go(func() { c.awaitClose(conn) })
		}
	}
}

// awaitClose reads until the server closes the connection.
func (c *slowConnections) awaitClose(conn net.Conn) {
	if _, err := io.Copy(io.Discard, conn); errors.Is(err, net.ErrClosed) {
		return // closed by the test
	}
	c.closed.Add(1)
	c.cutLast.Store(int64(time.Since(c.opened)))
}

// keepBusy sends, or reads, a little at a time. That a connection was cut off shows elsewhere.
func (c *slowConnections) keepBusy(stop <-chan struct{}) {
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	few := make([]byte, 64)
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		case <-ticks.C:
		}
		for _, conn := range c.conns {
			switch {
			case c.reading:
				_, _ = conn.Read(few)
			case c.drip != "":
				_, _ = conn.Write([]byte{c.drip[n%len(c.drip)]})
			}
		}
	}
}

func (c *slowConnections) check(t *testing.T) {
	t.Helper()
	last := time.Duration(c.cutLast.Load()).Round(10 * time.Millisecond)
	closed := int(c.closed.Load())
	switch {
	case c.cutOff == 0 && closed > 0:
		t.Errorf("%s: %d connections were cut off, the last after %s", c.name, closed, last)
	case c.cutOff > 0 && (closed != connectionsPerKind || last < c.cutOff || last > c.cutOff+tolerance):
		t.Errorf("%s: %d of %d connections were cut off, the last after %s, want %s", c.name, closed,
			connectionsPerKind, last, c.cutOff)
	}
	if c.cutOff > 0 {
		t.Logf("%s: cut off after %s at the latest", c.name, last)
	}
}

// sendNormalRequests sends one request after the other until stop, and then returns how long they took, in order.
func sendNormalRequests(t *testing.T, url, token string, stop <-chan struct{}) <-chan []time.Duration {
	took := make(chan []time.Duration, 1)
	go func() {
		var list []time.Duration
		defer func() { slices.Sort(list); took <- list }()
		next := time.NewTicker(normalPace)
		defer next.Stop()
		for {
			select {
			case <-stop:
				return
			case <-next.C:
			}
			begun := time.Now()
			response, _, err := asClient(token).send(http.MethodGet, url+"/v2/partners/perks/perk-0", "", nil)
			if err != nil || response.StatusCode != http.StatusOK {
				t.Errorf("a normal request: %v, %v", response, err)
			}
			list = append(list, time.Since(begun))
		}
	}()
	return took
}

// memory returns the peak memory of the process until now, in KiB.
func memory(t *testing.T, s *programs.Server) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID()))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); fields[0] == "VmHWM:" {
			size, err := strconv.Atoi(fields[1])
			if err != nil {
				t.Fatal(err)
			}
			return size
		}
	}
	t.Fatal("the system does not report the server's memory")
	return 0
}
