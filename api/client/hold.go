package client

import (
	"bytes"
	"context"
	"io"
	"net/http"
)

// hold reads the answer's body into memory and tells why it broke off, if it did. The body can then be read as if nothing
// had happened, the failure at its end included. A body that is too long for anyone is held only in part.
func hold(res *http.Response) (broken error) {
	var body bytes.Buffer
	if res.ContentLength > 0 && res.ContentLength <= maxAnswer {
		body.Grow(int(res.ContentLength) + bytes.MinRead) // so that ReadFrom sees the end without growing
	}
	_, broken = body.ReadFrom(io.LimitReader(res.Body, maxAnswer+1))
	var rest io.Reader = res.Body
	if broken != nil {
		rest = &brokenReader{broken}
	}
	res.Body = &held{io.MultiReader(&body, rest), res.Body}
	return broken
}

type held struct {
	io.Reader
	io.Closer
}

// ending ends an attempt's time with its answer's body.
type ending struct {
	io.ReadCloser
	end context.CancelFunc
}

func (e *ending) Close() error {
	defer e.end()
	return e.ReadCloser.Close()
}
