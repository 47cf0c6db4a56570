package tuicmd

import (
	"bytes"
	"strings"
	"sync"
)

// unread is how many notices wait at most; those beyond are dropped. Who is told that much reads none of it.
const unread = 32

// notices is a writer in the place of standard error: what is told there, line by line, becomes messages of the terminal UI,
// over whose screen it would be written otherwise.
type notices struct {
	texts chan string

	mu   sync.Mutex
	rest []byte // of a line that has not ended
}

func newNotices() *notices { return &notices{texts: make(chan string, unread)} }

// Write takes text. It never fails and never waits.
func (n *notices) Write(text []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.rest = append(n.rest, text...)
	for {
		line, rest, ended := bytes.Cut(n.rest, []byte("\n"))
		if !ended {
			return len(text), nil
		}
		n.tell(string(line))
		n.rest = rest
	}
}

func (n *notices) tell(line string) {
	if warning, ok := strings.CutPrefix(line, "warning: "); ok {
		line = "Warning: " + warning
	}
	if strings.TrimSpace(line) == "" {
		return
	}
	select {
	case n.texts <- line:
	default:
	}
}
