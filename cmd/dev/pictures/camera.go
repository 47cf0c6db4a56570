package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"example.com/perks/tui/tuitest"
)

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
