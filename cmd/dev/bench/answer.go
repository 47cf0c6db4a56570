package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// readAnswer reads one response to its end (RFC 9112) and returns its status. What stands in it is thrown away.
func readAnswer(r *bufio.Reader) (status int, err error) {
	line, err := readLine(r)
	if err != nil {
		return 0, err
	}
	if status, err = readStatus(line); err != nil {
		return 0, err
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
		case isName(name, "Content-Length"):
			if length, err = strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64); err != nil {
				return status, fmt.Errorf("the length of the answer cannot be read: %w", err)
			}
		case isName(name, "Transfer-Encoding"):
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
	return status, errors.New("the answer does not say how long it is")
}

// readStatus reads "HTTP/1.1 200 OK".
func readStatus(line []byte) (int, error) {
	version, rest, _ := bytes.Cut(line, []byte(" "))
	code, _, _ := bytes.Cut(rest, []byte(" "))
	status, err := strconv.Atoi(string(code))
	if err != nil || string(version) != "HTTP/1.1" || len(code) != 3 {
		return 0, fmt.Errorf("%.40q is not the first line of an answer", line)
	}
	return status, nil
}

func isName(name []byte, want string) bool {
	return len(name) == len(want) && bytes.EqualFold(name, []byte(want))
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
			return fmt.Errorf("%.40q is not the length of a part of the answer", line)
		}
		if size == 0 {
			return skipLines(r)
		}
		if err := skip(r, size); err != nil {
			return err
		}
		if end, err := readLine(r); err != nil || len(end) > 0 {
			return errors.Join(errors.New("a part of the answer is longer than it says"), err)
		}
	}
}

// skipLines reads lines up to an empty one.
func skipLines(r *bufio.Reader) error {
	for {
		if line, err := readLine(r); err != nil || len(line) == 0 {
			return err
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

// whole is the error with the end of the connection told from the end of an answer: there is always more to come.
func whole(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
