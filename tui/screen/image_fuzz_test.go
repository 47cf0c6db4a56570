package screen

import (
	"image"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"

	"example.com/perks/tui/theme"
)

func FuzzDecodeAndDraw(f *testing.F) {
	for _, raw := range [][]byte{
		asPNG(f, quarters(30, 20)), asJPEG(f, image.NewGray(image.Rect(0, 0, 16, 16))), asGIF(f), asWebP(),
		bomb(100_000, 100_000), bomb(64, 64), []byte("RIFF\x1a\x00\x00\x00WEBPVP8 "), []byte("<svg/>"), nil,
	} {
		f.Add(raw, uint8(80), uint8(12), uint8(0))
		f.Add(raw, uint8(1), uint8(1), uint8(3))
	}
	f.Fuzz(func(t *testing.T, raw []byte, width, height, colours uint8) {
		if len(raw) > 64<<10 {
			return
		}
		img, err := decode(t.Context(), raw)
		if (img == nil) == (err == nil) {
			t.Fatalf("got an image: %v, error %v", img != nil, err)
		}
		lines := drawImage(img, int(width), int(height), theme.New(theme.Light, termenv.Profile(colours%4)))
		if len(lines) > int(height) {
			t.Fatalf("%d lines in a height of %d", len(lines), height)
		}
		for _, line := range lines {
			if cells := ansi.StringWidth(line); cells > int(width) {
				t.Fatalf("%d cells in a width of %d", cells, width)
			}
		}
	})
}
