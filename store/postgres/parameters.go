package postgres

import (
	"crypto/tls"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// pgx sends every parameter that it does not know to the server, and the server refuses those that only libpq knows. Ignore
// those that change nothing here, follow those that can be followed, and refuse the others instead of silently ignoring them.

// meaningless parameters of libpq ask for what happens anyway, or concern only libpq itself.
var meaningless = []string{
	"keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout", // see dialer
	"load_balance_hosts", // the pool picks the host that takes writes
	"gssdelegation", "gsslib", "sslcompression",
}

// notDone says why each of these parameters is refused.
var notDone = map[string]string{
	"hostaddr":         "name the address as host",
	"replication":      "perksd does not read replication streams",
	"requirepeer":      "perksd does not check which user runs the server",
	"requiressl":       "write sslmode=require",
	"scram_client_key": "perksd logs in with the password", "scram_server_key": "perksd logs in with the password",
	"sslcrl": "perksd reads no lists of revoked certificates", "sslcrldir": "perksd reads no lists of revoked certificates",
	"sslkeylogfile": "perksd does not log TLS keys",
}

var tlsVersions = map[string]uint16{"": 0, "TLSv1": tls.VersionTLS10, "TLSv1.1": tls.VersionTLS11, "TLSv1.2": tls.VersionTLS12, "TLSv1.3": tls.VersionTLS13}

// ReadParameters removes the parameters that libpq keeps from the server, and applies them to the configuration. The error
// names a parameter that perksd does not support.
func ReadParameters(config *pgconn.Config) error {
	given := config.RuntimeParams
	for name := range given {
		why, isRefused := notDone[name]
		if strings.HasPrefix(name, "oauth_") {
			why, isRefused = "perksd does not log in by OAuth", true
		}
		if isRefused {
			return fmt.Errorf("the address of the database has the parameter %s: %s", name, why)
		}
		if slices.Contains(meaningless, name) {
			delete(given, name)
		}
	}
	if mode := take(given, "gssencmode"); mode == "require" {
		return fmt.Errorf("the address of the database has gssencmode=require: perksd encrypts with TLS, so use sslmode=verify-full")
	}
	if name := take(given, "fallback_application_name"); given["application_name"] == "" && name != "" {
		given["application_name"] = name
	}
	return limitTLS(config, take(given, "ssl_min_protocol_version"), take(given, "ssl_max_protocol_version"))
}

// take removes a parameter and returns its value.
func take(parameters map[string]string, name string) string {
	value := parameters[name]
	delete(parameters, name)
	return value
}

func limitTLS(config *pgconn.Config, oldest, newest string) error {
	for name, value := range map[string]string{"ssl_min_protocol_version": oldest, "ssl_max_protocol_version": newest} {
		if _, known := tlsVersions[value]; !known {
			return fmt.Errorf("the address of the database has the parameter %s, which must be TLSv1, TLSv1.1, TLSv1.2 or TLSv1.3", name)
		}
	}
	configs := []*tls.Config{config.TLSConfig}
	for _, fallback := range config.Fallbacks {
		configs = append(configs, fallback.TLSConfig)
	}
	for _, c := range configs {
		if c != nil {
			c.MinVersion, c.MaxVersion = tlsVersions[oldest], tlsVersions[newest]
		}
	}
	return nil
}
