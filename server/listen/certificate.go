package listen

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
)

// renewBefore is when to warn of a certificate's expiry. Automatic renewal happens a month before it.
const renewBefore = 14 * 24 * time.Hour

// Certificate is a server's certificate and its files, from which it can be reloaded while the server runs.
type Certificate struct {
	certFile, keyFile string
	now               func() time.Time
	explain           func(error) string // describes errors of files
	current           atomic.Pointer[tls.Certificate]
}

// ReadCertificate reads the files. It accepts an expired certificate: the log says so, and a server that doesn't start
// helps nobody. The log describes later errors with explain.
func ReadCertificate(certFile, keyFile string, now func() time.Time, explain func(error) string) (*Certificate, error) {
	c := &Certificate{certFile: certFile, keyFile: keyFile, now: now, explain: explain}
	pair, err := c.read()
	if err != nil {
		return nil, fmt.Errorf("reading the certificate: %w", err)
	}
	c.current.Store(pair)
	return c, nil
}

// Leaf is the certificate in use.
func (c *Certificate) Leaf() *x509.Certificate { return c.current.Load().Leaf }

// config allows TLS 1.2 for older clients, but only with what TLS 1.3 requires too: forward secrecy and authenticated
// encryption. It doesn't resume sessions, so that new connections always use the current certificate.
func (c *Certificate) config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		CipherSuites: []uint16{ // of TLS 1.2; all of 1.3 are safe
			tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
			tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
			tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
		},
		SessionTicketsDisabled: true,
		GetCertificate:         func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil },
	}
}

// read reads the files. Its errors name the one that is wrong.
func (c *Certificate) read() (*tls.Certificate, error) {
	cert, err := os.ReadFile(c.certFile)
	if err != nil {
		return nil, err
	}
	key, err := os.ReadFile(c.keyFile)
	if err != nil {
		return nil, err
	}
	switch types := blockTypes(key); {
	case !strings.Contains(blockTypes(cert), "CERTIFICATE"):
		return nil, fmt.Errorf("%s holds no certificate in PEM", c.certFile)
	case strings.Contains(types, "ENCRYPTED PRIVATE KEY") || bytes.Contains(key, []byte("Proc-Type: 4,ENCRYPTED")):
		return nil, fmt.Errorf("the key in %s is encrypted: store it without a passphrase", c.keyFile)
	case !strings.Contains(types, "PRIVATE KEY"):
		return nil, fmt.Errorf("%s holds no private key in PEM", c.keyFile)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("the certificate in %s cannot be used with the key in %s: %s", c.certFile, c.keyFile,
			strings.TrimPrefix(err.Error(), "tls: "))
	}
	return &pair, nil
}

func blockTypes(text []byte) string {
	var types []string
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		types = append(types, block.Type)
	}
	return strings.Join(types, ", ")
}

// reload reads the files again. Open connections keep their certificate. An error leaves the current one in use.
func (c *Certificate) reload() error {
	pair, err := c.read()
	if err != nil {
		return err
	}
	switch now := c.now(); {
	case now.After(pair.Leaf.NotAfter):
		return fmt.Errorf("the certificate in %s expired on %s", c.certFile, day(pair.Leaf.NotAfter))
	case now.Before(pair.Leaf.NotBefore):
		return fmt.Errorf("the certificate in %s is not valid before %s; is this computer's clock right?", c.certFile,
			day(pair.Leaf.NotBefore))
	}
	c.current.Store(pair)
	return nil
}

// LogDetails logs what the certificate is, and warns of its problems.
func (c *Certificate) LogDetails(log *slog.Logger, message string) {
	leaf := c.Leaf()
	names := append([]string{}, leaf.DNSNames...)
	for _, ip := range leaf.IPAddresses {
		names = append(names, ip.String())
	}
	log.Info(message, "subject", leaf.Subject.String(), "names", names, "serial", leaf.SerialNumber.Text(16),
		"not_after", leaf.NotAfter.UTC())
	c.warnOfExpiry(log)
	if info, err := os.Stat(c.keyFile); err == nil && info.Mode().Perm()&0o004 != 0 && runtime.GOOS != "windows" {
		log.Warn("every user of this computer can read the key of the certificate: run chmod o-r " + c.keyFile)
	}
}

// warnOfExpiry logs that the certificate has expired or soon will.
func (c *Certificate) warnOfExpiry(log *slog.Logger) {
	end := c.Leaf().NotAfter
	switch left := end.Sub(c.now()); {
	case left < 0:
		log.Error("the certificate in "+c.certFile+" expired on "+day(end)+", and clients refuse it: renew it, and "+
			"send SIGHUP", "not_after", end.UTC())
	case left < renewBefore:
		log.Warn(fmt.Sprintf("the certificate in %s expires on %s, in %d days: renew it, and send SIGHUP", c.certFile,
			day(end), int(left/(24*time.Hour))), "not_after", end.UTC())
	}
}

// Watch reloads the certificate on each signal, and checks its expiry each day, until ctx ends. A nil certificate, of a
// server without TLS, handles the signal too.
func (c *Certificate) Watch(ctx context.Context, reloads <-chan os.Signal, days <-chan time.Time, log *slog.Logger) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-days:
			if c != nil {
				c.warnOfExpiry(log)
			}
		case <-reloads:
			if c == nil {
				log.Info("SIGHUP reloads the certificate, but there is none: nothing to do")
			} else if err := c.reload(); err != nil {
				log.Error("the certificate was not reloaded; the previous one stays in use: " + c.explain(err))
			} else {
				c.LogDetails(log, "the certificate was reloaded")
			}
		}
	}
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }
