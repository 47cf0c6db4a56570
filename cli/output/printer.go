package output

import (
	"bufio"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"example.com/perks/cli/command"
	"example.com/perks/cli/exit"
	"example.com/perks/cli/streams"
)

// View is how a kind of record is shown.
type View struct {
	Columns []string // the fields that a table of a list shows; empty is all
	ID      string   // the field that --output id shows
}

// Printer writes records of one type.
type Printer[T any] struct {
	options Options
	streams *streams.Streams
	view    View
}

// New prepares a printer. It refuses a field that the type does not have, so that a command can find the mistake before it
// does anything.
func New[T any](options Options, s *streams.Streams, view View) (*Printer[T], error) {
	var zero T
	sample, err := newRecord(zero, nil)
	if err != nil {
		return nil, err
	}
	if sample.isObject() {
		known := sample.fields().names()
		for _, name := range options.Fields {
			if !slices.Contains(known, name) {
				return nil, exit.Usagef("%q is not a field here.%s The fields are %s.", name, command.DidYouMean(name, known), strings.Join(known, ", "))
			}
		}
	}
	return &Printer[T]{options, s, view}, nil
}

// List writes records as they come, in memory that does not grow with their number, unless an expression or a template
// needs all of them at once. A failure among the records ends the list and is returned; JSON and YAML then stay
// unfinished, so that no program takes the part for the whole.
func (p *Printer[T]) List(ctx context.Context, items iter.Seq2[T, error]) error {
	out := bufio.NewWriter(p.streams.Out)
	enc, err := p.encoder(ctx, out)
	if err != nil {
		return err
	}
	for item, err := range items {
		if err == nil {
			err = write(item, p.options.Fields, enc.item)
		}
		if err != nil {
			return errors.Join(err, enc.stop(), out.Flush())
		}
	}
	return errors.Join(enc.end(), out.Flush())
}

// One writes a single record: an object where List writes an array.
func (p *Printer[T]) One(ctx context.Context, item T) error {
	out := bufio.NewWriter(p.streams.Out)
	enc, err := p.encoder(ctx, out)
	if err != nil {
		return err
	}
	return errors.Join(write(item, p.options.Fields, enc.one), out.Flush())
}

// Few writes one record as One does, and any other number as List does.
func (p *Printer[T]) Few(ctx context.Context, items []T) error {
	if len(items) == 1 {
		return p.One(ctx, items[0])
	}
	return p.List(ctx, Each(items))
}

// Done writes what a change answered, for programs. People have been told in a sentence, which a table would only repeat.
func (p *Printer[T]) Done(ctx context.Context, item T) error {
	if p.options.IsTable() {
		return nil
	}
	return p.One(ctx, item)
}

// DoneEach does the same for several changes.
func (p *Printer[T]) DoneEach(ctx context.Context, items []T) error {
	if p.options.IsTable() {
		return nil
	}
	return p.List(ctx, Each(items))
}

func write(item any, chosen []string, to func(record) error) error {
	r, err := newRecord(item, chosen)
	if err != nil {
		return err
	}
	return to(r)
}

// encoder writes one format. It gets either one record, or items and then end, or stop after a failure.
type encoder interface {
	one(record) error
	item(record) error
	end() error
	stop() error
}

func (p *Printer[T]) encoder(ctx context.Context, out *bufio.Writer) (encoder, error) {
	o := p.options
	code, err := compile(o.JQ)
	if err != nil {
		return nil, err
	}
	text, err := parseTemplate(o.Template)
	if err != nil {
		return nil, err
	}
	switch {
	case code != nil:
		return &wholeEncoder{each: o.Format == JSONL, use: jqUse(ctx, out, code, o.WantsJSON())}, nil
	case text != nil:
		return &wholeEncoder{each: o.Format == JSONL, use: templateUse(out, text)}, nil
	}
	switch o.Format {
	case JSON:
		return &jsonEncoder{out: out}, nil
	case JSONL:
		return &jsonlEncoder{out: out}, nil
	case YAML:
		return &yamlEncoder{out: out}, nil
	case CSV:
		return newCSVEncoder(out, o.Raw, p.allColumns()), nil
	case IDs:
		return &idEncoder{out: out, id: p.view.ID}, nil
	}
	return newTableEncoder(out, p.streams, p.columns()), nil
}

// columns returns the fields that the table of a list shows, nil for those of its first record.
func (p *Printer[T]) columns() []string {
	if len(p.options.Fields) > 0 {
		return p.options.Fields
	}
	return p.view.Columns
}

// allColumns returns the columns of a file whose records may all be missing, nil for those of its first record.
func (p *Printer[T]) allColumns() []string {
	var zero T
	r, err := newRecord(zero, p.options.Fields)
	if err != nil || !r.isObject() {
		return p.options.Fields
	}
	return r.fields().names()
}

// Each makes a sequence that List takes from records that are all there.
func Each[T any](items []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, item := range items {
			if !yield(item, nil) {
				return
			}
		}
	}
}
