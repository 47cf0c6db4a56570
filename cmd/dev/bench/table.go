package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// table is rows of cells under a header, written as Markdown: people read it on a terminal as it is, and docs take it.
type table struct {
	title  string
	header []string
	rows   [][]string
	notes  []string // a paragraph each, below the table
	missed int      // rows whose ratio is not as it should be
}

// newTable makes a table whose last columns are the ratio, its target and what came of it.
func newTable(title string, header ...string) *table {
	return &table{title: title, header: append(header, "ratio", "target", "")}
}

// add ends the cells of a row with its ratio.
func (t *table) add(ratio float64, target target, cells ...string) {
	t.rows = append(t.rows, append(cells, fmt.Sprintf("%.3f", ratio), target.String(), target.verdict(ratio)))
	if target.isMissedBy(ratio) {
		t.missed++
	}
}

func (t *table) note(format string, args ...any) {
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}

// write puts the first column to the left and the others, which hold figures, to the right.
func (t *table) write(w io.Writer) error {
	widths := make([]int, len(t.header))
	for _, row := range slices.Concat([][]string{t.header}, t.rows) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n", t.title)
	writeRow(&b, t.header, widths)
	b.WriteString("|" + strings.Repeat("-", widths[0]+2))
	for _, width := range widths[1:] {
		b.WriteString("|" + strings.Repeat("-", width+1) + ":")
	}
	b.WriteString("|\n")
	for _, row := range t.rows {
		writeRow(&b, row, widths)
	}
	for _, note := range t.notes {
		b.WriteString("\n" + note + "\n")
	}
	b.WriteString("\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func writeRow(b *strings.Builder, cells []string, widths []int) {
	for i, cell := range cells {
		padding := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		if i == 0 {
			b.WriteString("| " + cell + padding + " ")
		} else {
			b.WriteString("| " + padding + cell + " ")
		}
	}
	b.WriteString("|\n")
}
