package screen

import (
	"context"
	"fmt"
	"image"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api/display"
	"example.com/perks/tui/picture"
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
	case !picture.Local(address):
		return i.fetch(address)
	}
	return shell.Post(Confirm{
		Title: "Fetch an image from " + display.Line(picture.Host(address)) + "?",
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
		img, err := picture.Fetch(ctx, address)
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
		lines := append(picture.Draw(i.img, width, height-1, look), say(i.Linear(), 1)...)
		i.drawn = imageDrawn{lines, width, height, look}
	}
	return i.drawn.lines
}

// Linear says in words what View shows.
func (i *Image) Linear() string {
	host := display.Line(picture.Host(i.address))
	if i.img == nil {
		return "Fetching the image from " + host + " ..."
	}
	return "Image from " + host
}
