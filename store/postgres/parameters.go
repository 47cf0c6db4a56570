package postgres

import (
	"crypto/tls"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// pgx sends every parameter that it does not know to the server, which refuses those that are libpq's own. Of these, some
// change nothing here, some are read below, and some ask for what would silently not be done.

// meaningless parameters of libpq ask for no more than is done anyway, or only for how libpq does it.
var meaningless = []string{
	"keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout", // see dialer
	"load_balance_hosts", // the host that takes writes is looked for
	"gssdelegation", "gsslib", "sslcompression",
}

// notDone says of parameters why they are refused.
var notDone = map[string]string{
	"hostaddr":         "name the address as host",
	"replication":      "perksd reads no replication stream",
	"requirepeer":      "perksd does not look at who owns the server's process",
	"requiressl":       "write sslmode=require",
	"scram_client_key": "perksd logs in with the password", "scram_server_key": "perksd logs in with the password",
	"sslcrl": "perksd reads no lists of revoked certificates", "sslcrldir": "perksd reads no lists of revoked certificates",
	"sslkeylogfile": "perksd writes no keys of connections to a file",
}

var tlsVersions = map[string]uint16{"": 0, "TLSv1": tls.VersionTLS10, "TLSv1.1": tls.VersionTLS11, "TLSv1.2": tls.VersionTLS12, "TLSv1.3": tls.VersionTLS13}

// ReadParameters takes out of a configuration what libpq would not send to the server either, and does what it asks for. The
// error names a parameter for which that cannot be.
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

// take returns a parameter and takes it out.
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
	ways := []*tls.Config{config.TLSConfig}
	for _, other := range config.Fallbacks {
		ways = append(ways, other.TLSConfig)
	}
	for _, way := range ways {
		if way != nil {
			way.MinVersion, way.MaxVersion = tlsVersions[oldest], tlsVersions[newest]
		}
	}
	return nil
}
