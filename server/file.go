package server

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// file is one thing to send. It has its content either plain or packed with gzip.
type file struct {
	plain, packed []byte
	mediaType     string
	hash          string // of the content, which its name tells; a file without one is never kept by a cache
}

// policy lets the page load its own files, ask its own host, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// ServeHTTP answers GET and HEAD.
func (f file) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")

	length, content, pack := int64(len(f.plain)), io.Reader(bytes.NewReader(f.plain)), false
	if f.packed != nil {
		header.Set("Vary", "Accept-Encoding")
		pack = takesGzip(r.Header.Values("Accept-Encoding"))
		length, content = int64(len(f.packed)), bytes.NewReader(f.packed)
		if !pack {
			length = unpackedLength(f.packed)
		}
	}
	if f.hash == "" {
		header.Set("Cache-Control", "no-store")
	} else {
		tag := fileTag(f.hash, pack)
		header.Set("ETag", tag)
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
		if has(r.Header.Values("If-None-Match"), tag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	header.Set("Content-Type", f.mediaType)
	header.Set("Content-Length", strconv.FormatInt(length, 10))
	if pack {
		header.Set("Content-Encoding", "gzip")
	}
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return
	}
	if f.packed != nil && !pack {
		unpacked, err := gzip.NewReader(content)
		if err != nil {
			panic(http.ErrAbortHandler) // the length that was promised cannot be sent
		}
		content = unpacked
	}
	_, _ = io.Copy(w, content) // whoever went away needs no answer
}

// entityTag tells the two forms of a packed file apart, as RFC 9110, section 8.8.3.3 asks.
func fileTag(hash string, packed bool) string {
	if packed {
		return `"` + hash + `-gzip"`
	}
	return `"` + hash + `"`
}

// has tells whether an If-None-Match header lists the tag.
func has(header []string, tag string) bool {
	for _, line := range header {
		for listed := range strings.SplitSeq(line, ",") {
			listed = strings.TrimPrefix(strings.TrimSpace(listed), "W/")
			if listed == tag || listed == "*" {
				return true
			}
		}
	}
	return false
}

// unpackedLength is what the end of a gzip file tells (RFC 1952, section 2.3.1).
func unpackedLength(packed []byte) int64 {
	return int64(binary.LittleEndian.Uint32(packed[len(packed)-4:]))
}

// takesGzip reads an Accept-Encoding header (RFC 9110, section 12.5.3): what it says of gzip counts before what it says of *.
func takesGzip(header []string) bool {
	takes := false
	for _, line := range header {
		for item := range strings.SplitSeq(line, ",") {
			coding, parameter, _ := strings.Cut(item, ";")
			switch strings.ToLower(strings.TrimSpace(coding)) {
			case "gzip":
				return weighs(parameter)
			case "*":
				takes = weighs(parameter)
			}
		}
	}
	return takes
}

// weighs tells whether a weight such as "q=0.5" is more than nothing. None at all is the full weight.
func weighs(parameter string) bool {
	name, value, given := strings.Cut(strings.TrimSpace(parameter), "=")
	if !given || !strings.EqualFold(name, "q") {
		return true
	}
	weight, err := strconv.ParseFloat(value, 64)
	return err == nil && weight > 0
}
