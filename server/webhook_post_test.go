package server

import (
	"context"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"example.com/perks/api"
	"example.com/perks/api/webhook"
	"example.com/perks/store"
)

// resolverOf asks a name server for which every name is at the address that it has at the moment.
func resolverOf(t *testing.T, at *atomic.Value) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		buffer := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buffer[:n]) != nil {
				continue
			}
			m.Response, m.Additionals = true, nil
			if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
				m.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
					Body:   &dnsmessage.AResource{A: at.Load().(netip.Addr).As4()}}}
			}
			reply, err := m.Pack()
			if err == nil {
				_, _ = conn.WriteTo(reply, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

func postTo(p *webhookPoster, address string) posted {
	secret, _ := webhook.ParseSecret(webhook.NewSecret())
	return p.post(context.Background(), address, "id", []byte("{}"), time.Now(), []webhook.Secret{secret})
}

func TestANameThatLeadsElsewhereAfterItsCheckReachesNothing(t *testing.T) {
	var reached atomic.Int32
	inside := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer inside.Close()
	roots := x509.NewCertPool()
	roots.AddCert(inside.Certificate())
	var at atomic.Value
	at.Store(netip.MustParseAddr("93.184.216.34"))
	network := WebhookNetwork{Resolver: resolverOf(t, &at), Roots: roots}
	p := newWebhookPoster(Config{WebhookNetwork: network})
	_, port, _ := net.SplitHostPort(inside.Listener.Addr().String())
	address := "https://example.com:" + port + "/" // which the certificate of httptest has
	if problem := p.check(t.Context(), address); problem != "" {
		t.Fatal("before:", problem)
	}
	at.Store(netip.MustParseAddr("127.0.0.1"))
	if got := postTo(p, address).failure(); !strings.Contains(got, "127.0.0.1, which is not a public address") ||
		reached.Load() != 0 {
		t.Errorf("%q, and %d requests arrived", got, reached.Load())
	}
	if problem := p.check(t.Context(), address); !strings.Contains(problem, "--webhook-allow") {
		t.Errorf("after: %q", problem)
	}
	allowing := Config{WebhookNetwork: network, WebhookAllow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	if got := postTo(newWebhookPoster(allowing), address).failure(); got != "" || reached.Load() != 1 {
		t.Errorf("allowed: %q, and %d requests arrived", got, reached.Load())
	}
	allowing.WebhookNetwork.Roots = x509.NewCertPool()
	if got := postTo(newWebhookPoster(allowing), address).failure(); !strings.Contains(got, "certificate") {
		t.Errorf("an unknown certificate: %q", got)
	}
}

func TestNeitherProxiesNorPlainHTTPAreUsed(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:9")
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:9")
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	}))
	defer receiver.Close()
	p := newWebhookPoster(Config{})
	if got := postTo(p, receiver.URL).failure(); !strings.Contains(got, "use https") {
		t.Errorf("plain HTTP: %q", got)
	}
	p = newWebhookPoster(Config{WebhookAllow: []netip.Prefix{netip.MustParsePrefix("::1/128"),
		netip.MustParsePrefix("127.0.0.1/32")}})
	if got := postTo(p, receiver.URL); got.failure() != "" || got.answer.StatusCode != http.StatusNoContent {
		t.Errorf("allowed: %q", got.failure())
	}
	if err := p.mayReach("http", netip.MustParseAddr("::ffff:127.0.0.1")); err != nil {
		t.Error(err)
	}
	for _, address := range []string{"::ffff:10.0.0.1", "fe80::1%eth0", "224.0.0.1", "2002:7f00:1::", "127.0.0.2"} {
		if p.mayReach("https", netip.MustParseAddr(address)) == nil {
			t.Errorf("%s may be reached", address)
		}
	}
}

func TestAnAnswerIsShownSafely(t *testing.T) {
	for text, want := range map[string]string{
		"ok":                      "ok",
		"a\x1b[31m\nb\xff":        "a [31m b?",
		strings.Repeat("x", 2000): strings.Repeat("x", api.MaxWebhookAnswer),
		strings.Repeat("x", 1023) + "é" + "more": strings.Repeat("x", 1023) + "?",
	} {
		if got := plainAnswer([]byte(text)); got != want {
			t.Errorf("%q is %q", text, got)
		}
	}
}

func TestServersShareWebhooksEvenly(t *testing.T) {
	at := time.Now()
	p := webhookPeers{}
	servers := []store.WebhookServer{{Server: "a", Beats: 1}, {Server: "b", Beats: 1}, {Server: "c", Beats: 1}}
	p.observe(servers, at)
	shares := func(webhooks int, at time.Time) (all []int) {
		for _, s := range servers {
			all = append(all, p.share(s.Server, webhooks, at))
		}
		return all
	}
	for webhooks, want := range map[int][]int{0: {0, 0, 0}, 1: {1, 0, 0}, 7: {3, 2, 2}, 9: {3, 3, 3}} {
		if got := shares(webhooks, at); got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
			t.Errorf("%d webhooks are shared as %v", webhooks, got)
		}
	}
	at = at.Add(webhookDead - time.Millisecond)
	servers[0].Beats, servers[1].Beats = 2, 2
	p.observe(servers, at)
	if dead := p.dead("a", at); len(dead) > 0 {
		t.Errorf("too early: %v", dead)
	}
	at = at.Add(time.Millisecond)
	if dead := p.dead("a", at); len(dead) != 1 || dead[0] != servers[2] {
		t.Errorf("dead are %v", dead)
	}
	if len(p.dead("c", at)) != 0 || p.share("a", 7, at) != 4 || p.share("b", 7, at) != 3 {
		t.Error("the others do not take over")
	}
	p.observe(servers[:2], at)
	if len(p) != 2 {
		t.Errorf("known are %v", p)
	}
	if webhookLease+webhookBeat > webhookDead {
		t.Error("a server may still deliver when others take over")
	}
}
