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

// The terminal UI must trust the same authorities as a command with the same flags.
func TestTUITrustsSameAuthoritiesAsCommands(t *testing.T) {
	server, id, secret := newCatalogue(t)
	authority := servertest.NewAuthority(t, "Our own")
	root, err := url.Parse(server.Root())
	if err != nil {
		t.Fatal(err)
	}
	secure := httptest.NewUnstartedServer(httputil.NewSingleHostReverseProxy(root)) // which terminates TLS
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.TLS = &tls.Config{Certificates: []tls.Certificate{authority.Issue().Pair(t)}}
	secure.StartTLS()
	defer secure.Close()
	work := screen.Profile{Name: "work", APIURL: secure.URL + "/v2", ClientID: id}
	ca := authority.File()

	d := newTUIFixture(t)
	if _, _, err := d.accounts().Login(t.Context(), work, secret, nobody); err == nil ||
		!strings.Contains(err.Error(), "--ca-cert") {
		t.Errorf("without trust: %v", err)
	}
	account, _, err := d.accounts("--ca-cert", ca).Login(t.Context(), work, secret, nobody)
	if err != nil || visiblePerk(t, account) != "real" || d.config().Profiles["work"].CACert != ca {
		t.Fatalf("%v; saved %+v", err, d.config())
	}
	for _, profile := range []string{"", "work"} {
		if account, err := d.accounts().Connect(profile); err != nil || visiblePerk(t, account) != "real" {
			t.Errorf("profile %q: %v", profile, err)
		}
	}
	if _, _, err := d.accounts().Login(t.Context(), work, secret, nobody); err != nil ||
		d.config().Profiles["work"].CACert != ca {
		t.Errorf("another login: %v; saved %+v", err, d.config())
	}
	if err := os.Remove(ca); err != nil {
		t.Fatal(err)
	}
	if _, err := d.accounts().Connect("work"); err == nil || !strings.Contains(err.Error(), ca) {
		t.Errorf("without the file: %v", err)
	}
	d.env[session.EnvCACert] = authority.File()
	if account, err := d.accounts().Connect("work"); err != nil || visiblePerk(t, account) != "real" {
		t.Errorf("CA in the environment: %v", err)
	}
}
