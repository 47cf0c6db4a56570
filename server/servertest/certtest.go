package servertest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority signs certificates.
type Authority struct {
	t           testing.TB
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	signed      int64
}

// NewAuthority makes an authority that is trusted only through its Roots.
func NewAuthority(t testing.TB, name string) *Authority {
	t.Helper()
	a := &Authority{t: t, certificate: &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().AddDate(-1, 0, 0), NotAfter: time.Now().AddDate(1, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}}
	a.certificate, a.key = a.sign(a.certificate)
	return a
}

// sign makes a key and its certificate. The first one an authority signs is its own.
func (a *Authority) sign(template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	signer := a.key
	if signer == nil {
		signer = key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return certificate, key
}

// PEM is the authority's own certificate.
func (a *Authority) PEM() []byte { return encode("CERTIFICATE", a.certificate.Raw) }

// File writes the authority's own certificate into a directory of the test and returns its path.
func (a *Authority) File() string {
	a.t.Helper()
	path := filepath.Join(a.t.TempDir(), "ca.pem")
	if err := os.WriteFile(path, a.PEM(), 0o600); err != nil {
		a.t.Fatal(err)
	}
	return path
}

// Roots returns a pool with only the authority.
func (a *Authority) Roots() *x509.CertPool {
	roots := x509.NewCertPool()
	roots.AddCert(a.certificate)
	return roots
}

// Certificate is a server's, with its key.
type Certificate struct {
	Leaf      *x509.Certificate
	Cert, Key []byte // PEM
}

// Issue signs a certificate for this computer's own address that is valid from an hour ago until an hour from now,
// unless a change says otherwise. No two have the same serial number.
func (a *Authority) Issue(changes ...func(*x509.Certificate)) *Certificate {
	a.t.Helper()
	a.signed++
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1000 + a.signed), Subject: pkix.Name{CommonName: "perks"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:   time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, change := range changes {
		change(template)
	}
	leaf, key := a.sign(template)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	return &Certificate{Leaf: leaf, Cert: encode("CERTIFICATE", leaf.Raw), Key: encode("PRIVATE KEY", der)}
}

// Valid changes when a certificate is valid.
func Valid(from, until time.Time) func(*x509.Certificate) {
	return func(c *x509.Certificate) { c.NotBefore, c.NotAfter = from, until }
}

// Named makes a certificate valid for names alone.
func Named(names ...string) func(*x509.Certificate) {
	return func(c *x509.Certificate) { c.IPAddresses, c.DNSNames = nil, names }
}

// Pair returns the certificate as tls.Config takes it.
func (c *Certificate) Pair(t testing.TB) tls.Certificate {
	t.Helper()
	pair, err := tls.X509KeyPair(c.Cert, c.Key)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
