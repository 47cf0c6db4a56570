package postgres

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
)

// moment is when a proxy cuts a connection: at a client's message, counted from one, before the server gets it or after
// the server has begun to answer it. In place of the answer the client gets nothing, or a FATAL error, which is what
// PgBouncer says when it loses its server.
type moment struct {
	message  int
	answered bool
	fatal    bool
}

// fatalError is an ErrorResponse of PostgreSQL's protocol (severity, SQLSTATE and message, each ended by a zero).
func fatalError() []byte {
	fields := "SFATAL\x00VFATAL\x00C08P01\x00Mserver conn crashed?\x00\x00"
	return append(binary.BigEndian.AppendUint32([]byte{'E'}, uint32(4+len(fields))), fields...)
}

// proxy stands between the driver and a server, and cuts one connection at a chosen moment.
type proxy struct {
	t      *testing.T
	server string // the path of the server's socket

	mu   sync.Mutex
	cut  moment
	seen int // messages of clients since the moment was chosen
	done bool
}

// startProxy returns a proxy before the server at the address, which must be a socket, and the address through it.
func startProxy(t *testing.T, address string) (*proxy, string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	port := query.Get("port")
	if port == "" {
		port = "5432"
	}
	socket := ".s.PGSQL." + port
	p := &proxy{t: t, server: filepath.Join(query.Get("host"), socket), done: true}
	folder := shortFolder(t)
	query.Set("host", folder)
	u.RawQuery = query.Encode()
	listener, err := net.Listen("unix", filepath.Join(folder, socket))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go p.relay(client)
		}
	}()
	return p, u.String()
}

// cutAt chooses the moment of the next cut.
func (p *proxy) cutAt(m moment) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut, p.seen, p.done = m, 0, false
}

// endCut tells whether the chosen moment came. If not, it does not come any more.
func (p *proxy) endCut() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	came := p.done
	p.done = true
	return came
}

// isTheMoment counts a message of a client.
func (p *proxy) isTheMoment() (now bool, cut moment) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen++
	if p.done || p.seen != p.cut.message {
		return false, moment{}
	}
	p.done = true
	return true, p.cut
}

func (p *proxy) relay(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("unix", p.server)
	if err != nil {
		p.t.Error(err)
		return
	}
	defer server.Close()
	toClient := &valve{to: client}
	go func() {
		defer client.Close() // ends the loop below, too
		if _, err := io.Copy(toClient, server); errors.Is(err, errShut) && toClient.fatal {
			_, _ = client.Write(fatalError())
		}
	}()
	buffer := make([]byte, 1<<20) // larger than what the driver sends at once
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		now, cut := p.isTheMoment()
		if now && !cut.answered {
			return
		}
		if now {
			toClient.shut(cut.fatal) // the server may answer only what comes after, as CopyDone after CopyData
		}
		if _, err := server.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// valve passes on what the server says until it is shut; then the server's next answer ends it.
type valve struct {
	to    io.Writer
	mu    sync.Mutex
	ended bool
	fatal bool // the client gets a FATAL error in place of that answer; read once that has come
}

var errShut = errors.New("the connection is cut")

func (v *valve) shut(fatal bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ended, v.fatal = true, fatal
}

func (v *valve) Write(b []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.ended {
		return 0, errShut // ends the copying
	}
	return v.to.Write(b)
}
