package perk

import (
	"context"
	"image"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api/plain"
	"example.com/perks/tui/components"
	"example.com/perks/tui/picture"
	"example.com/perks/tui/theme"
)

// drawing is the perk's image, from when a person asks for it until it is taken away. The zero drawing is off.
type drawing struct {
	address string
	number  int // of the last fetch; others are out of date
	cancel  context.CancelFunc
	img     image.Image
	err     error

	drawn drawn
}

// drawn is what was drawn last: that takes long enough to do it once for each size.
type drawn struct {
	lines         []string
	width, height int
	look          *theme.Theme
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

func (d *drawing) take(msg fetched) {
	if msg.drawing != d || msg.number != d.number {
		return
	}
	d.cancel()
	d.img, d.err = msg.img, msg.err
}

func (d *drawing) takeAway() {
	if d.cancel != nil {
		d.cancel()
	}
	*d = drawing{number: d.number + 1}
}

// view draws the image with where it is from below it, or how far it has come, in at most so much room.
func (d *drawing) view(look *theme.Theme, width, height int) []string {
	if !d.isOn() || width < 1 || height < 1 {
		return nil
	}
	if d.img == nil {
		style, mark := look.Muted, ""
		if d.err != nil {
			style, mark = look.Bad, "! "
		}
		lines := components.Wrap(mark+d.sentence(), width)
		for i := range lines {
			lines[i] = style.Render(lines[i])
		}
		return lines[:min(len(lines), height)]
	}
	if d.drawn.width != width || d.drawn.height != height || d.drawn.look != look {
		lines := picture.Draw(d.img, width, max(1, height-1), look)
		if height > 1 {
			lines = append(lines, look.Muted.Render(components.Cut(d.sentence(), width)))
		}
		d.drawn = drawn{lines, width, height, look}
	}
	return d.drawn.lines
}

// sentence says in words what view shows.
func (d *drawing) sentence() string {
	host := plain.Line(picture.Host(d.address))
	switch {
	case d.err != nil:
		return plain.Line(d.err.Error())
	case d.img == nil:
		return "Fetching the image from " + host + " ..."
	}
	return "Image from " + host
}
