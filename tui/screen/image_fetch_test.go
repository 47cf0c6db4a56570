package screen

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// serveBytes serves the bytes on loopback at every path.
func serveBytes(t *testing.T, raw []byte) (address string) {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(raw) })
}

func serve(t *testing.T, handler http.HandlerFunc) (address string) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL + "/image"
}

func asPNG(t testing.TB, img image.Image) []byte {
	t.Helper()
	var raw bytes.Buffer
	if err := png.Encode(&raw, img); err != nil {
		t.Fatal(err)
	}
	return raw.Bytes()
}

func asJPEG(t testing.TB, img image.Image) []byte {
	t.Helper()
	var raw bytes.Buffer
	if err := jpeg.Encode(&raw, img, nil); err != nil {
		t.Fatal(err)
	}
	return raw.Bytes()
}

// asGIF is an animation: red, then blue.
func asGIF(t testing.TB) []byte {
	t.Helper()
	animation := gif.GIF{Delay: []int{1, 1}}
	for _, c := range []color.Color{color.RGBA{255, 0, 0, 255}, color.RGBA{0, 0, 255, 255}} {
		animation.Image = append(animation.Image, image.NewPaletted(image.Rect(0, 0, 8, 8), color.Palette{c}))
	}
	var raw bytes.Buffer
	if err := gif.EncodeAll(&raw, &animation); err != nil {
		t.Fatal(err)
	}
	return raw.Bytes()
}

// asWebP is one transparent pixel.
func asWebP() []byte {
	return []byte("RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00")
}

// bomb is a PNG of a few bytes that claims the given size.
func bomb(width, height uint32) []byte {
	var header, empty bytes.Buffer
	_ = binary.Write(&header, binary.BigEndian, []uint32{width, height})
	header.Write([]byte{8, 6, 0, 0, 0})
	_ = zlib.NewWriter(&empty).Close()
	raw := []byte("\x89PNG\r\n\x1a\n")
	for _, chunk := range []struct{ name, data string }{{"IHDR", header.String()}, {"IDAT", empty.String()}, {"IEND", ""}} {
		raw = binary.BigEndian.AppendUint32(raw, uint32(len(chunk.data)))
		raw = append(raw, chunk.name+chunk.data...)
		raw = binary.BigEndian.AppendUint32(raw, crc32.ChecksumIEEE([]byte(chunk.name+chunk.data)))
	}
	return raw
}

func TestFetchImageFormats(t *testing.T) {
	for name, test := range map[string]struct {
		raw  []byte
		size image.Point
		at   color.Color // in the upper left corner
	}{
		"PNG":                         {asPNG(t, quarters(30, 20)), image.Pt(30, 20), color.RGBA{255, 0, 0, 255}},
		"GIF, first frame":            {asGIF(t), image.Pt(8, 8), color.RGBA{255, 0, 0, 255}},
		"JPEG":                        {asJPEG(t, image.NewGray(image.Rect(0, 0, 16, 16))), image.Pt(16, 16), color.RGBA{0, 0, 0, 255}},
		"WebP":                        {asWebP(), image.Pt(1, 1), color.RGBA{255, 255, 255, 255}},
		"large, scaled to a terminal": {asPNG(t, quarters(3000, 1500)), image.Pt(400, 200), color.RGBA{255, 0, 0, 255}},
	} {
		t.Run(name, func(t *testing.T) {
			img, err := fetchFrom(t.Context(), serveBytes(t, test.raw))
			if err != nil {
				t.Fatal(err)
			}
			if img.Bounds().Size() != test.size || img.At(0, 0) != test.at {
				t.Errorf("size %v, first pixel %v; want %v and %v", img.Bounds().Size(), img.At(0, 0), test.size, test.at)
			}
		})
	}
}

func TestFetchImageRefusals(t *testing.T) {
	good := asPNG(t, quarters(30, 20))
	for name, test := range map[string]struct {
		raw  []byte
		want string
	}{
		"an HTML page":         {[]byte("<html><body>Not here"), "the reply is text/html; only PNG, JPEG, GIF and WebP can be drawn"},
		"nothing":              {nil, "the reply is text/plain"},
		"cut off":              {good[:len(good)/2], "the image is damaged"},
		"a decompression bomb": {bomb(100_000, 100_000), "the image has 100000 x 100000 pixels, more than 20 megapixels"},
		"just too many pixels": {bomb(5_000, 4_001), "the image has 5000 x 4001 pixels"},
		"too wide":             {bomb(20_001, 1), "the image has 20001 x 1 pixels"},
		"no pixels":            {bomb(0, 10), "the image is damaged"},
		"data missing":         {bomb(4_000, 4_000), "the image is damaged"},
		"more than 5 MiB":      {append(good, make([]byte, 5<<20)...), "the image is larger than 5 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			wantRefusal(t, t.Context(), serveBytes(t, test.raw), test.want)
		})
	}
}

// fetchFrom fetches what a user asks for: an address that is checked first.
func fetchFrom(ctx context.Context, address string) (image.Image, error) {
	target, err := imageURL(address)
	if err != nil {
		return nil, err
	}
	return fetchImage(ctx, target)
}

func wantRefusal(t *testing.T, ctx context.Context, address, want string) {
	t.Helper()
	img, err := fetchFrom(ctx, address)
	if img != nil || err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: got an image: %v, error %v; want %q", address, img != nil, err, want)
	}
}

func TestLongBodyIsNotReadCompletely(t *testing.T) {
	written := make(chan int, 1)
	address := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		total, block := 0, make([]byte, 1<<20)
		for total < 1<<30 {
			n, err := w.Write(block)
			total += n
			if err != nil {
				break
			}
		}
		written <- total
	})
	wantRefusal(t, t.Context(), address, "larger than 5 MiB")
	if total := <-written; total > 100<<20 {
		t.Errorf("the server could write %d bytes", total)
	}
}

func TestFetchErrors(t *testing.T) {
	wantRefusal(t, t.Context(), serve(t, http.NotFound), ": the answer is 404 Not Found")
	stopped := httptest.NewServer(nil)
	stopped.Close()
	wantRefusal(t, t.Context(), stopped.URL, "the image could not be fetched from 127.0.0.1:")
}

func TestSilentServerTimesOut(t *testing.T) {
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	wantRefusal(t, ctx, address, "took too long to send the image")
}

func TestFetchSendsNoCredentials(t *testing.T) {
	var second http.Header
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/image" {
			http.SetCookie(w, &http.Cookie{Name: "who", Value: "you"})
			http.Redirect(w, r, "/there", http.StatusFound)
			return
		}
		second = r.Header
		_, _ = w.Write(asPNG(t, quarters(2, 2)))
	})
	if _, err := fetchFrom(t.Context(), address); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Authorization", "Cookie", "Referer"} {
		if value := second.Get(name); value != "" {
			t.Errorf("%s: %s was sent", name, value)
		}
	}
}

func TestBadRedirectsAreRefused(t *testing.T) {
	for name, test := range map[string]struct{ to, want string }{
		"in a loop":        {"/image", "it redirects more than 3 times"},
		"to a file":        {"file:///etc/passwd", ": it redirects to an invalid address: the address of the image must be an absolute http or https URL"},
		"with a password":  {"http://me:secret@127.0.0.1/", ": it redirects to an invalid address: the address of the image has a user name or password"},
		"to this computer": {"http://localhost:1/", ": localhost is on the local network (127.0.0.1:1). If you trust it, open the image in a browser"},
	} {
		t.Run(name, func(t *testing.T) {
			address := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", test.to)
				w.WriteHeader(http.StatusFound)
			})
			wantRefusal(t, t.Context(), address, test.want)
		})
	}
}

func TestInvalidAddressesAreRefused(t *testing.T) {
	for address, want := range map[string]string{
		"":                          "the address of the image must",
		"images/coffee.png":         "the address of the image must be an absolute http or https URL",
		"file:///etc/passwd":        "the address of the image must be an absolute http or https URL",
		"--help":                    "the address of the image must be an absolute http or https URL",
		"https://me:pw@images.test": "the address of the image has a user name or password",
	} {
		wantRefusal(t, t.Context(), address, want)
		if got := CheckImage(address); got == nil || !strings.Contains(got.Error(), want) {
			t.Errorf("CheckImage(%q) = %v", address, got)
		}
	}
	if err := CheckImage("https://images.test:8443/coffee.png"); err != nil {
		t.Error(err)
	}
}

func TestIsLocal(t *testing.T) {
	for _, host := range []string{
		"127.0.0.1", "127.9.9.9", "::1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0", "100.64.0.1",
		"fd00::1", "fe80::1", "::ffff:10.0.0.1", "224.0.0.1", "localhost", "LOCALHOST.", "a.localhost", "printer.local",
	} {
		if !isLocal(host) {
			t.Errorf("%s is not local", host)
		}
	}
	for _, host := range []string{"images.test", "8.8.8.8", "100.128.0.1", "172.32.0.1", "2001:4860:4860::8888", "local"} {
		if isLocal(host) {
			t.Errorf("%s is local", host)
		}
	}
}

func TestThreeRedirectsAreFollowed(t *testing.T) {
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/image///" {
			_, _ = w.Write(asPNG(t, quarters(2, 2)))
			return
		}
		w.Header().Set("Location", r.URL.Path+"/")
		w.WriteHeader(http.StatusFound)
	})
	if _, err := fetchFrom(t.Context(), address); err != nil {
		t.Error(err)
	}
}

func TestEveryDecoderStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, raw := range map[string][]byte{
		"PNG": asPNG(t, quarters(8, 8)), "JPEG": asJPEG(t, quarters(8, 8)), "GIF": asGIF(t), "WebP": asWebP(),
	} {
		if _, err := decode(ctx, raw); err == nil || !strings.Contains(err.Error(), "takes too long to decode") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
