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

// visitor is a client with one connection.
type visitor struct {
	t       *testing.T
	conn    net.Conn
	answers *bufio.Reader
	idle    <-chan struct{} // the server has noticed that a connection is idle
}

// crowded is a server with room for so many.
func crowded(t *testing.T, most int) (visit func() *visitor) {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
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
	return func() *visitor {
		t.Helper()
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
			t.Fatal(err)
		}
		return &visitor{t: t, conn: conn, answers: bufio.NewReader(conn), idle: idle}
	}
}

func (v *visitor) ask() {
	v.t.Helper()
	if _, err := io.WriteString(v.conn, "GET / HTTP/1.1\r\nHost: perks.example\r\n\r\n"); err != nil {
		v.t.Fatal(err)
	}
}

func (v *visitor) isAnswered() {
	v.t.Helper()
	response, err := http.ReadResponse(v.answers, nil)
	if err != nil {
		v.t.Fatalf("there is no answer: %v", err)
	}
	if body, err := io.ReadAll(response.Body); string(body) != "hello" {
		v.t.Errorf("the answer is %q, %v", body, err)
	}
	<-v.idle
}

func (v *visitor) isCutOff() {
	v.t.Helper()
	if _, err := v.answers.ReadByte(); !errors.Is(err, io.EOF) {
		v.t.Errorf("the connection is not closed: %v", err)
	}
}

func TestTheLongestIdleConnectionMakesRoom(t *testing.T) {
	visit := crowded(t, 2)
	first, second := visit(), visit()
	for _, v := range []*visitor{second, first, second} {
		v.ask()
		v.isAnswered()
	}
	third := visit()
	third.ask()
	third.isAnswered()
	first.isCutOff()
	second.ask()
	second.isAnswered()
}

func TestWhoComesWhenAllAreBusyWaitsAndIsServed(t *testing.T) {
	for name, free := range map[string]func(*visitor){
		"until one leaves":       func(v *visitor) { v.conn.Close() },
		"until one becomes idle": func(v *visitor) { v.ask(); v.isAnswered(); v.isCutOff() },
	} {
		t.Run(name, func(t *testing.T) {
			visit := crowded(t, 2)
			busy := []*visitor{visit(), visit()} // they have said nothing yet, so they are not idle
			late := visit()
			late.ask()
			free(busy[0])
			late.isAnswered()
		})
	}
}

func TestAServerThatIsFullCanBeClosed(t *testing.T) {
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
		t.Errorf("an Accept that waited for room: %v", err)
	}
}
