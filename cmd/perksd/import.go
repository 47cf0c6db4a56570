package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/api/rows"
	"example.com/perks/store"
)

type kind[R any] struct {
	one, many string   // what people call it
	fields    []string // the columns that a file can have
	ignored   []string // columns that perksctl exports and no import reads
	inSandbox bool     // the sandbox has it too
	partly    string   // help about the fields that a file can leave out
	// check is for what holds for the whole import; nil checks nothing.
	check func(ctx context.Context, db store.Store) error
	parse func(line int, members []api.Member) (R, error)
	take  func(ctx context.Context, db store.Store, records iter.Seq2[R, error]) (store.Imported, error)
}

func (p *program) importCommand() *cobra.Command {
	perks := kind[store.PerkRecord]{
		one: "perk", many: "perks", fields: store.PerkFields(), inSandbox: true, partly: partlyPerks,
		parse: func(line int, members []api.Member) (store.PerkRecord, error) {
			perk, err := store.ParsePerk(members)
			perk.Row.Line = line
			return perk, err
		},
		take: func(ctx context.Context, db store.Store, records iter.Seq2[store.PerkRecord, error]) (store.Imported, error) {
			return db.ImportPerks(ctx, records, p.newID, p.operator, p.now().Truncate(time.Millisecond)) // as it is shown
		},
	}
	categories := kind[api.Category]{
		one: "category", many: "categories", fields: store.CategoryFields(), inSandbox: true,
		parse: func(_ int, members []api.Member) (api.Category, error) { return store.ParseCategory(members) },
		take: func(ctx context.Context, db store.Store, records iter.Seq2[api.Category, error]) (store.Imported, error) {
			return db.ImportCategories(ctx, records, p.operator, p.now())
		},
	}
	users := kind[store.User]{
		one: "user", many: "users", fields: store.UserFields(), inSandbox: true,
		parse: func(_ int, members []api.Member) (store.User, error) { return store.ParseUser(members) },
		take: func(ctx context.Context, db store.Store, records iter.Seq2[store.User, error]) (store.Imported, error) {
			return db.ImportUsers(ctx, records, p.operator, p.now())
		},
	}
	var owner string
	clients := map[string]bool{} // that are known
	properties := kind[store.PropertyRecord]{
		one: "property", many: "properties", fields: store.PropertyFields(), ignored: []string{"etag"}, partly: partlyProperties,
		check: func(ctx context.Context, db store.Store) error {
			list, err := db.Clients(ctx)
			for _, c := range list {
				clients[c.ID] = true
			}
			if err == nil && owner != "" && !clients[owner] {
				err = store.ClientNotFound(owner)
			}
			return err
		},
		parse: func(line int, members []api.Member) (store.PropertyRecord, error) {
			property, err := store.ParseProperty(members, owner)
			property.Row.Line = line
			if err == nil && property.Owner != "" && !clients[property.Owner] { // the store could not name the line
				problems := api.FieldErrors{}
				problems.Add("owner", "names no client: %q", property.Owner)
				err = problems.Err()
			}
			return property, err
		},
		take: func(ctx context.Context, db store.Store, records iter.Seq2[store.PropertyRecord, error]) (store.Imported, error) {
			return db.ImportProperties(ctx, records, p.operator, p.now())
		},
	}
	importProperties := importOf(p, properties)
	importProperties.Flags().StringVar(&owner, "owner", "", "the `CLIENT_ID` that owns the properties without an owner in the file or the database")
	return group("import", "Take records from files", importOf(p, perks), importOf(p, categories), importOf(p, users), importProperties)
}

// The help about fields that a file leaves out.
const (
	fieldsStay = "Of a known record, a field without a column (in JSON: without a member) stays as it is, and an empty one (in JSON: null) is cleared.\n"

	partlyPerks      = fieldsStay + "A file with the columns id and stock changes only stock. A new perk needs title, description and city."
	partlyProperties = fieldsStay + "A file with the columns propertyId and price_pw changes only prices. A new property needs title, price_pw and owner.\n" +
		"The field etag of 'perksctl property get' is ignored: an import does not check whether the property has changed since."
)

func importOf[R any](p *program, k kind[R]) *cobra.Command {
	var format string
	var allowEmpty bool
	cmd := &cobra.Command{
		Use:   k.many + " FILE",
		Short: "Import " + k.many,
		Long: fmt.Sprintf("Import %s from a file that ends in .csv, .json (one array) or .jsonl, or from stdin if FILE is '-'.\n\n", k.many) +
			"Either every row is taken or none: each row that is not valid is named with its line, and then nothing is changed.\n" +
			strings.TrimSpace("A record whose id is known updates the one that is there. Of several rows with the same id the last counts.\n"+k.partly),
		Example: fmt.Sprintf("  perksd import %s %s.csv\n  perksd import %s --format jsonl - < export.jsonl", k.many, k.many, k.many),
		Args:    arguments("FILE"),
	}
	output := outputFlag(cmd, "text", "json")
	cmd.Flags().BoolVar(&allowEmpty, "allow-empty", false, "accept a file without rows")
	cmd.Flags().StringVar(&format, "format", "", "csv, json or jsonl, whatever the file is called; stdin needs it")
	if k.inSandbox {
		p.sandboxFlag(cmd)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		file, format, err := p.openImport(cmd, args[0], format)
		if err != nil {
			return err
		}
		defer file.Close()
		r := &importReader[R]{kind: k, file: file, name: args[0], format: format, allowEmpty: allowEmpty, report: p.stderr}
		if r.name == "-" {
			r.name = "stdin"
		}
		return r.run(cmd.Context(), p, output.value)
	}
	return cmd
}

// openImport opens what the argument names. An empty format is told from the file's name.
func (p *program) openImport(cmd *cobra.Command, name, format string) (file io.ReadCloser, read rows.Format, err error) {
	if name == "-" && format == "" {
		return nil, "", usagef(cmd, "reading from stdin needs --format csv, json or jsonl")
	}
	if read, err = rows.FormatOf(name); format != "" {
		read, err = rows.ParseFormat(format)
	}
	if err != nil {
		return nil, "", usagef(cmd, "%w", err)
	}
	if name == "-" {
		return io.NopCloser(p.stdin), read, nil
	}
	opened, err := os.Open(name)
	if err != nil {
		return nil, "", usageError{err}
	}
	if info, err := opened.Stat(); err == nil && info.IsDir() {
		return nil, "", errors.Join(usageError{fmt.Errorf("%s is a folder", name)}, opened.Close())
	}
	return opened, read, nil
}

// becameOf says how many records were created, changed and left alone, without the zeros.
func becameOf(taken store.Imported) string {
	var parts []string
	add := func(n int64, one, many string) {
		if n > 0 {
			parts = append(parts, display.Plural(n, one, many))
		}
	}
	add(taken.Created, "created", "created")
	add(taken.Changed, "changed", "changed")
	add(taken.Unchanged, "left as it was", "left as they were")
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

// importReader turns the rows of a file into records and names every row that is not valid as soon as it is read, so that
// however many there are, none has to be remembered.
type importReader[R any] struct {
	kind       kind[R]
	file       io.Reader
	name       string // as messages name it
	format     rows.Format
	allowEmpty bool
	report     io.Writer

	rows, bad     int64
	headerChecked bool
	failure       error // why the import must not happen
}

func (r *importReader[R]) run(ctx context.Context, p *program, output string) error {
	return p.withStore(ctx, func(db store.Store) error {
		if r.kind.check != nil {
			if err := r.kind.check(ctx, db); err != nil {
				return err
			}
		}
		taken, err := r.kind.take(ctx, db, r.records(ctx))
		var refused *store.RowsRefused
		switch {
		case r.failure != nil:
			// The store hands it back in its own words, or in none.
			return r.failure
		case errors.As(err, &refused):
			return r.refuse(refused)
		case err != nil:
			return err
		case output == "json":
			return printJSON(p.stdout, taken)
		}
		count := display.Plural(taken.Count, r.kind.one, r.kind.many)
		_, err = fmt.Fprintf(p.stdout, "Imported %s%s%s.\n", count, p.ifSandbox(" into the sandbox"), becameOf(taken))
		return err
	})
}

// records yields the valid records. If a row is not valid, the rest is only checked, and an error ends the sequence.
func (r *importReader[R]) records(ctx context.Context) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		for row, err := range rows.NewReader(r.file, r.format).Rows() {
			if errors.Is(err, rows.ErrEmpty) && r.allowEmpty {
				break
			}
			record, err := r.read(ctx, row, err)
			if err != nil {
				r.failure = fmt.Errorf("%s: %w; nothing was imported", r.name, err)
				if errors.As(err, new(*rows.FileError)) {
					r.failure = usageError{r.failure}
				}
				break
			}
			if r.bad == 0 && !yield(record, nil) {
				return
			}
		}
		switch {
		case r.failure != nil:
		case r.rows == 0 && !r.allowEmpty:
			r.failure = usageError{fmt.Errorf("%s has no rows; add --allow-empty to accept that", r.name)}
		case r.bad > 0:
			r.failure = r.notValid(r.bad)
		}
		if r.failure != nil {
			var none R
			yield(none, r.failure)
		}
	}
}

func (r *importReader[R]) notValid(bad int64) error {
	return fmt.Errorf("%d of %s not valid; nothing was imported", bad, display.Plural(r.rows, "row is", "rows are"))
}

// refuse names the rows that the store refused: it lists only the first of them.
func (r *importReader[R]) refuse(refused *store.RowsRefused) error {
	for _, row := range refused.Rows {
		r.tell(row.Line, row.Err)
	}
	if more := refused.Count - int64(len(refused.Rows)); more > 0 {
		fmt.Fprintf(r.report, "%s: and %s like these\n", r.name, display.Plural(more, "more row", "more rows"))
	}
	return r.notValid(refused.Count)
}

// read returns an error only if reading cannot go on. A row that is not valid is reported and counted.
func (r *importReader[R]) read(ctx context.Context, row rows.Row, err error) (record R, _ error) {
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
		if !r.headerChecked { // a column that is not known is refused once, and not again for every row
			r.headerChecked = true
			for _, name := range row.Header {
				if !slices.Contains(r.kind.fields, name) && !slices.Contains(r.kind.ignored, name) {
					return record, &rows.FileError{Err: fmt.Errorf("the column %q is not known; the columns are %s", name, strings.Join(r.kind.fields, ", "))}
				}
			}
		}
		record, err = r.parseRow(row)
	}
	r.rows++
	if err != nil {
		r.bad++
		r.tell(row.Line, err)
	}
	return record, nil
}

func (r *importReader[R]) parseRow(row rows.Row) (record R, err error) {
	members := api.CellMembers(row.Header, row.Cells)
	if row.Object != nil {
		if members, err = api.ParseObject(row.Object); err != nil {
			return record, err
		}
	}
	members = slices.DeleteFunc(members, func(m api.Member) bool { return slices.Contains(r.kind.ignored, m.Name) })
	return r.kind.parse(row.Line, members)
}

// tell prints one line for each thing that is wrong with a row, as compilers do.
func (r *importReader[R]) tell(line int, err error) {
	place := r.name + ":" + strconv.Itoa(line) + ":"
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

// redemptionColumns is the order of a redemption's fields in CSV. The other records' are those that import reads.
var redemptionColumns = []string{"id", "perk_id", "user_id", "redeemed_at", "status", "metadata", "client_id"}

func (p *program) exportCommand() *cobra.Command {
	return group("export", "Write records to stdout",
		exportOf(p, "perks", store.PerkFields(), store.Store.ExportPerks),
		exportOf(p, "categories", store.CategoryFields(), store.Store.ExportCategories),
		exportOf(p, "users", store.UserFields(), store.Store.ExportUsers),
		exportOf(p, "properties", store.PropertyFields(), store.Store.ExportProperties),
		exportOf(p, "redemptions", redemptionColumns, func(db store.Store, ctx context.Context) iter.Seq2[store.RedemptionRecord, error] {
			return db.ExportRedemptions(ctx, api.RedemptionStatus(""))
		}),
	)
}

func exportOf[R any](p *program, many string, columns []string, export func(store.Store, context.Context) iter.Seq2[R, error]) *cobra.Command {
	cmd := &cobra.Command{
		Use:   many,
		Short: "Export all " + many,
		Long: "Export all " + many + " to stdout, in the order of their ids, as they are at one moment.\n\n" +
			"If the exit code is not 0 the output is not complete.\n" +
			"The cells of CSV hold what the database holds: a spreadsheet may take one that begins with '=' for a formula. A text that begins with\n" +
			"an apostrophe before such a sign has one apostrophe more, since 'perksd import' takes one away.",
		Example: "  perksd export " + many + " > " + many + ".csv\n  perksd export " + many + " -o jsonl | gzip > " + many + ".jsonl.gz",
		Args:    arguments(),
	}
	output := outputFlag(cmd, "csv", "jsonl")
	if many != "properties" {
		p.sandboxFlag(cmd)
	}
	cmd.RunE = p.onStore(func(ctx context.Context, db store.Store, _ []string) error {
		return writeRows(p.stdout, rows.Format(output.value), columns, export(db, ctx))
	})
	return cmd
}
