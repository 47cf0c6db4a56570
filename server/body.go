package server

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"example.com/perks/api"
)

// The largest valid body, a property whose every text is as long as allowed, is far below maxBody. The token endpoint
// accepts less, because it needs no token.
const (
	maxBody      = 1 << 20
	maxTokenBody = 16 << 10
)

const (
	mediaJSON = "application/json"
	mediaForm = "application/x-www-form-urlencoded"
)

// readBody returns the body and its media type, which must be one of those allowed; if none is named, all are. A body
// without a Content-Type counts as JSON. It checks the headers before it reads anything, so that a client that sends
// Expect: 100-continue is spared sending a body that is refused.
func readBody(c echo.Context, most int64, allowed ...string) (body []byte, mediaType string, err error) {
	r := c.Request()
	mediaType = mediaJSON
	if given := r.Header.Get("Content-Type"); given != "" && given != mediaJSON {
		mediaType, _, err = mime.ParseMediaType(given)
		if len(allowed) > 0 && (err != nil || !slices.Contains(allowed, mediaType)) {
			return nil, "", api.Errorf(api.CodeUnsupportedMediaType, "The body must be %s, not %q.",
				strings.Join(allowed, " or "), given)
		}
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, "", &errorResponse{
			err: api.Errorf(api.CodeUnsupportedMediaType, "The body must be sent as it is, not encoded with %q.",
				coding),
			header: http.Header{"Accept-Encoding": {"identity"}}, // RFC 9110, section 12.5.3
		}
	}
	tooLarge := func() error { return api.Errorf(api.CodeBodyTooLarge, "The body must be at most %d bytes.", most) }
	if r.ContentLength > most {
		if r.Header.Get("Expect") == "" { // a client that expects 100 sends no body after this response
			drainBody(c)
		}
		return nil, "", tooLarge()
	}
	body, err = io.ReadAll(io.LimitReader(r.Body, most+1))
	if int64(len(body)) > most {
		drainBody(c)
		return nil, "", tooLarge()
	}
	if err != nil {
		return nil, "", api.Errorf(api.CodeInvalidJSON, "The body is incomplete.")
	}
	return bytes.TrimPrefix(body, []byte(byteOrderMark)), mediaType, nil
}

// How much more of a body that is too large is read, and for how long, before the connection is closed.
const (
	maxDrained = 16 << 20
	drainTime  = 5 * time.Second
)

// drainBody keeps reading for a while after the response. Closing the connection while the client still sends would
// reset it, and the client would lose the response that says why.
func drainBody(c echo.Context) {
	r, response := c.Request(), c.Response()
	control := http.NewResponseController(response.Writer)
	if control.EnableFullDuplex() != nil { // else net/http would read the body before it sends the response
		return
	}
	response.Header().Set("Connection", "close")
	response.After(func() {
		if control.SetReadDeadline(time.Now().Add(drainTime)) == nil && control.Flush() == nil {
			_, _ = io.CopyN(io.Discard, r.Body, maxDrained) // the response is sent, whatever ends this
		}
	})
}

// byteOrderMark is what some programs write before a text. It is not part of it (RFC 8259, section 8.1).
const byteOrderMark = "\ufeff"

// readMembers parses a JSON object, or a form with ofForm.
func readMembers(body []byte, mediaType string, ofForm func(url.Values) []api.Member) ([]api.Member, error) {
	if mediaType != mediaForm {
		return api.ParseObject(body)
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, api.Errorf(api.CodeInvalidJSON, "The body is not a valid form.")
	}
	return ofForm(form), nil
}

// encode ends the body with a newline, for people at a terminal.
func encode(body any) ([]byte, error) {
	encoded, err := api.EncodeJSON(body)
	if err != nil {
		return nil, fmt.Errorf("encoding the response: %w", err)
	}
	return append(encoded, '\n'), nil
}

func writeJSON(c echo.Context, status int, mediaType string, body any) error {
	encoded, err := encode(body)
	if err != nil {
		return err
	}
	return writeText(c, status, mediaType, encoded, "")
}

// parseBody reads the body of a request as JSON.
func parseBody[T any](c echo.Context, parse func(body []byte) (T, error)) (parsed T, err error) {
	body, _, err := readBody(c, maxBody, mediaJSON)
	if err != nil {
		return parsed, err
	}
	return parse(body)
}

// cacheable responds with what a handler reads, as writeCacheable does.
func cacheable[T any](read func(echo.Context) (T, error)) echo.HandlerFunc {
	return func(c echo.Context) error {
		body, err := read(c)
		if err != nil {
			return err
		}
		return writeCacheable(c, body)
	}
}

// writeCacheable responds to a read: 200 with an ETag, or 304 if the client has the same bytes.
func writeCacheable(c echo.Context, body any) error {
	c.Response().Header().Set("Cache-Control", "private, no-cache")
	return writeTagged(c, http.StatusOK, body)
}

func writeTagged(c echo.Context, status int, body any) error {
	encoded, err := encode(body)
	if err != nil {
		return err
	}
	return writeText(c, status, echo.MIMEApplicationJSON, encoded, entityTag(encoded))
}

// entityTag returns a strong ETag (RFC 9110, section 8.8.3): a hash needs no column, and is the same on every replica.
func entityTag(representation []byte) string {
	sum := sha256.Sum256(representation)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:15]) + `"`
}

// minCompressed is the shortest text that is compressed. Shorter ones, such as redemptions, fit in one packet anyway.
const minCompressed = 1 << 10

// noStore is the Cache-Control of responses that may hold a secret, such as a token. That is never compressed: its
// length would tell how much of it is repeated in what a caller chose.
const noStore = "no-store"

// writeText responds with a text, compressed if it is long enough and the caller prefers that. tag is its ETag, or "".
// A read whose caller has the text already is 304.
func writeText(c echo.Context, status int, mediaType string, text []byte, tag string) error {
	header := c.Response().Header()
	isLong := len(text) >= minCompressed
	gzipped, known := negotiateEncoding(c, tag, isLong && header.Get("Cache-Control") != noStore)
	switch {
	case known:
		return c.NoContent(http.StatusNotModified)
	case !gzipped:
		if isLong { // of a short one net/http knows the length
			header.Set("Content-Length", strconv.Itoa(len(text)))
		}
		return c.Blob(status, mediaType, text)
	}
	p, _ := gzipBuffers.Get().(*gzipBuffer)
	defer p.free()
	return writeGzip(c, status, mediaType, p.compress(text))
}

func writeGzip(c echo.Context, status int, mediaType string, gzipped []byte) error {
	header := c.Response().Header()
	header.Set("Content-Encoding", "gzip")
	header.Set("Content-Length", strconv.Itoa(len(gzipped)))
	return c.Blob(status, mediaType, gzipped)
}

// negotiateEncoding decides whether the response is compressed, and sets Vary if that can be, and the ETag unless tag
// is "". known tells whether the caller has the response.
func negotiateEncoding(c echo.Context, tag string, canGzip bool) (gzipped, known bool) {
	r, header := c.Request(), c.Response().Header()
	if canGzip {
		header.Add("Vary", "Accept-Encoding")
		gzipped = acceptsGzip(r.Header.Values("Accept-Encoding"))
	}
	if tag == "" {
		return gzipped, false
	}
	form := tag
	if gzipped {
		form = gzipTag(tag)
	}
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		var listed string
		if listed, known = listedTag(r.Header.Values("If-None-Match"), tag); listed != "" {
			form = listed
		}
	}
	header.Set("ETag", form)
	return gzipped, known
}

// gzipTag is the ETag of the compressed form: each form has its own (RFC 9110, section 8.8.3.3).
func gzipTag(tag string) string { return strings.TrimSuffix(tag, `"`) + gzipSuffix }

const gzipSuffix = `-gzip"`

// proxySuffixes are what proxies append to the ETag of what they compress: Apache httpd, and Jetty.
var proxySuffixes = []string{`-br"`, `-zstd"`, `--gzip"`}

// listedTag tells whether an If-Match or If-None-Match header has the tag, in either form, or is "*". It returns the
// form that is listed, "" for "*". It accepts what proxies make of a tag: weak, or with a suffix. If-Match compares
// strongly (RFC 9110, section 13.1.1), but a tag is the hash of the text, whatever its form.
func listedTag(header []string, tag string) (form string, isListed bool) {
	for _, line := range header {
		for listed := range strings.SplitSeq(line, ",") {
			listed = strings.TrimPrefix(strings.TrimSpace(listed), "W/")
			suffix, isOurs := strings.CutPrefix(listed, strings.TrimSuffix(tag, `"`))
			switch {
			case listed == "*":
				return "", true
			case isOurs && suffix == gzipSuffix:
				return listed, true
			case isOurs && (suffix == `"` || slices.Contains(proxySuffixes, suffix)):
				return tag, true
			}
		}
	}
	return "", false
}

// acceptsGzip reads an Accept-Encoding header (RFC 9110, section 12.5.3). An entry for a coding takes precedence over
// *. Without a preference for no coding, gzip is preferred.
func acceptsGzip(header []string) bool {
	gzipped, others, identity := -1.0, 0.0, 0.0 // -1 is not listed
	for _, line := range header {
		for item := range strings.SplitSeq(line, ",") {
			coding, parameter, _ := strings.Cut(item, ";")
			coding = strings.TrimSpace(coding)
			weight := 1.0
			if name, value, given := strings.Cut(strings.TrimSpace(parameter), "="); given &&
				strings.EqualFold(name, "q") {
				var err error
				if weight, err = strconv.ParseFloat(value, 64); err != nil {
					weight = 0
				}
			}
			switch {
			case strings.EqualFold(coding, "gzip"), strings.EqualFold(coding, "x-gzip"):
				gzipped = max(gzipped, weight)
			case strings.EqualFold(coding, "identity"):
				identity = weight
			case coding == "*":
				others = weight
			}
		}
	}
	if gzipped < 0 {
		gzipped = others
	}
	return gzipped > 0 && gzipped >= identity
}

// gzipBuffer compresses one text after another. It is large, so it is used before the network is, which can be slow.
type gzipBuffer struct {
	writer *gzip.Writer
	buffer bytes.Buffer
}

var gzipBuffers = sync.Pool{New: func() any {
	writer, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	return &gzipBuffer{writer: writer}
}}

// compress returns the text compressed, until the buffer is freed.
func (p *gzipBuffer) compress(text []byte) []byte {
	p.buffer.Reset()
	p.writer.Reset(&p.buffer)
	_, _ = p.writer.Write(text) // a buffer takes everything
	_ = p.writer.Close()
	return p.buffer.Bytes()
}

// maxKeptBuffer is the largest buffer that is used again.
const maxKeptBuffer = 256 << 10

func (p *gzipBuffer) free() {
	if p.buffer.Cap() <= maxKeptBuffer {
		gzipBuffers.Put(p)
	}
}
