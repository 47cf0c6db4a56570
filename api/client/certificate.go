package client

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"
)

// explainCertificate says what is wrong with the certificate that a server showed.
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
		return fmt.Sprintf("the certificate of the server is not for %s but for %s", hostname.Host, namesOf(leaf)), "Is the address right?"
	case errors.As(err, &authority):
		return "the certificate of the server is by " + issuerOf(leaf) + ", who is not trusted here",
			"If that is your organisation's own authority, or that of its proxy, name the file of its certificate with --ca-cert."
	}
	return "the certificate of the server is not valid: " + strings.TrimPrefix(refused.Err.Error(), "x509: "), ""
}

// explainValidity speaks of the certificate in the chain whose time is not now, which need not be the server's own.
func explainValidity(invalid x509.CertificateInvalidError, leaf *x509.Certificate) (why, advice string) {
	certificate, whose := invalid.Cert, "of the server"
	if certificate == nil {
		certificate = leaf
	}
	if !certificate.Equal(leaf) {
		whose = "of " + certificate.Subject.String() + ", on which the server's rests,"
	}
	// Go tells which end of the time it is in words alone, and some systems do not tell at all.
	early := strings.Contains(invalid.Detail, " is before ") || invalid.Detail == "" && time.Now().Before(certificate.NotBefore)
	if early {
		return "the certificate " + whose + " is valid only from " + day(certificate.NotBefore) + " on", "Is this computer's clock right?"
	}
	return "the certificate " + whose + " ended on " + day(certificate.NotAfter),
		"The operator of the server must renew it; if that was done, is this computer's clock right?"
}

func issuerOf(certificate *x509.Certificate) string {
	if issuer := certificate.Issuer.String(); issuer != "" {
		return issuer
	}
	return "somebody without a name"
}

// maxNames is how many names of a certificate are told. Some have a hundred.
const maxNames = 5

func namesOf(certificate *x509.Certificate) string {
	names := append([]string{}, certificate.DNSNames...)
	for _, ip := range certificate.IPAddresses {
		names = append(names, ip.String())
	}
	switch {
	case len(names) == 0:
		return "no name at all"
	case len(names) > maxNames:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNames], ", "), len(names)-maxNames)
	}
	return strings.Join(names, ", ")
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }
