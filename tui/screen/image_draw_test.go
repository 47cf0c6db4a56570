package screen

import (
	"image"
	"image/color"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"github.com/muesli/termenv"

	"example.com/perks/tui/theme"
)

// quarters is an image of four quarters: red and green above blue and white.
func quarters(width, height int) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			colours := []color.RGBA{{255, 0, 0, 255}, {0, 255, 0, 255}, {0, 0, 255, 255}, {255, 255, 255, 255}}
			img.SetRGBA(x, y, colours[2*(2*y/height)+2*x/width])
		}
	}
	return img
}

func TestACellIsTwoPixels(t *testing.T) {
	got := drawImage(quarters(2, 2), 10, 10, theme.New(theme.Dark, termenv.TrueColor))
	want := []string{"\x1b[38;2;255;0;0;48;2;0;0;255m▀\x1b[38;2;0;255;0;48;2;255;255;255m▀\x1b[m"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestColourIsWrittenOnceForAdjacentCells(t *testing.T) {
	got := drawImage(quarters(4, 4), 10, 10, theme.New(theme.Dark, termenv.ANSI256))
	want := []string{
		"\x1b[38;5;196;48;5;196m▀▀\x1b[38;5;46;48;5;46m▀▀\x1b[m",
		"\x1b[38;5;21;48;5;21m▀▀\x1b[38;5;231;48;5;231m▀▀\x1b[m",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestFewColoursAreDrawnAsShades(t *testing.T) {
	fade := image.NewGray(image.Rect(0, 0, 5, 2))
	for x := range 5 {
		fade.SetGray(x, 0, color.Gray{uint8(x * 63)})
		fade.SetGray(x, 1, color.Gray{uint8(x * 63)})
	}
	for name, test := range map[string]struct {
		theme *theme.Theme
		want  string
	}{
		"no colours":                  {theme.New(theme.None, termenv.TrueColor), " ░▒▓█"},
		"16 colours on dark":          {theme.New(theme.Dark, termenv.ANSI), " ░▒▓█"},
		"16 colours on light":         {theme.New(theme.Light, termenv.ANSI), "█▓▒░ "},
		"high contrast on 16 colours": {theme.New(theme.HighContrast, termenv.ANSI), " ░▒▓█"},
	} {
		if diff := cmp.Diff([]string{test.want}, drawImage(fade, 10, 10, test.theme)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

func TestProportionsAreKept(t *testing.T) {
	theme := theme.New(theme.Dark, termenv.TrueColor)
	for name, test := range map[string]struct {
		image, limit, want image.Point // limit and want are columns and lines
	}{
		"wide":                    {image.Pt(400, 100), image.Pt(40, 40), image.Pt(40, 5)},
		"tall":                    {image.Pt(100, 400), image.Pt(40, 10), image.Pt(5, 10)},
		"smaller than the limit":  {image.Pt(6, 4), image.Pt(40, 40), image.Pt(6, 2)},
		"an odd number of pixels": {image.Pt(3, 3), image.Pt(40, 40), image.Pt(3, 2)},
		"one pixel high":          {image.Pt(20000, 1), image.Pt(30, 10), image.Pt(30, 1)},
		"one pixel wide":          {image.Pt(1, 20000), image.Pt(30, 10), image.Pt(1, 10)},
		"one cell":                {image.Pt(640, 480), image.Pt(1, 1), image.Pt(1, 1)},
	} {
		lines := drawImage(quarters(test.image.X, test.image.Y), test.limit.X, test.limit.Y, theme)
		if got := image.Pt(ansi.StringWidth(lines[0]), len(lines)); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestEmptyImageOrAreaDrawsNothing(t *testing.T) {
	theme := theme.New(theme.Dark, termenv.TrueColor)
	for name, lines := range map[string][]string{
		"no image":    drawImage(nil, 10, 10, theme),
		"empty image": drawImage(image.NewRGBA(image.Rectangle{}), 10, 10, theme),
		"no columns":  drawImage(quarters(4, 4), 0, 10, theme),
		"no lines":    drawImage(quarters(4, 4), 10, 0, theme),
		"below zero":  drawImage(quarters(4, 4), -3, -3, theme),
	} {
		if lines != nil {
			t.Errorf("%s: %q", name, lines)
		}
	}
}

func TestTransparentIsDrawnWhite(t *testing.T) {
	lines := drawImage(image.NewNRGBA(image.Rect(0, 0, 1, 2)), 10, 10, theme.New(theme.Dark, termenv.TrueColor))
	if got := strings.Join(lines, "\n"); got != "\x1b[38;2;255;255;255;48;2;255;255;255m▀\x1b[m" {
		t.Errorf("%q", got)
	}
}

// The frame budget is 16 ms. Half of the largest supported terminal must take only a fraction of it.
func BenchmarkDrawInALargeTerminal(b *testing.B) {
	noise := image.NewRGBA(image.Rect(0, 0, 480, 360))
	for i := range noise.Pix {
		noise.Pix[i] = byte(i * i * 31)
	}
	for name, theme := range map[string]*theme.Theme{
		"truecolour": theme.New(theme.Dark, termenv.TrueColor),
		"256":        theme.New(theme.Dark, termenv.ANSI256),
		"shades":     theme.New(theme.None, termenv.Ascii),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				drawImage(noise, 200, 30, theme)
			}
		})
	}
}
