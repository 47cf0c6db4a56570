package picture

import (
	"bytes"
	"context"
	"errors"
	"net/url"
	"testing"
)

func TestOnlyTheLocalAddressThatAPersonHasSeenIsTrusted(t *testing.T) {
	for name, test := range map[string]struct {
		seen, host string
		want       bool
	}{
		"the local address itself":          {"http://10.0.0.1/a.png", "10.0.0.1", true},
		"another local address":             {"http://10.0.0.1/a.png", "10.0.0.2", false},
		"a name, wherever it leads":         {"https://images.test/a.png", "images.test", false},
		"this computer behind another name": {"https://images.test/a.png", "localhost", false},
		"the proxy that a person has set":   {"https://images.test/a.png", "proxy.local", true},
	} {
		seen, err := url.Parse(test.seen)
		if err != nil {
			t.Fatal(err)
		}
		g := newGuard(seen)
		g.proxies["proxy.local"] = true
		if got := g.trusts(test.host); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestANameThatLeadsIntoTheLocalNetworkIsRefused(t *testing.T) {
	for resolved, refused := range map[string]bool{
		"93.184.215.14:443": false, "[2001:4860:4860::8888]:443": false,
		"127.0.0.1:80": true, "10.1.2.3:80": true, "169.254.169.254:80": true, "[::1]:80": true, "[fe80::1%eth0]:80": true, "?": true,
	} {
		if err := refuseLocal("images.test", resolved); (err != nil) != refused {
			t.Errorf("%s: %v", resolved, err)
		}
	}
}

func TestADecoderThatStillReadsIsStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := &reader{ctx, bytes.NewReader(make([]byte, 10))}
	if n, err := r.Read(make([]byte, 4)); n != 4 || err != nil {
		t.Errorf("before: %d, %v", n, err)
	}
	cancel()
	if n, err := r.Read(make([]byte, 4)); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("after: %d, %v", n, err)
	}
}
