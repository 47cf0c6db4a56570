package screen

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

func TestOnlyTheLocalAddressThatTheUserSawIsTrusted(t *testing.T) {
	for name, test := range map[string]struct {
		seen, host string
		want       bool
	}{
		"the same local address":        {"http://10.0.0.1/a.png", "10.0.0.1", true},
		"another local address":         {"http://10.0.0.1/a.png", "10.0.0.2", false},
		"a public name":                 {"https://images.test/a.png", "images.test", false},
		"localhost behind another name": {"https://images.test/a.png", "localhost", false},
	} {
		seen, err := url.Parse(test.seen)
		if err != nil {
			t.Fatal(err)
		}
		if got := (&guard{seen: seen.Hostname()}).trusts(test.host); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestImagesAreNotFetchedThroughAProxy(t *testing.T) {
	target, err := url.Parse("http://images.test/a.png")
	if err != nil {
		t.Fatal(err)
	}
	g := &guard{seen: target.Hostname()}
	g.environment = func(r *http.Request) (*url.URL, error) {
		if r.URL.Hostname() == "images.test" {
			return nil, nil
		}
		return url.Parse("http://proxy.test:3128")
	}
	if proxy, err := g.proxy(&http.Request{URL: target}); proxy != nil || err != nil {
		t.Errorf("a host without proxy: %v, %v", proxy, err)
	}
	proxy, err := g.proxy(&http.Request{URL: &url.URL{Scheme: "https", Host: "other.test:444"}})
	if proxy != nil || err == nil || !strings.Contains(err.Error(), "whether other.test is on the local network") {
		t.Errorf("a host behind the proxy: %v, %v", proxy, err)
	}
}

// TestSpecialAddressesAreNotPublic has an address of each range in the IANA registries, and addresses next to them.
func TestSpecialAddressesAreNotPublic(t *testing.T) {
	for want, list := range map[bool]string{
		false: `0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 100.127.255.255 127.0.0.1 127.9.9.9 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.8 192.0.0.170
			192.0.2.1 192.31.196.1 192.52.193.1 192.88.99.1 192.168.1.1 192.175.48.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1
			239.255.255.255 240.0.0.1 255.255.255.255
			:: ::1 ::127.0.0.1 ::93.184.215.14 ::ffff:10.0.0.1 ::ffff:0:10.0.0.1 64:ff9b::10.0.0.1 64:ff9b::169.254.169.254 64:ff9b:1::1 64:ff9b:1::93.184.215.14
			100::1 100:0:0:1::1 2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:1::1 2001:2::1 2001:3::1 2001:4:112::1 2001:10::1 2001:20::1 2001:30::1
			2001:1ff::1 2001:db8::1 2002:a00:1:: 2002:5db8:d70e::1 2620:4f:8000::1 3fff::1 3fff:fff::1 4000::1 5f00::1 fc00::1 fd12::1 fe80::1 fe80::1%eth0
			fec0::1 ff02::1 ff0e::1 2606:4700::1%eth0`,
		true: `1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.1 93.184.215.14 100.63.255.255 100.128.0.1 172.15.0.1 172.32.0.1 192.0.1.1 192.167.0.1 198.17.0.1 198.20.0.1 223.255.255.1
			::ffff:93.184.215.14 64:ff9b::93.184.215.14 2001:200::1 2001:4860:4860::8888 2003::1 2606:4700::1111 2a00:1450::1 3ffe::1`,
	} {
		for _, text := range strings.Fields(list) {
			if got := isPublic(netip.MustParseAddr(text)); got != want {
				t.Errorf("%s is public: %v", text, got)
			}
		}
	}
}

func TestNameThatResolvesToALocalAddressIsRefused(t *testing.T) {
	for resolved, refused := range map[string]bool{
		"93.184.215.14:443": false, "[2001:4860:4860::8888]:443": false,
		"127.0.0.1:80": true, "10.1.2.3:80": true, "169.254.169.254:80": true, "[::1]:80": true, "[fe80::1%eth0]:80": true, "?": true,
	} {
		if err := refuseLocal("images.test", resolved); (err != nil) != refused {
			t.Errorf("%s: %v", resolved, err)
		}
	}
}

func TestReaderStopsWithItsContext(t *testing.T) {
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
