package perk

import (
	"context"
	"image"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api/display"
	"example.com/perks/tui/picture"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// drawing is the perk's image, from when a person asks for it until it is taken away. The zero drawing is off.
type drawing struct {
	address string
	number  int // of the last fetch; others are out of date
	cancel  context.CancelFunc
	img     image.Image // nil until it has come

	drawn drawn
}

// drawn is what was drawn last: that takes long enough to do it once for each size.
type drawn struct {
	lines         []string
	width, height int
	look          *widget.Theme
}

// fetched is how a fetch has ended.
type fetched struct {
	drawing *drawing
	number  int
	img     image.Image
	err     error
}

func (d *drawing) isOn() bool { return d.address != "" }

// fetch begins to fetch the image. The service has no part in it, so that its failure is not the service's.
func (d *drawing) fetch(address string) tea.Cmd {
	d.takeAway()
	ctx, cancel := context.WithCancel(context.Background())
	d.address, d.cancel = address, cancel
	number := d.number
	return func() tea.Msg {
		img, err := picture.Fetch(ctx, address)
		return fetched{d, number, img, err}
	}
}

// take keeps the image that has come. Where none could be had it tells why, and is off again, so that the same key tries
// once more.
func (d *drawing) take(msg fetched) tea.Cmd {
	if msg.drawing != d || msg.number != d.number {
		return nil
	}
	if msg.err != nil {
		d.takeAway()
		return screen.Tell(screen.Failure, "%s", screen.Sentence("", msg.err))
	}
	d.cancel()
	d.img = msg.img
	return nil
}

func (d *drawing) takeAway() {
	if d.cancel != nil {
		d.cancel()
	}
	*d = drawing{number: d.number + 1}
}

// leastHeight is the least room in which an image shows something, with the line below it.
const leastHeight = 4

// view draws the image with where it is from below it, or says how far it has come, in at most so much room.
func (d *drawing) view(look *widget.Theme, width, height int) []string {
	switch {
	case !d.isOn() || width < 1 || height < 1:
		return nil
	case d.img == nil:
		return d.say(look, d.sentence(), width, height)
	case height < leastHeight:
		return d.say(look, d.sentence()+". A larger window has room for it.", width, height)
	}
	if d.drawn.width != width || d.drawn.height != height || d.drawn.look != look {
		lines := append(picture.Draw(d.img, width, height-1, look), d.say(look, d.sentence(), width, 1)...)
		d.drawn = drawn{lines, width, height, look}
	}
	return d.drawn.lines
}

func (d *drawing) say(look *widget.Theme, text string, width, height int) []string {
	lines := styled(look.Muted, text, width)
	return lines[:min(len(lines), height)]
}

// sentence says in words what view shows.
func (d *drawing) sentence() string {
	host := display.Line(picture.Host(d.address))
	if d.img == nil {
		return "Fetching the image from " + host + " ..."
	}
	return "Image from " + host
}
