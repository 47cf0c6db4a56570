package client

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/url"
	"time"
)

// chain stacks what every request passes through, here from the wire up:
//
//	Transport  sends it
//	sendOnce   keeps the transport from sending a change twice, and tells whether it may have left
//	trace      prints each attempt, redacted
//	retry      tries again where that can help and cannot do harm; all attempts carry the same token
//	authorize  adds the token, and tries once more with another after a 401
func (config Config) chain(base *url.URL, retry *retry) http.RoundTripper {
	tripper := config.Transport
	if tripper == nil {
		tripper = newTransport(config.Roots)
	}
	tripper = &sendOnce{next: tripper}
	if config.Trace != nil {
		tripper = &trace{next: tripper, out: config.Trace}
	}
	retry.next = tripper
	tripper = retry
	if config.Tokens != nil {
		tripper = &authorize{next: tripper, tokens: config.Tokens, origin: base}
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
