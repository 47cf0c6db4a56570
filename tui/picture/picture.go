// Package picture fetches an image from anywhere and draws it in the cells of a terminal.
//
// Both the address and what is found there are a stranger's. So nothing is fetched that nobody asked for, all that is read
// and decoded is bounded, and nothing that belongs to the service goes along: no token, no cookie, no referring address. An
// address can name a machine of the local network that answers whoever is in there; Local tells, so that a person can be
// asked first, and no other address leads there (see guard).
//
// It knows nothing of perks and of the service.
package picture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/muesli/termenv"
	scale "golang.org/x/image/draw"
	"golang.org/x/image/webp"

	"example.com/perks/api"
	"example.com/perks/tui/widget"
)

// What is fetched at most.
const (
	maxTime      = 10 * time.Second
	maxRedirects = 3
	maxBytes     = 5 << 20
	maxPixels    = 20_000_000
	maxSide      = 20_000
)

// Fetch gets the image at an http or https address, within 10 seconds. It refuses more than 5 MiB and more than 20
// megapixels. What it returns is no larger than a terminal can show, and so is cheap to keep and to draw. Its errors are
// sentences. It fetches from the local network too if the address itself says so: ask first where Local tells so.
func Fetch(ctx context.Context, address string) (image.Image, error) {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	target, err := parse(address)
	if err != nil {
		return nil, err
	}
	raw, err := download(ctx, target)
	if err != nil {
		return nil, err
	}
	type outcome struct {
		img image.Image
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		img, err := decode(ctx, raw)
		done <- outcome{img, err}
	}()
	select {
	case <-ctx.Done(): // the decoder stops at its next read
		return nil, errTooSlow
	case o := <-done:
		return o.img, o.err
	}
}

// Check returns why nothing can be fetched from an address; nil if it can be tried.
func Check(address string) error {
	_, err := parse(address)
	return err
}

// Host returns the machine that an address names, with the port if there is one; "" if it is no address.
func Host(address string) string {
	target, err := parse(address)
	if err != nil {
		return ""
	}
	return target.Host
}

func parse(address string) (*url.URL, error) {
	if problem := api.URLRule(address); problem != "" {
		return nil, fmt.Errorf("the address of the image %s", problem)
	}
	target, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("the address of the image cannot be read: %w", err)
	}
	if target.User != nil {
		return nil, fmt.Errorf("the address of the image holds a name or a password, which would be sent to %s", target.Host)
	}
	return target, nil
}

// fit is the largest size within the room that has the image's proportions. Nothing is enlarged, and nothing vanishes.
func fit(size, room image.Point) image.Point {
	if size.X <= room.X && size.Y <= room.Y {
		return size
	}
	if size.X*room.Y > size.Y*room.X {
		return image.Pt(room.X, max(1, size.Y*room.X/size.X))
	}
	return image.Pt(max(1, size.X*room.Y/size.Y), room.Y)
}

// resize draws an image on white paper, where it is transparent: that is what merchants draw their logos for.
func resize(img image.Image, size image.Point, scaler scale.Scaler) *image.RGBA {
	canvas := image.NewRGBA(image.Rectangle{Max: size})
	draw.Draw(canvas, canvas.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	scaler.Scale(canvas, canvas.Bounds(), img, img.Bounds(), draw.Over, nil)
	return canvas
}

var (
	errTooSlow = errors.New("the image takes too long to decode; open it in a browser instead")
	errDamaged = errors.New("the image is damaged, or of a kind that cannot be drawn here: open it in a browser instead")
)

// formats is how images of each kind are read. image.Decode would do as well, but for whatever formats another package
// happens to register.
var formats = map[string]struct {
	config func(io.Reader) (image.Config, error)
	decode func(io.Reader) (image.Image, error) // of an animation, the first frame
}{
	"image/png":  {png.DecodeConfig, png.Decode},
	"image/jpeg": {jpeg.DecodeConfig, jpeg.Decode},
	"image/gif":  {gif.DecodeConfig, gif.Decode},
	"image/webp": {webp.DecodeConfig, webp.Decode},
}

// decode believes what the bytes are, not what their sender calls them. A few bytes can claim to be an image that takes
// all memory, so the size is read first.
func decode(ctx context.Context, raw []byte) (img image.Image, err error) {
	defer func() {
		if recover() != nil { // a decoder that stumbles over a stranger's bytes must not end the session
			img, err = nil, errDamaged
		}
	}()
	kind, _, _ := strings.Cut(http.DetectContentType(raw), ";")
	format, ok := formats[kind]
	if !ok {
		return nil, fmt.Errorf("what came is %s; only PNG, JPEG, GIF and WebP can be drawn here", kind)
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
	if err := checkSize(img.Bounds().Size()); err != nil {
		return nil, err
	}
	// The fast scaler looks at only four pixels for each, and leaves noise behind when it shrinks much; the thorough one takes too
	// long from many megapixels.
	if size := img.Bounds().Size(); max(size.X, size.Y) > 4*keep {
		img = resize(img, fit(size, image.Pt(4*keep, 4*keep)), scale.ApproxBiLinear)
	}
	return resize(img, fit(img.Bounds().Size(), image.Pt(keep, keep)), scale.BiLinear), nil
}

func checkSize(size image.Point) error {
	switch {
	case size.X < 1 || size.Y < 1:
		return errDamaged
	case size.X > maxSide || size.Y > maxSide || size.X*size.Y > maxPixels:
		return fmt.Errorf("the image has %d x %d pixels; images of up to %d megapixels are drawn here: open it in a browser instead",
			size.X, size.Y, maxPixels/1_000_000)
	}
	return nil
}

// reader ends when its context does: there are images of a few kilobytes that keep a decoder busy for hours.
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

// keep is the longest side of an image that is kept, in pixels: two for each cell of a large terminal.
const keep = 400

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

// halfBlocks draws two pixels in each cell: the upper in the character's colour, the lower in that behind it. A colour is
// written only where it changes.
func halfBlocks(img *image.RGBA, indexed bool) []string {
	size := img.Bounds().Size()
	var lines []string
	for y := 0; y < size.Y; y += 2 {
		var line strings.Builder
		var present [2]string
		for x := range size.X {
			for half := range min(2, size.Y-y) {
				c := img.RGBAAt(x, y+half)
				layer, colour := [...]string{"38", "48"}[half], ""
				if indexed {
					colour = "\x1b[" + layer + ";5;" + strconv.Itoa(nearest256(c)) + "m"
				} else {
					colour = "\x1b[" + layer + ";2;" + strconv.Itoa(int(c.R)) + ";" + strconv.Itoa(int(c.G)) + ";" + strconv.Itoa(int(c.B)) + "m"
				}
				if colour != present[half] {
					line.WriteString(colour)
					present[half] = colour
				}
			}
			line.WriteString("▀")
		}
		lines = append(lines, line.String()+"\x1b[0m")
	}
	return lines
}

// nearest256 returns the nearest of the 216 colours and 24 greys that all terminals of 256 colours agree on. The libraries
// at hand measure by perception, and take longer than all the rest for it.
func nearest256(c color.RGBA) int {
	r, g, b := int(c.R), int(c.G), int(c.B)
	level := func(v int) int { // of the six levels of the cube: 0, 95, 135, 175, 215 and 255
		if v < 48 {
			return 0
		}
		return max(1, (v-35)/40)
	}
	cr, cg, cb := level(r), level(g), level(b)
	grey := max(0, min(((r+g+b)/3-3)/10, 23))
	shade := 8 + 10*grey
	if distance(r, g, b, shade, shade, shade) < distance(r, g, b, cubeValue(cr), cubeValue(cg), cubeValue(cb)) {
		return 232 + grey
	}
	return 16 + 36*cr + 6*cg + cb
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
