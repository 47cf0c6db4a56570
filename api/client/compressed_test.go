package client_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
)

// packed responds with a text of ETag "v-gzip" that only its compressed form has.
func packed(t *testing.T, text func(io.Writer)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "gzip" {
			t.Errorf("Accept-Encoding is %q", r.Header.Get("Accept-Encoding"))
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("ETag", `"v-gzip"`)
		writer := gzip.NewWriter(w)
		text(writer)
		_ = writer.Close() // fails if the client has stopped reading
	})
}

func TestACompressedResponseIsReadLikeAnother(t *testing.T) {
	c := serve(t, packed(t, func(w io.Writer) { _, _ = io.WriteString(w, `{"propertyId":1,"title":"Loft"}`) }))
	property, tag, err := c.Property(t.Context(), "1")
	if err != nil || property.Title != "Loft" || tag != `"v-gzip"` {
		t.Errorf("%+v with the ETag %s: %v", property, tag, err)
	}
}

// TestADecompressionBombIsNotRead sends a gigabyte in a megabyte.
func TestADecompressionBombIsNotRead(t *testing.T) {
	blanks := strings.Repeat(" ", 1<<20)
	c := serve(t, packed(t, func(w io.Writer) {
		for range 1 << 10 {
			if _, err := io.WriteString(w, blanks); err != nil {
				return
			}
		}
	}))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := c.Property(t.Context(), "1")
	if err == nil || !strings.Contains(err.Error(), "it is longer than 33554432 bytes") {
		t.Errorf("got %v", err)
	}
	if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 256<<20 {
		t.Errorf("reading it took %d MiB", (after.TotalAlloc-before.TotalAlloc)>>20)
	}
}
