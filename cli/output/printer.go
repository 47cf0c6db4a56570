package output

import (
	"bufio"
	"context"
	"errors"
	"io"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"

	"example.com/perks/api/display"
	"example.com/perks/cli/command"
)

// View is how a kind of record is shown.
type View struct {
	Columns []string // the fields that a table of a list shows; empty is all
	Least   []string // those of the columns that a narrow screen loses first; then go the last ones
	ID      string   // the field that --output id shows
}

// Printer writes records of one type.
type Printer[T any] struct {
	options Options
	streams *command.Streams
	view    View
	moments moments
	missing map[string]bool // the chosen fields that no record has had yet, where the type does not tell
}

// New prepares a printer. It refuses a field that the type does not have, so that a command can find the mistake before it
// does anything.
func New[T any](options Options, s *command.Streams, view View) (*Printer[T], error) {
	var zero T
	sample, err := newRecord(zero, nil)
	if err != nil {
		return nil, err
	}
	p := &Printer[T]{options: options, streams: s, view: view, moments: momentsOf(reflect.TypeFor[T]())}
	if sample.isObject() {
		known := sample.fields().names()
		for _, name := range options.Fields {
			if !slices.Contains(known, name) {
				return nil, command.Usagef("%q is not a field here.%s The fields are %s.", name, command.DidYouMean(name, known), strings.Join(known, ", "))
			}
		}
		return p, nil
	}
	p.missing = map[string]bool{}
	for _, name := range options.Fields {
		p.missing[name] = true
	}
	return p, nil
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
			err = p.write(item, enc.item)
		}
		if err != nil {
			return allOf(err, enc.stop(), out.Flush())
		}
	}
	return p.done(enc.end(), out.Flush())
}

// One writes a single record: an object where List writes an array.
func (p *Printer[T]) One(ctx context.Context, item T) error {
	out := bufio.NewWriter(p.streams.Out)
	enc, err := p.encoder(ctx, out)
	if err != nil {
		return err
	}
	return p.done(p.write(item, enc.one), out.Flush())
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

func (p *Printer[T]) write(item T, to func(record) error) error {
	if len(p.moments.index) > 0 {
		p.moments.toUTC(reflect.ValueOf(&item).Elem())
	}
	r, err := newRecord(item, nil)
	if err != nil {
		return err
	}
	if len(p.missing) > 0 {
		for _, name := range r.fields().names() {
			delete(p.missing, name)
		}
	}
	return to(r.only(p.options.Fields))
}

// done ends a writing. A field that nothing had may be misspelt, which is not an error: a list can be empty, and what a
// server sends can change.
func (p *Printer[T]) done(errs ...error) error {
	err := allOf(errs...)
	if err == nil && len(p.missing) > 0 {
		p.streams.Warn("no record has a field named %s.", strings.Join(slices.Sorted(maps.Keys(p.missing)), ", "))
	}
	return err
}

// allOf joins errors, the same one once: a writer that has failed says so again when it is flushed.
func allOf(errs ...error) error {
	var different []error
	for _, err := range errs {
		if !slices.Contains(different, err) {
			different = append(different, err)
		}
	}
	if len(different) == 1 {
		return different[0]
	}
	return errors.Join(different...)
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
		return &wholeEncoder{each: o.Format == JSONL, use: jqUse(ctx, p.data(out), code, o.WantsJSON())}, nil
	case text != nil:
		return &wholeEncoder{each: o.Format == JSONL, use: templateUse(p.data(out), text)}, nil
	}
	switch o.Format {
	case JSON:
		return &jsonEncoder{out: out}, nil
	case JSONL:
		return &jsonlEncoder{out: out}, nil
	case YAML:
		return &yamlEncoder{out: out}, nil
	case CSV:
		return newCSVEncoder(p.data(out), o.Raw, p.allColumns()), nil
	case IDs:
		return &idEncoder{out: p.data(out), id: p.view.ID}, nil
	}
	return &tableEncoder{out: out, streams: p.streams, columns: p.columns(), least: p.least(), times: p.moments.names, now: o.now()}, nil
}

// data is where formats write that cannot escape what steers a terminal. A program gets the texts as they are.
func (p *Printer[T]) data(out io.Writer) io.Writer {
	if p.streams.OutTTY {
		return display.Writer(out)
	}
	return out
}

// columns returns the fields that the table of a list shows, nil for those of its first record.
func (p *Printer[T]) columns() []string {
	if len(p.options.Fields) > 0 {
		return p.options.Fields
	}
	return p.view.Columns
}

// least returns the columns that a narrow screen loses first. Of those that a person chose the last ones go.
func (p *Printer[T]) least() []string {
	if len(p.options.Fields) > 0 {
		return nil
	}
	return p.view.Least
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
