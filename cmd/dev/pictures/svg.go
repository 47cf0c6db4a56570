// Package pictures draws what a terminal shows, and keeps the pictures of the terminal UI in docs/screenshots as they
// are.
package pictures

import (
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/cellbuf"
	"golang.org/x/text/unicode/norm"
)

// length is tenths of the picture's units, so that lines which meet do so exactly.
type length int

func (l length) String() string { return strconv.FormatFloat(float64(l)/10, 'f', -1, 64) }

// A cell's size, which is that of most fonts at 14 units, and that of the frame around the cells.
const (
	cellWidth, cellHeight length = 84, 180
	baseline              length = 135
	margin                length = 140
	bar                   length = 340
)

const fonts = "ui-monospace,'SF Mono',Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace"

// Draw draws the screen in a window with a title. The picture depends on nothing else than what it is given, so that
// the same screen makes the same file.
func (s Screen) Draw(title string, c Colours) string {
	d := &drawing{colours: c}
	d.window(s.Width, s.Height, title, "")
	for y, row := range s.rows {
		d.backgrounds(y, row)
	}
	for y, row := range s.rows {
		d.texts(y, row)
	}
	d.lines()
	d.add(`</svg>`)
	return d.String()
}

// window draws what is around the cells.
func (d *drawing) window(columns, rows int, title, style string) {
	width, height := 2*margin+length(columns)*cellWidth, bar+margin+length(rows)*cellHeight
	d.add(`<svg xmlns="http://www.w3.org/2000/svg" role="img" width="%s" height="%s" viewBox="0 0 %[1]s %[2]s">`, width,
		height)
	d.add(`<title>%s</title>`, escape(title))
	d.add(`<style>text{font-family:%s;font-size:14px;white-space:pre}`+
		`.b{font-weight:700}.i{font-style:italic}.u{text-decoration:underline}.f{opacity:.65}%s</style>`, fonts, style)
	d.add(`<rect width="%s" height="%s" rx="8" fill="%s"/>`, width, height, d.colours.Background)
	d.add(`<path d="M0 %s V8 a8 8 0 0 1 8 -8 H%s a8 8 0 0 1 8 8 V%[1]s z" fill="%[3]s"/>`, bar-80, width-80,
		d.colours.bar)
	for i, light := range []string{"#ff5f57", "#febc2e", "#28c840"} {
		d.add(`<circle cx="%d" cy="13" r="5.5" fill="%s"/>`, 18+19*i, light)
	}
	d.add(`<text x="%s" y="17.5" text-anchor="middle" fill="%s" style="font-size:12px">%s</text>`, width/2,
		d.colours.Foreground, escape(title))
}

// drawing is the picture as far as it is drawn.
type drawing struct {
	strings.Builder
	colours Colours
	strokes []stroke
}

func (d *drawing) add(format string, args ...any) { fmt.Fprintf(d, format+"\n", args...) }

// corner returns a cell's upper left corner.
func corner(column, row int) (x, y length) {
	return margin + length(column)*cellWidth, bar + length(row)*cellHeight
}

// backgrounds draws the backgrounds of a row's cells, one rectangle for equal neighbours.
func (d *drawing) backgrounds(y int, row []cell) {
	for from := 0; from < len(row); {
		_, colour := d.colours.of(row[from].style)
		to := from
		for ; to < len(row); to++ {
			if _, its := d.colours.of(row[to].style); its != colour {
				break
			}
		}
		last := row[to-1]
		if colour != d.colours.Background {
			left, top := corner(row[from].column, y)
			cells := last.column + last.width - row[from].column
			d.add(`<rect x="%s" y="%s" width="%s" height="%s" fill="%s"/>`, left, top, length(cells)*cellWidth,
				cellHeight, colour)
		}
		from = to
	}
}

// texts draws the text of a row. Each run is told how long it is, so that it stands where the terminal has it whatever
// the font; a run ends before two blanks, which a viewer may take for one, and after an ellipsis, which many fonts
// lack. Wide characters and blocks have runs of their own.
func (d *drawing) texts(y int, row []cell) {
	for from := 0; from < len(row); {
		if row[from].text == " " && row[from].style.UlStyle == cellbuf.NoUnderline {
			from++
			continue
		}
		if isShape(row[from].text) {
			d.shape(y, row[from])
			from++
			continue
		}
		to := from + 1
		for to < len(row) && joins(row, from, to) {
			to++
		}
		for row[to-1].text == " " && to-1 > from {
			to--
		}
		d.text(y, row[from:to])
		from = to
	}
}

func joins(row []cell, from, at int) bool {
	if row[from].width != 1 || row[at].width != 1 || row[at].style != row[from].style || isShape(row[at].text) ||
		row[at-1].text == "…" {
		return false
	}
	return row[at].text != " " || at+1 < len(row) && row[at+1].text != " "
}

func (d *drawing) text(y int, run []cell) {
	var text strings.Builder
	cells := 0
	for _, c := range run {
		text.WriteString(c.text)
		cells += c.width
	}
	left, top := corner(run[0].column, y)
	colour, _ := d.colours.of(run[0].style)
	d.add(`<text x="%s" y="%s" textLength="%s" fill="%s"%s>%s</text>`, left, top+baseline,
		length(cells)*cellWidth, colour, classes(run[0].style), escape(text.String()))
}

func classes(s cellbuf.Style) string {
	var names []string
	for i, is := range []bool{
		s.Attrs.Contains(cellbuf.BoldAttr), s.Attrs.Contains(cellbuf.FaintAttr), s.Attrs.Contains(cellbuf.ItalicAttr),
		s.UlStyle != cellbuf.NoUnderline,
	} {
		if is {
			names = append(names, "bfiu"[i:i+1])
		}
	}
	if names == nil {
		return ""
	}
	return ` class="` + strings.Join(names, " ") + `"`
}

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a strings.Builder takes everything
	return b.String()
}

// Screen is what a terminal shows.
type Screen struct {
	Width, Height int
	rows          [][]cell
}

// cell is one character where it stands. What is wide takes two columns.
type cell struct {
	column, width int
	text          string
	style         cellbuf.Style
}

// Read reads lines of text with the escapes of their colours. Other escapes, and text beyond the size, are left out.
func Read(text string, width, height int) Screen {
	buffer := cellbuf.NewBuffer(width, height)
	cellbuf.SetContent(buffer, norm.NFC.String(text)) // which takes an accent of its own for the next cell
	s := Screen{Width: width, Height: height, rows: make([][]cell, height)}
	for y := range s.rows {
		for x := range width {
			if c := buffer.Cell(x, y); c != nil && c.Width > 0 {
				s.rows[y] = append(s.rows[y], cell{x, c.Width, string(c.Rune) + string(c.Comb), c.Style})
			}
		}
	}
	return s
}

// Lines and blocks are drawn, not written: those of a font have gaps between rows.

const (
	up = 1 << iota
	right
	down
	left
)

var boxes = map[string]int{
	"─": left | right, "│": up | down,
	"┌": right | down, "┐": left | down, "└": up | right, "┘": up | left,
	"╭": right | down, "╮": left | down, "╰": up | right, "╯": up | left,
	"├": up | down | right, "┤": up | down | left, "┬": left | right | down, "┴": left | right | up,
	"┼": up | down | left | right,
}

// blocks are how far down their rectangle begins and ends, in halves of a cell.
var blocks = map[string][2]length{"█": {0, 2}, "▀": {0, 1}, "▄": {1, 2}}

// scrolled is the mark of scrollbars, the right half of a cell.
const scrolled = "▐"

// corners are the characters of boxes that are rounded.
const corners = "╭╮╰╯"

// isShape tells whether a character is drawn.
func isShape(text string) bool { return boxes[text] != 0 || blocks[text][1] != 0 || text == scrolled }

// shape draws a character that is a line or a block.
func (d *drawing) shape(y int, c cell) {
	x0, y0 := corner(c.column, y)
	colour, _ := d.colours.of(c.style)
	if block := blocks[c.text]; block[1] != 0 {
		half := cellHeight / 2
		d.add(`<rect x="%s" y="%s" width="%s" height="%s" fill="%s"/>`, x0, y0+block[0]*half, cellWidth,
			(block[1]-block[0])*half, colour)
		return
	}
	middleX, middleY := x0+cellWidth/2, y0+cellHeight/2
	if c.text == scrolled {
		d.add(`<rect x="%s" y="%s" width="%s" height="%s" fill="%s"/>`, middleX, y0, cellWidth/2, cellHeight, colour)
		return
	}
	arms := boxes[c.text]
	across, along := [2]length{middleX, middleX}, [2]length{middleY, middleY}
	if arms&left != 0 {
		across[0] = x0
	}
	if arms&right != 0 {
		across[1] = x0 + cellWidth
	}
	if arms&up != 0 {
		along[0] = y0
	}
	if arms&down != 0 {
		along[1] = y0 + cellHeight
	}
	if strings.Contains(corners, c.text) {
		d.corner(colour, middleX, middleY, arms)
		return
	}
	d.draw(stroke{colour, across[0], middleY, across[1], middleY})
	d.draw(stroke{colour, middleX, along[0], middleX, along[1]})
}

// corner draws a quarter of a circle between two sides of a cell, and a line for the rest.
func (d *drawing) corner(colour string, x, y length, arms int) {
	const radius = cellWidth / 2
	toX, fromY, far := x+radius, y+radius, y+cellHeight/2
	if arms&left != 0 {
		toX = x - radius
	}
	if arms&up != 0 {
		fromY, far = y-radius, y-cellHeight/2
	}
	d.draw(stroke{colour, x, min(fromY, far), x, max(fromY, far)})
	d.add(`<path d="M%s %sQ%[1]s %[3]s %[4]s %[3]s" fill="none" stroke="%[5]s"/>`, x, fromY, y, toX, colour)
}

// stroke is a straight line, to the right or down.
type stroke struct {
	colour         string
	x1, y1, x2, y2 length
}

// draw adds a line, joined with one that it continues.
func (d *drawing) draw(s stroke) {
	if s.x1 == s.x2 && s.y1 == s.y2 {
		return
	}
	for i := range d.strokes {
		before := &d.strokes[i]
		flat := before.y1 == before.y2
		if before.colour == s.colour && before.x2 == s.x1 && before.y2 == s.y1 && flat == (s.y1 == s.y2) {
			before.x2, before.y2 = s.x2, s.y2
			return
		}
	}
	d.strokes = append(d.strokes, s)
}

// lines writes the lines down.
func (d *drawing) lines() {
	for _, l := range d.strokes {
		d.add(`<path d="M%s %sL%s %s" stroke="%s"/>`, l.x1, l.y1, l.x2, l.y2, l.colour)
	}
	d.strokes = nil
}

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

// name returns a colour as #rrggbb, and own for the terminal's own.
func (c Colours) name(colour ansi.Color, own string) string {
	switch colour := colour.(type) {
	case nil:
		return own
	case ansi.BasicColor:
		return c.sixteen[colour]
	case ansi.IndexedColor:
		if int(colour) < len(c.sixteen) {
			return c.sixteen[colour]
		}
	}
	r, g, b, _ := colour.RGBA()
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
}

// of returns what a cell is drawn with.
func (c Colours) of(s cellbuf.Style) (foreground, background string) {
	foreground, background = c.name(s.Fg, c.Foreground), c.name(s.Bg, c.Background)
	if s.Attrs.Contains(cellbuf.ReverseAttr) {
		foreground, background = background, foreground
	}
	return foreground, background
}
