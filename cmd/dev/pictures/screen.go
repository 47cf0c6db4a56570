package main

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Screen is what a terminal shows.
type Screen struct {
	Width, Height int
	rows          [][]cell
}

// cell is one character where it stands. What is wide takes two columns.
type cell struct {
	column, width int
	text          string
	look          look
}

// look is how a cell is drawn. Colours are "" for the terminal's own, a number of the 256, or #rrggbb.
type look struct {
	foreground, background          string
	bold, faint, italic, underlined bool
	reversed                        bool
}

// Read reads lines of text with the escapes of their colours. Other escapes, and what lies outside of the size, are left out.
func Read(text string, width, height int) Screen {
	s := Screen{Width: width, Height: height, rows: make([][]cell, height)}
	lines := strings.Split(text, "\n")
	var now look
	for y := range min(height, len(lines)) {
		s.rows[y], now = readLine(lines[y], width, now)
	}
	return s
}

func readLine(line string, width int, now look) ([]cell, look) {
	var row []cell
	var state byte
	column := 0
	for line != "" {
		text, cells, n, next := ansi.DecodeSequence(line, state, nil)
		state, line = next, line[n:]
		if sgr, ok := strings.CutPrefix(text, "\x1b["); ok && strings.HasSuffix(sgr, "m") {
			now = now.change(strings.TrimSuffix(sgr, "m"))
		}
		if first, _ := utf8.DecodeRuneInString(text); unicode.IsMark(first) && len(row) > 0 {
			row[len(row)-1].text += text // an accent of the character before
		}
		if cells == 0 || column+cells > width {
			continue
		}
		row = append(row, cell{column, cells, text, now})
		column += cells
	}
	return row, now
}

// change applies the numbers of one escape.
func (l look) change(sgr string) look {
	numbers := strings.FieldsFunc(sgr, func(r rune) bool { return r == ';' || r == ':' })
	if len(numbers) == 0 {
		return look{}
	}
	for len(numbers) > 0 {
		n, err := strconv.Atoi(numbers[0])
		if err != nil {
			return l
		}
		numbers = numbers[1:]
		switch {
		case n == 0:
			l = look{}
		case n == 1:
			l.bold = true
		case n == 2:
			l.faint = true
		case n == 3:
			l.italic = true
		case n == 4:
			l.underlined = true
		case n == 7:
			l.reversed = true
		case n == 22:
			l.bold, l.faint = false, false
		case n == 23:
			l.italic = false
		case n == 24:
			l.underlined = false
		case n == 27:
			l.reversed = false
		case n >= 30 && n <= 37:
			l.foreground = strconv.Itoa(n - 30)
		case n == 38:
			l.foreground, numbers = colour(numbers)
		case n == 39:
			l.foreground = ""
		case n >= 40 && n <= 47:
			l.background = strconv.Itoa(n - 40)
		case n == 48:
			l.background, numbers = colour(numbers)
		case n == 49:
			l.background = ""
		case n >= 90 && n <= 97:
			l.foreground = strconv.Itoa(n - 90 + 8)
		case n >= 100 && n <= 107:
			l.background = strconv.Itoa(n - 100 + 8)
		}
	}
	return l
}

// colour reads 5;N or 2;R;G;B and returns what comes behind it.
func colour(numbers []string) (string, []string) {
	switch {
	case len(numbers) >= 2 && numbers[0] == "5":
		return numbers[1], numbers[2:]
	case len(numbers) >= 4 && numbers[0] == "2":
		var rgb [3]int
		for i := range rgb {
			rgb[i], _ = strconv.Atoi(numbers[1+i])
		}
		return hex(rgb), numbers[4:]
	}
	return "", nil
}
