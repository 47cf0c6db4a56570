// Package output writes records as tables, JSON, YAML, CSV, JSON lines or ids, or through a jq expression or a
// template. Commands pass values with JSON tags, and say which fields a table shows. What a server sent is made safe
// for a terminal or a spreadsheet.
package output

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/itchyny/gojq"
	"github.com/spf13/pflag"

	"example.com/perks/api/display"
	"example.com/perks/api/rows"
	"example.com/perks/cli/command"
)

// The formats of --output.
const (
	Table = "table"
	JSON  = "json"
	YAML  = "yaml"
	CSV   = "csv"
	JSONL = "jsonl"
	IDs   = "id"
)

// Formats returns the formats of --output.
func Formats() []string { return []string{Table, JSON, YAML, CSV, JSONL, IDs} }

// Options is the flags that decide how data is written.
type Options struct {
	Format   string   // one of the formats; empty is Table, or JSON with an expression or a template
	Fields   []string // only these, in this order; empty is all, or what the table chooses
	JQ       string
	Template string
	Raw      bool // CSV cells as they are

	Now func() time.Time // nil is time.Now
	// marks changes since the last round, and leaves unchanged records out of JSON lines; nil marks nothing
	Changes *Changes
}

// Bind declares the flags.
func (o *Options) Bind(flags *pflag.FlagSet) {
	flags.StringVarP(&o.Format, "output", "o", "",
		"the `format` of data: "+strings.Join(Formats(), ", ")+` (default "table")`)
	flags.StringSliceVar(&o.Fields, "fields", nil, "show only these fields, in this order (`field,...`)")
	flags.StringVar(&o.JQ, "jq", "", "filter the JSON with a jq `expression`")
	flags.StringVar(&o.Template, "template", "",
		"write the JSON through a Go `template`, such as '{{range .}}{{.id}}{{\"\\n\"}}{{end}}'; perksctl api --help "+
			"lists its functions")
	flags.BoolVar(&o.Raw, "raw", false,
		"with --output csv, leave out the apostrophes that keep a spreadsheet from running cells")
}

// Check refuses wrong values before anything is done.
func (o *Options) Check() error {
	if o.Format != "" && !slices.Contains(Formats(), o.Format) {
		return command.Usagef("%q is not an output format.%s The formats are %s.", o.Format,
			command.DidYouMean(o.Format, Formats()), strings.Join(Formats(), ", "))
	}
	for i, name := range o.Fields {
		o.Fields[i] = strings.TrimSpace(name)
		switch {
		case o.Fields[i] == "":
			return command.Usagef("--fields has an empty name in it.")
		case slices.Contains(o.Fields[:i], o.Fields[i]):
			return command.Usagef("--fields names %q twice.", o.Fields[i])
		}
	}
	if len(o.Fields) > 0 && o.Format == IDs {
		return command.Usagef("--output id writes only the id: leave out --fields.")
	}
	if o.Raw && o.Format != CSV {
		return command.Usagef("--raw needs --output csv.")
	}
	if o.JQ != "" && o.Template != "" {
		return command.Usagef("Use --jq or --template, not both.")
	}
	if (o.JQ != "" || o.Template != "") && !slices.Contains([]string{"", JSON, JSONL}, o.Format) {
		return command.Usagef("--jq and --template need JSON, not --output %s.", o.Format)
	}
	if _, err := compile(o.JQ); err != nil {
		return command.Usagef("The --jq expression is not valid: %s.", command.ExplainJQ(err))
	}
	if _, err := parseTemplate(o.Template, nil, nil); err != nil {
		return err
	}
	return nil
}

// WantsJSON reports whether programs read the output; errors are JSON then too.
func (o *Options) WantsJSON() bool { return o.Format == JSON || o.Format == JSONL }

// IsTable reports whether people read the output.
func (o *Options) IsTable() bool {
	return (o.Format == "" || o.Format == Table) && o.JQ == "" && o.Template == ""
}

// IsPlain reports whether people read the output and have not chosen fields: a command may write text instead.
func (o *Options) IsPlain() bool { return o.IsTable() && len(o.Fields) == 0 }

func compile(expression string) (*gojq.Code, error) {
	if expression == "" {
		return nil, nil
	}
	query, err := gojq.Parse(expression)
	if err != nil {
		return nil, err
	}
	return gojq.Compile(query)
}

// View is how a kind of record is shown.
type View struct {
	Columns []string // the fields that a table of a list shows; empty is all
	Least   []string // the columns that a narrow screen drops first, before those on the right
	ID      string   // the field that --output id shows
	Bar     string   // the number among the columns that a terminal also shows as a bar, if there is space
	KeyName string   // the heading of the first column, if that is not the field's name
	// Texts write fields in tables, where people would not read the JSON of their values.
	Texts map[string]func(json.RawMessage) string
}

// Printer writes records of one type.
type Printer[T any] struct {
	options  Options
	streams  *command.Streams
	view     View
	jq       *gojq.Code      // nil without --jq
	template *templateWriter // of the --template
	columns  []string        // of a file, even without records; nil for those of its first record
	times    rows.Times
	missing  map[string]bool // the chosen fields that no record has had yet, if the type does not tell
}

// New prepares a printer. It refuses a field that the type does not have, before a command does anything.
func New[T any](options Options, s *command.Streams, view View) (*Printer[T], error) {
	var zero T
	sample, err := newRecord(zero)
	if err != nil {
		return nil, err
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	if len(options.Fields) > 0 {
		view.Columns, view.Least = options.Fields, nil
	}
	p := &Printer[T]{options: options, streams: s, view: view, columns: options.Fields,
		times: rows.TimesOf(reflect.TypeFor[T]())}
	if p.jq, err = compile(options.JQ); err != nil {
		return nil, err
	}
	if p.template, err = parseTemplate(options.Template, s, options.Now); err != nil {
		return nil, err
	}
	if rows.IsObject(sample.raw) {
		known := sample.fields().Names()
		if len(options.Fields) == 0 {
			p.columns = known
		}
		for _, name := range options.Fields {
			if !slices.Contains(known, name) {
				return nil, command.Usagef("%q is not a field here.%s The fields are %s.", name,
					command.DidYouMean(name, known), strings.Join(known, ", "))
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

// List writes records as they come, in constant memory unless an expression or a template needs all of them at once. An
// error among the records ends the list and is returned; JSON and YAML then stay incomplete, so that no program treats
// a part as the whole.
func (p *Printer[T]) List(ctx context.Context, items iter.Seq2[T, error]) error {
	out := bufio.NewWriter(p.streams.Out)
	enc := p.encoder(ctx, out)
	for item, err := range items {
		if err == nil {
			err = p.write(item, enc.item)
		}
		if err != nil {
			return allOf(err, enc.end(false), out.Flush())
		}
	}
	return p.done(enc.end(true), out.Flush())
}

// One writes a single record: an object where List writes an array.
func (p *Printer[T]) One(ctx context.Context, item T) error {
	out := bufio.NewWriter(p.streams.Out)
	return p.done(p.write(item, p.encoder(ctx, out).one), out.Flush())
}

// Text writes a text for people, and the record instead of it in any other format, or with chosen fields.
func (p *Printer[T]) Text(ctx context.Context, text string, item T) error {
	if !p.options.IsPlain() {
		return p.One(ctx, item)
	}
	_, err := io.WriteString(p.streams.Out, text)
	return err
}

// OneOrList writes one record as One does, and any other number as List does.
func (p *Printer[T]) OneOrList(ctx context.Context, items []T) error {
	if len(items) == 1 {
		return p.One(ctx, items[0])
	}
	return p.List(ctx, Each(items))
}

// Done writes the reply to a change, for programs. People get a note from the command instead.
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
	p.times.ToUTC(&item)
	r, err := newRecord(item)
	if err != nil {
		return err
	}
	if len(p.missing) > 0 {
		for _, name := range r.fields().Names() {
			delete(p.missing, name)
		}
	}
	changes := p.options.Changes
	if changes == nil {
		return to(r.only(p.options.Fields))
	}
	id := r.fields().Get(p.view.ID)
	r = changes.see(id, r.only(p.options.Fields))
	if p.options.Format != JSONL {
		return to(r)
	}
	if r.same {
		return nil
	}
	err = to(r)
	if err == nil {
		changes.sent(id, r)
	}
	return err
}

// done warns of a chosen field that no record had. That is not an error, because a list can be empty.
func (p *Printer[T]) done(errs ...error) error {
	err := allOf(errs...)
	if err == nil && len(p.missing) > 0 {
		p.streams.Warn("no record has a field named %s.", strings.Join(slices.Sorted(maps.Keys(p.missing)), ", "))
	}
	return err
}

// allOf joins different errors: a writer that has failed returns the same error when it is flushed.
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

// encoder writes one format: either one record, or items and then end, which says whether the list is complete.
type encoder interface {
	one(record) error
	item(record) error
	end(complete bool) error
}

func (p *Printer[T]) encoder(ctx context.Context, out *bufio.Writer) encoder {
	safe := io.Writer(out) // for formats that cannot escape control characters; a program gets the texts as they are
	if p.streams.OutTTY {
		safe = display.Writer(out)
	}
	o := p.options
	switch {
	case p.jq != nil:
		return &queryEncoder{each: o.Format == JSONL, items: []any{}, run: jqQuery(ctx, safe, p.jq, o.WantsJSON())}
	case p.template.text != nil:
		return &queryEncoder{each: o.Format == JSONL, items: []any{}, run: p.template.query(out), finish: func() error {
			_, err := out.WriteString(p.template.render())
			return err
		}}
	}
	switch o.Format {
	case JSON, JSONL:
		return rowsEncoder{rows.NewEncoder(out, rows.Format(o.Format), nil, false), out, o.Format == JSON}
	case YAML:
		return &yamlEncoder{out: out}
	case CSV:
		return rowsEncoder{rows.NewEncoder(safe, rows.CSV, p.columns, o.Raw), out, false}
	case IDs:
		return p.idEncoder(safe)
	}
	return &tableEncoder{out: out, streams: p.streams, view: p.view, times: p.times.Names, now: o.Now(),
		marks: o.Changes != nil}
}

// Each makes a sequence for List.
func Each[T any](items []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, item := range items {
			if !yield(item, nil) {
				return
			}
		}
	}
}
