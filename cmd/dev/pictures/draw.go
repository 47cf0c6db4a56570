package main

import (
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
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

// Draw draws the screen in a window with a title. The picture depends on nothing else than what it is given, so that the same
// screen makes the same file.
func (s Screen) Draw(title string, c Colours) string {
	d := &drawing{colours: c}
	width, height := 2*margin+length(s.Width)*cellWidth, bar+margin+length(s.Height)*cellHeight
	d.add(`<svg xmlns="http://www.w3.org/2000/svg" role="img" width="%s" height="%s" viewBox="0 0 %[1]s %[2]s">`, width, height)
	d.add(`<title>%s</title>`, escape(title))
	d.add(`<style>text{font-family:%s;font-size:14px;white-space:pre}.b{font-weight:700}.i{font-style:italic}.u{text-decoration:underline}.f{opacity:.65}</style>`, fonts)
	d.add(`<rect width="%s" height="%s" rx="8" fill="%s"/>`, width, height, c.Background)
	d.add(`<path d="M0 %s V8 a8 8 0 0 1 8 -8 H%s a8 8 0 0 1 8 8 V%[1]s z" fill="%[3]s"/>`, bar-80, width-80, c.bar)
	for i, light := range []string{"#ff5f57", "#febc2e", "#28c840"} {
		d.add(`<circle cx="%d" cy="13" r="5.5" fill="%s"/>`, 18+19*i, light)
	}
	d.add(`<text x="%s" y="17.5" text-anchor="middle" fill="%s" style="font-size:12px">%s</text>`, width/2, c.Foreground, escape(title))
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

// drawing is the picture as far as it is drawn.
type drawing struct {
	strings.Builder
	colours Colours
	strokes []stroke
}

func (d *drawing) add(format string, args ...any) { fmt.Fprintf(d, format+"\n", args...) }

// place returns a cell's upper left corner.
func place(column, row int) (x, y length) {
	return margin + length(column)*cellWidth, bar + length(row)*cellHeight
}

// backgrounds draws what lies behind the text of a row, one rectangle for cells alike.
func (d *drawing) backgrounds(y int, row []cell) {
	for from := 0; from < len(row); {
		_, colour := d.colours.of(row[from].look)
		to := from
		for to < len(row) && d.hasBackground(row[to], colour) {
			to++
		}
		last := row[to-1]
		if colour != d.colours.Background {
			left, top := place(row[from].column, y)
			cells := last.column + last.width - row[from].column
			d.add(`<rect x="%s" y="%s" width="%s" height="%s" fill="%s"/>`, left, top, length(cells)*cellWidth, cellHeight, colour)
		}
		from = to
	}
}

func (d *drawing) hasBackground(c cell, colour string) bool {
	_, its := d.colours.of(c.look)
	return its == colour
}

// texts draws the text of a row. Each run is told how long it is, so that it stands where the terminal has it whatever the font;
// a run ends before two blanks, which a viewer may take for one, and after an ellipsis, which many fonts lack. Wide characters and
// blocks have runs of their own.
func (d *drawing) texts(y int, row []cell) {
	for from := 0; from < len(row); {
		if row[from].text == " " && !row[from].look.underlined {
			from++
			continue
		}
		if d.shape(y, row[from]) {
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
	if row[from].width != 1 || row[at].width != 1 || row[at].look != row[from].look || isShape(row[at].text) || row[at-1].text == "…" {
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
	left, top := place(run[0].column, y)
	colour, _ := d.colours.of(run[0].look)
	d.add(`<text x="%s" y="%s" textLength="%s" fill="%s"%s>%s</text>`, left, top+baseline,
		length(cells)*cellWidth, colour, classes(run[0].look), escape(text.String()))
}

func classes(l look) string {
	var names []string
	for _, class := range []struct {
		name string
		is   bool
	}{{"b", l.bold}, {"f", l.faint}, {"i", l.italic}, {"u", l.underlined}} {
		if class.is {
			names = append(names, class.name)
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
