package client_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"example.com/perks/api/client"
	"example.com/perks/server/servertest"
)

// failureOf returns the error of a request to the address, and whether it was retried.
func failureOf(
	t *testing.T, address string, change ...func(*client.Config),
) (failure *client.Unreachable, isRetried bool) {
	t.Helper()
	clock := &fakeClock{}
	c := dial(t, address+"/v2", append([]func(*client.Config){clock.config}, change...)...)
	_, err := c.Perk(t.Context(), "p")
	var unreachable *client.Unreachable
	if !errors.As(err, &unreachable) {
		t.Fatalf("got %T: %v, want *client.Unreachable", err, err)
	}
	if want := "No reply from " + address + "/v2: " + unreachable.Reason() +
		"."; !strings.HasPrefix(err.Error(), want) || !strings.HasSuffix(err.Error(), unreachable.Advice()) {
		t.Errorf("the error is %q", err)
	}
	return unreachable, len(clock.waits) > 0
}

// wantFailure compares the error of a request with "reason | advice". What will not go away is not retried.
func wantFailure(t *testing.T, isRetried bool, want, address string, change ...func(*client.Config)) {
	t.Helper()
	err, retried := failureOf(t, address, change...)
	if got := err.Reason() + " | " + err.Advice(); got != want || retried != isRetried {
		t.Errorf("\n got %s\nwant %s\nretried: %t", got, want, retried)
	}
}

func TestNetworkFailuresAreExplained(t *testing.T) {
	closed := closedPort(t)
	wantFailure(t, true, "connection refused by "+closed+" | Is the server running, and is the port right?",
		"http://"+closed)
	wantFailure(t, true, "the proxy cannot be reached: connection refused by "+closed+
		" | Does HTTPS_PROXY name the right proxy?", "https://perks.invalid", throughProxy("http://"+closed))
	for want, do := range map[string]func(net.Conn){
		"the server closed the connection without a response": func(net.Conn) {},
		"the server, or a proxy before it, reset the connection": func(c net.Conn) {
			_ = c.(*net.TCPConn).SetLinger(0)
		},
		"the response was cut off: the connection closed too early": func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
		},
	} {
		wantFailure(t, true, want+" | ", "http://"+onConnection(t, func(c net.Conn) { readRequest(c); do(c) }))
	}
	silent := onConnection(t, readToEnd)
	wantFailure(t, false, "it took too long | ", "http://"+silent,
		func(c *client.Config) { c.Timeout, c.Clock = 20*time.Millisecond, nil })
	const port = "Is the port right, and do proxies and firewalls let TLS through?"
	wantFailure(t, true, "the TLS handshake took too long | "+port, "https://"+silent,
		withTransport(&http.Transport{TLSHandshakeTimeout: 20 * time.Millisecond}))
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	wantFailure(t, false, "the server does not speak TLS on this port | Should the address begin with http://, "+
		"or is the port wrong?", strings.Replace(plain.URL, "http:", "https:", 1))

	authority := servertest.NewAuthority(t, "Our own")
	modern := secured(t, authority.Issue(), func(c *tls.Config) { c.MinVersion = tls.VersionTLS13 })
	old := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authority.Roots(), MaxVersion: tls.VersionTLS12}}
	wantFailure(t, false, "the server refused the TLS handshake (protocol version not supported) | "+port, modern,
		withTransport(old))
}

// The test runs its own name server.
func TestLookupFailuresAreExplained(t *testing.T) {
	const notKnown = 3 // of the codes of RFC 1035
	for code, want := range map[byte]string{
		notKnown: "the name perks.example is not known | Is the name right, and is this computer online?",
		2: "the name perks.example cannot be looked up: server misbehaving | Is this computer online, and is its DNS " +
			"server right?",
	} {
		resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "udp", nameServer(t, code))
		}}
		dialer := &net.Dialer{Resolver: resolver}
		wantFailure(t, code != notKnown, want, "http://perks.example",
			withTransport(&http.Transport{DialContext: dialer.DialContext}))
	}
}

func TestCertificateFailuresAreExplained(t *testing.T) {
	authority := servertest.NewAuthority(t, "Our own")
	now := time.Now()
	day := func(at time.Time) string { return at.UTC().Format(time.DateOnly) }
	expired, later := now.AddDate(0, 0, -3), now.AddDate(0, 0, 3)
	for name, test := range map[string]struct {
		certificate *servertest.Certificate
		roots       *x509.CertPool
		want        string
	}{
		"untrusted": {authority.Issue(), nil,
			"the server's certificate was issued by CN=Our own, which this computer does not trust | " +
				"If that is your organisation's own authority, or its proxy's, pass its certificate with --ca-cert."},
		"expired": {authority.Issue(servertest.Valid(now.AddDate(0, 0, -9), expired)), authority.Roots(),
			"the server's certificate expired on " + day(expired) +
				" | The server's operator must renew it. If it was renewed, is this computer's clock right?"},
		"not yet valid": {authority.Issue(servertest.Valid(later, now.AddDate(0, 0, 9))), authority.Roots(),
			"the server's certificate is not valid before " + day(later) +
				" | Is this computer's clock right?"},
		"another host's": {authority.Issue(servertest.Named("perks.example", "www.perks.example")), authority.Roots(),
			"the server's certificate is not for 127.0.0.1 but for perks.example, www.perks.example | Is the address " +
				"right?"},
		"many names": {authority.Issue(servertest.Named("a.example", "b.example", "c.example", "d.example", "e.example",
			"f.example", "g.example")), authority.Roots(),
			"the server's certificate is not for 127.0.0.1 but for a.example, b.example, c.example, d.example, " +
				"e.example and 2 more | Is the address right?"},
		"another address": {authority.Issue(servertest.Named("perks.example"),
			func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(10, 0, 0, 1)} }), authority.Roots(),
			"the server's certificate is not for 127.0.0.1 but for perks.example, 10.0.0.1 | Is the address right?"},
		"for clients only": {authority.Issue(func(c *x509.Certificate) {
			c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
		}), authority.Roots(),
			"the server's certificate is not valid: certificate specifies an incompatible key usage | "},
	} {
		t.Run(name, func(t *testing.T) {
			wantFailure(t, false, test.want, secured(t, test.certificate),
				func(c *client.Config) { c.Transport, c.Roots = nil, test.roots })
		})
	}
}

func TestOwnRootsAreTrusted(t *testing.T) {
	authority := servertest.NewAuthority(t, "Our own")
	address := secured(t, authority.Issue())
	c := dial(t, address, func(c *client.Config) { c.Transport, c.Roots = nil, authority.Roots() })
	if _, err := c.Categories(t.Context()); err != nil {
		t.Error(err)
	}
}

// secured starts a server with the certificate that replies with an empty list, and returns its address.
func secured(t *testing.T, certificate *servertest.Certificate, change ...func(*tls.Config)) string {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reply(w, 200, []string{})
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate.Pair(t)}}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	for _, f := range change {
		f(server.TLS)
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}

func withTransport(transport *http.Transport) func(*client.Config) {
	return func(c *client.Config) { c.Transport = transport }
}

func throughProxy(address string) func(*client.Config) {
	return withTransport(&http.Transport{Proxy: func(*http.Request) (*url.URL, error) { return url.Parse(address) }})
}

// onConnection listens and runs do for each connection, then closes it. It returns the address.
func onConnection(t *testing.T, do func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				do(c)
			}()
		}
	}()
	return listener.Addr().String()
}

// readRequest reads the whole request, so that closing the connection does not reset it.
func readRequest(c net.Conn) {
	var got strings.Builder
	buffer := make([]byte, 1<<10)
	for !strings.Contains(got.String(), "\r\n\r\n") {
		n, err := c.Read(buffer)
		if err != nil {
			return
		}
		got.Write(buffer[:n])
	}
}

func readToEnd(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

// nameServer answers every question with the response code (RFC 1035, section 4.1.1).
func nameServer(t *testing.T, code byte) string {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	go func() {
		packet := make([]byte, 1<<10)
		for {
			n, from, err := server.ReadFrom(packet)
			if err != nil {
				return
			}
			reply := append([]byte{}, packet[:n]...)
			reply[2] |= 0x80 // this is a response
			reply[3] = reply[3]&0xf0 | code
			_, _ = server.WriteTo(reply, from)
		}
	}()
	return server.LocalAddr().String()
}
