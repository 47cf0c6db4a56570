package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/pflag"
)

// listenOptions says where to listen and what protects what is said there.
type listenOptions struct {
	address           string
	certFile, keyFile string
	behindProxy       bool
}

func (o *listenOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&o.address, "addr", "127.0.0.1:8080", "the `HOST:PORT` to listen on; port 0 takes a free one")
	f.StringVar(&o.certFile, "tls-cert", "", "a `FILE` with the certificate, then the chain, in PEM; SIGHUP has it read again")
	f.StringVar(&o.keyFile, "tls-key", "", "a `FILE` with the certificate's key in PEM")
	f.BoolVar(&o.behindProxy, "behind-proxy", false, "a proxy ends TLS: listen in the open anywhere, and believe X-Forwarded-For, -Proto and -Host")
}

// listener is an address that is taken, and what is shown there.
type listener struct {
	net.Listener
	certificate *certificate    // nil without one
	counted     func(*crowding) // is told whose connections are counted
}

// open checks the options and takes the address.
func (o listenOptions) open(now func() time.Time) (*listener, error) {
	if (o.certFile == "") != (o.keyFile == "") {
		return nil, usageError{errors.New("--tls-cert and --tls-key belong together; only one of them is given")}
	}
	address, err := net.ResolveTCPAddr("tcp", o.address)
	if err != nil {
		return nil, usageError{fmt.Errorf("--addr must be HOST:PORT: %w", err)}
	}
	if o.certFile == "" && !o.behindProxy && !address.IP.IsLoopback() {
		return nil, usageError{fmt.Errorf("perksd does not listen on %s in the open, because tokens and secrets would cross the network for all to read: "+
			"give it --tls-cert and --tls-key, or --behind-proxy if a proxy before it ends TLS", o.address)}
	}
	l := &listener{}
	if o.certFile != "" {
		if l.certificate, err = newCertificate(o.certFile, o.keyFile, now); err != nil {
			return nil, err
		}
	}
	if l.Listener, err = takeAddress("--addr", address); err != nil {
		return nil, err
	}
	return l, nil
}

// takeAddress listens, or says which flag to change and why.
func takeAddress(flag string, address *net.TCPAddr) (net.Listener, error) {
	l, err := net.ListenTCP("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s: another program listens on %s already, such as a perksd that still runs: end it, or name another address", flag, address)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Errorf("%s: this computer does not have the address %s", flag, address.IP)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("%s: the system does not let this user listen on %s; ports below 1024 need root or CAP_NET_BIND_SERVICE", flag, address)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return l, nil
}

func (l *listener) url() string {
	if l.certificate != nil {
		return "https://" + l.Addr().String()
	}
	return "http://" + l.Addr().String()
}

// watch keeps the certificate up to date until it is stopped.
func (l *listener) watch(reloads <-chan os.Signal, log *slog.Logger) (stop func()) {
	if l.certificate != nil {
		l.certificate.tell(log, "the certificate was read")
	}
	ctx, cancel := context.WithCancel(context.Background())
	days := time.NewTicker(24 * time.Hour)
	var watching sync.WaitGroup
	watching.Go(func() { l.certificate.watch(ctx, reloads, days.C, log) })
	return func() {
		cancel()
		days.Stop()
		watching.Wait()
	}
}

// drainTime is how long requests under way may take to end: as long as the slowest body and its answer may take, and less
// than the 30 s after which most supervisors kill.
const drainTime = 27 * time.Second

// serve answers requests until ctx ends and those under way are answered.
func (l *listener) serve(ctx context.Context, handler http.Handler, connections int, log *slog.Logger) error {
	bounded := boundCrowding(l.Listener, connections)
	l.counted(bounded)
	s := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ConnState:         bounded.notice,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	// HTTP/1 alone: callers of an API gain little from HTTP/2, whose connections can be held on to half-idle, and in which more
	// holes are found than anywhere else in Go's server.
	s.Protocols = new(http.Protocols)
	s.Protocols.SetHTTP1(true)
	if l.certificate != nil {
		s.TLSConfig = l.certificate.config()
	}
	ended := make(chan error, 1)
	go func() {
		if l.certificate != nil {
			ended <- s.ServeTLS(bounded, "", "")
			return
		}
		ended <- s.Serve(bounded)
	}()
	select {
	case err := <-ended:
		return errors.Join(fmt.Errorf("serving: %w", err), s.Close())
	case <-ctx.Done():
	}
	log.Info("draining")
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	if err := s.Shutdown(drain); err != nil {
		return errors.Join(fmt.Errorf("some requests did not end within %s and were cut off: %w", drainTime, err), s.Close())
	}
	return nil
}
