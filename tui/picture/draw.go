package picture

import (
	"image"
	"image/color"
	"strconv"
	"strings"

	"github.com/muesli/termenv"
	scale "golang.org/x/image/draw"

	"example.com/perks/tui/widget"
)

// Draw draws an image in at most so many columns and lines, as large as its proportions allow, but no larger than it is.
// It takes some milliseconds for a large terminal, so keep what it returns as long as size and theme stay. With at
// least 256 colours a cell is two pixels; with fewer it is a shade.
func Draw(img image.Image, width, height int, look *widget.Theme) []string {
	if img == nil || width < 1 || height < 1 || img.Bounds().Empty() {
		return nil
	}
	size := fit(img.Bounds().Size(), image.Pt(width, 2*height)) // a cell is about twice as high as wide
	switch look.Profile {
	case termenv.TrueColor, termenv.ANSI256:
		return halfBlocks(resize(img, size, scale.BiLinear), look.Profile == termenv.ANSI256)
	}
	return shades(resize(img, image.Pt(size.X, (size.Y+1)/2), scale.BiLinear), look.Name == widget.LightTheme)
}

// halfBlocks draws two pixels in each cell: the upper in the character's colour, the lower in that behind it.
func halfBlocks(img *image.RGBA, indexed bool) []string {
	size := img.Bounds().Size()
	var lines []string
	for y := 0; y < size.Y; y += 2 {
		var line strings.Builder
		var upper, lower string
		for x := range size.X {
			upper = change(&line, upper, sgr("38", img.RGBAAt(x, y), indexed))
			if y+1 < size.Y {
				lower = change(&line, lower, sgr("48", img.RGBAAt(x, y+1), indexed))
			}
			line.WriteString("▀")
		}
		line.WriteString("\x1b[0m")
		lines = append(lines, line.String())
	}
	return lines
}

// change writes a colour unless it is the present one.
func change(line *strings.Builder, present, next string) string {
	if next != present {
		line.WriteString(next)
	}
	return next
}

func sgr(layer string, c color.RGBA, indexed bool) string {
	if indexed {
		return "\x1b[" + layer + ";5;" + strconv.Itoa(nearest256(c)) + "m"
	}
	return "\x1b[" + layer + ";2;" + strconv.Itoa(int(c.R)) + ";" + strconv.Itoa(int(c.G)) + ";" + strconv.Itoa(int(c.B)) + "m"
}

// nearest256 returns the nearest of the 216 colours and 24 greys that all terminals of 256 colours agree on. The libraries
// at hand measure by perception, and take longer than all the rest for it.
func nearest256(c color.RGBA) int {
	r, g, b := int(c.R), int(c.G), int(c.B)
	cr, cg, cb := cubeLevel(r), cubeLevel(g), cubeLevel(b)
	grey := max(0, min(((r+g+b)/3-3)/10, 23))
	shade := 8 + 10*grey
	if distance(r, g, b, shade, shade, shade) < distance(r, g, b, cubeValue(cr), cubeValue(cg), cubeValue(cb)) {
		return 232 + grey
	}
	return 16 + 36*cr + 6*cg + cb
}

// The six levels of the cube are 0, 95, 135, 175, 215 and 255.
func cubeLevel(v int) int {
	switch {
	case v < 48:
		return 0
	case v < 115:
		return 1
	}
	return (v - 35) / 40
}

func cubeValue(level int) int {
	if level == 0 {
		return 0
	}
	return 55 + 40*level
}

func distance(r, g, b, r2, g2, b2 int) int {
	return (r-r2)*(r-r2) + (g-g2)*(g-g2) + (b-b2)*(b-b2)
}

// shades draws what is bright as dense, which the terminal shows in its bright colour for text. On a light background that
// colour is dark, and so it is the other way round.
func shades(img *image.RGBA, light bool) []string {
	ramp := []rune(" ░▒▓█")
	size := img.Bounds().Size()
	lines := make([]string, size.Y)
	for y := range size.Y {
		line := make([]rune, size.X)
		for x := range line {
			bright := int(color.GrayModel.Convert(img.RGBAAt(x, y)).(color.Gray).Y) * len(ramp) / 256
			if light {
				bright = len(ramp) - 1 - bright
			}
			line[x] = ramp[bright]
		}
		lines[y] = string(line)
	}
	return lines
}
