package listen_test

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/perks/cli/command"
	"example.com/perks/server/listen"
	"example.com/perks/server/servertest"
)

// directory returns a function that writes a certificate's files to a directory.
func directory(t *testing.T) (put func(*servertest.Certificate) (certFile, keyFile string)) {
	path := t.TempDir()
	certFile, keyFile := filepath.Join(path, "cert.pem"), filepath.Join(path, "key.pem")
	return func(c *servertest.Certificate) (string, string) {
		t.Helper()
		for path, text := range map[string][]byte{certFile: c.Cert, keyFile: c.Key} {
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return certFile, keyFile
	}
}

// TestInvalidCertificateFiles tests the start, and SIGHUP, which keeps the old certificate.
func TestInvalidCertificateFiles(t *testing.T) {
	put := directory(t)
	authority := servertest.NewAuthority(t, "Our own")
	good, other := authority.Issue(), authority.Issue()
	cert, key := put(good)
	locked := string(pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("secret")}))
	old := string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY",
		Headers: map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-128-CBC,00"}, Bytes: []byte("secret")}))
	const encrypted = ": the key in KEY is encrypted: store it without a passphrase"
	for name, test := range map[string]struct{ cert, key, want string }{
		"no file": {"", string(good.Key), ": CERT does not exist"},
		"no key":  {string(good.Cert), "", ": KEY does not exist"},
		"another certificate's key": {string(good.Cert), string(other.Key),
			": the certificate in CERT cannot be used with the key in KEY: private key does not match public key"},
		"the two swapped": {string(good.Key), string(good.Cert),
			": CERT holds no certificate in PEM"},
		"garbage":                          {"\x00garbage", string(good.Key), ": CERT holds no certificate in PEM"},
		"a certificate instead of the key": {string(good.Cert), string(good.Cert), ": KEY holds no private key in PEM"},
		"a certificate that is cut": {string(good.Cert[:len(good.Cert)/2]), string(good.Key),
			": CERT holds no certificate in PEM"},
		"a key with a passphrase":             {string(good.Cert), locked, encrypted},
		"a key with an old passphrase format": {string(good.Cert), old, encrypted},
		"an empty certificate": {"-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n",
			string(good.Key), ": the certificate in CERT cannot be used with the key in KEY: x509: malformed " +
				"certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			put(good)
			c, err := listen.ReadCertificate(cert, key, time.Now, command.Plain)
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
			why := strings.NewReplacer("CERT holds", cert+" holds", "CERT does", cert+" does", "in CERT", "in "+cert,
				"KEY", key).Replace(test.want)
			if _, err := listen.ReadCertificate(cert, key, time.Now, command.Plain); err == nil ||
				command.Plain(err) != "reading the certificate"+why {
				t.Errorf("at the start the error is %v", err)
			}
			log := afterHangUp(c)
			if want := `level=ERROR msg="the certificate was not reloaded; the previous one stays in use` + why +
				"\"\n"; log != want {
				t.Errorf("the log is\n%swant\n%s", log, want)
			}
			if c.Leaf().SerialNumber.Cmp(good.Leaf.SerialNumber) != 0 {
				t.Error("the certificate is another")
			}
		})
	}
}

func TestReloadRefusesACertificateThatIsNotValidNow(t *testing.T) {
	put := directory(t)
	authority := servertest.NewAuthority(t, "Our own")
	now := time.Date(2030, 5, 10, 12, 0, 0, 0, time.UTC)
	good := authority.Issue(servertest.Valid(now.AddDate(0, -1, 0), now.AddDate(0, 2, 0)))
	cert, key := put(good)
	c, err := listen.ReadCertificate(cert, key, func() time.Time { return now }, command.Plain)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		from, until time.Time
		want        string
	}{
		{now.AddDate(0, -3, 0), now.AddDate(0, 0, -1), "expired on 2030-05-09"},
		{now.AddDate(0, 0, 1), now.AddDate(0, 3, 0), "is not valid before 2030-05-11; is this computer's clock right?"},
	} {
		put(authority.Issue(servertest.Valid(test.from, test.until)))
		want := `level=ERROR msg="the certificate was not reloaded; the previous one stays in use: ` +
			"the certificate in " + cert + " " + test.want + "\"\n"
		if log := afterHangUp(c); log != want || c.Leaf().SerialNumber.Cmp(good.Leaf.SerialNumber) != 0 {
			t.Errorf("the log is\n%swant\n%s", log, want)
		}
	}
	next := authority.Issue(servertest.Valid(now.AddDate(0, 0, -1), now.AddDate(0, 3, 0)),
		servertest.Named("perks.example", "www.perks.example"))
	put(next)
	want := fmt.Sprintf(`level=INFO msg="the certificate was reloaded" subject="CN=perks" names="[perks.example `+
		`www.perks.example]" serial=%x not_after=2030-08-10T12:00:00.000Z`+"\n", next.Leaf.SerialNumber)
	if log := afterHangUp(c); log != want || c.Leaf().SerialNumber.Cmp(next.Leaf.SerialNumber) != 0 {
		t.Errorf("the log is\n%swant\n%s", log, want)
	}
}

func TestTheExpiryOfACertificateIsLoggedInAdvance(t *testing.T) {
	put := directory(t)
	authority := servertest.NewAuthority(t, "Our own")
	now := time.Date(2030, 5, 10, 12, 0, 0, 0, time.UTC)
	cert, key := put(authority.Issue(servertest.Valid(now, now.AddDate(0, 0, 90))))
	today := now
	c, err := listen.ReadCertificate(cert, key, func() time.Time { return today }, command.Plain)
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
		{77, `level=WARN msg="the certificate in ` + cert + ` expires on 2030-08-08, in 13 days:` + renew},
		{90, `level=WARN msg="the certificate in ` + cert + ` expires on 2030-08-08, in 0 days:` + renew},
		{91, `level=ERROR msg="the certificate in ` + cert + ` expired on 2030-08-08, and clients refuse it:` + renew},
	} {
		today = now.AddDate(0, 0, test.day)
		if log := watching(c, func(_ chan os.Signal, days chan time.Time) { days <- today }); log != test.want {
			t.Errorf("on day %d the log is\n%swant\n%s", test.day, log, test.want)
		}
		if log := logged(func(log *slog.Logger) { c.LogDetails(log, "the certificate was read") }); !strings.HasSuffix(
			log, test.want) {
			t.Errorf("at a start on day %d the log is\n%s", test.day, log)
		}
	}
	if _, err := listen.ReadCertificate(cert, key, func() time.Time { return today }, command.Plain); err != nil {
		t.Errorf("a server with an expired certificate does not start: %v", err)
	}
}

func TestAWorldReadableKeyIsLogged(t *testing.T) {
	put := directory(t)
	cert, key := put(servertest.NewAuthority(t,
		"Our own").Issue(servertest.Valid(time.Now(), time.Now().AddDate(0, 0, 90))))
	for mode, isLogged := range map[os.FileMode]bool{0o600: false, 0o640: false, 0o644: true} {
		if err := os.Chmod(key, mode); err != nil {
			t.Fatal(err)
		}
		c, err := listen.ReadCertificate(cert, key, time.Now, command.Plain)
		if err != nil {
			t.Fatal(err)
		}
		log := logged(func(log *slog.Logger) { c.LogDetails(log, "the certificate was read") })
		if strings.Contains(log, `level=WARN msg="every user of this computer can read the key of the certificate: `+
			`run chmod o-r `+key+`"`) != isLogged {
			t.Errorf("with %o the log is\n%s", mode, log)
		}
	}
}

// afterHangUp returns the log of reloading a certificate.
func afterHangUp(c *listen.Certificate) string {
	return watching(c, func(reloads chan os.Signal, _ chan time.Time) { reloads <- syscall.SIGHUP })
}

// watching returns the log of watching a certificate during do.
func watching(c *listen.Certificate, do func(reloads chan os.Signal, days chan time.Time)) string {
	return logged(func(log *slog.Logger) {
		ctx, cancel := context.WithCancel(context.Background())
		reloads, days, stopped := make(chan os.Signal), make(chan time.Time), make(chan struct{})
		go func() {
			defer close(stopped)
			c.Watch(ctx, reloads, days, log)
		}()
		do(reloads, days)
		cancel() // a received event is handled first
		<-stopped
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
