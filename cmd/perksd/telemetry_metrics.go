package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/pflag"

	"example.com/perks/api/build"
)

// metricsOptions says where Prometheus reads.
type metricsOptions struct {
	address  string // "" for nowhere
	anywhere bool
}

func (o *metricsOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&o.address, "metrics-addr", "", "the `HOST:PORT` at which Prometheus reads /metrics, of this machine or of a private network (default none)")
	f.BoolVar(&o.anywhere, "metrics-open", false, "let --metrics-addr be any address, because a firewall or a network policy decides who comes there")
}

// check refuses addresses that the whole internet may reach. Metrics hold no secrets, but they tell how busy a business is, and
// who attacks learns from them what works.
func (o *metricsOptions) check() (*net.TCPAddr, error) {
	address, err := net.ResolveTCPAddr("tcp", o.address)
	if err != nil {
		return nil, usageError{fmt.Errorf("--metrics-addr must be HOST:PORT: %w", err)}
	}
	if o.anywhere || address.IP.IsLoopback() || address.IP.IsPrivate() || address.IP.IsLinkLocalUnicast() {
		return address, nil
	}
	return nil, usageError{fmt.Errorf("perksd does not show its metrics on %s, because people on the internet may come there: "+
		"name an address of this machine's private network, or add --metrics-open if a firewall keeps others out", o.address)}
}

// metricsPage is where Prometheus reads.
type metricsPage struct {
	server *http.Server
	ended  chan struct{}
}

// maxMetricsConnections is many for Prometheus, and few for anybody who wants to do harm.
const maxMetricsConnections = 64

// open takes the address and answers there until stop.
func (o *metricsOptions) open(registry *prometheus.Registry, log *slog.Logger) (*metricsPage, error) {
	address, err := o.check()
	if err != nil {
		return nil, err
	}
	listener, err := takeAddress("--metrics-addr", address)
	if err != nil {
		return nil, err
	}
	bounded := boundCrowding(listener, maxMetricsConnections)
	errorLog := slog.NewLogLogger(log.Handler(), slog.LevelWarn)
	p := &metricsPage{ended: make(chan struct{}), server: &http.Server{
		Handler:           metricsHandler(registry, errorLog),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute, // Prometheus comes back every minute at the latest
		MaxHeaderBytes:    16 << 10,
		ConnState:         bounded.notice,
		ErrorLog:          errorLog,
	}}
	go func() {
		defer close(p.ended)
		if err := p.server.Serve(bounded); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the metrics cannot be read any more", "error", err)
		}
	}()
	log.Info("metrics", "url", "http://"+listener.Addr().String()+"/metrics")
	return p, nil
}

func metricsHandler(registry *prometheus.Registry, errorLog promhttp.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		Registry: registry, EnableOpenMetrics: true, ErrorLog: errorLog, ErrorHandling: promhttp.ContinueOnError,
		MaxRequestsInFlight: 4, Timeout: 10 * time.Second,
	}))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "perksd tells Prometheus its metrics at /metrics.\n") // who has gone needs no answer
	})
	return mux
}

// stop lets an answer under way end within a second.
func (p *metricsPage) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if p.server.Shutdown(ctx) != nil {
		_ = p.server.Close() // what it was to say nobody waits for
	}
	<-p.ended
}

// newRegistry has what does not depend on the server: the process, Go, and which version this is.
func newRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	program := build.Read()
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "perks_build_info", Help: "Always 1; the labels say what runs.",
		ConstLabels: prometheus.Labels{"version": program.Version, "commit": program.Commit, "goversion": program.Go},
	})
	info.Set(1)
	registry.MustRegister(info, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return registry
}
