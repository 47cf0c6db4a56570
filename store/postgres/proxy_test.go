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

// cutPoint is when a proxy cuts a connection: at a client's message, counted from one, before the server gets it or
// after the server has begun to reply. The client gets no reply, or a FATAL error, which PgBouncer sends when it loses
// its server.
type cutPoint struct {
	message  int
	answered bool
	fatal    bool
}

// fatalError is an ErrorResponse of PostgreSQL's protocol (severity, SQLSTATE and message, each terminated by a zero).
func fatalError() []byte {
	fields := "SFATAL\x00VFATAL\x00C08P01\x00Mserver conn crashed?\x00\x00"
	return append(binary.BigEndian.AppendUint32([]byte{'E'}, uint32(4+len(fields))), fields...)
}

// proxy stands between the driver and a server, and cuts one connection at a cutPoint.
type proxy struct {
	t      *testing.T
	server string // the path of the server's socket

	mu   sync.Mutex
	cut  cutPoint
	seen int // messages of clients since cutAt
	done bool
}

// startProxy returns a proxy before the server at the address, which must be a socket, and the address through it.
func startProxy(t *testing.T, address string) (*proxy, string) {
	t.Helper()
	u := must(url.Parse(address))(t)
	query := u.Query()
	port := query.Get("port")
	if port == "" {
		port = "5432"
	}
	socket := ".s.PGSQL." + port
	p := &proxy{t: t, server: filepath.Join(query.Get("host"), socket), done: true}
	directory := shortDirectory(t)
	query.Set("host", directory)
	u.RawQuery = query.Encode()
	listener := must(net.Listen("unix", filepath.Join(directory, socket)))(t)
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

// cutAt sets the next cut.
func (p *proxy) cutAt(c cutPoint) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut, p.seen, p.done = c, 0, false
}

// endCut reports whether the cut was made, and cancels it if not.
func (p *proxy) endCut() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	wasCut := p.done
	p.done = true
	return wasCut
}

// countMessage counts a message of a client, and reports whether to cut at it.
func (p *proxy) countMessage() (now bool, cut cutPoint) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen++
	if p.done || p.seen != p.cut.message {
		return false, cutPoint{}
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
	toClient := &replyWriter{to: client}
	go func() {
		defer client.Close() // ends the loop below, too
		if _, err := io.Copy(toClient, server); errors.Is(err, errCut) && toClient.fatal {
			_, _ = client.Write(fatalError())
		}
	}()
	buffer := make([]byte, 1<<20) // larger than what the driver sends at once
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		now, cut := p.countMessage()
		if now && !cut.answered {
			return
		}
		if now {
			toClient.cut(cut.fatal) // the server may reply only to a later message, as with CopyDone after CopyData
		}
		if _, err := server.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// replyWriter passes on the server's replies until it is cut; the next reply then fails with errCut.
type replyWriter struct {
	to    io.Writer
	mu    sync.Mutex
	isCut bool
	fatal bool // the client gets a FATAL error instead of that reply; read once that has come
}

var errCut = errors.New("the connection is cut")

func (w *replyWriter) cut(fatal bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.isCut, w.fatal = true, fatal
}

func (w *replyWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.isCut {
		return 0, errCut // ends the copying
	}
	return w.to.Write(b)
}
