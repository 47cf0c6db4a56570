package postgres

import (
	"crypto/tls"
	"strings"
	"testing"

	"example.com/perks/store/storetest"
)

func TestLibpqParametersAreNotSentToTheServer(t *testing.T) {
	t.Parallel()
	address := storetest.PostgresDatabase(t)
	db := openAt(t, address+"&keepalives=1&keepalives_idle=5&keepalives_interval=5&keepalives_count=3"+
		"&tcp_user_timeout=1000&load_balance_hosts=random&gssencmode=prefer"+
		"&gssdelegation=0&gsslib=gssapi&sslcompression=0&ssl_min_protocol_version=TLSv1.3"+
		"&ssl_max_protocol_version=TLSv1.3&channel_binding=prefer&require_auth=&krbsrvname=postgres"+
		"&target_session_attrs=read-write&fallback_application_name=another"+
		"&options=-cstatement_timeout%3D61s&lock_timeout=62s")
	for name, want := range map[string]string{"application_name": "another", "statement_timeout": "61s",
		"lock_timeout": "62s"} {
		storetest.Equal(t, name, read[string](t, db, `SELECT current_setting('`+name+`')`), want)
	}
	for parameter, want := range map[string]string{
		"sslcrl=x":                   "has the parameter sslcrl: perksd reads no lists of revoked certificates",
		"requirepeer=postgres":       "has the parameter requirepeer: ",
		"hostaddr=127.0.0.1":         "has the parameter hostaddr: name the address as host",
		"gssencmode=require":         "has gssencmode=require: ",
		"oauth_issuer=x":             "has the parameter oauth_issuer: ",
		"ssl_min_protocol_version=2": "has the parameter ssl_min_protocol_version, which must be ",
	} {
		if _, err := Open(t.Context(), address+"&"+parameter, Options{}); err == nil ||
			!strings.Contains(err.Error(), "the address of the database "+want) {
			t.Errorf("%s: %v, want %q", parameter, err, want)
		}
	}
}

func TestTLSIsLimitedForEveryFallback(t *testing.T) {
	t.Parallel()
	config := must(parseAddress("postgres://u@a.example,b.example/d?sslmode=prefer" +
		"&ssl_min_protocol_version=TLSv1.2&ssl_max_protocol_version=TLSv1.3"))(t)
	configs := []*tls.Config{config.ConnConfig.TLSConfig}
	for _, other := range config.ConnConfig.Fallbacks {
		if other.TLSConfig != nil {
			configs = append(configs, other.TLSConfig)
		}
	}
	if len(configs) != 2 {
		t.Errorf("%d connection attempts use TLS, want 2", len(configs))
	}
	for _, config := range configs {
		if config.MinVersion != tls.VersionTLS12 || config.MaxVersion != tls.VersionTLS13 {
			t.Errorf("an attempt accepts TLS from %x to %x", config.MinVersion, config.MaxVersion)
		}
	}
}

func TestErrorsDoNotShowThePassword(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	for _, address := range []string{
		"postgres://perks:" + secret + "@127.0.0.1:1/perks",
		"postgres://perks:" + secret + "@127.0.0.1:1,127.0.0.1:2/perks?target_session_attrs=read-write",
		"postgres://perks:" + secret + "@127.0.0.1:port/perks",
		"postgres://perks:" + secret + "@[/perks",
		"host=127.0.0.1 port=1 user=perks password='" + secret,
		"host=127.0.0.1 port=1 user=perks password=" + secret + " connect_timeout=soon",
		secret,
	} {
		_, opening := Open(t.Context(), address, Options{})
		_, asking := Status(t.Context(), address)
		_, naming := readAt(t.Context(), "read the identity", address, identityIn)
		for _, err := range []error{opening, asking, naming} {
			if err == nil || strings.Contains(err.Error(), secret) {
				t.Errorf("%q: %v, want an error without the password", address, err)
			}
		}
	}
}
