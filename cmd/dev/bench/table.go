package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
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
func newTable(title string, header ...string) *table { return newTableOf("ratio", title, header...) }

// newTableOf makes a table of work that is bound by something else than a ratio.
func newTableOf(bound, title string, header ...string) *table {
	return &table{title: title, header: append(header, bound, "target", "")}
}

// target is what a ratio should be. The zero target asks for nothing.
type target struct {
	limit float64
	kind  targetKind
}

type targetKind string

const (
	atLeast targetKind = ">="
	atMost  targetKind = "<="
)

// add adds a row, which ends with its ratio.
func (t *table) add(ratio float64, target target, cells ...string) {
	asked, verdict := "", ""
	if target.kind != "" {
		asked, verdict = fmt.Sprintf("%s %.2f", target.kind, target.limit), "reached"
	}
	if target.kind == atLeast && ratio < target.limit || target.kind == atMost && ratio > target.limit {
		verdict = "MISSED"
		t.missed++
	}
	t.rows = append(t.rows, append(cells, fmt.Sprintf("%.3f", ratio), asked, verdict))
}

func (t *table) note(format string, args ...any) {
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}

// write puts the first column to the left and the others, which hold figures, to the right.
func (t *table) write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n", t.title)
	widths := make([]int, len(t.header))
	for _, row := range append(t.rows, t.header) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	writeRow := func(cells []string) {
		for i, cell := range cells {
			width := widths[i]
			if i == 0 {
				width = -width // to the left
			}
			fmt.Fprintf(&b, "| %*s ", width, cell)
		}
		b.WriteString("|\n")
	}
	writeRow(t.header)
	b.WriteString("|" + strings.Repeat("-", widths[0]+2))
	for _, width := range widths[1:] {
		b.WriteString("|" + strings.Repeat("-", width+1) + ":")
	}
	b.WriteString("|\n")
	for _, row := range t.rows {
		writeRow(row)
	}
	for _, note := range t.notes {
		b.WriteString("\n" + note + "\n")
	}
	b.WriteString("\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// grouped writes a whole number with a comma before every third digit.
func grouped(n int64) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// rate writes how many there were in a second.
func rate(perSecond float64) string { return grouped(int64(math.Round(perSecond))) + "/s" }

// milliseconds writes a duration to the hundredth, and seconds to the tenth.
func milliseconds(d time.Duration) string { return fmt.Sprintf("%.2f ms", d.Seconds()*1e3) }
func seconds(d time.Duration) string      { return fmt.Sprintf("%.1f s", d.Seconds()) }

// median is the middle of the values, or the mean of the two in the middle. There must be one at least.
func median[T float64 | time.Duration](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// percentile is the smallest value that p of a hundred do not exceed (the nearest rank). There must be one at
// least.
func percentile(values []time.Duration, p float64) time.Duration {
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[max(rank, 1)-1]
}

// contender is one side of a comparison.
type contender struct {
	name    string
	measure func(ctx context.Context) (perSecond float64, err error)
}

// alternate measures the contenders one after the other, round after round, so that whatever else the machine does
// falls on all of them alike. It returns the median of each. The first round warms up and does not count.
func (l *harness) alternate(ctx context.Context, work string, contenders ...contender) ([]float64, error) {
	rates := make([][]float64, len(contenders))
	for round := range l.rounds + 1 {
		var said []string
		for i, c := range contenders {
			perSecond, err := c.measure(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", work, c.name, err)
			}
			said = append(said, c.name+" "+rate(perSecond))
			if round > 0 {
				rates[i] = append(rates[i], perSecond)
			}
		}
		l.logf("%s, round %d of %d: %s", work, round, l.rounds, strings.Join(said, ", "))
	}
	medians := make([]float64, len(contenders))
	for i := range contenders {
		medians[i] = median(rates[i])
	}
	return medians, nil
}
