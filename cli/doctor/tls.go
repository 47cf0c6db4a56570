package doctor

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"time"

	"example.com/perks/cli/session"
)

// soon is how long before its end a certificate should have been renewed.
const soon = 14 * 24 * time.Hour

// checkTLS shakes hands as every request does, proxy and all.
func (x *examination) checkTLS(ctx context.Context) finding {
	if err := x.learnRoots(); err != nil {
		return fail(err, "Correct the path, or put the file there")
	}
	if x.base.Scheme == "http" {
		if session.CheckAddress(x.connection.APIURL, false) != nil {
			return warn("Use https", "The address is plain http, which insecure-http allows: everyone on the way can read the secret.")
		}
		return fine("Plain http, which does not leave this computer.")
	}
	transport := x.transport()
	transport.TLSClientConfig.Time = x.now
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, x.connection.APIURL+"/health", nil)
	if err != nil {
		return fail(err, "")
	}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return x.failReaching(err, "Is the port right, and does a proxy or a firewall between let TLS through?")
	}
	answer.Body.Close()
	return x.describe(*answer.TLS)
}

// learnRoots takes the certificates that every request trusts.
func (x *examination) learnRoots() (err error) {
	if x.roots == nil {
		x.roots, err = x.session.Roots(x.connection.CACert)
	}
	return err
}

func (x *examination) describe(s tls.ConnectionState) finding {
	leaf := s.PeerCertificates[0]
	left := leaf.NotAfter.Sub(x.now())
	by := ""
	if x.connection.CACert != "" {
		by = " Beside the system's certificates, those in " + x.connection.CACert + " are trusted."
	}
	found := fmt.Sprintf("%s; the certificate is valid until %s (%s left).%s", tls.VersionName(s.Version), day(leaf.NotAfter), count(int(left/(24*time.Hour)), "day"), by)
	if left < soon {
		return warn("The operator of the server should renew it", "%s", found)
	}
	return fine("%s", found)
}

func day(t time.Time) string { return t.UTC().Format("2006-01-02") }
