package screen

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"net/url"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"
	scale "golang.org/x/image/draw"

	"example.com/perks/api/display"
	"example.com/perks/tui/theme"
	"example.com/perks/tui/widget"
)

// Image is an image of a record, from when the user asks for it until it is hidden. The zero Image is hidden. A screen passes
// messages to Take, and draws the lines of View.
type Image struct {
	address string
	target  *url.URL // the address, parsed for one fetch
	cancel  context.CancelFunc
	img     image.Image // nil until it has come

	drawn []string // what view drew last: it takes long enough to draw only when something changes
	drawnFor
}

type drawnFor struct {
	width, height int
	theme         *theme.Theme
	fetched       bool
}

// imageFetched is the result of a fetch. It is no Outcome, because it tells nothing about the service.
type imageFetched struct {
	target *url.URL
	img    image.Image
	err    error
}

// Address is where the image is from; "" if it is hidden.
func (i *Image) Address() string { return i.address }

// Toggle fetches the image at an address that CheckImage permits, or hides it. It asks before it fetches from the local network: a
// mere request could set something off that the author of the address cannot reach. Whose names the record: "The perk".
func (i *Image) Toggle(shell *Shell, whose, address string) tea.Cmd {
	target, err := imageURL(address)
	switch {
	case i.address != "":
		i.Hide()
		return nil
	case err != nil:
		return Tell(Failure, "%s", Sentence("", err))
	case !isLocal(target.Hostname()):
		return i.fetch(address, target)
	}
	return shell.Post(Confirm{
		Title: "Fetch an image from " + display.Line(target.Host) + "?",
		Text: fmt.Sprintf("%s has its image at %s, on this computer or your network. Fetch it only if you know what is there.",
			whose, display.Line(address)),
		Yes: "fetch it", Local: true,
		Then: func() tea.Cmd { return i.fetch(address, target) },
	})
}

func (i *Image) fetch(address string, target *url.URL) tea.Cmd {
	ctx, cancel := context.WithCancel(context.Background())
	i.Put(address, target, nil)
	i.cancel = cancel
	return func() tea.Msg {
		img, err := fetchImage(ctx, target)
		return imageFetched{target, img, err}
	}
}

// Put shows an image; nil while it is being fetched.
func (i *Image) Put(address string, target *url.URL, img image.Image) {
	i.Hide()
	i.address, i.target, i.img = address, target, img
}

// Handle handles a message if it is for this image. A failure is shown, and hides the image, so that the same key retries.
func (i *Image) Handle(msg tea.Msg) (cmd tea.Cmd, mine bool) {
	fetched, ok := msg.(imageFetched)
	if !ok || fetched.target != i.target {
		return nil, false
	}
	if i.cancel(); fetched.err != nil {
		i.Hide()
		return Tell(Failure, "%s", Sentence("", fetched.err)), true
	}
	i.img = fetched.img
	return nil, true
}

// Hide cancels the fetch, and hides the image.
func (i *Image) Hide() {
	if i.cancel != nil {
		i.cancel()
	}
	*i = Image{}
}

// minImageHeight is the least height for an image with the line below it.
const minImageHeight = 4

// view draws the image with its host below, or how far it has come, at most in that size.
func (i *Image) view(theme *theme.Theme, width, height int) []string {
	if i.address == "" || width < 1 || height < 1 {
		return nil
	}
	if now := (drawnFor{width, height, theme, i.img != nil}); i.drawnFor != now {
		text, imageHeight := i.AccessibleText(), 0
		switch {
		case i.img == nil:
		case height < minImageHeight:
			text += ". Enlarge the window to see it."
		default:
			imageHeight = height - 1
		}
		lines := widget.Wrapped(theme.Muted, text, width)
		i.drawn = append(drawImage(i.img, width, imageHeight, theme), lines[:min(len(lines), height-imageHeight)]...)
		i.drawnFor = now
	}
	return i.drawn
}

// widthForBeside is the least width of an area with the image beside the text.
const widthForBeside = 90

// Beside divides an area between a text and the image: the image is beside the text if the area is wide, otherwise below it, and takes at
// most half of the height. It returns the size that is left for the text, and what adds the image to the text in that size.
func (i *Image) Beside(theme *theme.Theme, width, height int) (textWidth, textHeight int, join func(text string) string) {
	below := width < widthForBeside
	imageWidth := width
	if !below {
		imageWidth = width * 2 / 5
	}
	lines := i.view(theme, imageWidth, height/2)
	switch {
	case len(lines) == 0:
		return width, height, func(text string) string { return text }
	case below:
		return width, height - len(lines), func(text string) string { return text + "\n" + strings.Join(lines, "\n") }
	}
	textWidth = width - imageWidth - 2
	return textWidth, height, func(text string) string {
		text = lipgloss.PlaceHorizontal(textWidth+2, lipgloss.Left, text)
		return lipgloss.JoinHorizontal(lipgloss.Top, text, strings.Join(lines, "\n"))
	}
}

// AccessibleText returns in words what is shown.
func (i *Image) AccessibleText() string {
	if i.img == nil {
		return "Fetching the image from " + display.Line(i.target.Host) + " ..."
	}
	return "Image from " + display.Line(i.target.Host)
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
func scaled(img image.Image, size image.Point) *image.RGBA {
	canvas := image.NewRGBA(image.Rectangle{Max: size})
	draw.Draw(canvas, canvas.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	scale.BiLinear.Scale(canvas, canvas.Bounds(), img, img.Bounds(), draw.Over, nil)
	return canvas
}

// drawImage draws an image at most in that size. With 256 colours or more a cell is two pixels, else a shade. It takes some
// milliseconds for a large terminal, so cache the result.
func drawImage(img image.Image, width, height int, look *theme.Theme) []string {
	if img == nil || width < 1 || height < 1 || img.Bounds().Empty() {
		return nil
	}
	size := fit(img.Bounds().Size(), image.Pt(width, 2*height)) // a cell is about twice as high as wide
	size.Y += size.Y % 2
	switch look.Profile {
	case termenv.TrueColor:
		return halfBlocks(scaled(img, size), func(c color.Color) ansi.Color { return c })
	case termenv.ANSI256:
		return halfBlocks(scaled(img, size), func(c color.Color) ansi.Color { return ansi.Convert256(c) })
	}
	return shades(scaled(img, image.Pt(size.X, size.Y/2)), look.Name == theme.Light)
}

// halfBlocks draws two pixels in each cell, by the colours of text and background. It writes them only where they change.
func halfBlocks(img *image.RGBA, shown func(color.Color) ansi.Color) []string {
	lines := make([]string, img.Rect.Dy()/2)
	for row := range lines {
		var line strings.Builder
		var last [2]color.RGBA
		for x := range img.Rect.Dx() {
			if cell := [2]color.RGBA{img.RGBAAt(x, 2*row), img.RGBAAt(x, 2*row+1)}; cell != last {
				line.WriteString(ansi.Style{}.ForegroundColor(shown(cell[0])).BackgroundColor(shown(cell[1])).String())
				last = cell
			}
			line.WriteString("▀")
		}
		lines[row] = line.String() + ansi.ResetStyle
	}
	return lines
}

// shades draws bright pixels dense, in the colour of text. That is dark on a light background, so there it is reversed.
func shades(img *image.RGBA, light bool) []string {
	ramp := []rune(" ░▒▓█")
	if light {
		slices.Reverse(ramp)
	}
	lines := make([]string, img.Rect.Dy())
	for y := range lines {
		for x := range img.Rect.Dx() {
			bright := int(color.GrayModel.Convert(img.RGBAAt(x, y)).(color.Gray).Y)
			lines[y] += string(ramp[bright*len(ramp)/256])
		}
	}
	return lines
}
