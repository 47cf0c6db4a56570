package server

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"
)

// minCompressed is the shortest text that is compressed: a shorter one fits in one packet anyway. Responses to redeeming are shorter.
const minCompressed = 1 << 10

// noStore is the Cache-Control of what is or may be secret, such as a token. That is never compressed: its length would tell how much of
// it is repeated in what a caller chose.
const noStore = "no-store"

// writeText responds with a text, compressed if it is long enough and the caller prefers that. tag is its ETag, or "". A read whose
// caller has the text already is 304.
func writeText(c echo.Context, status int, mediaType string, text []byte, tag string) error {
	header := c.Response().Header()
	isLong := len(text) >= minCompressed
	packed, known := chooseForm(c, tag, isLong && header.Get("Cache-Control") != noStore)
	switch {
	case known:
		return c.NoContent(http.StatusNotModified)
	case !packed:
		if isLong { // of a short one net/http knows the length
			header.Set("Content-Length", strconv.Itoa(len(text)))
		}
		return c.Blob(status, mediaType, text)
	}
	p, _ := packers.Get().(*packer)
	defer p.free()
	return writePacked(c, status, mediaType, p.pack(text))
}

func writePacked(c echo.Context, status int, mediaType string, packed []byte) error {
	header := c.Response().Header()
	header.Set("Content-Encoding", "gzip")
	header.Set("Content-Length", strconv.Itoa(len(packed)))
	return c.Blob(status, mediaType, packed)
}

// chooseForm decides whether the response is compressed, and sets Vary if that can be, and the ETag unless tag is "". known tells whether
// the caller has the response.
func chooseForm(c echo.Context, tag string, canPack bool) (packed, known bool) {
	r, header := c.Request(), c.Response().Header()
	if canPack {
		header.Add("Vary", "Accept-Encoding")
		packed = acceptsGzip(r.Header.Values("Accept-Encoding"))
	}
	if tag == "" {
		return packed, false
	}
	form := tag
	if packed {
		form = packedTag(tag)
	}
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		var listed string
		if listed, known = listedTag(r.Header.Values("If-None-Match"), tag); listed != "" {
			form = listed
		}
	}
	header.Set("ETag", form)
	return packed, known
}

// packedTag is the ETag of the compressed form: each form has its own (RFC 9110, section 8.8.3.3).
func packedTag(tag string) string { return strings.TrimSuffix(tag, `"`) + packedSuffix }

const packedSuffix = `-gzip"`

// proxySuffixes are what proxies append to the ETag of what they compress: Apache httpd, and Jetty.
var proxySuffixes = []string{`-br"`, `-zstd"`, `--gzip"`}

// listedTag tells whether an If-Match or If-None-Match header has the tag, in either form, or is "*". It returns the form that is listed,
// "" for "*". It accepts what proxies make of a tag: weak, or with a suffix. If-Match compares strongly (RFC 9110, section 13.1.1), but a
// tag is the hash of the text, whatever its form.
func listedTag(header []string, tag string) (form string, isListed bool) {
	for _, line := range header {
		for listed := range strings.SplitSeq(line, ",") {
			listed = strings.TrimPrefix(strings.TrimSpace(listed), "W/")
			suffix, isOurs := strings.CutPrefix(listed, strings.TrimSuffix(tag, `"`))
			switch {
			case listed == "*":
				return "", true
			case isOurs && suffix == packedSuffix:
				return listed, true
			case isOurs && (suffix == `"` || slices.Contains(proxySuffixes, suffix)):
				return tag, true
			}
		}
	}
	return "", false
}

// acceptsGzip reads an Accept-Encoding header (RFC 9110, section 12.5.3). An entry for a coding takes precedence over *. Without a
// preference for no coding, gzip is preferred.
func acceptsGzip(header []string) bool {
	gzipped, others, identity := -1.0, 0.0, 0.0 // -1 is not listed
	for _, line := range header {
		for item := range strings.SplitSeq(line, ",") {
			coding, parameter, _ := strings.Cut(item, ";")
			coding = strings.TrimSpace(coding)
			weight := 1.0
			if name, value, given := strings.Cut(strings.TrimSpace(parameter), "="); given && strings.EqualFold(name, "q") {
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

// packer compresses one text after another. It is large, so it is used before the network is, which can be slow.
type packer struct {
	writer *gzip.Writer
	buffer bytes.Buffer
}

var packers = sync.Pool{New: func() any {
	writer, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	return &packer{writer: writer}
}}

// pack returns the text compressed, until the packer is freed.
func (p *packer) pack(text []byte) []byte {
	p.buffer.Reset()
	p.writer.Reset(&p.buffer)
	_, _ = p.writer.Write(text) // a buffer takes everything
	_ = p.writer.Close()
	return p.buffer.Bytes()
}

// maxKeptBuffer is the largest buffer that is used again.
const maxKeptBuffer = 256 << 10

func (p *packer) free() {
	if p.buffer.Cap() <= maxKeptBuffer {
		packers.Put(p)
	}
}
