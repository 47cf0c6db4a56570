package listen

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// connection is a client with one connection.
type connection struct {
	t       *testing.T
	conn    net.Conn
	answers *bufio.Reader
	idle    <-chan struct{} // the server has noticed that a connection is idle
}

// limited starts a server that accepts at most this many connections.
func limited(t *testing.T, most int) (connect func() *connection) {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter,
		_ *http.Request) {
		fmt.Fprint(w, "hello")
	}))
	bounded := Limit(server.Listener, most)
	idle := make(chan struct{}, 10)
	server.Listener = bounded
	server.Config.ConnState = func(conn net.Conn, state http.ConnState) {
		if bounded.connState(conn, state); state == http.StateIdle {
			idle <- struct{}{}
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	return func() *connection {
		t.Helper()
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
			t.Fatal(err)
		}
		return &connection{t: t, conn: conn, answers: bufio.NewReader(conn), idle: idle}
	}
}

func (c *connection) ask() {
	c.t.Helper()
	if _, err := io.WriteString(c.conn, "GET / HTTP/1.1\r\nHost: perks.example\r\n\r\n"); err != nil {
		c.t.Fatal(err)
	}
}

func (c *connection) isAnswered() {
	c.t.Helper()
	response, err := http.ReadResponse(c.answers, nil)
	if err != nil {
		c.t.Fatalf("there is no response: %v", err)
	}
	if body, err := io.ReadAll(response.Body); string(body) != "hello" {
		c.t.Errorf("the answer is %q, %v", body, err)
	}
	<-c.idle
}

func (c *connection) isCutOff() {
	c.t.Helper()
	if _, err := c.answers.ReadByte(); !errors.Is(err, io.EOF) {
		c.t.Errorf("the connection is not closed: %v", err)
	}
}

func TestTheLongestIdleConnectionIsClosed(t *testing.T) {
	connect := limited(t, 2)
	first, second := connect(), connect()
	for _, c := range []*connection{second, first, second} {
		c.ask()
		c.isAnswered()
	}
	third := connect()
	third.ask()
	third.isAnswered()
	first.isCutOff()
	second.ask()
	second.isAnswered()
}

func TestANewConnectionWaitsWhileAllAreBusy(t *testing.T) {
	for name, free := range map[string]func(*connection){
		"until one closes":       func(c *connection) { c.conn.Close() },
		"until one becomes idle": func(c *connection) { c.ask(); c.isAnswered(); c.isCutOff() },
	} {
		t.Run(name, func(t *testing.T) {
			connect := limited(t, 2)
			busy := []*connection{connect(), connect()} // new connections are not idle before their first request
			late := connect()
			late.ask()
			free(busy[0])
			late.isAnswered()
		})
	}
}

func TestAFullServerCanBeClosed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	bounded := Limit(l, 1)
	for range 2 {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	inside, err := bounded.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer inside.Close()
	waiting := make(chan error, 1)
	go func() {
		_, err := bounded.Accept()
		waiting <- err
	}()
	if err := bounded.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-waiting; !errors.Is(err, net.ErrClosed) {
		t.Errorf("an Accept that waited for a slot: %v", err)
	}
}
