package client

import (
	"bytes"
	"io"
	"net/http"
)

// held is the body of an answer in memory, with the failure that ended it early. It reads as the body itself would have.
type held struct {
	text   []byte // no more than one byte longer than an answer may be
	read   int
	broken error // nil for a body that came whole
}

// hold takes the answer's body off the network.
func hold(res *http.Response) *held {
	var text bytes.Buffer
	if res.Body != http.NoBody && res.ContentLength > 0 && res.ContentLength <= maxAnswer {
		text.Grow(int(res.ContentLength) + bytes.MinRead) // so that ReadFrom sees the end without growing
	}
	_, broken := text.ReadFrom(io.LimitReader(res.Body, maxAnswer+1))
	res.Body.Close()
	h := &held{text: text.Bytes(), broken: broken}
	res.Body = h
	return h
}

func (h *held) Read(p []byte) (int, error) {
	if h.read < len(h.text) {
		n := copy(p, h.text[h.read:])
		h.read += n
		return n, nil
	}
	if h.broken != nil {
		return 0, h.broken
	}
	return 0, io.EOF
}

// Close does nothing: the network was done with before.
func (h *held) Close() error { return nil }
