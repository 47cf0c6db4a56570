package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"example.com/perks/cli/session"
)

// soon is how long before its end a certificate should have been renewed.
const soon = 14 * 24 * time.Hour

// checkTLS shakes hands as every request does, proxy and all. It verifies the certificate itself, to be able to tell about
// one that is not valid; no other request goes to such a server.
func (x *examination) checkTLS(ctx context.Context) finding {
	if x.base.Scheme == "http" {
		if session.CheckAddress(x.connection.APIURL, false) != nil {
			return warn("Use https", "The address is plain http, which insecure-http allows: everyone on the way can read the secret.")
		}
		return fine("Plain http, which does not leave this computer.")
	}
	var state *tls.ConnectionState
	var invalid error
	transport := x.transport()
	transport.TLSClientConfig = &tls.Config{
		InsecureSkipVerify: true, // VerifyConnection does it, and refuses what is not valid
		VerifyConnection: func(s tls.ConnectionState) error {
			state, invalid = &s, x.verify(s)
			return invalid
		},
	}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, x.connection.APIURL+"/health", nil)
	if err != nil {
		return fail(err, "")
	}
	answer, err := transport.RoundTrip(request)
	if err == nil {
		answer.Body.Close()
	}
	switch {
	case invalid != nil:
		found, advice := x.explain(invalid, state.PeerCertificates[0])
		f := fail(x.unreached(fmt.Errorf("%s", found)), advice)
		f.Found = sentence(found)
		return f
	case state == nil:
		return fail(x.unreached(err), handshakeAdvice(err))
	}
	return x.describe(*state)
}

func (x *examination) verify(s tls.ConnectionState) error {
	options := x509.VerifyOptions{Roots: x.roots, DNSName: x.base.Hostname(), CurrentTime: x.now(), Intermediates: x509.NewCertPool()}
	for _, certificate := range s.PeerCertificates[1:] {
		options.Intermediates.AddCert(certificate)
	}
	_, err := s.PeerCertificates[0].Verify(options)
	return err
}

func (x *examination) explain(err error, leaf *x509.Certificate) (found, advice string) {
	var (
		invalid   x509.CertificateInvalidError
		hostname  x509.HostnameError
		authority x509.UnknownAuthorityError
	)
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired && x.now().Before(leaf.NotBefore):
		return "the certificate is valid only from " + day(leaf.NotBefore) + " on", "Is this computer's clock right?"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the certificate ended on " + day(leaf.NotAfter), "The operator of the server must renew it; if that was done, is this computer's clock right?"
	case errors.As(err, &hostname):
		return fmt.Sprintf("the certificate is not for %s but for %s", x.base.Hostname(), names(leaf)), "Is the address right? See perksctl profile show"
	case errors.As(err, &authority):
		return fmt.Sprintf("the certificate is by %s, which this computer does not trust", leaf.Issuer), "If it is your organisation's own, or that of its proxy, add its root certificate to this computer's, or name it in SSL_CERT_FILE"
	}
	return err.Error(), ""
}

func handshakeAdvice(err error) string {
	var record tls.RecordHeaderError
	if errors.As(err, &record) || strings.Contains(err.Error(), "server gave HTTP response") {
		return "The server does not speak TLS on this port. Is the address one of http, or another port?"
	}
	return "Is the port right? If a proxy or a firewall stands between, does it let TLS through?"
}

func (x *examination) describe(s tls.ConnectionState) finding {
	leaf := s.PeerCertificates[0]
	left := leaf.NotAfter.Sub(x.now())
	found := fmt.Sprintf("%s; the certificate is valid until %s (%s left).", tls.VersionName(s.Version), day(leaf.NotAfter), count(int(left/(24*time.Hour)), "day"))
	if left < soon {
		return warn("The operator of the server should renew it", "%s", found)
	}
	return fine("%s", found)
}

func names(certificate *x509.Certificate) string {
	all := append([]string{}, certificate.DNSNames...)
	for _, ip := range certificate.IPAddresses {
		all = append(all, ip.String())
	}
	if len(all) == 0 {
		return "no name at all"
	}
	return strings.Join(all, ", ")
}

func day(t time.Time) string { return t.UTC().Format("2006-01-02") }
