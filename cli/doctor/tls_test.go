package doctor

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"example.com/perks/cli/command"
	"example.com/perks/server/servertest"
)

// secure starts a server with a self-signed certificate.
func secure(t *testing.T, name string, from, until time.Time) (address string, roots *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Example"}, NotBefore: from, NotAfter: until,
		IsCA: true, BasicConstraintsValid: true,
	}
	if ip := net.ParseIP(name); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{name}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"status":"ok","version":"9.8"}`)
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	roots = x509.NewCertPool()
	roots.AddCert(certificate)
	return server.URL + "/v2", roots
}

func TestCertificates(t *testing.T) {
	now := time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)
	const day = 24 * time.Hour
	for name, test := range map[string]struct {
		host                   string
		from, until            time.Duration
		unknown                bool
		outcome, found, advice string
	}{
		"valid": {"127.0.0.1", -day, 90 * day, false, ok,
			"TLS 1.3; the certificate is valid until 2030-04-02 (90 days left)", ""},
		"expires soon": {"127.0.0.1", -day, 36 * time.Hour, false, warning,
			"valid until 2030-01-04 (1 day left)", "renew"},
		"expired": {"127.0.0.1", -9 * day, -day, false, failed,
			"The server's certificate expired on 2030-01-01", "renew"},
		"not yet valid": {"127.0.0.1", day, 9 * day, false, failed, "not valid before 2030-01-03",
			"clock"},
		"another name": {"other.example", -day, 90 * day, false, failed,
			"is not for 127.0.0.1 but for other.example", "Is the address right"},
		"not trusted": {"127.0.0.1", -day, 90 * day, true, failed,
			"by CN=Example, which this computer does not trust", "--ca-cert"},
		"expired, untrusted, another name": {"other.example", -9 * day, -day, true, failed, "expired on", "renew"},
	} {
		address, roots := secure(t, test.host, now.Add(test.from), now.Add(test.until))
		d := newFixture(t, address).diagnosis()
		d.now = func() time.Time { return now }
		d.roots = roots
		if test.unknown {
			d.roots = x509.NewCertPool()
		}
		r := diagnose(t, d)
		t.Log(name)
		r.want("tls", test.outcome, test.found, test.advice)
		if test.outcome == failed {
			r.want("health", notChecked, "the check of tls", "")
			r.wantCode(command.ExitUnreached)
		}
	}
}

func TestServerWithoutTLS(t *testing.T) {
	server := servertest.Start(t)
	r := diagnose(t, newFixture(t, strings.Replace(server.URL, "http:", "https:", 1)).diagnosis())
	r.want("tls", failed, "does not speak TLS", "http://")
	r.wantCode(command.ExitUnreached)
}
