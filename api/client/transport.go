package client

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// chain stacks the RoundTrippers that every request passes through. From the network upwards:
//
//	Transport  sends the request
//	noResend   keeps the transport from sending a change twice, and reads the response
//	trace      prints each attempt, redacted
//	retry      retries; all attempts carry the same token
//	ownWrites  makes reads include the client's last write
//	authorize  adds the token, and retries once with another one after a 401
//	reuse      answers with a kept response
func (config Config) chain(base *url.URL) http.RoundTripper {
	tripper := config.Transport
	if tripper == nil {
		tripper = newTransport(config.Roots)
	}
	tripper = &noResend{next: tripper}
	if config.Trace != nil {
		tripper = &trace{next: tripper, out: config.Trace}
	}
	tripper = &retry{Config: config, next: tripper}
	tripper = &ownWrites{next: tripper, position: cmp.Or(config.Position, new(Position)), now: config.Clock.Now}
	if config.Tokens != nil {
		tripper = &authorize{next: tripper, tokens: config.Tokens, origin: base}
	}
	if config.Cache != nil {
		tripper = &reuse{next: tripper, cache: config.Cache, freshFor: config.CacheFor, now: config.Clock.Now}
	}
	return tripper
}

func newTransport(roots *x509.CertPool) *http.Transport {
	return &http.Transport{
		TLSClientConfig:       &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   64, // bulk commands keep that many requests under way
		IdleConnTimeout:       60 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
}

func explainCertificate(err error) (why, advice string) {
	var refused *tls.CertificateVerificationError
	if !errors.As(err, &refused) || len(refused.UnverifiedCertificates) == 0 {
		return "", ""
	}
	leaf := refused.UnverifiedCertificates[0]
	var (
		invalid   x509.CertificateInvalidError
		hostname  x509.HostnameError
		authority x509.UnknownAuthorityError
	)
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return explainValidity(invalid, leaf)
	case errors.As(err, &hostname):
		return fmt.Sprintf("the server's certificate is not for %s but for %s", hostname.Host, namesOf(leaf)),
			"Is the address right?"
	case errors.As(err, &authority):
		issuer := cmp.Or(leaf.Issuer.String(), "an unnamed authority")
		return "the server's certificate was issued by " + issuer + ", which this computer does not trust",
			"If that is your organisation's own authority, or its proxy's, pass its certificate with --ca-cert."
	}
	return "the server's certificate is not valid: " + strings.TrimPrefix(refused.Err.Error(), "x509: "), ""
}

// explainValidity names the certificate of the chain that is not valid now; it need not be the server's own.
func explainValidity(invalid x509.CertificateInvalidError, leaf *x509.Certificate) (why, advice string) {
	certificate, whose := cmp.Or(invalid.Cert, leaf), "the server's certificate"
	if !certificate.Equal(leaf) {
		whose = "the certificate of " + certificate.Subject.String() + ", which issued the server's,"
	}
	// Go says only in words whether it is too early or too late, and some systems do not say.
	early := strings.Contains(invalid.Detail, " is before ") || invalid.Detail == "" &&
		time.Now().Before(certificate.NotBefore)
	if early {
		return whose + " is not valid before " + day(certificate.NotBefore), "Is this computer's clock right?"
	}
	return whose + " expired on " + day(certificate.NotAfter),
		"The server's operator must renew it. If it was renewed, is this computer's clock right?"
}

// maxNames is how many names of a certificate are listed. Some have a hundred.
const maxNames = 5

func namesOf(certificate *x509.Certificate) string {
	names := slices.Clone(certificate.DNSNames)
	for _, ip := range certificate.IPAddresses {
		names = append(names, ip.String())
	}
	switch {
	case len(names) == 0:
		return "no name"
	case len(names) > maxNames:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNames], ", "), len(names)-maxNames)
	}
	return strings.Join(names, ", ")
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// maxTraced is the longest body that a trace shows. A longer one is not cut, because half of it could not be redacted
// safely.
const maxTraced = 256 << 10

// trace writes each exchange in one write. It masks the secrets of this exchange and of earlier ones, because a server
// can repeat them at any time.
type trace struct {
	next http.RoundTripper

	mu   sync.Mutex
	out  io.Writer
	seen []string // secrets
}

func (t *trace) RoundTrip(req *http.Request) (*http.Response, error) {
	var text strings.Builder
	fmt.Fprintf(&text, "> %s %s\n", req.Method, redactURL(req.URL))
	writeHeader(&text, "> ", req.Header)
	e := stateOf(req.Context())
	secrets := append(credentials(req.Header), writeBody(&text, "> ", req.Header, e.body)...)

	began := time.Now()
	res, err := t.next.RoundTrip(req)
	took := time.Since(began).Round(100 * time.Microsecond)
	if err != nil {
		fmt.Fprintf(&text, "< failed after %s: %s\n", took, reason(err))
	} else {
		fmt.Fprintf(&text, "< %s (%s)\n", res.Status, took)
		writeHeader(&text, "< ", res.Header)
		secrets = slices.Concat(secrets, credentials(res.Header), writeBody(&text, "< ", res.Header, e.reply))
	}

	t.mu.Lock()
	defer t.mu.Unlock()
	for _, secret := range secrets {
		if !slices.Contains(t.seen, secret) {
			t.seen = append(t.seen, secret)
		}
	}
	fmt.Fprintln(t.out, maskOf(t.seen)(text.String()))
	return res, err
}

func writeHeader(text *strings.Builder, prefix string, header http.Header) {
	clean := redactHeader(header)
	for _, name := range slices.Sorted(maps.Keys(clean)) {
		for _, value := range clean[name] {
			if namesSecret(value) { // such as a redirect to an address with a token in it
				value = redacted
			}
			fmt.Fprintf(text, "%s%s: %s\n", prefix, name, value)
		}
	}
}

// writeBody returns the secrets that the body holds.
func writeBody(text *strings.Builder, prefix string, header http.Header, body []byte) (secrets []string) {
	shown := fmt.Appendf(nil, "(a body of more than %d bytes)", maxTraced)
	if len(body) <= maxTraced {
		shown, secrets = redactBody(header.Get("Content-Type"), body)
	}
	for line := range strings.Lines(string(shown)) {
		fmt.Fprintf(text, "%s%s\n", prefix, strings.TrimRight(line, "\r\n"))
	}
	return secrets
}

// Wait is a pause before another attempt.
type Wait struct {
	For       time.Duration
	Requested bool   // the server said how long; otherwise it is a backoff
	Why       string // such as "429 Too Many Requests"
}

// Clock is a Client's source of time and randomness. Tests replace it by one that does not wait.
type Clock struct {
	Now    func() time.Time
	Wait   func(ctx context.Context, d time.Duration) error // returns early, with an error, when the context ends
	Jitter func(longest time.Duration) time.Duration        // a random part of longest
}

var realClock = Clock{Now: time.Now, Wait: wait, Jitter: func(longest time.Duration) time.Duration {
	return rand.N(longest + 1) // #nosec G404 -- predicting a wait gains nothing
}}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type waitsKey struct{}

// WithWaitContext lets requests under the context give up waiting for another attempt when until is done. An attempt
// under way still completes: a person who interrupts a run wants to know its outcome.
func WithWaitContext(ctx, until context.Context) context.Context {
	return context.WithValue(ctx, waitsKey{}, until)
}

// WaitContext returns a context for waiting: it ends with ctx, or earlier with the context given to WithWaitContext.
func WaitContext(ctx context.Context) (context.Context, context.CancelFunc) {
	waiting, stop := context.WithCancel(ctx)
	until, ok := ctx.Value(waitsKey{}).(context.Context)
	if !ok {
		return waiting, stop
	}
	forget := context.AfterFunc(until, stop)
	return waiting, func() { forget(); stop() }
}
