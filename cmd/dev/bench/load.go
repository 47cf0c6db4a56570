package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Plan says what is sent where, and for how long.
type Plan struct {
	Address     string        // HOST:PORT
	Connections int           // each has one request in progress
	Warmup      int64         // requests before those that are measured
	Time        time.Duration // no request begins later than this; zero is without limit
	Count       int64         // no more requests than this are sent; zero is without limit
	Status      int           // of every response

	// Request appends request n, whole, to the buffer. Numbers begin with 0 and none is given twice. It is called by
	// many goroutines.
	Request func(buffer []byte, n int64) []byte
}

// Report is what came of a plan.
type Report struct {
	Responses int64           // of all requests, those of the warm-up among them
	Measured  int64           // responses after the warm-up
	Elapsed   time.Duration   // from the first measured request to the last response
	Latencies []time.Duration // of the measured requests, in no order
}

// Rate is the number of responses per second.
func (r Report) Rate() float64 { return float64(r.Measured) / r.Elapsed.Seconds() }

// Run carries out a plan and returns when every request has its response. It fails, with the report until then, when a
// connection breaks, a response has another status or ctx ends.
func Run(ctx context.Context, plan Plan) (Report, error) {
	r := sharedRun{plan: plan}
	ctx, r.stop = context.WithCancelCause(ctx)
	defer r.stop(nil)
	var connections sync.WaitGroup
	reports := make([]Report, plan.Connections)
	for i := range plan.Connections {
		connections.Go(func() {
			if err := r.use(ctx, plan.Address, &reports[i]); err != nil {
				r.stop(err)
			}
		})
	}
	connections.Wait()
	var total Report
	for _, one := range reports {
		total.Responses += one.Responses
		total.Latencies = append(total.Latencies, one.Latencies...)
	}
	if total.Measured = int64(len(total.Latencies)); total.Measured > 0 {
		total.Elapsed = time.Since(r.start)
	}
	return total, context.Cause(ctx)
}

// sharedRun is what the connections of one plan share.
type sharedRun struct {
	plan Plan
	stop context.CancelCauseFunc
	next atomic.Int64

	begin sync.Once // sets start
	start time.Time // of the first measured request
}

// use sends requests over one connection until the plan is done or ctx ends.
func (r *sharedRun) use(ctx context.Context, address string, report *Report) (err error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	responses := bufio.NewReaderSize(conn, 16<<10)
	var request []byte
	for {
		n := r.next.Add(1) - 1
		sent := time.Now()
		if n >= r.plan.Warmup {
			r.begin.Do(func() { r.start = sent })
			enough := r.plan.Count > 0 && n >= r.plan.Warmup+r.plan.Count
			if enough || r.plan.Time > 0 && sent.Sub(r.start) >= r.plan.Time {
				return nil
			}
		}
		request = r.plan.Request(request[:0], n)
		if _, err := conn.Write(request); err != nil {
			return fmt.Errorf("sending request %d: %w", n, err)
		}
		status, err := readResponse(responses)
		if err != nil {
			return fmt.Errorf("reading the response to request %d: %w", n, err)
		}
		if status != r.plan.Status {
			return fmt.Errorf("request %d got status %d instead of %d", n, status, r.plan.Status)
		}
		report.Responses++
		if n >= r.plan.Warmup {
			report.Latencies = append(report.Latencies, time.Since(sent))
		}
	}
}

// readResponse reads one response to its end (RFC 9112), discards it and returns its status.
func readResponse(r *bufio.Reader) (status int, err error) {
	line, err := readLine(r)
	if err != nil {
		return 0, err
	}
	version, rest, _ := bytes.Cut(line, []byte(" ")) // HTTP/1.1 200 OK
	code, _, _ := bytes.Cut(rest, []byte(" "))
	status, err = strconv.Atoi(string(code))
	if err != nil || string(version) != "HTTP/1.1" || len(code) != 3 {
		return 0, fmt.Errorf("%.40q is not the first line of a response", line)
	}
	length, chunked := int64(-1), false
	for {
		line, err := readLine(r)
		if err != nil {
			return status, err
		}
		if len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64); err != nil {
				return status, fmt.Errorf("the length of the response cannot be read: %w", err)
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			chunked = bytes.EqualFold(bytes.TrimSpace(value), []byte("chunked"))
		}
	}
	switch {
	case status == http.StatusNoContent || status == http.StatusNotModified:
		return status, nil
	case chunked:
		return status, skipChunks(r)
	case length >= 0:
		return status, skip(r, length)
	}
	return status, errors.New("the response does not say how long it is")
}

// skipChunks reads a body of which each part says how long it is, and the trailer after it.
func skipChunks(r *bufio.Reader) error {
	for {
		line, err := readLine(r)
		if err != nil {
			return err
		}
		digits, _, _ := bytes.Cut(line, []byte(";"))
		size, err := strconv.ParseInt(string(bytes.TrimSpace(digits)), 16, 64)
		if err != nil || size < 0 {
			return fmt.Errorf("%.40q is not the length of a chunk of the response", line)
		}
		if size == 0 { // a trailer ends it, with an empty line
			for err == nil && len(line) > 0 {
				line, err = readLine(r)
			}
			return err
		}
		if err := skip(r, size); err != nil {
			return err
		}
		if end, err := readLine(r); err != nil || len(end) > 0 {
			return errors.Join(errors.New("a chunk of the response is longer than it says"), err)
		}
	}
}

func skip(r *bufio.Reader, n int64) error {
	for n > 0 {
		discarded, err := r.Discard(int(min(n, int64(r.Size()))))
		n -= int64(discarded)
		if err != nil {
			return whole(err)
		}
	}
	return nil
}

// readLine returns a line without its end, until the next read.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return nil, whole(err)
	}
	return bytes.TrimSuffix(line[:len(line)-1], []byte("\r")), nil
}

// whole makes the end of the connection an error: the response is incomplete.
func whole(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
