package screen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	scale "golang.org/x/image/draw"
	"golang.org/x/image/webp"

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
// token, cookie or Referer is sent. It fetches from the local network only if isLocalImage; ask first then. Its errors are
// sentences.
func fetchImage(ctx context.Context, address string) (image.Image, error) {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	target, err := imageURL(address)
	if err != nil {
		return nil, err
	}
	raw, err := download(ctx, target)
	if err != nil {
		return nil, err
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
	if err != nil {
		return nil, fmt.Errorf("the address of the image is invalid: %w", err)
	}
	if target.User != nil {
		return nil, fmt.Errorf("the address of the image has a user name or password, which would be sent to %s", target.Host)
	}
	return target, nil
}

// imageHost returns the host and port of an address; "" if the address is not valid.
func imageHost(address string) string {
	if target, err := imageURL(address); err == nil {
		return target.Host
	}
	return ""
}

// download gets what is at an address. It uses a new client, so that no connection and no cookie stays.
func download(ctx context.Context, target *url.URL) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("the address of the image is invalid: %w", err)
	}
	request.Header.Set("Accept", "image/webp, image/png, image/jpeg, image/gif")
	request.Header.Set("User-Agent", "perksctl")
	guard := &guard{target.Hostname(), http.ProxyFromEnvironment}
	client := &http.Client{CheckRedirect: checkRedirect, Transport: &http.Transport{
		Proxy: guard.proxy, DialContext: guard.dial, DisableKeepAlives: true, DisableCompression: true, ForceAttemptHTTP2: true,
	}}
	response, err := client.Do(request)
	if err != nil {
		return nil, failure(ctx, target, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %d %s instead of an image", target.Host, response.StatusCode, http.StatusText(response.StatusCode))
	}
	if response.ContentLength > maxBytes {
		return nil, errTooLarge
	}
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxBytes+1))
	switch {
	case err != nil:
		return nil, failure(ctx, target, err)
	case len(raw) > maxBytes:
		return nil, errTooLarge
	}
	return raw, nil
}

// checkRedirect runs before a redirect is followed. net/http has set Referer by then.
func checkRedirect(next *http.Request, former []*http.Request) error {
	next.Header.Del("Referer")
	switch {
	case len(former) > maxRedirects:
		return fmt.Errorf("it redirects more than %d times", maxRedirects)
	case next.URL.Scheme != "http" && next.URL.Scheme != "https":
		return errors.New("it redirects to something other than http or https")
	case next.URL.User != nil:
		return errors.New("it redirects to an address with a user name or password")
	}
	return nil
}

// guarded is why the guard refused a connection, as a sentence.
type guarded string

func (g guarded) Error() string { return string(g) }

// failure says why the download failed.
func failure(ctx context.Context, target *url.URL, err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	var refused guarded
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("%s took too long to send the image; try again", target.Host)
	case errors.As(err, &refused):
		return refused
	}
	return fmt.Errorf("the image could not be fetched from %s: %w", target.Host, err)
}

// isLocalImage tells whether an address names this computer or the local network.
func isLocalImage(address string) bool {
	target, err := imageURL(address)
	return err == nil && isLocal(target.Hostname())
}

func isLocal(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return !isPublic(ip)
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || strings.HasSuffix(host, ".local")
}

var (
	// special are the ranges in IANA's registries of special-purpose addresses, and multicast. IPv6 networks only get addresses
	// within global; there, special are protocols such as Teredo and 6to4 (which leads to the IPv4 address inside), documentation,
	// and AS112.
	special = strings.Fields(`0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
		192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24
		224.0.0.0/4 240.0.0.0/4 2001::/23 2001:db8::/32 3fff::/20 2002::/16 2620:4f:8000::/48`)
	global = netip.MustParsePrefix("2000::/3")
	// translated are IPv4 addresses as IPv6-only networks write them (RFC 6052).
	translated = netip.MustParsePrefix("64:ff9b::/96")
)

// isPublic tells whether an address is on the public internet.
func isPublic(ip netip.Addr) bool {
	ip = ip.Unmap()
	if translated.Contains(ip) {
		bytes := ip.As16()
		ip = netip.AddrFrom4([4]byte(bytes[12:]))
	}
	if ip.Is6() && !global.Contains(ip) {
		return false
	}
	return ip.IsValid() && !slices.ContainsFunc(special, func(p string) bool { return netip.MustParsePrefix(p).Contains(ip) })
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
		err = guarded(fmt.Sprintf("Not fetched: behind a proxy, nothing can tell whether %s is on the local network. "+
			"Open the image in a browser, or add the host to NO_PROXY.", request.URL.Hostname()))
	}
	return nil, err
}

func (g *guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{}
	if !g.trusts(host) {
		dialer.Control = func(_, resolved string, _ syscall.RawConn) error { return refuseLocal(host, resolved) }
	}
	return dialer.DialContext(ctx, network, address)
}

func (g *guard) trusts(host string) bool { return host == g.seen && isLocal(host) }

func refuseLocal(host, resolved string) error {
	if to, err := netip.ParseAddrPort(resolved); err != nil || !isPublic(to.Addr()) {
		return guarded(fmt.Sprintf("%s is on the local network (%s), so it was not fetched. If you trust it, open the image in a browser.", host, resolved))
	}
	return nil
}

var (
	errTooLarge = errors.New("the image is larger than 5 MiB; open it in a browser")
	errTooSlow  = errors.New("the image takes too long to decode; open it in a browser")
	errDamaged  = errors.New("the image is damaged, or of an unsupported kind; open it in a browser")
)

// formats is how to read each kind. image.Decode would also read formats that other packages register.
var formats = map[string]struct {
	config func(io.Reader) (image.Config, error)
	decode func(io.Reader) (image.Image, error) // of an animation, the first frame
}{
	"image/png":  {png.DecodeConfig, png.Decode},
	"image/jpeg": {jpeg.DecodeConfig, jpeg.Decode},
	"image/gif":  {gif.DecodeConfig, gif.Decode},
	"image/webp": {webp.DecodeConfig, webp.Decode},
}

// decode reads an image. It goes by the bytes, not by the Content-Type. It reads the size first, because a few bytes can claim an
// image that takes all memory.
func decode(ctx context.Context, raw []byte) (img image.Image, err error) {
	defer func() {
		if recover() != nil { // a decoder that panics on foreign bytes must not crash the program
			img, err = nil, errDamaged
		}
	}()
	kind, _, _ := strings.Cut(http.DetectContentType(raw), ";")
	format, ok := formats[kind]
	if !ok {
		return nil, fmt.Errorf("the reply is %s; only PNG, JPEG, GIF and WebP can be drawn", kind)
	}
	config, err := format.config(bytes.NewReader(raw))
	if err != nil {
		return nil, errDamaged
	}
	if err := checkSize(image.Pt(config.Width, config.Height)); err != nil {
		return nil, err
	}
	img, err = format.decode(reader{ctx, bytes.NewReader(raw)})
	switch {
	case ctx.Err() != nil:
		return nil, errTooSlow
	case err != nil:
		return nil, errDamaged
	}
	size := img.Bounds().Size()
	if err := checkSize(size); err != nil {
		return nil, err
	}
	// The fast scaler leaves noise when it shrinks much, and the thorough one takes too long from many megapixels.
	if max(size.X, size.Y) > 4*keptSide {
		img = scaled(img, fit(size, image.Pt(4*keptSide, 4*keptSide)), scale.ApproxBiLinear)
	}
	return scaled(img, fit(img.Bounds().Size(), image.Pt(keptSide, keptSide)), scale.BiLinear), nil
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
