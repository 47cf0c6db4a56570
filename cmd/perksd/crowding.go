package main

import (
	"container/list"
	"net"
	"net/http"
	"sync"
)

// crowding bounds how many connections are open at once, so that nobody takes all files and all memory of the process.
// When there are too many, the one that has been idle for longest makes room: HTTP lets a server close it at any time. When
// none is idle, who comes next waits until one of the others is done, or its time is up, and is then served as usual.
type crowding struct {
	net.Listener
	most int

	mu         sync.Mutex
	changed    sync.Cond
	open       int
	closed     bool
	crowdedOut int        // connections that were closed to make room
	idle       *list.List // of net.Conn, longest first
	places     map[net.Conn]*list.Element
}

func boundCrowding(l net.Listener, most int) *crowding {
	c := &crowding{Listener: l, most: most, idle: list.New(), places: map[net.Conn]*list.Element{}}
	c.changed.L = &c.mu
	return c
}

// Accept returns the next connection when there is room for it.
func (c *crowding) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if !c.enter() {
		_ = conn.Close() // it was not served
		return nil, net.ErrClosed
	}
	return &roomedConn{Conn: conn, leave: sync.OnceFunc(c.leave)}, nil
}

// enter waits for room. It is false when the listener is closed before.
func (c *crowding) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.open >= c.most && !c.closed {
		c.closeLongestIdle()
		c.changed.Wait()
	}
	c.open++
	return !c.closed
}

// closeLongestIdle does not wait until it is closed, because that needs the lock, and over TLS also time.
func (c *crowding) closeLongestIdle() {
	if longest := c.idle.Front(); longest != nil {
		conn := c.idle.Remove(longest).(net.Conn)
		delete(c.places, conn)
		c.crowdedOut++
		go conn.Close()
	}
}

// figures is what operators watch.
type figures struct{ open, crowdedOut int }

func (c *crowding) figures() figures {
	c.mu.Lock()
	defer c.mu.Unlock()
	return figures{c.open, c.crowdedOut}
}

func (c *crowding) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
	c.changed.Signal()
}

// Close also ends an Accept that waits for room.
func (c *crowding) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.changed.Broadcast()
	return c.Listener.Close()
}

// notice is told what the server's connections are doing: it is an http.Server's ConnState.
func (c *crowding) notice(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if place := c.places[conn]; place != nil {
		c.idle.Remove(place)
		delete(c.places, conn)
	}
	if state == http.StateIdle {
		c.places[conn] = c.idle.PushBack(conn)
		c.changed.Signal()
	}
}

// roomedConn makes room when it is closed.
type roomedConn struct {
	net.Conn
	leave func()
}

func (c *roomedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
