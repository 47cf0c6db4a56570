// Command screenshots makes the pictures of the terminal UI in docs/screenshots: it starts the real perksd over sample data, works
// with the real perksctl tui in a real terminal, and draws what that shows.
//
// It presses keys and reads the screen as a person would, and knows nothing of the programs' insides.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"example.com/perks/cmd/dev/programs"
	"example.com/perks/tui/tuitest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "screenshots:", err)
		os.Exit(1)
	}
}

// album is the folder of the pictures.
const album = "docs/screenshots"

// run uses the programs in bin.
func run(ctx context.Context) (err error) {
	bin, err := filepath.Abs("bin")
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "screenshots-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	s := &studio{Stage: programs.Stage{Programs: bin, Folder: folder}, id: "demo"}
	created, err := s.NewClient(ctx, s.id, "--name", "Demo")
	if err != nil {
		return err
	}
	s.secret = created.Secret
	if _, err := s.Run(ctx, "perksd", "demo-data", "--perks", "2000", "--users", "200", "--properties", "20", "--owner", s.id); err != nil {
		return err
	}
	server, err := s.Serve()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	s.address = server.URL
	return errors.Join(s.dark(ctx), s.light(ctx))
}

// studio is where the pictures are made.
type studio struct {
	programs.Stage
	address, id, secret string // the service's, and the client's
}

// shown is the address that the pictures show: the same in each run, and as long as that of a free port.
const shown = "http://127.0.0.1:48080"

// mask puts into a screen what is the same in each run.
func (s *studio) mask(screen string) string {
	if len(s.address) == len(shown) {
		screen = strings.ReplaceAll(screen, s.address, shown)
	}
	return screen
}

// dark goes through the whole of the terminal UI.
func (s *studio) dark(ctx context.Context) error {
	return s.film(ctx, Dark, func(c *camera) {
		c.logIn()
		c.findAndRedeem()
		c.lookAtUser()
		c.editProperty()
		c.findCommands()
	})
}

// light is for people who have their terminals so: nothing is set, the terminal is asked.
func (s *studio) light(ctx context.Context) error {
	return s.film(ctx, Light, func(c *camera) {
		c.see("All valid perks", "row 1 of ")
		c.press("Down", "Down", "Space", "Down", "Space")
		c.see("2 marked")
		c.take("light")
	})
}

func (c *camera) logIn() {
	c.see("Address of the API")
	c.write(c.studio.address + "/v2")
	c.press("Tab")
	c.write(c.studio.id)
	c.press("Tab", "Tab")
	c.write(c.studio.secret)
	c.see("***")
	c.take("login")
	c.press("Enter")
	c.see("All valid perks", "Logged in.")
	c.see("row 1 of ")
	c.take("perks")
}

func (c *camera) findAndRedeem() {
	c.press("/")
	c.see("> Words")
	c.write("coffee")
	c.press("Tab")
	c.write("Berlin")
	c.see("Two coffees for one")
	c.gone("Helsinki")
	c.take("filter")
	c.press("Enter")
	c.see("Filter: ")
	c.press("Enter")
	c.see("Bring a friend")
	c.take("perk")
	c.press("r")
	c.see("> User")
	c.write("alice")
	c.press("C-s")
	c.see("Redeem for alice?")
	c.take("confirm")
	c.press("y")
	c.see("Redeemed. Status approved")
	c.take("redeemed")
}

func (c *camera) lookAtUser() {
	c.beside("perksctl", "perk", "redeem", "spa-day", "--user", "alice", "--metadata", "till=7")
	c.press("u")
	c.see("User alice", "pending")
	c.take("user-redeemed")
	c.press("Tab")
	c.see("1 to 50 of ")
	c.take("user")
}

func (c *camera) editProperty() {
	c.press("3")
	c.see("Open a property")
	c.write("1")
	c.press("Enter")
	c.see("Property 1: Sunny loft", "395.00")
	c.press("e")
	c.see("> Title")
	c.press("BTab", "BTab", "BTab", "BTab", "BTab", "BTab")
	c.see("> Price per week")
	c.press("C-u")
	c.write("410,50")
	c.press("Tab", "BTab")
	c.see("! ")
	c.take("edit")
	c.press("C-u")
	c.write("410.50")
	c.press("C-s")
	c.see("- 395.00", "+ 410.50")
	c.take("diff")
	c.beside("perksctl", "property", "update", "1", "--set", "price_pw=450.00", "--set", "title=Sunny loft by the river")
	c.press("C-s")
	c.see("1 to decide")
	c.take("merge")
	c.press("m")
	c.see("All decided")
	c.press("C-s")
	c.see("Saved property 1")
	c.press("C-x")
	c.see("Delete property 1?")
	c.take("delete")
	c.press("Escape")
	c.gone("Delete property 1?")
}

func (c *camera) findCommands() {
	c.press("1", "F")
	c.see("All valid perks")
	c.press("?")
	c.see("Keys")
	c.take("help")
	c.press("Escape")
	c.see("? keys")
	c.press("C-k")
	c.see("Find: ")
	c.write("page")
	c.see("> Next page")
	c.take("palette")
}

// camera works with a program in a terminal and takes pictures. After the first failure it does nothing more.
type camera struct {
	ctx      context.Context
	studio   *studio
	terminal *tuitest.Terminal
	colours  Colours
	err      error
}

const width, height = 110, 32

// film runs perksctl tui in a terminal of these colours for as long as the scenes take.
func (s *studio) film(ctx context.Context, colours Colours, scenes func(*camera)) error {
	terminal, err := tuitest.StartTerminal(ctx, tuitest.Options{
		Width: width, Height: height, Folder: s.Folder, Env: append(s.Env(), "COLORTERM=truecolor"),
		Command: []string{filepath.Join(s.Programs, "perksctl"), "tui"},
		Colours: "fg=" + colours.Foreground + ",bg=" + colours.Background,
	})
	if err != nil {
		return err
	}
	c := &camera{ctx: ctx, studio: s, terminal: terminal, colours: colours}
	scenes(c)
	return errors.Join(c.err, terminal.Close())
}

func (c *camera) do(step func() error) {
	if c.err == nil {
		c.err = step()
	}
}

func (c *camera) press(keys ...string) {
	c.do(func() error { return c.terminal.Press(c.ctx, keys...) })
}

func (c *camera) write(text string) {
	c.do(func() error { return c.terminal.Type(c.ctx, text) })
}

// see waits until the terminal shows all texts.
func (c *camera) see(texts ...string) {
	c.do(func() error {
		_, err := c.terminal.AwaitText(c.ctx, texts...)
		return err
	})
}

// gone waits until the terminal does not show a text any more.
func (c *camera) gone(text string) {
	c.do(func() error {
		_, err := c.terminal.Await(c.ctx, "the end of "+text, func(screen string) bool { return !strings.Contains(screen, text) })
		return err
	})
}

// beside runs a command of somebody else.
func (c *camera) beside(words ...string) {
	c.do(func() error {
		_, err := c.studio.Run(c.ctx, words...)
		return err
	})
}

// take takes a picture, once what was told last has faded.
func (c *camera) take(name string) {
	c.gone("Done: ")
	c.do(func() error {
		screen, err := c.terminal.Styled(c.ctx)
		if err != nil {
			return err
		}
		picture := Read(c.studio.mask(screen), width, height).Draw("perksctl tui", c.colours)
		return keep(filepath.Join(album, name+".svg"), picture)
	})
}

// keep writes a picture, unless it differs from the one that is there in nothing but dates and ids.
func keep(path, picture string) error {
	before, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return err
	case timeless(string(before)) == timeless(picture):
		return nil
	}
	fmt.Println(path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(picture), 0o644)
}

// passing is what is another in each run: dates, ages, the ids of redemptions, and where text stands because of them.
var passing = regexp.MustCompile(`\d{1,2} (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d[0-9:… ]*|just now|\d+ s ago|[0-9a-f]{8}-[0-9a-f…-]+|(x|textLength)="[0-9.]+"`)

func timeless(picture string) string { return passing.ReplaceAllString(picture, "~") }
