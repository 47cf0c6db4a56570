package screen

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/termenv"
	scale "golang.org/x/image/draw"

	"example.com/perks/api/display"
	"example.com/perks/tui/widget"
)

// Image is an image of a record, from when the user asks for it until it is hidden. The zero Image is hidden. A screen passes
// messages to Take, and draws the lines of View.
type Image struct {
	address string
	number  int // of the last fetch; others are out of date
	cancel  context.CancelFunc
	img     image.Image // nil until it has come

	drawn imageDrawn
}

// imageDrawn caches the last drawing: it takes long enough to draw once for each size.
type imageDrawn struct {
	lines         []string
	width, height int
	theme         *widget.Theme
}

// imageFetched is the result of a fetch. It is no Outcome, because it tells nothing about the service.
type imageFetched struct {
	of     *Image
	number int
	img    image.Image
	err    error
}

// Address is where the image is from; "" if it is hidden.
func (i *Image) Address() string { return i.address }

// Toggle fetches the image at an address, or hides it. It asks before it fetches from the local network: a mere request could set
// something off that the author of the address cannot reach. Whose names the record: "The perk".
func (i *Image) Toggle(shell *Shell, whose, address string) tea.Cmd {
	switch {
	case i.address != "":
		i.Hide()
		return nil
	case !isLocalImage(address):
		return i.fetch(address)
	}
	return shell.Post(Confirm{
		Title: "Fetch an image from " + display.Line(imageHost(address)) + "?",
		Text: fmt.Sprintf("%s has its image at %s, on this computer or your network. Fetch it only if you know what is there.",
			whose, display.Line(address)),
		Yes:  "fetch it",
		Then: func() tea.Cmd { return i.fetch(address) },
	})
}

func (i *Image) fetch(address string) tea.Cmd {
	ctx, cancel := context.WithCancel(context.Background())
	i.Put(address, nil)
	i.cancel = cancel
	number := i.number
	return func() tea.Msg {
		img, err := fetchImage(ctx, address)
		return imageFetched{i, number, img, err}
	}
}

// Put shows an image; nil while it is loading.
func (i *Image) Put(address string, img image.Image) {
	i.Hide()
	i.address, i.img = address, img
}

// Handle handles a message if it is for this image. A failure is shown, and hides the image, so that the same key retries.
func (i *Image) Handle(msg tea.Msg) (cmd tea.Cmd, mine bool) {
	fetched, ok := msg.(imageFetched)
	switch {
	case !ok || fetched.of != i || fetched.number != i.number:
		return nil, ok && fetched.of == i
	case fetched.err != nil:
		i.Hide()
		return Tell(Failure, "%s", Sentence("", fetched.err)), true
	}
	i.cancel()
	i.img = fetched.img
	return nil, true
}

// Hide cancels the fetch, and hides the image.
func (i *Image) Hide() {
	if i.cancel != nil {
		i.cancel()
	}
	*i = Image{number: i.number + 1}
}

// minImageHeight is the least height for an image with the line below it.
const minImageHeight = 4

// View draws the image with its host below, or how far it has come, at most in that size.
func (i *Image) View(theme *widget.Theme, width, height int) []string {
	say := func(text string, height int) []string {
		lines := widget.Wrapped(theme.Muted, text, width)
		return lines[:min(len(lines), height)]
	}
	switch {
	case i.address == "" || width < 1 || height < 1:
		return nil
	case i.img == nil:
		return say(i.AccessibleText(), height)
	case height < minImageHeight:
		return say(i.AccessibleText()+". Enlarge the window to see it.", height)
	}
	if i.drawn.width != width || i.drawn.height != height || i.drawn.theme != theme {
		lines := append(drawImage(i.img, width, height-1, theme), say(i.AccessibleText(), 1)...)
		i.drawn = imageDrawn{lines, width, height, theme}
	}
	return i.drawn.lines
}

// widthForBeside is the least width of an area with the image beside the text.
const widthForBeside = 90

// Beside divides an area between a text and the image: the image is beside the text if the area is wide, otherwise below it, and takes at
// most half of the height. It returns the size that is left for the text, and what adds the image to the text in that size.
func (i *Image) Beside(theme *widget.Theme, width, height int) (textWidth, textHeight int, join func(text string) string) {
	below := width < widthForBeside
	imageWidth := width
	if !below {
		imageWidth = width * 2 / 5
	}
	lines := i.View(theme, imageWidth, height/2)
	switch {
	case len(lines) == 0:
		return width, height, func(text string) string { return text }
	case below:
		return width, height - len(lines), func(text string) string { return text + "\n" + strings.Join(lines, "\n") }
	}
	textWidth = width - imageWidth - 2
	return textWidth, height, func(text string) string {
		joined := strings.Split(text, "\n")
		for n, line := range lines {
			if n == len(joined) {
				joined = append(joined, "")
			}
			joined[n] = display.Pad(joined[n], textWidth) + "  " + line
		}
		return strings.Join(joined, "\n")
	}
}

// AccessibleText returns in words what View shows.
func (i *Image) AccessibleText() string {
	host := display.Line(imageHost(i.address))
	if i.img == nil {
		return "Fetching the image from " + host + " ..."
	}
	return "Image from " + host
}

// fit is the largest size within the space with the proportions of the image. It enlarges nothing.
func fit(size, space image.Point) image.Point {
	if size.X <= space.X && size.Y <= space.Y {
		return size
	}
	if size.X*space.Y > size.Y*space.X {
		return image.Pt(space.X, max(1, size.Y*space.X/size.X))
	}
	return image.Pt(max(1, size.X*space.Y/size.Y), space.Y)
}

// scaled draws an image on white, which merchants make transparent logos for.
func scaled(img image.Image, size image.Point, scaler scale.Scaler) *image.RGBA {
	canvas := image.NewRGBA(image.Rectangle{Max: size})
	draw.Draw(canvas, canvas.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	scaler.Scale(canvas, canvas.Bounds(), img, img.Bounds(), draw.Over, nil)
	return canvas
}

// drawImage draws an image at most in that size. With 256 colours or more a cell is two pixels, else a shade. It takes some
// milliseconds for a large terminal, so cache the result.
func drawImage(img image.Image, width, height int, theme *widget.Theme) []string {
	if img == nil || width < 1 || height < 1 || img.Bounds().Empty() {
		return nil
	}
	size := fit(img.Bounds().Size(), image.Pt(width, 2*height)) // a cell is about twice as high as wide
	switch theme.Profile {
	case termenv.TrueColor, termenv.ANSI256:
		return halfBlocks(scaled(img, size, scale.BiLinear), theme.Profile == termenv.ANSI256)
	}
	return shades(scaled(img, image.Pt(size.X, (size.Y+1)/2), scale.BiLinear), theme.Name == widget.LightTheme)
}

// halfBlocks draws two pixels in each cell, by the colours of text and background. It writes a colour only where it changes.
func halfBlocks(img *image.RGBA, indexed bool) []string {
	size := img.Bounds().Size()
	var lines []string
	for y := 0; y < size.Y; y += 2 {
		var line strings.Builder
		var present [2]string
		for x := range size.X {
			for half := range present {
				if y+half == size.Y {
					break
				}
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

// levels are the shades of each colour in the cube of 216 colours.
var levels = [...]int{0, 95, 135, 175, 215, 255}

// nearest256 returns the nearest of the 216 colours and 24 greys of the 256 colours. Libraries compare by perception, which takes
// longer than all the rest.
func nearest256(c color.RGBA) int {
	r, g, b := int(c.R), int(c.G), int(c.B)
	level := func(v int) int {
		if v < 48 {
			return 0
		}
		return max(1, (v-35)/40)
	}
	cr, cg, cb := level(r), level(g), level(b)
	grey := max(0, min(((r+g+b)/3-3)/10, 23))
	shade := 8 + 10*grey
	if distance(r, g, b, shade, shade, shade) < distance(r, g, b, levels[cr], levels[cg], levels[cb]) {
		return 232 + grey
	}
	return 16 + 36*cr + 6*cg + cb
}

func distance(r, g, b, r2, g2, b2 int) int {
	return (r-r2)*(r-r2) + (g-g2)*(g-g2) + (b-b2)*(b-b2)
}

// shades draws bright pixels dense, in the colour of text. That is dark on a light background, so there it is reversed.
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
