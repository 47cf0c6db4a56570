package main

import (
	"fmt"
	"strconv"
	"strings"
)

// Colours are those that a terminal has of its own.
type Colours struct {
	Foreground, Background string // #rrggbb
	bar                    string // of the window's frame
	sixteen                [16]string
}

// Dark and Light are terminals with the usual background of each kind.
var (
	Dark = Colours{
		Foreground: "#d6d9de", Background: "#16181d", bar: "#262a31",
		sixteen: [16]string{
			"#3b4048", "#ff7b72", "#7ee787", "#e3b341", "#79c0ff", "#d2a8ff", "#76e3ea", "#d6d9de",
			"#6e7681", "#ffa198", "#aff5b4", "#f2cc60", "#a5d6ff", "#e2c5ff", "#b3f0ff", "#ffffff",
		},
	}
	Light = Colours{
		Foreground: "#1f2328", Background: "#ffffff", bar: "#e4e7eb",
		sixteen: [16]string{
			"#24292f", "#b00020", "#00692b", "#7a4b00", "#0550ae", "#6639ba", "#1b7c83", "#57606a",
			"#424a53", "#a40e26", "#116329", "#633c01", "#0969da", "#8250df", "#3192aa", "#8c959f",
		},
	}
)

// name returns a colour as #rrggbb.
func (c Colours) name(colour, own string) string {
	if colour == "" || strings.HasPrefix(colour, "#") {
		if colour == "" {
			return own
		}
		return colour
	}
	n, err := strconv.Atoi(colour)
	switch {
	case err != nil || n < 0 || n > 255:
		return own
	case n < 16:
		return c.sixteen[n]
	case n < 232:
		n -= 16
		return hex([3]int{cube(n / 36), cube(n / 6 % 6), cube(n % 6)})
	}
	grey := 8 + 10*(n-232)
	return hex([3]int{grey, grey, grey})
}

func cube(step int) int {
	if step == 0 {
		return 0
	}
	return 55 + 40*step
}

func hex(rgb [3]int) string { return fmt.Sprintf("#%02x%02x%02x", rgb[0], rgb[1], rgb[2]) }

// of returns what a cell is drawn with.
func (c Colours) of(l look) (foreground, background string) {
	foreground, background = c.name(l.foreground, c.Foreground), c.name(l.background, c.Background)
	if l.reversed {
		foreground, background = background, foreground
	}
	return foreground, background
}
