// Package listen serves HTTP on an address with limits on time, memory and open connections, over TLS with a
// certificate that can be replaced while the server runs. It knows nothing of the handler.
package listen

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"
)

// Take listens on a TCP address. Its errors say what to do.
func Take(address *net.TCPAddr) (net.Listener, error) {
	l, err := net.ListenTCP("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, inUse{address}
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Errorf("this computer does not have the address %s", address.IP)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("the system does not let this user listen on %s; ports below 1024 need root or "+
			"CAP_NET_BIND_SERVICE", address)
	case err != nil:
		return nil, err
	}
	return l, nil
}

// inUse says that another program listens on the address.
type inUse struct{ address *net.TCPAddr }

func (u inUse) Error() string {
	return u.address.String() + " is already in use, perhaps by another perksd: stop that, or choose another address"
}

func (u inUse) Unwrap() error { return syscall.EADDRINUSE }

// Server configures how an address is served.
type Server struct {
	Handler     http.Handler
	Certificate *Certificate  // nil serves plain HTTP
	MaxHeader   int           // bytes of a request's header
	Drain       time.Duration // how long requests may take to finish at the end
	Draining    string        // logged when that begins, unless empty
	OnDrain     func()        // called then, unless nil: it ends the requests that would not finish by themselves
	Log         *slog.Logger
}

// Serve serves requests until ctx ends, then finishes those in flight.
func (s Server) Serve(ctx context.Context, l *Limited) error {
	h := &http.Server{
		Handler:           s.Handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute, // Prometheus comes back every minute at the latest
		MaxHeaderBytes:    s.MaxHeader,
		ConnState:         l.connState,
		ConnContext:       withConn,
		ErrorLog:          slog.NewLogLogger(s.Log.Handler(), slog.LevelWarn),
	}
	// HTTP/1 only: an API gains little from HTTP/2, which has more vulnerabilities than any other part of Go's server,
	// and whose connections can be kept half-idle.
	h.Protocols = new(http.Protocols)
	h.Protocols.SetHTTP1(true)
	serve := func() error { return h.Serve(l) }
	if s.Certificate != nil {
		h.TLSConfig = s.Certificate.config()
		serve = func() error { return h.ServeTLS(l, "", "") }
	}
	failed := make(chan error, 1)
	go func() { failed <- serve() }()
	select {
	case err := <-failed:
		return errors.Join(fmt.Errorf("serving: %w", err), h.Close())
	case <-ctx.Done():
	}
	if s.Draining != "" {
		s.Log.Info(s.Draining)
	}
	if s.OnDrain != nil {
		s.OnDrain()
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Drain)
	defer cancel()
	if err := h.Shutdown(drain); err != nil {
		return errors.Join(fmt.Errorf("some requests did not finish within %s and were aborted: %w", s.Drain, err),
			h.Close())
	}
	return nil
}
