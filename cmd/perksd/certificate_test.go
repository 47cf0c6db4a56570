package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/perks/cmd/dev/programs"
	"example.com/perks/server/servertest"
)

// put writes a certificate to where perksd reads it.
func (o *operator) put(c *servertest.Certificate) (certFile, keyFile string) {
	o.t.Helper()
	return o.file("cert.pem", string(c.Cert)), o.file("key.pem", string(c.Key))
}

func TestServeWithACertificate(t *testing.T) {
	o := newOperator(t)
	secret := o.newClient("acme")
	authority := servertest.NewAuthority(t, "Our own")
	certFile, keyFile := o.put(authority.Issue())
	s, stop := o.serve("--tls-cert", certFile, "--tls-key", keyFile)
	if !strings.HasPrefix(s.url, "https://") {
		t.Errorf("it says that it listens on %s", s.url)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authority.Roots()}, ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	programs.TokenOf(t, client, s.url, "acme", secret)
	answer, err := client.Get(s.url + "/v2/health")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.ProtoMajor != 1 || answer.TLS.Version != tls.VersionTLS13 || answer.Header.Get("Strict-Transport-Security") == "" {
		t.Errorf("over %s and %s; header %v", answer.Proto, tls.VersionName(answer.TLS.Version), answer.Header)
	}
	open, err := http.Get(strings.Replace(s.url, "https:", "http:", 1))
	if err != nil {
		t.Fatal(err)
	}
	defer open.Body.Close()
	if said, _ := io.ReadAll(open.Body); open.StatusCode != http.StatusBadRequest || !strings.Contains(string(said), "HTTP request to an HTTPS server") {
		t.Errorf("to a request in the open it says %d %s", open.StatusCode, said)
	}
	if code, log := stop(); code != exitDone {
		t.Errorf("exit code %d; the log is\n%s", code, log)
	}
}

func TestOnlyGoodTLSIsSpoken(t *testing.T) {
	o := newOperator(t)
	authority := servertest.NewAuthority(t, "Our own")
	certFile, keyFile := o.put(authority.Issue())
	s, _ := o.serve("--tls-cert", certFile, "--tls-key", keyFile)
	offers := func(name string, taken bool, offer *tls.Config) {
		offer.RootCAs = authority.Roots()
		conn, err := tls.Dial("tcp", strings.TrimPrefix(s.url, "https://"), offer)
		if taken != (err == nil) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			conn.Close()
		}
	}
	offers("TLS 1.1", false, &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})
	offers("TLS 1.2 with CBC", false, &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA}})
	offers("TLS 1.2 with AEAD", true, &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384}})
	offers("TLS 1.3", true, &tls.Config{MinVersion: tls.VersionTLS13})
}

func TestOnlyHTTP1IsSpoken(t *testing.T) {
	o := newOperator(t)
	authority := servertest.NewAuthority(t, "Our own")
	certFile, keyFile := o.put(authority.Issue())
	s, _ := o.serve("--tls-cert", certFile, "--tls-key", keyFile)
	conn, err := tls.Dial("tcp", strings.TrimPrefix(s.url, "https://"), &tls.Config{RootCAs: authority.Roots(), NextProtos: []string{"h2", "http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if chosen := conn.ConnectionState().NegotiatedProtocol; chosen != "http/1.1" {
		t.Errorf("it chooses %q", chosen)
	}
	if _, err := io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"); err != nil {
		t.Fatal(err)
	}
	if said, _ := io.ReadAll(conn); !strings.HasPrefix(string(said), "HTTP/1.1 4") {
		t.Errorf("to HTTP/2 it says %q", said)
	}
}

// TestFilesThatAreNoCertificate holds for the start and for SIGHUP, which keeps what there was.
func TestFilesThatAreNoCertificate(t *testing.T) {
	o := newOperator(t)
	authority := servertest.NewAuthority(t, "Our own")
	good, other := authority.Issue(), authority.Issue()
	cert, key := o.put(good)
	locked := string(pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("secret")}))
	old := string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Headers: map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-128-CBC,00"}, Bytes: []byte("secret")}))
	const encrypted = ": the key in KEY is encrypted, and nobody is there to type its passphrase: store it without one"
	for name, test := range map[string]struct{ cert, key, want string }{
		"no file":                    {"", string(good.Key), ": CERT: there is no such file"},
		"no key":                     {string(good.Cert), "", ": KEY: there is no such file"},
		"another's key":              {string(good.Cert), string(other.Key), ": the certificate in CERT cannot be used with the key in KEY: private key does not match public key"},
		"the two exchanged":          {string(good.Key), string(good.Cert), ": CERT holds no certificate in PEM"},
		"garbage":                    {"\x00garbage", string(good.Key), ": CERT holds no certificate in PEM"},
		"a certificate for a key":    {string(good.Cert), string(good.Cert), ": KEY holds no private key in PEM"},
		"a certificate that is cut":  {string(good.Cert[:len(good.Cert)/2]), string(good.Key), ": CERT holds no certificate in PEM"},
		"a key with a passphrase":    {string(good.Cert), locked, encrypted},
		"one as it was done before":  {string(good.Cert), old, encrypted},
		"a certificate of no length": {"-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n", string(good.Key), ": the certificate in CERT cannot be used with the key in KEY: x509: malformed certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			o := *o
			o.t = t
			o.put(good)
			c, err := newCertificate(cert, key, time.Now)
			if err != nil {
				t.Fatal(err)
			}
			for path, text := range map[string]string{cert: test.cert, key: test.key} {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				if text == "" {
					if err := os.Remove(path); err != nil {
						t.Fatal(err)
					}
				}
			}
			why := strings.NewReplacer("CERT holds", cert+" holds", "CERT: there", cert+": there", "in CERT", "in "+cert, "KEY", key).Replace(test.want)
			o.refuses(exitFailure, "reading the certificate"+why, "serve", "--addr", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key)
			log := afterHangUp(c)
			if want := `level=ERROR msg="the certificate was not reloaded, and the one from before stays in use` + why + "\"\n"; log != want {
				t.Errorf("the log is\n%swant\n%s", log, want)
			}
			if c.current.Load().Leaf.SerialNumber.Cmp(good.Leaf.SerialNumber) != 0 {
				t.Error("the certificate is another")
			}
		})
	}
	o.hasNoDatabase()
}

func TestReloadTakesNoCertificateWhoseTimeIsNotNow(t *testing.T) {
	o := newOperator(t)
	authority := servertest.NewAuthority(t, "Our own")
	now := time.Date(2030, 5, 10, 12, 0, 0, 0, time.UTC)
	good := authority.Issue(servertest.Valid(now.AddDate(0, -1, 0), now.AddDate(0, 2, 0)))
	cert, key := o.put(good)
	c, err := newCertificate(cert, key, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		from, until time.Time
		want        string
	}{
		{now.AddDate(0, -3, 0), now.AddDate(0, 0, -1), "ended on 2030-05-09"},
		{now.AddDate(0, 0, 1), now.AddDate(0, 3, 0), "is valid only from 2030-05-11 on; is this computer's clock right?"},
	} {
		o.put(authority.Issue(servertest.Valid(test.from, test.until)))
		want := `level=ERROR msg="the certificate was not reloaded, and the one from before stays in use: the certificate in ` + cert + " " + test.want + "\"\n"
		if log := afterHangUp(c); log != want || c.current.Load().Leaf.SerialNumber.Cmp(good.Leaf.SerialNumber) != 0 {
			t.Errorf("the log is\n%swant\n%s", log, want)
		}
	}
	next := authority.Issue(servertest.Valid(now.AddDate(0, 0, -1), now.AddDate(0, 3, 0)), servertest.Named("perks.example", "www.perks.example"))
	o.put(next)
	want := fmt.Sprintf(`level=INFO msg="the certificate was reloaded" subject="CN=perks" names="[perks.example www.perks.example]" serial=%x not_after=2030-08-10T12:00:00.000Z`+"\n", next.Leaf.SerialNumber)
	if log := afterHangUp(c); log != want || c.current.Load().Leaf.SerialNumber.Cmp(next.Leaf.SerialNumber) != 0 {
		t.Errorf("the log is\n%swant\n%s", log, want)
	}
}

func TestTheEndOfACertificateIsToldBefore(t *testing.T) {
	o := newOperator(t)
	authority := servertest.NewAuthority(t, "Our own")
	now := time.Date(2030, 5, 10, 12, 0, 0, 0, time.UTC)
	cert, key := o.put(authority.Issue(servertest.Valid(now, now.AddDate(0, 0, 90))))
	c, err := newCertificate(cert, key, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	renew := " renew it, and send SIGHUP\" not_after=2030-08-08T12:00:00.000Z\n"
	for _, test := range []struct {
		day  int
		want string
	}{
		{0, ""},
		{76, ""}, // 14 days are left
		{77, `level=WARN msg="the certificate in ` + cert + ` ends on 2030-08-08, in 13 days:` + renew},
		{90, `level=WARN msg="the certificate in ` + cert + ` ends on 2030-08-08, in 0 days:` + renew},
		{91, `level=ERROR msg="the certificate in ` + cert + ` ended on 2030-08-08, and clients refuse it:` + renew},
	} {
		today := now.AddDate(0, 0, test.day)
		c.now = func() time.Time { return today }
		if log := watching(c, func(_ chan os.Signal, days chan time.Time) { days <- today }); log != test.want {
			t.Errorf("on day %d the log is\n%swant\n%s", test.day, log, test.want)
		}
		if log := logged(func(log *slog.Logger) { c.tell(log, "the certificate was read") }); !strings.HasSuffix(log, test.want) {
			t.Errorf("at a start on day %d the log is\n%s", test.day, log)
		}
	}
	if _, err := newCertificate(cert, key, c.now); err != nil {
		t.Errorf("a server with a certificate that is over does not start: %v", err)
	}
}

func TestAKeyThatEverybodyCanReadIsToldOf(t *testing.T) {
	o := newOperator(t)
	cert, key := o.put(servertest.NewAuthority(t, "Our own").Issue(servertest.Valid(time.Now(), time.Now().AddDate(0, 0, 90))))
	for mode, told := range map[os.FileMode]bool{0o600: false, 0o640: false, 0o644: true} {
		if err := os.Chmod(key, mode); err != nil {
			t.Fatal(err)
		}
		c, err := newCertificate(cert, key, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		log := logged(func(log *slog.Logger) { c.tell(log, "the certificate was read") })
		if strings.Contains(log, `level=WARN msg="every user of this computer can read the key of the certificate: run chmod o-r `+key+`"`) != told {
			t.Errorf("with %o the log is\n%s", mode, log)
		}
	}
}

func TestHangUpWithoutACertificate(t *testing.T) {
	o := newOperator(t)
	s, stop := o.serve()
	o.hangUps <- syscall.SIGHUP
	s.WaitFor(t, "SIGHUP reads the certificate again; there is none here, so that there is nothing to do")
	if status := programs.StatusOf(t, s.url+"/v2/health", ""); status != http.StatusOK {
		t.Errorf("status %d", status)
	}
	if code, log := stop(); code != exitDone {
		t.Errorf("exit code %d; the log is\n%s", code, log)
	}
}

// afterHangUp is the log of a certificate that is reloaded.
func afterHangUp(c *certificate) string {
	return watching(c, func(reloads chan os.Signal, _ chan time.Time) { reloads <- syscall.SIGHUP })
}

// watching is the log of a certificate that is watched while something is done.
func watching(c *certificate, do func(reloads chan os.Signal, days chan time.Time)) string {
	return logged(func(log *slog.Logger) {
		ctx, cancel := context.WithCancel(context.Background())
		reloads, days, ended := make(chan os.Signal), make(chan time.Time), make(chan struct{})
		go func() {
			defer close(ended)
			c.watch(ctx, reloads, days, log)
		}()
		do(reloads, days)
		cancel() // what was taken from a channel is done first
		<-ended
	})
}

func logged(do func(*slog.Logger)) string {
	var text bytes.Buffer
	do(slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})))
	return text.String()
}
