//go:build unix

package endurance

import (
	"errors"
	"net"
	"syscall"
	"testing"
	"time"
)

func TestServerThatRestartsCostsNoRow(t *testing.T) {
	t.Parallel()
	r := rowsOf(120)
	for name, s := range map[string]shop{"ours": ours(t), "theirs": theirs(t, &foreign{})} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.gate.t = t
			j := newJob(t, s, r)
			p := j.start()
			down := make(chan struct{})
			j.gate.set(50, afterWork, func() { close(down) })
			<-down
			j.gate.restart(2 * time.Second)
			p.must(0)
			j.check()
		})
	}
}

// restart breaks all connections, and refuses new ones for a while.
func (g *gate) restart(after time.Duration) {
	if err := g.server.Close(); err != nil {
		g.t.Error(err)
	}
	<-g.closed
	release := g.keepPort()
	<-time.After(after)
	g.open()
	release()
}

// keepPort lets nobody else have the port while the gate does not listen: a connection of its own begins there. Nothing
// accepts what comes to the port.
func (g *gate) keepPort() (release func()) {
	anchor, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		g.t.Fatal(err)
	}
	here, err := net.ResolveTCPAddr("tcp", g.address)
	if err != nil {
		g.t.Fatal(err)
	}
	dialer := net.Dialer{LocalAddr: here, Control: func(_, _ string, c syscall.RawConn) error {
		var optionErr error
		err := c.Control(func(fd uintptr) {
			optionErr = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
		})
		return errors.Join(err, optionErr)
	}}
	conn, err := dialer.Dial("tcp", anchor.Addr().String())
	if err != nil {
		g.t.Fatal(err)
	}
	return func() {
		if err := errors.Join(conn.Close(), anchor.Close()); err != nil {
			g.t.Error(err)
		}
	}
}
