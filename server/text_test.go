package server

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/labstack/echo/v4"
)

func TestTheFastPathHidesEverySecret(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 2))
	parts := []string{"a", "Z", "0", "-", "/", " ", "eyJ", ".", "漢", "abcdefgh", "ABCDEFGH", "aBcDeFgH12345678",
		"01a200ea-6b27-793f-833a-30f260f53b01"}
	found := 0
	for range 50_000 {
		var text strings.Builder
		for range chance.IntN(12) {
			text.WriteString(parts[chance.IntN(len(parts))])
		}
		shown := hideSecrets(text.String())
		if shown != hiddenByExpressions(text.String()) {
			t.Fatalf("%q is shown as %q", text.String(), shown)
		}
		if shown != text.String() {
			found++
		}
	}
	if found < 1000 {
		t.Errorf("only %d of 50,000 texts hold a secret: the test uses the wrong ones", found)
	}
}

func TestTruncatingLeavesNoPartOfASecret(t *testing.T) {
	const secret = "q7Zt0Xw3Lr9Kd2Vb6Nf1Hs8Jy4Gp5Mc-Ea_UoTiRxQw" // as long as perksd's secrets
	for before := maxLogged - len(secret) - 1; before <= maxLogged; before++ {
		shown := sanitize(strings.Repeat("/a", before)[:before-1] + "/" + secret + "/more")
		for i := range len(secret) - 4 {
			if strings.Contains(shown, secret[i:i+4]) {
				t.Fatalf("after %d bytes the log shows %q", before, shown[len(shown)-80:])
			}
		}
	}
	if got := sanitize(strings.Repeat("x", 600)); got != strings.Repeat("x", maxLogged)+"... (600 bytes)" {
		t.Errorf("of 600 letters it shows %q", got)
	}
}

func hiddenByExpressions(text string) string {
	return secretPattern.ReplaceAllStringFunc(tokenPattern.ReplaceAllString(text, hidden), func(run string) string {
		if strings.ToLower(run) != run && strings.ToUpper(run) != run {
			return hidden
		}
		return run
	})
}

func basic(credentials string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(credentials))
}

func TestBasicPairsReadsRawAndEncodedCredentials(t *testing.T) {
	rows := []struct {
		name, header string
		want         []Credentials
	}{
		{"nothing", "", nil},
		{"another scheme", "Bearer " + basic("id:secret")[6:], nil},
		{"not base64", "Basic !!!", nil},
		{"base64 with a wrong end", basic("id:secret:::") + "!", nil},
		{"no colon", basic("id"), nil},
		{"no id", basic(":secret"), nil},
		{"plain", basic("id:secret"), []Credentials{{"id", "secret"}}},
		{"in another case", "bAsIc " + basic("id:secret")[6:], []Credentials{{"id", "secret"}}},
		{"colon in the secret", basic("id:a:b"), []Credentials{{"id", "a:b"}}},
		{"empty secret", basic("id:"), []Credentials{{"id", ""}}},
		{"encoded", basic("my%3Aid:a%2Bb+c"), []Credentials{{"my%3Aid", "a%2Bb+c"}, {"my:id", "a+b c"}}},
		{"a percent sign that encodes nothing", basic("id:100%"), []Credentials{{"id", "100%"}}},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			if diff := cmp.Diff(r.want, BasicCredentials(r.header)); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
		})
	}
}

// FuzzBasicPairs checks that any id and secret, sent raw or encoded, are among the readings.
func FuzzBasicPairs(f *testing.F) {
	f.Add("id", "s+e%c:r=t")
	f.Add("i d", "%2B")
	f.Fuzz(func(t *testing.T, id, secret string) {
		if id == "" {
			return
		}
		pair := Credentials{id, secret}
		encoded := basic(url.QueryEscape(id) + ":" + url.QueryEscape(secret))
		if !slices.Contains(BasicCredentials(encoded), pair) {
			t.Errorf("%q, encoded, is read as %q", pair, BasicCredentials(encoded))
		}
		request := http.Request{Header: http.Header{}}
		request.SetBasicAuth(id, secret)
		rawID, _, _ := request.BasicAuth()
		if rawID == id && !slices.Contains(BasicCredentials(request.Header.Get("Authorization")), pair) {
			t.Errorf("%q, raw, is read as %q", pair, BasicCredentials(request.Header.Get("Authorization")))
		}
	})
}

// sink is a response that is not kept.
type sink struct{ header http.Header }

func (s sink) Header() http.Header         { return s.header }
func (s sink) Write(b []byte) (int, error) { return len(b), nil }
func (s sink) WriteHeader(int)             {}

func TestAShortTextCostsNoAllocation(t *testing.T) {
	text := bytes.Repeat([]byte("coffee "), minCompressed/7)
	request := httptest.NewRequest(http.MethodPost, "/", nil)
	request.Header.Set("Accept-Encoding", "gzip, deflate, br")
	response := sink{http.Header{}}
	c := echo.New().NewContext(request, response)
	allocations := func(respond func() error) float64 {
		return testing.AllocsPerRun(1000, func() {
			clear(response.header)
			c.Reset(request, response)
			_ = respond()
		})
	}
	straight := allocations(func() error { return c.Blob(http.StatusCreated, echo.MIMEApplicationJSON, text) })
	if got := allocations(func() error {
		return writeText(c, http.StatusCreated, echo.MIMEApplicationJSON, text, "")
	}); got > straight {
		t.Errorf("%g allocations, and %g without compression", got, straight)
	}
}

// TestAddressesHaveNoInvalidHost reads requests, so that some have a host in their first line.
func TestAddressesHaveNoInvalidHost(t *testing.T) {
	const path, forwarded = "/v2/partners/perks?per_page=1", "X-Forwarded-Proto: https\r\nX-Forwarded-Host: "
	public, err := ParsePublicURL("https://public.example")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		behindProxy bool
		public      *url.URL
		first, rest string // lines of the request
		want        string // before the path
	}{
		{false, nil, path, "Host: perks.example:8443", "http://perks.example:8443"},
		{false, nil, path, "Host: [2001:db8::1]", "http://[2001:db8::1]"},
		{false, nil, "http://perks.example" + path, "Host: other.example", "http://perks.example"},
		{false, nil, "http://evil.example'onload=alert(1)" + path, "Host: perks.example", ""},
		{false, nil, path, "Host: evil.example'onload=alert(1)", ""},
		{false, nil, path, "Host: evil.example, perks.example", ""},
		{false, nil, path, "Host:", ""},
		{false, nil, path, "X-Other: no host", ""},
		{false, nil, path, "Host: perks.example\r\n" + forwarded + "evil.example", "http://perks.example"},
		{true, nil, path, "Host: inside\r\n" + forwarded + "perks.example:8443", "https://perks.example:8443"},
		{true, nil, path, "Host: inside\r\n" + forwarded + "[2001:db8::1]:443", "https://[2001:db8::1]:443"},
		{true, nil, path, "Host: inside\r\n" + forwarded + "192.0.2.1", "https://192.0.2.1"},
		{true, nil, path, "Host: inside\r\n" + forwarded + `x>;rel="next",<https://evil.example`, "https://inside"},
		{true, nil, path, "Host: inside\r\n" + forwarded + "user@evil.example", "https://inside"},
		{true, nil, path, "Host: inside\r\n" + forwarded + "perks.example, evil.example", "https://inside"},
		{true, nil, path, "Host: inside\r\n" + forwarded + "evil.example/path", "https://inside"},
		{true, nil, path, "Host: inside\r\nX-Forwarded-Proto: ftp", "http://inside"},
		{true, public, path, "Host: inside\r\n" + forwarded + "evil.example", "https://public.example"},
	} {
		text := "GET " + test.first + " HTTP/1.1\r\n" + test.rest + "\r\n\r\n"
		request, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text)))
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		s := &service{config: Config{PublicURL: test.public}, proxies: proxies{enabled: test.behindProxy}}
		request.RemoteAddr = "192.0.2.7:4711"
		if got := s.address(request); got.String() != test.want+path {
			t.Errorf("%q is at %s, want %s", text, got.String(), test.want+path)
		}
	}
}

// TestListedTags has a tag in the forms that caches send and that proxies make of it.
func TestListedTags(t *testing.T) {
	const plain, packed = `"abc"`, `"abc-gzip"`
	for header, want := range map[string]string{
		plain: plain, packed: packed, `"other", "abc"`: plain, `W/"other",W/"abc-gzip"`: packed,
		`W/"abc"`:  plain,                                            // as nginx makes it when it compresses
		`"abc-br"`: plain, `"abc-zstd"`: plain, `"abc--gzip"`: plain, // as Apache httpd and Jetty
		"*": "",
	} {
		if form, isListed := listedTag([]string{`"first"`, header}, plain); !isListed || form != want {
			t.Errorf("%s lists %q, %t, want %q", header, form, isListed, want)
		}
	}
	for _, header := range []string{
		"", `"other"`, `W/"other"`, `w/"abc"`, `W/W/"abc"`, "abc", `"abc`, `"ab"`, `"ABC"`, `"abc-x"`, `"-gzip"`,
	} {
		if form, isListed := listedTag([]string{header}, plain); isListed || form != "" {
			t.Errorf("%s lists %q", header, form)
		}
	}
}

func TestTheProxyNamesTheClientAddress(t *testing.T) {
	one, several := []netip.Prefix(nil), []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")}
	for _, test := range []struct {
		name       string
		proxies    []netip.Prefix
		peer, says string
		want       string
	}{
		{"no X-Forwarded-For", one, "10.0.0.1", "", "10.0.0.1"},
		{"one proxy", one, "10.0.0.1", "203.0.113.9", "203.0.113.9"},
		{"the caller claims to be another", one, "10.0.0.1", "198.51.100.1, 203.0.113.9", "203.0.113.9"},
		{"a caller in the private network claims to be another", one, "10.0.0.1", "198.51.100.1, 10.0.0.7",
			"10.0.0.7"},
		{"with a port, as some write it", one, "10.0.0.1", "203.0.113.9:4711", "203.0.113.9"},
		{"IPv6 in brackets", one, "10.0.0.1", "[2001:db8::1]:4711", "2001:db8::1"},
		{"IPv4 in IPv6", one, "::ffff:10.0.0.1", "::ffff:203.0.113.9", "203.0.113.9"},
		{"no address", one, "10.0.0.1", "203.0.113.9, unknown", "10.0.0.1"},
		{"an empty entry", one, "10.0.0.1", "203.0.113.9,", "10.0.0.1"},

		{"two proxies", several, "10.0.0.1", "203.0.113.9, 10.0.0.2", "203.0.113.9"},
		{"two proxies, and the caller claims to be a third", several, "10.0.0.1",
			"198.51.100.1, 203.0.113.9, 10.0.0.2", "203.0.113.9"},
		{"not through the proxy", several, "10.0.1.1", "203.0.113.9", "10.0.1.1"},
		{"a proxy itself", several, "10.0.0.1", "10.0.0.2", "10.0.0.2"},
		{"nonsense before a proxy", several, "10.0.0.1", "203.0.113.9, nonsense, 10.0.0.2", "10.0.0.2"},
	} {
		request := httptest.NewRequest(http.MethodGet, "/", nil)
		request.RemoteAddr = netip.AddrPortFrom(netip.MustParseAddr(test.peer), 4711).String()
		request.Header.Set("X-Forwarded-For", test.says)
		if got := (proxies{true, test.proxies}).clientAddress(request); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}
