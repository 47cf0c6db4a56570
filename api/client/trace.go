package client

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxTraced is the longest body that a trace shows. A longer one is named by its size alone, because a body that is cut
// could not be searched for secrets.
const maxTraced = 256 << 10

// trace writes each exchange, in one write, with the secrets of this and of earlier ones taken out: a server can send back at
// any time what it was sent once.
type trace struct {
	next http.RoundTripper

	mu   sync.Mutex
	out  io.Writer
	seen []string // secrets
}

func (t *trace) RoundTrip(req *http.Request) (*http.Response, error) {
	var text strings.Builder
	fmt.Fprintf(&text, "> %s %s\n", req.Method, redactURL(req.URL))
	writeHeader(&text, "> ", req.Header)
	sent := sentBody(req)
	writeBody(&text, "> ", req.Header, sent)
	secrets := append(credentials(req.Header), issued(sent)...)

	began := time.Now()
	res, err := t.next.RoundTrip(req)
	if err != nil {
		fmt.Fprintf(&text, "< failed after %s: %s\n", since(began), reason(err))
	} else {
		body := peek(res)
		fmt.Fprintf(&text, "< %s (%s)\n", res.Status, since(began))
		writeHeader(&text, "< ", res.Header)
		writeBody(&text, "< ", res.Header, body)
		secrets = append(append(secrets, credentials(res.Header)...), issued(body)...)
	}

	t.mu.Lock()
	defer t.mu.Unlock()
	for _, secret := range secrets {
		if !slices.Contains(t.seen, secret) {
			t.seen = append(t.seen, secret)
		}
	}
	fmt.Fprintln(t.out, newMask(t.seen).text(text.String()))
	return res, err
}

func since(began time.Time) time.Duration { return time.Since(began).Round(100 * time.Microsecond) }

func writeHeader(text *strings.Builder, prefix string, header http.Header) {
	clean := redactHeader(header)
	for _, name := range slices.Sorted(maps.Keys(clean)) {
		for _, value := range clean[name] {
			if namesSecret(value) { // such as a redirect to an address with a token in it
				value = redacted
			}
			fmt.Fprintf(text, "%s%s: %s\n", prefix, name, value)
		}
	}
}

func writeBody(text *strings.Builder, prefix string, header http.Header, body []byte) {
	switch {
	case len(body) == 0:
	case len(body) > maxTraced:
		fmt.Fprintf(text, "%s(a body of more than %d bytes)\n", prefix, maxTraced)
	default:
		for line := range strings.Lines(string(redactBody(header.Get("Content-Type"), body))) {
			fmt.Fprintf(text, "%s%s\n", prefix, strings.TrimRight(line, "\r\n"))
		}
	}
}

func sentBody(req *http.Request) []byte {
	if req.GetBody == nil {
		return nil
	}
	body, err := req.GetBody()
	if err != nil {
		return nil
	}
	defer body.Close()
	sent, _ := io.ReadAll(io.LimitReader(body, maxTraced+1))
	return sent
}

// peek reads as much of the answer as can be shown, and puts it back. A failure to read comes back to the reader.
func peek(res *http.Response) []byte {
	body := res.Body
	start, err := io.ReadAll(io.LimitReader(body, maxTraced+1))
	rest := io.Reader(body)
	if err != nil {
		rest = &brokenReader{err: err}
	}
	res.Body = &peeked{io.MultiReader(bytes.NewReader(start), rest), body}
	return start
}

type peeked struct {
	io.Reader
	io.Closer
}

type brokenReader struct{ err error }

func (b *brokenReader) Read([]byte) (int, error) { return 0, b.err }
