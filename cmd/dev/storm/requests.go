package storm

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// header is one line of a request's head.
type header struct{ name, value string }

// request is one request before it is sent.
type request struct {
	number  int
	method  string
	target  string // path and query, as they are sent
	headers []header
	body    []byte
	hasBody bool
	corrupt func([]byte) []byte // what happens to the bytes on the wire; nil is nothing
}

// bytes is the request as it is sent.
func (r *request) bytes(host string) []byte {
	var wire bytes.Buffer
	fmt.Fprintf(&wire, "%s %s HTTP/1.1\r\nHost: %s\r\n", r.method, r.target, host)
	for _, h := range r.headers {
		fmt.Fprintf(&wire, "%s: %s\r\n", h.name, h.value)
	}
	if r.hasBody {
		fmt.Fprintf(&wire, "Content-Length: %d\r\n", len(r.body))
	}
	wire.WriteString("\r\n")
	if r.hasBody {
		wire.Write(r.body)
	}
	if r.corrupt != nil {
		return r.corrupt(wire.Bytes())
	}
	return wire.Bytes()
}

func (r *request) set(name, value string) {
	for i := range r.headers {
		if r.headers[i].name == name {
			r.headers[i].value = value
			return
		}
	}
	r.headers = append(r.headers, header{name, value})
}

// json puts a body in. Go writes the members of a map in order, so that chance alone decides.
func (r *request) json(body any) {
	encoded, err := json.Marshal(body)
	if err != nil {
		panic(fmt.Sprintf("a generated body cannot be written: %v", err)) // the generator's own fault
	}
	r.set("Content-Type", jsonType)
	r.body, r.hasBody = encoded, true
}

// path and query are the parts of the target.
func (r *request) path() string  { path, _, _ := strings.Cut(r.target, "?"); return path }
func (r *request) query() string { _, query, _ := strings.Cut(r.target, "?"); return query }

// reply is the response to a request: empty if the server only closed the connection.
type reply struct {
	*http.Response
	body []byte
}

// wire is one connection to the server, reopened when needed.
type wire struct {
	address string
	conn    net.Conn
	reader  *bufio.Reader
}

const (
	// responseTimeout is more than the server takes for any response, or to give up.
	responseTimeout = 45 * time.Second
	// corruptTimeout is how long to wait for a response to what may be half a request, whose rest the server waits for.
	corruptTimeout = 300 * time.Millisecond
)

// send sends the request and returns what was sent, and the response. A connection that the server has closed
// meanwhile, as HTTP allows, is replaced once. What is not a request needs no response.
func (w *wire) send(r *request) (sent []byte, a reply, err error) {
	sent = r.bytes(w.address)
	whole := r.corrupt == nil && isRequest(sent) // Go's server is stricter about a Host than what reads requests here
	fresh := w.conn == nil
	a, err = w.exchange(r, sent, whole)
	if isClosed(err) && !fresh && whole {
		a, err = w.exchange(r, sent, whole)
	}
	if err != nil && !whole {
		return sent, reply{}, nil
	}
	return sent, a, err
}

// maxHead is how long the head of a request may be; of a longer one the server reads no more.
const maxHead = 64 << 10

// isRequest tells whether all that was sent is one request. When Go's server refuses bytes after it, it resets the
// connection, and the response to the request may be lost.
func isRequest(sent []byte) bool {
	head, _, _ := bytes.Cut(sent, []byte("\r\n\r\n"))
	if len(head) > maxHead {
		return false
	}
	reader := bufio.NewReader(bytes.NewReader(sent))
	request, err := http.ReadRequest(reader)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, request.Body)
	_, more := reader.Peek(1)
	return err == nil && more == io.EOF
}

func isClosed(err error) bool {
	var failure *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &failure) &&
		!failure.Timeout()
}

func (w *wire) exchange(r *request, sent []byte, whole bool) (a reply, err error) {
	if w.conn == nil {
		if w.conn, err = net.Dial("tcp", w.address); err != nil {
			return a, err
		}
		w.reader = bufio.NewReader(w.conn)
	}
	defer func() {
		if err != nil || r.corrupt != nil || a.Response != nil && a.Close {
			w.close()
		}
	}()
	timeout := responseTimeout
	if !whole {
		timeout = corruptTimeout
	}
	if err := w.conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		return a, err
	}
	// A server may respond and close before it has read everything: then the response counts, not the failed write.
	_, writing := w.conn.Write(sent)
	response, err := http.ReadResponse(w.reader, &http.Request{Method: r.method})
	if err != nil {
		return a, errors.Join(err, writing)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return a, fmt.Errorf("reading the response: %w", err)
	}
	if response.Header.Get("Content-Encoding") == "gzip" && len(body) > 0 {
		if body, err = unpack(body); err != nil {
			return a, fmt.Errorf("unpacking the response: %w", err)
		}
	}
	return reply{response, body}, nil
}

func unpack(packed []byte) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(reader)
}

func (w *wire) close() {
	if w.conn != nil {
		_ = w.conn.Close() // all that mattered was read
		w.conn = nil
	}
}
