package cli

import (
	"crypto/tls"
	"io"
	"log"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"testing"

	"example.com/perks/cli/session"
	"example.com/perks/server/servertest"
	"example.com/perks/tui/screen"
)

// A login on the screen, and every connection after it, trusts whom a command with the same flags would trust.
func TestTheScreensTrustWhomTheCommandsTrust(t *testing.T) {
	server, id, secret := newCatalogue(t)
	authority := servertest.NewAuthority(t, "Our own")
	root, err := url.Parse(server.Root())
	if err != nil {
		t.Fatal(err)
	}
	secure := httptest.NewUnstartedServer(httputil.NewSingleHostReverseProxy(root)) // which ends TLS
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.TLS = &tls.Config{Certificates: []tls.Certificate{authority.Issue().Pair(t)}}
	secure.StartTLS()
	defer secure.Close()
	work := screen.Profile{Name: "work", APIURL: secure.URL + "/v2", ClientID: id}
	ca := authority.File()

	d := newTUIFixture(t)
	if _, _, err := d.accounts().Login(t.Context(), work, secret); err == nil || !strings.Contains(err.Error(), "--ca-cert") {
		t.Errorf("without trust: %v", err)
	}
	account, _, err := d.accounts("--ca-cert", ca).Login(t.Context(), work, secret)
	if err != nil || works(t, account) != "real" || d.config().Profiles["work"].CACert != ca {
		t.Fatalf("%v; kept %+v", err, d.config())
	}
	for _, profile := range []string{"", "work"} {
		if account, err := d.accounts().Connect(profile); err != nil || works(t, account) != "real" {
			t.Errorf("by the profile %q: %v", profile, err)
		}
	}
	if _, _, err := d.accounts().Login(t.Context(), work, secret); err != nil || d.config().Profiles["work"].CACert != ca {
		t.Errorf("another login: %v; kept %+v", err, d.config())
	}
	if err := os.Remove(ca); err != nil {
		t.Fatal(err)
	}
	if _, err := d.accounts().Connect("work"); err == nil || !strings.Contains(err.Error(), ca) {
		t.Errorf("without the file: %v", err)
	}
	d.env[session.EnvCACert] = authority.File()
	if account, err := d.accounts().Connect("work"); err != nil || works(t, account) != "real" {
		t.Errorf("by the environment: %v", err)
	}
}
