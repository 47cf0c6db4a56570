package main

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestReadResponseReadsOneResponse(t *testing.T) {
	const next = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"
	tests := []struct {
		name     string
		response string
		status   int
	}{
		{"with a length", "HTTP/1.1 201 Created\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello", 201},
		{"with a length in other letters", "HTTP/1.1 200 OK\r\ncontent-length:   5  \r\n\r\nhello", 200},
		{"longer than the buffer", "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + strings.Repeat("x", 1000), 200},
		{"empty", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200},
		{"without a body", "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n", 304},
		{"without a reason", "HTTP/1.1 204\r\n\r\n", 204},
		{"in chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: " +
			"chunked\r\n\r\n5\r\nhello\r\nA;name=value\r\n0123456789\r\n0\r\n\r\n", 200},
		{"in chunks with a trailer", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nDigest: " +
			"y\r\n\r\n", 200},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := bufio.NewReaderSize(strings.NewReader(test.response+next), 64)
			for _, want := range []int{test.status, 503} {
				if status, err := readResponse(r); err != nil || status != want {
					t.Errorf("status %d, %v, want %d", status, err, want)
				}
			}
		})
	}
}

func TestReadResponseErrors(t *testing.T) {
	tests := []struct {
		name, response, problem string
	}{
		{"another protocol", "SSH-2.0-OpenSSH\r\n", "not the first line"},
		{"a status that is not a number", "HTTP/1.1 two OK\r\n", "not the first line"},
		{"no length", "HTTP/1.1 200 OK\r\n\r\n", "does not say how long"},
		{"a length that is not a number", "HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\n", "cannot be read"},
		{"a chunk's length that is not a number", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nlong\r\n",
			"not the length of a chunk"},
		{"a chunk that is longer than it says", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nhello\r\n",
			"longer than it says"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := readResponse(bufio.NewReader(strings.NewReader(test.response)))
			if err == nil || !strings.Contains(err.Error(), test.problem) {
				t.Errorf("the error is %v, want one with %q", err, test.problem)
			}
		})
	}
}

func TestReadResponseNoticesAClosedConnection(t *testing.T) {
	for _, whole := range []string{
		"HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\nhello",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
	} {
		for end := range len(whole) {
			if _, err := readResponse(bufio.NewReader(strings.NewReader(whole[:end]))); !errors.Is(err,
				io.ErrUnexpectedEOF) {
				t.Errorf("after %q the error is %v", whole[:end], err)
			}
		}
	}
}
