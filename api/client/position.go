package client

import (
	"net/http"
	"sync"
	"time"
)

// positionHeader is in responses to writes, if the service reads from standbys. Later reads send it, so that they
// include the write.
const positionHeader = "X-Position"

// unknownPosition is after all others. Reads send it after a write whose position is unknown, and get the latest data.
const unknownPosition = "~"

// positionLife is far longer than a standby may be behind.
const positionLife = time.Minute

// Written is the position and the time of a write; zero if nothing was written.
type Written struct {
	Position string    `json:"position"`
	At       time.Time `json:"at"`
}

// Position is the position of a client's last write. It is safe for use by many goroutines.
type Position struct {
	mu      sync.Mutex
	written Written
}

// NewPosition starts with a write of another client, such as that of an earlier command.
func NewPosition(written Written) *Position { return &Position{written: written} }

// Written returns the last write.
func (p *Position) Written() Written {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.written
}

func (p *Position) last(now time.Time) string {
	written := p.Written()
	if now.Sub(written.At) > positionLife {
		return ""
	}
	return written.Position
}

// note keeps the later position, because responses may overtake each other. After positionLife it takes any: a database
// that was set up again begins at lower ones.
func (p *Position) note(position string, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if position > p.written.Position || now.Sub(p.written.At) > positionLife {
		p.written = Written{position, now}
	}
}

// ownWrites sends the position of the last write with each read.
type ownWrites struct {
	next     http.RoundTripper
	position *Position
	now      func() time.Time
}

func (o *ownWrites) RoundTrip(req *http.Request) (*http.Response, error) {
	isRead := safe(req.Method)
	if last := o.position.last(o.now()); isRead && last != "" {
		req = req.Clone(req.Context())
		req.Header.Set(positionHeader, last)
	}
	res, err := o.next.RoundTrip(req)
	if isRead {
		return res, err
	}
	after := unknownPosition
	if err == nil && (res.StatusCode < 500 || res.Header.Get(positionHeader) != "") {
		after = res.Header.Get(positionHeader)
	}
	if after != "" {
		o.position.note(after, o.now())
	}
	return res, err
}
