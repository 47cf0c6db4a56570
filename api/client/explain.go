package client

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
)

// brokenOff says that an answer began and did not come to its end.
type brokenOff struct{ err error }

func (b *brokenOff) Error() string { return "the answer broke off: " + b.err.Error() }
func (b *brokenOff) Unwrap() error { return b.err }

// explain says why no answer came, in the words of a person, and what to do about it, "" where nothing is known to help.
// What is not known is said as it comes.
func explain(err error) (why, advice string) {
	var broken *brokenOff
	if errors.As(err, &broken) {
		why, advice = explain(broken.err)
		return "the answer broke off: " + why, advice
	}
	var step *net.OpError
	if errors.As(err, &step) && step.Op == "proxyconnect" {
		why, _ = explain(step.Err)
		return "the proxy cannot be reached: " + why, "Does HTTPS_PROXY name the right proxy?"
	}
	for _, explanation := range []func(error) (string, string){explainName, explainConnection, explainCertificate, explainTLS, explainEnd} {
		if why, advice := explanation(err); why != "" {
			return why, advice
		}
	}
	return err.Error(), ""
}

func explainName(err error) (why, advice string) {
	var name *net.DNSError
	switch {
	case !errors.As(err, &name):
		return "", ""
	case name.IsNotFound:
		return "the name " + name.Name + " is not known", "Is the name right, and does this computer have a network?"
	case name.IsTimeout:
		return "looking up the name " + name.Name + " took too long", "Does this computer have a network, and is its name server right?"
	}
	return "the name " + name.Name + " cannot be looked up: " + name.Err, "Does this computer have a network, and is its name server right?"
}

func explainConnection(err error) (why, advice string) {
	var step *net.OpError
	if !errors.As(err, &step) || step.Op != "dial" {
		return "", ""
	}
	there := "the server"
	if step.Addr != nil {
		there = step.Addr.String()
	}
	switch {
	case errors.Is(err, context.Canceled):
		return "", ""
	case step.Timeout():
		return "connecting to " + there + " took too long", "A firewall may drop the connection, or only a proxy leads out: set HTTPS_PROXY."
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused by " + there, "Is the server running, and is the port right?"
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return "no way leads to " + there, "Does this computer have a network, or does only a proxy lead out?"
	}
	return "", ""
}

func explainTLS(err error) (why, advice string) {
	var record tls.RecordHeaderError
	var network net.Error
	switch {
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &record):
		return "the server does not speak TLS on this port", "Is the address one of http, or another port?"
	case isAlert(err):
		return "the server refused the TLS handshake (" + alertOf(err) + ")", "Is the port right, and does a proxy or a firewall between let TLS through?"
	case errors.As(err, &network) && network.Timeout() && strings.Contains(network.Error(), "TLS handshake"): // net/http does not export it
		return "the TLS handshake took too long", "Is the port right, and does a proxy or a firewall between let TLS through?"
	}
	return "", ""
}

// isAlert tells whether the other side ended TLS and said why. Of that, crypto/tls exports a type for QUIC alone.
func isAlert(err error) bool {
	var step *net.OpError
	return errors.As(err, &step) && step.Op == "remote error"
}

func alertOf(err error) string {
	text := err.Error()
	return text[strings.LastIndex(text, ": ")+len(": "):]
}

func explainEnd(err error) (why, advice string) {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "it took too long", ""
	case errors.Is(err, context.Canceled):
		return "the request was cancelled", ""
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the server, or something before it, cut the connection", ""
	case errors.Is(err, io.EOF):
		return "the server closed the connection without an answer", ""
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection ended too early", ""
	}
	return "", ""
}
