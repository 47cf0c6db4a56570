package server_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/perks/server"
	"example.com/perks/server/servertest"
)

// discarded is a response writer that discards everything.
type discarded struct{ header http.Header }

func (d *discarded) Header() http.Header         { return d.header }
func (d *discarded) Write(b []byte) (int, error) { return len(b), nil }
func (d *discarded) WriteHeader(int)             {}

// BenchmarkMeasuring shows the cost of metrics per request, on the cheapest route.
func BenchmarkMeasuring(b *testing.B) {
	for _, measured := range []bool{false, true} {
		b.Run(fmt.Sprintf("measured=%t", measured), func(b *testing.B) {
			config := server.Config{Live: servertest.OpenStore(b), NewID: func() string { return "id" }}
			if measured {
				config.Metrics = prometheus.NewRegistry()
			}
			handler, err := server.New(b.Context(), config)
			if err != nil {
				b.Fatal(err)
			}
			request := httptest.NewRequest(http.MethodGet, "/livez", nil)
			answer := &discarded{header: http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				handler.ServeHTTP(answer, request)
			}
		})
	}
}
