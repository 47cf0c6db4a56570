package main

import (
	"bytes"
	"container/list"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"example.com/perks/cli/usage"
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

// renewBefore is how long before its end a certificate should have been replaced. Those that renew themselves do so
// a month before.
const renewBefore = 14 * 24 * time.Hour

// certificate is what the server shows, by the files it is read from. Another can take its place while the server runs.
type certificate struct {
	certFile, keyFile string
	now               func() time.Time
	current           atomic.Pointer[tls.Certificate]
}

// newCertificate reads the files for the first time. A certificate whose time is over is taken: the log says so, and a
// server that refuses to start would help nobody.
func newCertificate(certFile, keyFile string, now func() time.Time) (*certificate, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile, now: now}
	pair, err := c.read()
	if err != nil {
		return nil, fmt.Errorf("reading the certificate: %w", err)
	}
	c.current.Store(pair)
	return c, nil
}

// config is for a listener. TLS 1.2 is there for older clients, and only with what TLS 1.3 demands too: the keys of a
// connection are its own, and what is said is protected from change. Sessions are not taken up again, so that who connects
// anew always sees the certificate of now.
func (c *certificate) config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		CipherSuites: []uint16{ // of TLS 1.2; those of 1.3 are all good
			tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
			tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
			tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
		},
		SessionTicketsDisabled: true,
		GetCertificate:         func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil },
	}
}

// read reads the files, and says which of them is wrong.
func (c *certificate) read() (*tls.Certificate, error) {
	cert, err := os.ReadFile(c.certFile)
	if err != nil {
		return nil, err
	}
	key, err := os.ReadFile(c.keyFile)
	if err != nil {
		return nil, err
	}
	switch kinds := blocks(key); {
	case !strings.Contains(blocks(cert), "CERTIFICATE"):
		return nil, fmt.Errorf("%s holds no certificate in PEM", c.certFile)
	case strings.Contains(kinds, "ENCRYPTED PRIVATE KEY") || bytes.Contains(key, []byte("Proc-Type: 4,ENCRYPTED")):
		return nil, fmt.Errorf("the key in %s is encrypted, and nobody is there to type its passphrase: store it without one", c.keyFile)
	case !strings.Contains(kinds, "PRIVATE KEY"):
		return nil, fmt.Errorf("%s holds no private key in PEM", c.keyFile)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("the certificate in %s cannot be used with the key in %s: %s", c.certFile, c.keyFile, strings.TrimPrefix(err.Error(), "tls: "))
	}
	return &pair, nil
}

// blocks names the blocks of a PEM file.
func blocks(text []byte) string {
	var kinds []string
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		kinds = append(kinds, block.Type)
	}
	return strings.Join(kinds, ", ")
}

// reload reads the files again. Connections that are open keep what they were made with; whatever is wrong with the files
// leaves the certificate as it is.
func (c *certificate) reload() error {
	pair, err := c.read()
	if err != nil {
		return err
	}
	switch now := c.now(); {
	case now.After(pair.Leaf.NotAfter):
		return fmt.Errorf("the certificate in %s ended on %s", c.certFile, day(pair.Leaf.NotAfter))
	case now.Before(pair.Leaf.NotBefore):
		return fmt.Errorf("the certificate in %s is valid only from %s on; is this computer's clock right?", c.certFile, day(pair.Leaf.NotBefore))
	}
	c.current.Store(pair)
	return nil
}

// tell logs which certificate is shown.
func (c *certificate) tell(log *slog.Logger, message string) {
	leaf := c.current.Load().Leaf
	log.Info(message, "subject", leaf.Subject.String(), "names", namesOf(leaf), "serial", leaf.SerialNumber.Text(16), "not_after", leaf.NotAfter.UTC())
	c.warnOfEnd(log)
	if info, err := os.Stat(c.keyFile); err == nil && info.Mode().Perm()&0o004 != 0 && runtime.GOOS != "windows" {
		log.Warn("every user of this computer can read the key of the certificate: run chmod o-r " + c.keyFile)
	}
}

// warnOfEnd says when the certificate is over or soon will be.
func (c *certificate) warnOfEnd(log *slog.Logger) {
	end := c.current.Load().Leaf.NotAfter
	switch left := end.Sub(c.now()); {
	case left < 0:
		log.Error("the certificate in "+c.certFile+" ended on "+day(end)+", and clients refuse it: renew it, and send SIGHUP", "not_after", end.UTC())
	case left < renewBefore:
		log.Warn(fmt.Sprintf("the certificate in %s ends on %s, in %d days: renew it, and send SIGHUP", c.certFile, day(end), int(left/(24*time.Hour))), "not_after", end.UTC())
	}
}

// watch reloads the certificate when it is asked for, and each day looks whether the one in use ends soon. It is how a server
// without a certificate, which is nil, takes the same request.
func (c *certificate) watch(ctx context.Context, reloads <-chan os.Signal, days <-chan time.Time, log *slog.Logger) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-days:
			if c != nil {
				c.warnOfEnd(log)
			}
		case <-reloads:
			if c == nil {
				log.Info("SIGHUP reads the certificate again; there is none here, so that there is nothing to do")
			} else if err := c.reload(); err != nil {
				log.Error("the certificate was not reloaded, and the one from before stays in use: " + usage.AboutFile(err))
			} else {
				c.tell(log, "the certificate was reloaded")
			}
		}
	}
}

func namesOf(certificate *x509.Certificate) []string {
	names := append([]string{}, certificate.DNSNames...)
	for _, ip := range certificate.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// crowding bounds how many connections are open at once, so that nobody takes all files and all memory of the process.
// When there are too many, the one that has been idle for longest makes room: HTTP lets a server close it at any time. When
// none is idle, who comes next waits until one of the others is done, or its time is up, and is then served as usual.
type crowding struct {
	net.Listener
	most int

	mu         sync.Mutex
	changed    sync.Cond
	open       int
	closed     bool
	crowdedOut int        // connections that were closed to make room
	idle       *list.List // of net.Conn, longest first
	places     map[net.Conn]*list.Element
}

func boundCrowding(l net.Listener, most int) *crowding {
	c := &crowding{Listener: l, most: most, idle: list.New(), places: map[net.Conn]*list.Element{}}
	c.changed.L = &c.mu
	return c
}

// Accept returns the next connection when there is room for it.
func (c *crowding) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if !c.enter() {
		_ = conn.Close() // it was not served
		return nil, net.ErrClosed
	}
	return &roomedConn{Conn: conn, leave: sync.OnceFunc(c.leave)}, nil
}

// enter waits for room. It is false when the listener is closed before.
func (c *crowding) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.open >= c.most && !c.closed {
		c.closeLongestIdle()
		c.changed.Wait()
	}
	c.open++
	return !c.closed
}

// closeLongestIdle does not wait until it is closed, because that needs the lock, and over TLS also time.
func (c *crowding) closeLongestIdle() {
	if longest := c.idle.Front(); longest != nil {
		conn := c.idle.Remove(longest).(net.Conn)
		delete(c.places, conn)
		c.crowdedOut++
		go conn.Close()
	}
}

// figures is what operators watch.
type figures struct{ open, crowdedOut int }

func (c *crowding) figures() figures {
	c.mu.Lock()
	defer c.mu.Unlock()
	return figures{c.open, c.crowdedOut}
}

func (c *crowding) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
	c.changed.Signal()
}

// Close also ends an Accept that waits for room.
func (c *crowding) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.changed.Broadcast()
	return c.Listener.Close()
}

// notice is told what the server's connections are doing: it is an http.Server's ConnState.
func (c *crowding) notice(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if place := c.places[conn]; place != nil {
		c.idle.Remove(place)
		delete(c.places, conn)
	}
	if state == http.StateIdle {
		c.places[conn] = c.idle.PushBack(conn)
		c.changed.Signal()
	}
}

// roomedConn makes room when it is closed.
type roomedConn struct {
	net.Conn
	leave func()
}

func (c *roomedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// networks is a flag that takes IP addresses and ranges of them.
type networks struct{ list []netip.Prefix }

func (n *networks) flag(f *pflag.FlagSet) {
	f.Var(n, "trusted-proxies", "with --behind-proxy, the addresses of all proxies, such as 10.0.0.5,10.1.0.0/16; nobody else's word counts (default whoever is connected, as the only proxy)")
}

// check comes once all flags are known.
func (n *networks) check(behindProxy bool) error {
	if len(n.list) > 0 && !behindProxy {
		return usageError{errors.New("--trusted-proxies means nothing without --behind-proxy")}
	}
	return nil
}

func (n *networks) String() string {
	texts := make([]string, len(n.list))
	for i, network := range n.list {
		texts[i] = network.String()
	}
	return strings.Join(texts, ",")
}

// Type is how help shows the value.
func (n *networks) Type() string { return "CIDR,..." }

// Set reads the list. An address alone is a range of one.
func (n *networks) Set(text string) error {
	var list []netip.Prefix
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		if address, err := netip.ParseAddr(part); err == nil {
			list = append(list, netip.PrefixFrom(address, address.BitLen()))
			continue
		}
		network, err := netip.ParsePrefix(part)
		if err != nil {
			return fmt.Errorf("%q is neither an IP address nor a range of them such as 10.1.0.0/16", part)
		}
		list = append(list, network.Masked())
	}
	n.list = list
	return nil
}
