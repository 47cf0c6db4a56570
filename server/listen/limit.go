package listen

import (
	"container/list"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"
)

// Limited is a listener with a limit of open connections, so that clients can't use up all files and memory. At
// the limit it closes the connection that has been idle for longest, which HTTP allows at any time. If none is idle,
// a new connection waits until another is closed or times out.
//
// The last connections are a reserve for requests that must be answered while all others are busy. Any other request
// on one of them waits in Conn.Admit until there is space outside of the reserve.
type Limited struct {
	net.Listener
	reserve int // of the limit

	mu       sync.Mutex
	changed  sync.Cond
	closed   bool
	stats    Stats
	reserved int // of the open ones, those in the reserve
	// of net.Conn, longest first; also those in the reserve that have sent nothing yet
	idle    *list.List
	entries map[net.Conn]*list.Element // of idle
	waiting *list.List                 // of waiter, longest first
}

// maxReserve is plenty for probes and token requests, which are short.
const maxReserve = 64

// Limit limits the connections of a listener. A tenth of them, at most maxReserve, is the reserve.
func Limit(l net.Listener, limit int) *Limited {
	limited := &Limited{Listener: l, stats: Stats{Limit: limit}, reserve: min(limit/10, maxReserve),
		idle: list.New(), entries: map[net.Conn]*list.Element{}, waiting: list.New()}
	limited.changed.L = &limited.mu
	return limited
}

// Stats are numbers of connections.
type Stats struct {
	Open, Limit int
	Evicted     int // that were idle, and closed to make space
	Refused     int // whose requests found no space outside of the reserve
}

// Stats returns the numbers of now.
func (l *Limited) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stats
}

// Accept returns the next connection, once there is space for it.
func (l *Limited) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.stats.Open >= l.stats.Limit && !l.closed {
		if !l.evict(func(*Conn) bool { return true }) {
			if longest := l.waiting.Front(); longest != nil {
				l.waiting.Remove(longest).(waiter).admitted <- false
			}
		}
		l.changed.Wait()
	}
	if l.closed {
		_ = conn.Close() // it was not served
		return nil, net.ErrClosed
	}
	l.stats.Open++
	accepted := &Conn{Conn: conn, listener: l}
	if l.isFull() {
		l.reserved++
		accepted.isReserved = true
	}
	return accepted, nil
}

// isFull reports whether there are more connections than fit outside of the reserve.
func (l *Limited) isFull() bool { return l.stats.Open-l.reserved > l.stats.Limit-l.reserve }

// evict closes the first idle connection that may be closed.
func (l *Limited) evict(may func(*Conn) bool) bool {
	for entry := l.idle.Front(); entry != nil; entry = entry.Next() {
		if conn := entry.Value.(net.Conn); may(connOf(conn)) {
			l.idle.Remove(entry)
			delete(l.entries, conn)
			l.stats.Evicted++
			go conn.Close() // it takes the lock, and over TLS also some time
			return true
		}
	}
	return false
}

func (l *Limited) release(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stats.Open--
	if c.isReserved {
		l.reserved--
	}
	for first := l.waiting.Front(); first != nil && l.hasSpace(); first = l.waiting.Front() {
		waiter := l.waiting.Remove(first).(waiter)
		l.leaveReserve(waiter.conn)
		waiter.admitted <- true
	}
	l.changed.Signal()
}

// hasSpace reports whether another connection fits outside of the reserve.
func (l *Limited) hasSpace() bool { return l.stats.Open-l.reserved < l.stats.Limit-l.reserve }

func (l *Limited) leaveReserve(c *Conn) {
	c.isReserved = false
	l.reserved--
}

// Close also ends a waiting Accept.
func (l *Limited) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.changed.Broadcast()
	return l.Listener.Close()
}

// connState tracks idle connections. It is an http.Server's ConnState.
func (l *Limited) connState(conn net.Conn, state http.ConnState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if entry := l.entries[conn]; entry != nil {
		l.idle.Remove(entry)
		delete(l.entries, conn)
	}
	if state == http.StateIdle || state == http.StateNew && connOf(conn).isReserved {
		l.entries[conn] = l.idle.PushBack(conn)
		if l.waiting.Len() > 0 {
			l.evict(isOutside)
		}
		l.changed.Signal()
	}
}

func isOutside(c *Conn) bool { return !c.isReserved }

// Conn is an open connection of a Limited. The methods of a nil *Conn are those of a connection without limits.
type Conn struct {
	net.Conn
	listener   *Limited
	isReserved bool // under the listener's lock
	released   sync.Once
}

// waiter is a connection in the reserve whose request waits for space outside.
type waiter struct {
	conn     *Conn
	admitted chan bool // one value
}

// Close also makes space for another connection.
func (c *Conn) Close() error {
	defer c.released.Do(func() { c.listener.release(c) })
	return c.Conn.Close()
}

// Admit waits until the connection is not in the reserve, and reports whether that was possible: not if ctx ends, or
// if the reserve is needed for others.
func (c *Conn) Admit(ctx context.Context) bool {
	if c == nil {
		return true
	}
	l := c.listener
	l.mu.Lock()
	if c.isReserved && l.hasSpace() {
		l.leaveReserve(c)
	}
	if !c.isReserved {
		l.mu.Unlock()
		return true
	}
	l.evict(isOutside)
	w := waiter{c, make(chan bool, 1)}
	entry := l.waiting.PushBack(w)
	l.changed.Signal()
	l.mu.Unlock()
	admitted := false
	select {
	case admitted = <-w.admitted:
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting.Remove(entry) // unless it was
	if !c.isReserved {
		return true
	}
	l.stats.Refused++
	return admitted
}

type connKey struct{}

func withConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, connOf(conn))
}

// connOf returns the Conn that http.Server serves, perhaps over TLS.
func connOf(conn net.Conn) *Conn {
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn()
	}
	c, _ := conn.(*Conn)
	return c
}

// ConnOf returns the connection of a request with that context, or nil if Serve does not serve it.
func ConnOf(ctx context.Context) *Conn {
	c, _ := ctx.Value(connKey{}).(*Conn)
	return c
}

// sendBuffer is how much the system keeps of an unread stream: Linux's usual maximum, which the system doubles.
const sendBuffer = 208 << 10

// LimitSendBuffer keeps the system from storing megabytes for a connection that is not read.
func (c *Conn) LimitSendBuffer() {
	if c == nil {
		return
	}
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(sendBuffer) // otherwise it keeps its own size
	}
}

// CanWrite reports whether the system takes more at once: a third of the send buffer, on Linux.
func (c *Conn) CanWrite() bool {
	can := true
	if raw := c.raw(); raw != nil {
		_ = raw.Control(func(fd uintptr) { can = isWritable(fd) }) // on a closed connection, writing fails
	}
	return can
}

// AwaitWrite waits for CanWrite. If that takes longer, the error is os.ErrDeadlineExceeded. Nothing else may write
// meanwhile.
func (c *Conn) AwaitWrite(within time.Duration) error {
	raw := c.raw()
	if raw == nil {
		return nil
	}
	if err := c.Conn.SetWriteDeadline(time.Now().Add(within)); err != nil {
		return err
	}
	return raw.Write(isWritable)
}

func (c *Conn) raw() syscall.RawConn {
	if c == nil {
		return nil
	}
	has, ok := c.Conn.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := has.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}
