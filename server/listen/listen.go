// Package listen takes addresses and answers HTTP there within bounds: of time, of memory and of open connections, over TLS
// with a certificate that can be replaced while the server runs. It does not know what is asked or answered.
package listen

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"
)

// Take listens at the address, or says why that is not possible.
func Take(address *net.TCPAddr) (net.Listener, error) {
	l, err := net.ListenTCP("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("another program listens on %s already, such as a perksd that still runs: end it, or name another address", address)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Errorf("this computer does not have the address %s", address.IP)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("the system does not let this user listen on %s; ports below 1024 need root or CAP_NET_BIND_SERVICE", address)
	case err != nil:
		return nil, err
	}
	return l, nil
}

// Server is how requests are answered at an address.
type Server struct {
	Handler     http.Handler
	Certificate *Certificate  // nil serves in the open
	MaxHeader   int           // bytes of a request's header
	Drain       time.Duration // how long requests under way may take to end
	Draining    string        // is logged when that begins; empty logs nothing
	Log         *slog.Logger
}

// Serve answers requests until ctx ends and those under way are answered.
func (s Server) Serve(ctx context.Context, l *Limited) error {
	h := &http.Server{
		Handler:           s.Handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute, // Prometheus comes back every minute at the latest
		MaxHeaderBytes:    s.MaxHeader,
		ConnState:         l.notice,
		ErrorLog:          slog.NewLogLogger(s.Log.Handler(), slog.LevelWarn),
	}
	// HTTP/1 alone: callers of an API gain little from HTTP/2, whose connections can be held on to half-idle, and in which more
	// holes are found than anywhere else in Go's server.
	h.Protocols = new(http.Protocols)
	h.Protocols.SetHTTP1(true)
	serve := func() error { return h.Serve(l) }
	if s.Certificate != nil {
		h.TLSConfig = s.Certificate.config()
		serve = func() error { return h.ServeTLS(l, "", "") }
	}
	ended := make(chan error, 1)
	go func() { ended <- serve() }()
	select {
	case err := <-ended:
		return errors.Join(fmt.Errorf("serving: %w", err), h.Close())
	case <-ctx.Done():
	}
	if s.Draining != "" {
		s.Log.Info(s.Draining)
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Drain)
	defer cancel()
	if err := h.Shutdown(drain); err != nil {
		return errors.Join(fmt.Errorf("some requests did not end within %s and were cut off: %w", s.Drain, err), h.Close())
	}
	return nil
}

// Limited bounds how many connections are open at once, so that nobody takes all files and all memory of the process.
// When there are too many, the one that has been idle for longest makes room: HTTP lets a server close it at any time. When
// none is idle, who comes next waits until one of the others is done, or its time is up, and is then served as usual.
type Limited struct {
	net.Listener
	most int

	mu      sync.Mutex
	changed sync.Cond
	closed  bool
	open    int
	evicted int        // connections that were closed to make room
	idle    *list.List // of net.Conn, longest first
	places  map[net.Conn]*list.Element
}

// Limit bounds the connections of a listener.
func Limit(l net.Listener, most int) *Limited {
	limited := &Limited{Listener: l, most: most, idle: list.New(), places: map[net.Conn]*list.Element{}}
	limited.changed.L = &limited.mu
	return limited
}

// Figures are the connections that are open, those that there is room for, and how many were closed to make room.
func (l *Limited) Figures() (open, most, evicted int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open, l.most, l.evicted
}

// Accept returns the next connection when there is room for it.
func (l *Limited) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.open >= l.most && !l.closed {
		if longest := l.idle.Front(); longest != nil {
			evicted := l.idle.Remove(longest).(net.Conn)
			delete(l.places, evicted)
			l.evicted++
			go evicted.Close() // needs the lock, and over TLS also time
		}
		l.changed.Wait()
	}
	if l.closed {
		_ = conn.Close() // it was not served
		return nil, net.ErrClosed
	}
	l.open++
	return &limitedConn{Conn: conn, leave: sync.OnceFunc(l.leave)}, nil
}

func (l *Limited) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	l.changed.Signal()
}

// Close also ends an Accept that waits for room.
func (l *Limited) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.changed.Broadcast()
	return l.Listener.Close()
}

// notice is told what the server's connections are doing: it is an http.Server's ConnState.
func (l *Limited) notice(conn net.Conn, state http.ConnState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if place := l.places[conn]; place != nil {
		l.idle.Remove(place)
		delete(l.places, conn)
	}
	if state == http.StateIdle {
		l.places[conn] = l.idle.PushBack(conn)
		l.changed.Signal()
	}
}

type limitedConn struct {
	net.Conn
	leave func()
}

func (c *limitedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
