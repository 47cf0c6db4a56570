package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"example.com/perks/api"
	"example.com/perks/api/rows"
	"example.com/perks/store"
)

// reading turns the rows of a source into records and names every row that is not valid as soon as it is read, so that
// however many there are, none has to be remembered.
type reading[R any] struct {
	source  *source
	fields  []string // the columns that are known
	ignored []string // the columns that may be there and are not read
	parse   parser[R]
	report  io.Writer

	rows, bad     int64
	headerChecked bool
	failure       error // why the import must not happen
}

// records yields the valid records. If a row is not valid, the rest is only checked, and an error ends the sequence.
func (r *reading[R]) records(ctx context.Context) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		for row, err := range rows.NewReader(r.source, r.source.format).Rows() {
			if errors.Is(err, rows.ErrEmpty) && r.source.allowEmpty {
				break
			}
			record, err := r.read(ctx, row, err)
			if err != nil {
				r.failure = fmt.Errorf("%s: %w; nothing was imported", r.source.name, err)
				if errors.As(err, new(*rows.FileError)) {
					r.failure = usageError{r.failure}
				}
				break
			}
			if r.bad == 0 && !yield(record, nil) {
				return
			}
		}
		if r.failure == nil && r.rows == 0 && !r.source.allowEmpty {
			r.failure = usageError{fmt.Errorf("%s has no rows; add --allow-empty to accept that", r.source.name)}
		}
		if r.failure == nil && r.bad > 0 {
			r.failure = r.notValid(r.bad)
		}
		if r.failure != nil {
			var none R
			yield(none, r.failure)
		}
	}
}

func (r *reading[R]) notValid(bad int64) error {
	return fmt.Errorf("%d of %s not valid; nothing was imported", bad, count(r.rows, "row is", "rows are"))
}

// refuse names the rows that the store refused: it lists only the first of them.
func (r *reading[R]) refuse(refused *store.RowsRefused) error {
	for _, row := range refused.Rows {
		r.name(row.Line, row.Err)
	}
	if more := refused.Count - int64(len(refused.Rows)); more > 0 {
		fmt.Fprintf(r.report, "%s: and %s like these\n", r.source.name, count(more, "more row", "more rows"))
	}
	return r.notValid(refused.Count)
}

// read returns an error only if reading cannot go on. A row that is not valid is reported and counted.
func (r *reading[R]) read(ctx context.Context, row rows.Row, err error) (record R, _ error) {
	if ctx.Err() != nil {
		return record, errors.New("interrupted")
	}
	var unreadable *rows.RowError
	switch {
	case errors.As(err, &unreadable):
		row.Line, err = unreadable.Line, unreadable.Err
	case err != nil:
		return record, err
	default:
		if err := r.checkHeader(row.Header); err != nil {
			return record, err
		}
		record, err = r.parseRow(row)
	}
	r.rows++
	if err != nil {
		r.bad++
		r.name(row.Line, err)
	}
	return record, nil
}

// checkHeader refuses a column that is not known once, and not again for every row.
func (r *reading[R]) checkHeader(header []string) error {
	if r.headerChecked {
		return nil
	}
	r.headerChecked = true
	for _, name := range header {
		if !slices.Contains(r.fields, name) && !slices.Contains(r.ignored, name) {
			return &rows.FileError{Err: fmt.Errorf("the column %q is not known; the columns are %s", name, strings.Join(r.fields, ", "))}
		}
	}
	return nil
}

func (r *reading[R]) parseRow(row rows.Row) (record R, err error) {
	members := api.CellMembers(row.Header, row.Cells)
	if row.Object != nil {
		if members, err = api.ParseObject(row.Object); err != nil {
			return record, err
		}
	}
	members = slices.DeleteFunc(members, func(m api.Member) bool { return slices.Contains(r.ignored, m.Name) })
	return r.parse(row.Line, members)
}

// name prints one line for each thing that is wrong with a row, as compilers do.
func (r *reading[R]) name(line int, err error) {
	place := r.source.name + ":" + strconv.Itoa(line) + ":"
	var invalid *api.Error
	if !errors.As(err, &invalid) || len(invalid.Fields) == 0 {
		fmt.Fprintln(r.report, place, printable(err.Error()))
		return
	}
	for _, field := range slices.Sorted(maps.Keys(invalid.Fields)) {
		for _, message := range invalid.Fields[field] {
			fmt.Fprintln(r.report, place, printable(field+" "+message))
		}
	}
}

// printable keeps what a file says from steering the terminal.
func printable(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return text
	}
	quoted := strconv.Quote(text)
	return quoted[1 : len(quoted)-1]
}
