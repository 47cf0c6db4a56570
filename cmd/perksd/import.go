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
	"example.com/perks/cli/command"
	"example.com/perks/store"
)

// recordKind is a kind of record that can be imported.
type recordKind[R any] struct {
	one, many string   // its names
	fields    []string // the columns that a file can have
	ignored   []string // columns that perksctl exports and no import reads
	makesIDs  bool     // of records without one
	needs     []string // columns that all records need, or those without an id
	inSandbox bool     // the sandbox has it too
	partly    string   // help about files without some of the fields
	// prepare runs before the import, unless it is nil.
	prepare func(ctx context.Context, db store.Store) error
	parse   func(line int, members []api.Member) (R, error)
	store   importFunc[R]
}

// importFunc is a method of a store that imports records.
type importFunc[R any] func(
	db store.Store, ctx context.Context, records iter.Seq2[R, error], by store.Actor, at time.Time,
) (store.Imported, error)

func (p *program) importCommand() *cobra.Command {
	perks := recordKind[store.PerkRecord]{
		one: "perk", many: "perks", fields: store.PerkFields(), makesIDs: true, inSandbox: true, partly: partlyPerks,
		needs: []string{"title", "description", "city"},
		parse: func(line int, members []api.Member) (store.PerkRecord, error) {
			perk, err := store.ParsePerk(members)
			perk.Row.Line = line
			return perk, err
		},
		store: func(
			db store.Store, ctx context.Context, records iter.Seq2[store.PerkRecord, error], by store.Actor,
			at time.Time,
		) (store.Imported, error) {
			return db.ImportPerks(ctx, records, p.newID, by, at.Truncate(time.Millisecond)) // as times are shown
		},
	}
	categories := recordKind[api.Category]{
		one: "category", many: "categories", fields: store.CategoryFields(), inSandbox: true,
		needs: []string{"category_name"},
		parse: func(_ int, members []api.Member) (api.Category, error) { return store.ParseCategory(members) },
		store: store.Store.ImportCategories,
	}
	users := recordKind[store.User]{
		one: "user", many: "users", fields: store.UserFields(), inSandbox: true,
		parse: func(_ int, members []api.Member) (store.User, error) { return store.ParseUser(members) },
		store: store.Store.ImportUsers,
	}
	var owner string
	clients := map[string]bool{} // in the database
	properties := recordKind[store.PropertyRecord]{
		one: "property", many: "properties", fields: store.PropertyFields(), ignored: []string{"etag"},
		partly: partlyProperties,
		prepare: func(ctx context.Context, db store.Store) error {
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
			if err == nil && property.Owner != "" && !clients[property.Owner] { // the store couldn't name the line
				problems := api.FieldErrors{}
				problems.Add("owner", "names no client: %q", property.Owner)
				err = problems.Err()
			}
			return property, err
		},
		store: store.Store.ImportProperties,
	}
	importProperties := importOf(p, properties)
	importProperties.Flags().StringVar(&owner, "owner", "",
		"the `CLIENT_ID` that owns the properties without an owner in the file or the database")
	return group("import", "Import records from files", importOf(p, perks), importOf(p, categories), importOf(p, users),
		importProperties)
}

const (
	fieldsStay = "If the record exists, a field without a column (in JSON: without a member) is unchanged, and an " +
		"empty one (in JSON: null) is cleared.\n"

	partlyPerks = fieldsStay + "A file with the columns id and stock changes only stock. A new perk needs title, " +
		"description and city."
	partlyProperties = fieldsStay + "A file with the columns propertyId and price_pw changes only prices. A new\n" +
		"property needs title, price_pw and owner. The field etag of 'perksctl property get' is ignored: an import\n" +
		"does not check whether the property has changed since."
)

func importOf[R any](p *program, k recordKind[R]) *cobra.Command {
	var format string
	var allowEmpty bool
	cmd := &cobra.Command{
		Use:   k.many + " FILE",
		Short: "Import " + k.many,
		Long: fmt.Sprintf("Import %s from a .csv, .tsv, .json (one array) or .jsonl file, or from stdin if FILE is\n"+
			"'-'. Commas, semicolons or tabs separate the cells of CSV, as in its header.\n\n", k.many) +
			"It imports either all rows or none: if any row is invalid, it names each of these with its line, and " +
			"changes nothing.\n" +
			strings.TrimSpace("A record whose id exists updates the existing one. Of several rows with the same id, "+
				"the last one counts.\n"+k.partly),
		Example: fmt.Sprintf("  perksd import %s %s.csv\n  perksd import %s --format jsonl - < export.jsonl", k.many,
			k.many, k.many),
		Args: command.Exactly("FILE"),
	}
	output := outputFlag(cmd, "text", "json")
	cmd.Flags().BoolVar(&allowEmpty, "allow-empty", false, "accept a file without rows")
	cmd.Flags().StringVar(&format, "format", "",
		"csv, tsv (with tabs), json or jsonl, whatever the file's name; required for stdin")
	if k.inSandbox {
		p.sandboxFlag(cmd)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		file, format, err := p.openImport(cmd, args[0], format)
		if err != nil {
			return err
		}
		defer file.Close()
		r := &importReader[R]{kind: k, file: file, name: args[0], format: format, allowEmpty: allowEmpty,
			report: p.Err}
		if r.name == "-" {
			r.name = "stdin"
		}
		return r.run(cmd.Context(), p, output.value)
	}
	return cmd
}

// openImport opens the file that the argument names. If the format is empty, it is that of the file's name.
func (p *program) openImport(
	cmd *cobra.Command, name, format string,
) (file io.ReadCloser, read rows.Format, err error) {
	if name == "-" && format == "" {
		return nil, "", usagef(cmd, "reading from stdin needs --format csv, tsv, json or jsonl")
	}
	if read, err = rows.FormatOf(name); format != "" {
		read, err = rows.ParseFormat(format)
	}
	if err != nil {
		return nil, "", usagef(cmd, "%s", err)
	}
	if name == "-" {
		return io.NopCloser(p.In), read, nil
	}
	opened, err := os.Open(name)
	if err != nil {
		return nil, "", command.Usagef("%s", command.Plain(err))
	}
	if info, err := opened.Stat(); err == nil && info.IsDir() {
		return nil, "", errors.Join(command.Usagef("%s is a directory", name), opened.Close())
	}
	return opened, read, nil
}

// summary says how many records were created, changed and left unchanged, without zeros.
func summary(imported store.Imported) string {
	var parts []string
	for _, part := range []struct {
		n    int64
		what string
	}{{imported.Created, "created"}, {imported.Changed, "changed"}, {imported.Unchanged, "unchanged"}} {
		if part.n > 0 {
			parts = append(parts, display.Count(part.n)+" "+part.what)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

// importReader reads the rows of a file as records. It reports an invalid row at once, so its memory is constant.
type importReader[R any] struct {
	kind       recordKind[R]
	file       io.Reader
	name       string // in messages
	format     rows.Format
	allowEmpty bool
	report     io.Writer

	rows, bad int64
	header    []string // of a CSV file, in the kind's own spelling
	failure   error    // why nothing may be imported
}

func (r *importReader[R]) run(ctx context.Context, p *program, output string) error {
	return p.withStore(ctx, func(db store.Store) error {
		if r.kind.prepare != nil {
			if err := r.kind.prepare(ctx, db); err != nil {
				return err
			}
		}
		imported, err := r.kind.store(db, ctx, r.records(ctx), p.operator, p.now())
		var refused *store.RowsRefused
		switch {
		case r.failure != nil:
			// The store may have wrapped or replaced it.
			return r.failure
		case errors.As(err, &refused):
			return r.reportRefused(refused)
		case err != nil:
			return err
		case output == "json":
			return printJSON(p.Out, imported)
		}
		count := display.Plural(imported.Count, r.kind.one, r.kind.many)
		_, err = fmt.Fprintf(p.Out, "Imported %s%s%s.\n", count, p.ifSandbox(" into the sandbox"), summary(imported))
		return err
	})
}

// records yields the valid records. After an invalid row it only checks the rest, and ends with an error.
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
					r.failure = command.Usagef("%s", r.failure)
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
			r.failure = command.Usagef("%s has no rows; add --allow-empty to accept that", r.name)
		case r.bad > 0:
			r.failure = r.invalidRows(r.bad)
		}
		if r.failure != nil {
			var none R
			yield(none, r.failure)
		}
	}
}

func (r *importReader[R]) invalidRows(bad int64) error {
	return fmt.Errorf("%s of %s not valid; nothing was imported", display.Count(bad),
		display.Plural(r.rows, "row is", "rows are"))
}

// reportRefused reports the rows that the store refused, of which it lists only the first.
func (r *importReader[R]) reportRefused(refused *store.RowsRefused) error {
	for _, row := range refused.Rows {
		r.reportRow(row.Line, row.Err)
	}
	if more := refused.Count - int64(len(refused.Rows)); more > 0 {
		fmt.Fprintf(r.report, "%s: and %s like these\n", r.name, display.Plural(more, "more row", "more rows"))
	}
	return r.invalidRows(refused.Count)
}

// read returns an error only if the rest can't be read. It reports and counts an invalid row.
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
		if r.header == nil && row.Header != nil { // refuse an unknown column once, not for each row
			if r.header, err = r.kind.columns(row.Header); err != nil {
				return record, &rows.FileError{Err: err}
			}
		}
		record, err = r.parseRow(row)
	}
	r.rows++
	if err != nil {
		r.bad++
		r.reportRow(row.Line, err)
	}
	return record, nil
}

// columns returns the field that each name of a header stands for.
func (k recordKind[R]) columns(header []string) ([]string, error) {
	known := slices.Concat(k.fields, k.ignored)
	columns := make([]string, len(header))
	for i, name := range header {
		at := slices.IndexFunc(known, func(field string) bool { return rows.FoldName(field) == rows.FoldName(name) })
		if at < 0 {
			return nil, fmt.Errorf("the column %q is not known.%s The columns are %s", name,
				command.DidYouMean(rows.FoldName(name), known), strings.Join(k.fields, ", "))
		}
		if twin := slices.Index(columns[:i], known[at]); twin >= 0 {
			return nil, fmt.Errorf("the columns %q and %q are the same; only one of them can be there", header[twin],
				name)
		}
		columns[i] = known[at]
	}
	hasID := slices.Contains(columns, k.fields[0])
	if !k.makesIDs && !hasID {
		return nil, fmt.Errorf("the header has no column %q, which names the %s", k.fields[0], k.one)
	}
	for _, name := range k.needs {
		if !slices.Contains(columns, name) && !(k.makesIDs && hasID) {
			return nil, fmt.Errorf("the header has no column %q, which every new %s needs", name, k.one)
		}
	}
	return columns, nil
}

func (r *importReader[R]) parseRow(row rows.Row) (record R, err error) {
	members := api.CellMembers(r.header, row.Cells)
	if row.Object != nil {
		if members, err = api.ParseObject(row.Object); err != nil {
			return record, err
		}
	}
	members = slices.DeleteFunc(members, func(m api.Member) bool { return slices.Contains(r.kind.ignored, m.Name) })
	return r.kind.parse(row.Line, members)
}

// reportRow prints one line for each problem of a row, as compilers do.
func (r *importReader[R]) reportRow(line int, err error) {
	position := r.name + ":" + strconv.Itoa(line) + ":"
	var invalid *api.Error
	if !errors.As(err, &invalid) || len(invalid.Fields) == 0 {
		fmt.Fprintln(r.report, position, printable(err.Error()))
		return
	}
	for _, field := range slices.Sorted(maps.Keys(invalid.Fields)) {
		for _, message := range invalid.Fields[field] {
			fmt.Fprintln(r.report, position, printable(field+" "+message))
		}
	}
}

// printable escapes control characters, so that a file can't control the terminal.
func printable(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return text
	}
	quoted := strconv.Quote(text)
	return quoted[1 : len(quoted)-1]
}

// redemptionColumns are the CSV columns of redemptions. Those of other records are the columns that import reads.
var redemptionColumns = []string{"id", "perk_id", "user_id", "redeemed_at", "status", "metadata", "client_id",
	"actor", "decided_at", "decided_by", "decided_actor", "reason", "expires_at"}

func (p *program) exportCommand() *cobra.Command {
	return group("export", "Export records to stdout",
		exportOf(p, "perks", store.PerkFields(), store.Store.ExportPerks),
		exportOf(p, "categories", store.CategoryFields(), store.Store.ExportCategories),
		exportOf(p, "users", store.UserFields(), store.Store.ExportUsers),
		exportOf(p, "properties", store.PropertyFields(), store.Store.ExportProperties),
		exportOf(p, "redemptions", redemptionColumns, func(
			db store.Store, ctx context.Context,
		) iter.Seq2[api.RedemptionRecord, error] {
			return db.ExportRedemptions(ctx, api.RedemptionStatus(""))
		}),
	)
}

func exportOf[R any](
	p *program, many string, columns []string, export func(store.Store, context.Context) iter.Seq2[R, error],
) *cobra.Command {
	cmd := &cobra.Command{
		Use:   many,
		Short: "Export all " + many,
		Long: "Export all " + many + " to stdout, ordered by id, as one consistent snapshot.\n\n" +
			"If the exit code is not 0, the output is incomplete.\n" +
			"CSV cells are exactly what the database contains: a spreadsheet may read one that begins with '=' as\n" +
			"a formula. A text that begins with an apostrophe and such a character has an extra apostrophe,\n" +
			"because 'perksd import' removes one.",
		Example: "  perksd export " + many + " > " + many + ".csv\n  perksd export " + many + " -o jsonl | gzip > " +
			many + ".jsonl.gz",
		Args: command.NoArgs,
	}
	output := outputFlag(cmd, "csv", "jsonl")
	if many != "properties" {
		p.sandboxFlag(cmd)
	}
	cmd.RunE = p.onStore(func(ctx context.Context, db store.Store, _ []string) error {
		return writeRows(p.Out, rows.Format(output.value), columns, export(db, ctx))
	})
	return cmd
}
