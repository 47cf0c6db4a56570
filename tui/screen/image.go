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

// Image is an image of a record, from when a person asks for it until it is taken away. The zero Image is off. A screen gives
// it its messages by Take, and draws it where View has lines.
type Image struct {
	address string
	number  int // of the last fetch; others are out of date
	cancel  context.CancelFunc
	img     image.Image // nil until it has come

	drawn imageDrawn
}

// imageDrawn is what was drawn last: that takes long enough to do it once for each size.
type imageDrawn struct {
	lines         []string
	width, height int
	look          *widget.Theme
}

// imageFetched is how a fetch has ended. The service has no part in it, so that its failure is not the service's.
type imageFetched struct {
	of     *Image
	number int
	img    image.Image
	err    error
}

// Address is where the image is from; "" if it is off.
func (i *Image) Address() string { return i.address }

// Toggle fetches the image at an address, or takes it away. Where the address leads into the local network it asks first: there,
// a mere request can set off something that whoever wrote the address could not reach. Whose is the record: "The perk".
func (i *Image) Toggle(shell *Shell, whose, address string) tea.Cmd {
	switch {
	case i.address != "":
		i.TakeAway()
		return nil
	case !isLocalImage(address):
		return i.fetch(address)
	}
	return shell.Post(Confirm{
		Title: "Fetch an image from " + display.Line(imageHost(address)) + "?",
		Text: fmt.Sprintf("%s says that its image is at %s. That is this computer or one in your network. Fetch it only if you know what is there.",
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

// Put shows an image as it came from an address; nil is still on its way.
func (i *Image) Put(address string, img image.Image) {
	i.TakeAway()
	i.address, i.img = address, img
}

// Take takes a message if it is the image's that has come. Where none could be had it tells why, and is off again, so that the
// same key tries once more.
func (i *Image) Take(msg tea.Msg) (cmd tea.Cmd, mine bool) {
	fetched, ok := msg.(imageFetched)
	switch {
	case !ok || fetched.of != i || fetched.number != i.number:
		return nil, ok && fetched.of == i
	case fetched.err != nil:
		i.TakeAway()
		return Tell(Failure, "%s", Sentence("", fetched.err)), true
	}
	i.cancel()
	i.img = fetched.img
	return nil, true
}

// TakeAway gives up what is being fetched, and shows nothing any more.
func (i *Image) TakeAway() {
	if i.cancel != nil {
		i.cancel()
	}
	*i = Image{number: i.number + 1}
}

// leastImage is the least height in which an image shows something, with the line below it.
const leastImage = 4

// View draws the image with where it is from below it, or says how far it has come, in at most so much room.
func (i *Image) View(look *widget.Theme, width, height int) []string {
	say := func(text string, height int) []string {
		lines := widget.Wrapped(look.Muted, text, width)
		return lines[:min(len(lines), height)]
	}
	switch {
	case i.address == "" || width < 1 || height < 1:
		return nil
	case i.img == nil:
		return say(i.Linear(), height)
	case height < leastImage:
		return say(i.Linear()+". A larger window has room for it.", height)
	}
	if i.drawn.width != width || i.drawn.height != height || i.drawn.look != look {
		lines := append(drawImage(i.img, width, height-1, look), say(i.Linear(), 1)...)
		i.drawn = imageDrawn{lines, width, height, look}
	}
	return i.drawn.lines
}

// Linear says in words what View shows.
func (i *Image) Linear() string {
	host := display.Line(imageHost(i.address))
	if i.img == nil {
		return "Fetching the image from " + host + " ..."
	}
	return "Image from " + host
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

// scaled draws an image on white paper, where it is transparent: that is what merchants draw their logos for.
func scaled(img image.Image, size image.Point, scaler scale.Scaler) *image.RGBA {
	canvas := image.NewRGBA(image.Rectangle{Max: size})
	draw.Draw(canvas, canvas.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	scaler.Scale(canvas, canvas.Bounds(), img, img.Bounds(), draw.Over, nil)
	return canvas
}

// drawImage draws an image in at most so many columns and lines, as large as its proportions allow, but no larger than it is.
// It takes some milliseconds for a large terminal, so keep what it returns as long as size and theme stay. With at
// least 256 colours a cell is two pixels; with fewer it is a shade.
func drawImage(img image.Image, width, height int, look *widget.Theme) []string {
	if img == nil || width < 1 || height < 1 || img.Bounds().Empty() {
		return nil
	}
	size := fit(img.Bounds().Size(), image.Pt(width, 2*height)) // a cell is about twice as high as wide
	switch look.Profile {
	case termenv.TrueColor, termenv.ANSI256:
		return halfBlocks(scaled(img, size, scale.BiLinear), look.Profile == termenv.ANSI256)
	}
	return shades(scaled(img, image.Pt(size.X, (size.Y+1)/2), scale.BiLinear), look.Name == widget.LightTheme)
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

// levels are the shades of each colour that the cube of 216 colours has.
var levels = [...]int{0, 95, 135, 175, 215, 255}

// nearest256 returns the nearest of the 216 colours and 24 greys that all terminals of 256 colours agree on. The libraries
// at hand measure by perception, and take longer than all the rest for it.
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
