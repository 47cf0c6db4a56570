package server

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v4"
)

// sink is a response that is not kept.
type sink struct{ header http.Header }

func (s sink) Header() http.Header         { return s.header }
func (s sink) Write(b []byte) (int, error) { return len(b), nil }
func (s sink) WriteHeader(int)             {}

// writing returns a function that responds with a text as handlers do, or straight through echo.
func writing(size int, straight bool) func() {
	e, text := echo.New(), bytes.Repeat([]byte("coffee "), size/7)
	request := httptest.NewRequest(http.MethodPost, "/", nil)
	request.Header.Set("Accept-Encoding", "gzip, deflate, br")
	response := sink{http.Header{}}
	c := e.NewContext(request, response)
	return func() {
		clear(response.header)
		c.Reset(request, response)
		if straight {
			_ = c.Blob(http.StatusCreated, echo.MIMEApplicationJSON, text)
		} else {
			_ = writeText(c, http.StatusCreated, echo.MIMEApplicationJSON, text, "")
		}
	}
}

func TestAShortTextCostsNoAllocation(t *testing.T) {
	before, after := testing.AllocsPerRun(1000, writing(1000, true)), testing.AllocsPerRun(1000, writing(1000, false))
	if after > before {
		t.Errorf("%g allocations, and %g without compression", after, before)
	}
}

func BenchmarkText(b *testing.B) {
	for name, size := range map[string]int{"short": 1000, "long": 20_000} {
		for _, straight := range []bool{true, false} {
			what := name + "/compressed"
			if straight {
				what = name + "/straight"
			}
			b.Run(what, func(b *testing.B) {
				write := writing(size, straight)
				b.ReportAllocs()
				for b.Loop() {
					write()
				}
			})
		}
	}
}
