package screen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	_ "image/gif" // of an animation, the first frame
	_ "image/jpeg"
	_ "image/png"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
	_ "golang.org/x/image/webp"

	"example.com/perks/api"
)

// The bounds of a fetch.
const (
	maxTime      = 10 * time.Second
	maxRedirects = 3
	maxBytes     = 5 << 20
	maxPixels    = 20_000_000
	maxSide      = 20_000
)

// keptSide is the longest side in pixels to keep an image in: two for each cell of a large terminal.
const keptSide = 400

// fetchImage gets the image at an address. Neither the address nor what it has can be trusted: everything is bounded, and no
// token, cookie or Referer is sent. It fetches from the local network only if the address isLocal; ask first then. Its errors
// are sentences.
func fetchImage(ctx context.Context, target *url.URL) (image.Image, error) {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	raw, err := download(ctx, target)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, fmt.Errorf("%s took too long to send the image; try again", target.Host)
	case err != nil:
		return nil, fmt.Errorf("the image could not be fetched from %s: %w", target.Host, err)
	case len(raw) > maxBytes:
		return nil, errors.New("the image is larger than 5 MiB; open it in a browser")
	}
	return decode(ctx, raw)
}

// CheckImage returns why no image can be fetched from an address; nil if it can be tried.
func CheckImage(address string) error {
	_, err := imageURL(address)
	return err
}

func imageURL(address string) (*url.URL, error) {
	if problem := api.URLRule(address); problem != "" {
		return nil, fmt.Errorf("the address of the image %s", problem)
	}
	target, err := url.Parse(address)
	if err == nil && target.User != nil {
		err = fmt.Errorf("the address of the image has a user name or password, which would be sent to %s", target.Host)
	}
	return target, err
}

// download gets what is at an address, at most one byte more than maxBytes. It uses a new client, so that no connection and no
// cookie stays.
func download(ctx context.Context, target *url.URL) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "image/webp, image/png, image/jpeg, image/gif")
	request.Header.Set("User-Agent", "perksctl")
	guard := &guard{target.Hostname(), http.ProxyFromEnvironment}
	transport := &http.Transport{Proxy: guard.proxy, DialContext: guard.dial, DisableKeepAlives: true, DisableCompression: true, ForceAttemptHTTP2: true}
	response, err := (&http.Client{CheckRedirect: checkRedirect, Transport: transport}).Do(request)
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		return nil, wrapped.Err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the answer is %s", response.Status)
	}
	return io.ReadAll(io.LimitReader(response.Body, maxBytes+1))
}

// checkRedirect runs before a redirect is followed. net/http has set Referer by then.
func checkRedirect(next *http.Request, former []*http.Request) error {
	next.Header.Del("Referer")
	if len(former) > maxRedirects {
		return fmt.Errorf("it redirects more than %d times", maxRedirects)
	}
	if err := CheckImage(next.URL.String()); err != nil {
		return fmt.Errorf("it redirects to an invalid address: %w", err)
	}
	return nil
}

// isLocal tells whether a host is this computer or on the local network, as far as its name says.
func isLocal(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return !isPublic(ip)
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || strings.HasSuffix(host, ".local")
}

// isPublic tells whether IANA's registries assign an address to the internet. IPv6-only networks write an IPv4 address as one of
// NAT64 (RFC 6052).
func isPublic(ip netip.Addr) bool {
	ip = ip.Unmap()
	if ssrf.IPv6NAT64Prefix.Contains(ip) {
		bytes := ip.As16()
		ip = netip.AddrFrom4([4]byte(bytes[12:]))
	}
	return ip.IsValid() && ssrf.New().SafeAddr(ip) == nil
}

// guard refuses connections into the local network unless the user has seen that the address names it. Otherwise a public name or
// a redirect could reach what the author of the address cannot (SSRF).
type guard struct {
	seen        string // the host of that address
	environment func(*http.Request) (*url.URL, error)
}

// proxy refuses requests through a proxy: only the proxy resolves the name, so the address cannot be checked.
func (g *guard) proxy(request *http.Request) (*url.URL, error) {
	proxy, err := g.environment(request)
	if err == nil && proxy != nil {
		err = fmt.Errorf("behind a proxy, nothing can tell whether %s is on the local network. "+
			"Open the image in a browser, or add the host to NO_PROXY", request.URL.Hostname())
	}
	return nil, err
}

func (g *guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{}
	if host, _, _ := net.SplitHostPort(address); !g.trusts(host) {
		dialer.Control = func(_, resolved string, _ syscall.RawConn) error { return refuseLocal(host, resolved) }
	}
	return dialer.DialContext(ctx, network, address)
}

func (g *guard) trusts(host string) bool { return host == g.seen && isLocal(host) }

func refuseLocal(host, resolved string) error {
	if to, err := netip.ParseAddrPort(resolved); err != nil || !isPublic(to.Addr()) {
		return fmt.Errorf("%s is on the local network (%s). If you trust it, open the image in a browser", host, resolved)
	}
	return nil
}

var errDamaged = errors.New("the image is damaged, or of an unsupported kind; open it in a browser")

// decode reads an image. It goes by the bytes, not by the Content-Type. It reads the size first, because a few bytes can claim an
// image that takes all memory.
func decode(ctx context.Context, raw []byte) (img image.Image, err error) {
	defer func() {
		if recover() != nil { // a decoder that panics on foreign bytes must not crash the program
			img, err = nil, errDamaged
		}
	}()
	config, _, err := image.DecodeConfig(bytes.NewReader(raw))
	if errors.Is(err, image.ErrFormat) {
		kind, _, _ := strings.Cut(http.DetectContentType(raw), ";")
		return nil, fmt.Errorf("the reply is %s; only PNG, JPEG, GIF and WebP can be drawn", kind)
	}
	if err := checkSize(image.Pt(config.Width, config.Height)); err != nil {
		return nil, err
	}
	img, _, err = image.Decode(reader{ctx, bytes.NewReader(raw)})
	switch {
	case ctx.Err() != nil:
		return nil, errors.New("the image takes too long to decode; open it in a browser")
	case err != nil:
		return nil, errDamaged
	}
	size := img.Bounds().Size()
	if err := checkSize(size); err != nil { // a WebP image can be larger than its header says
		return nil, err
	}
	return scaled(img, fit(size, image.Pt(keptSide, keptSide))), nil
}

func checkSize(size image.Point) error {
	switch {
	case size.X < 1 || size.Y < 1:
		return errDamaged
	case size.X > maxSide || size.Y > maxSide || size.X*size.Y > maxPixels:
		return fmt.Errorf("the image has %d x %d pixels, more than %d megapixels; open it in a browser",
			size.X, size.Y, maxPixels/1_000_000)
	}
	return nil
}

// reader fails once its context ends: a few kilobytes can keep a decoder busy for hours.
type reader struct {
	ctx context.Context
	raw *bytes.Reader
}

func (r reader) Read(into []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.raw.Read(into)
}
