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

// renewBefore is how long before its end a certificate should have been replaced. Those that renew themselves do so
// a month before.
const renewBefore = 14 * 24 * time.Hour

// Certificate is what a server shows, by the files it is read from. Another can take its place while the server runs.
type Certificate struct {
	certFile, keyFile string
	now               func() time.Time
	explain           func(error) string // says what is wrong with a file
	current           atomic.Pointer[tls.Certificate]
}

// ReadCertificate reads the files for the first time. An expired certificate is taken: the log says so, and a server that
// refuses to start would help nobody. What is wrong with files later is logged as explain says it.
func ReadCertificate(certFile, keyFile string, now func() time.Time, explain func(error) string) (*Certificate, error) {
	c := &Certificate{certFile: certFile, keyFile: keyFile, now: now, explain: explain}
	pair, err := c.read()
	if err != nil {
		return nil, fmt.Errorf("reading the certificate: %w", err)
	}
	c.current.Store(pair)
	return c, nil
}

// Leaf is the certificate that is shown at the moment.
func (c *Certificate) Leaf() *x509.Certificate { return c.current.Load().Leaf }

// config is for a listener. TLS 1.2 is there for older clients, and only with what TLS 1.3 demands too: the keys of a
// connection are its own, and what is said is protected from change. Sessions are not resumed, so that who connects
// anew always sees the certificate of now.
func (c *Certificate) config() *tls.Config {
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
func (c *Certificate) read() (*tls.Certificate, error) {
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

func blocks(text []byte) string {
	var kinds []string
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		kinds = append(kinds, block.Type)
	}
	return strings.Join(kinds, ", ")
}

// reload reads the files again. Connections that are open keep what they were made with; whatever is wrong with the files
// leaves the certificate as it is.
func (c *Certificate) reload() error {
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

// Tell logs which certificate is shown.
func (c *Certificate) Tell(log *slog.Logger, message string) {
	leaf := c.Leaf()
	names := append([]string{}, leaf.DNSNames...)
	for _, ip := range leaf.IPAddresses {
		names = append(names, ip.String())
	}
	log.Info(message, "subject", leaf.Subject.String(), "names", names, "serial", leaf.SerialNumber.Text(16), "not_after", leaf.NotAfter.UTC())
	c.warnOfEnd(log)
	if info, err := os.Stat(c.keyFile); err == nil && info.Mode().Perm()&0o004 != 0 && runtime.GOOS != "windows" {
		log.Warn("every user of this computer can read the key of the certificate: run chmod o-r " + c.keyFile)
	}
}

// warnOfEnd says when the certificate has expired or soon will.
func (c *Certificate) warnOfEnd(log *slog.Logger) {
	end := c.Leaf().NotAfter
	switch left := end.Sub(c.now()); {
	case left < 0:
		log.Error("the certificate in "+c.certFile+" ended on "+day(end)+", and clients refuse it: renew it, and send SIGHUP", "not_after", end.UTC())
	case left < renewBefore:
		log.Warn(fmt.Sprintf("the certificate in %s ends on %s, in %d days: renew it, and send SIGHUP", c.certFile, day(end), int(left/(24*time.Hour))), "not_after", end.UTC())
	}
}

// Watch reloads the certificate when it is asked for, and each day looks whether the one in use ends soon, until ctx ends. A
// server without a certificate, which is nil, takes the same request.
func (c *Certificate) Watch(ctx context.Context, reloads <-chan os.Signal, days <-chan time.Time, log *slog.Logger) {
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
				log.Error("the certificate was not reloaded, and the one from before stays in use: " + c.explain(err))
			} else {
				c.Tell(log, "the certificate was reloaded")
			}
		}
	}
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }
