package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/store"
)

// kind is one kind of record that can be imported.
type kind[R any] struct {
	one, many string   // what people call it
	fields    []string // the columns that a file can have
	ignored   []string // columns that perksctl exports and no import reads
	inSandbox bool     // the sandbox has it too
	partly    string   // help about the fields that a file can leave out
	// parser returns the reader of the record on a line and checks what holds for the whole import.
	parser func(ctx context.Context, db store.Store) (parser[R], error)
	take   func(ctx context.Context, db store.Store, records iter.Seq2[R, error]) (store.Imported, error)
}

type parser[R any] func(line int, members []api.Member) (R, error)

func (p *program) importCommand() *cobra.Command {
	perks := kind[store.PerkRecord]{
		one: "perk", many: "perks", fields: store.PerkFields(), inSandbox: true, partly: partlyPerks,
		parser: parseWith(func(line int, members []api.Member) (store.PerkRecord, error) {
			perk, err := store.ParsePerk(members)
			perk.Row.Line = line
			return perk, err
		}),
		take: func(ctx context.Context, db store.Store, records iter.Seq2[store.PerkRecord, error]) (store.Imported, error) {
			return db.ImportPerks(ctx, records, p.newID, p.operator, p.now().Truncate(time.Millisecond)) // as it is shown
		},
	}
	categories := kind[api.Category]{
		one: "category", many: "categories", fields: store.CategoryFields(), inSandbox: true, parser: parseWith(withoutLine(store.ParseCategory)),
		take: func(ctx context.Context, db store.Store, records iter.Seq2[api.Category, error]) (store.Imported, error) {
			return db.ImportCategories(ctx, records, p.operator, p.now())
		},
	}
	users := kind[store.User]{
		one: "user", many: "users", fields: store.UserFields(), inSandbox: true, parser: parseWith(withoutLine(store.ParseUser)),
		take: func(ctx context.Context, db store.Store, records iter.Seq2[store.User, error]) (store.Imported, error) {
			return db.ImportUsers(ctx, records, p.operator, p.now())
		},
	}
	var owner string
	properties := kind[store.PropertyRecord]{
		one: "property", many: "properties", fields: store.PropertyFields(), ignored: []string{"etag"}, partly: partlyProperties, parser: propertyParser(&owner),
		take: func(ctx context.Context, db store.Store, records iter.Seq2[store.PropertyRecord, error]) (store.Imported, error) {
			return db.ImportProperties(ctx, records, p.operator, p.now())
		},
	}
	importProperties := importOf(p, properties)
	importProperties.Flags().StringVar(&owner, "owner", "", "the `CLIENT_ID` that owns the properties without an owner in the file or the database")
	cmd := group("import", "Take records from files", importOf(p, perks), importOf(p, categories), importOf(p, users), importProperties)
	return cmd
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
	var output *choice
	var allowEmpty bool
	cmd := &cobra.Command{
		Use:   k.many + " FILE",
		Short: "Import " + k.many,
		Long: fmt.Sprintf("Import %s from a file that ends in .csv, .json (one array) or .jsonl, or from stdin if FILE is '-'.\n\n", k.many) +
			"Either every row is taken or none: each row that is not valid is named with its line, and then nothing is changed.\n" +
			strings.TrimSpace("A record whose id is known updates the one that is there. Of several rows with the same id the last counts.\n"+k.partly),
		Example: fmt.Sprintf("  perksd import %s %s.csv\n  perksd import %s --format jsonl - < export.jsonl", k.many, k.many, k.many),
		Args:    arguments("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			source, err := p.openSource(cmd, args[0], format)
			if err != nil {
				return err
			}
			defer source.Close()
			source.allowEmpty = allowEmpty
			return runImport(cmd.Context(), p, source, output.value, k)
		},
	}
	output = outputFlag(cmd, "text", "json")
	cmd.Flags().BoolVar(&allowEmpty, "allow-empty", false, "accept a file without rows")
	cmd.Flags().StringVar(&format, "format", "", "csv, json or jsonl, whatever the file is called; stdin needs it")
	if k.inSandbox {
		p.sandboxFlag(cmd)
	}
	return cmd
}

func runImport[R any](ctx context.Context, p *program, source *source, output string, k kind[R]) error {
	return p.withStore(ctx, func(db store.Store) error {
		parse, err := k.parser(ctx, db)
		if err != nil {
			return err
		}
		reading := &reading[R]{source: source, fields: k.fields, ignored: k.ignored, parse: parse, report: p.stderr}
		taken, err := k.take(ctx, db, reading.records(ctx))
		var refused *store.RowsRefused
		switch {
		case reading.failure != nil:
			// The store hands it back in its own words, or in none.
			return reading.failure
		case errors.As(err, &refused):
			return reading.refuse(refused)
		case err != nil:
			return err
		case output == "json":
			return printJSON(p.stdout, taken)
		}
		_, err = fmt.Fprintf(p.stdout, "Imported %s%s%s.\n", count(taken.Count, k.one, k.many), p.ifSandbox(" into the sandbox"), becameOf(taken))
		return err
	})
}

// becameOf says how many records were created, changed and left alone, without the zeros.
func becameOf(taken store.Imported) string {
	var parts []string
	for _, part := range []struct {
		n         int64
		one, many string
	}{
		{taken.Created, "created", "created"}, {taken.Changed, "changed", "changed"}, {taken.Unchanged, "left as it was", "left as they were"},
	} {
		if part.n > 0 {
			parts = append(parts, count(part.n, part.one, part.many))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

func parseWith[R any](parse parser[R]) func(context.Context, store.Store) (parser[R], error) {
	return func(context.Context, store.Store) (parser[R], error) { return parse, nil }
}

func withoutLine[R any](parse func([]api.Member) (R, error)) parser[R] {
	return func(_ int, members []api.Member) (R, error) { return parse(members) }
}

// propertyParser finds an owner that is not known while the line is at hand; the store could only name the owner.
func propertyParser(owner *string) func(context.Context, store.Store) (parser[store.PropertyRecord], error) {
	return func(ctx context.Context, db store.Store) (parser[store.PropertyRecord], error) {
		clients, err := db.Clients(ctx)
		if err != nil {
			return nil, err
		}
		known := map[string]bool{}
		for _, c := range clients {
			known[c.ID] = true
		}
		if *owner != "" && !known[*owner] {
			return nil, store.ClientNotFound(*owner)
		}
		return func(line int, members []api.Member) (store.PropertyRecord, error) {
			property, err := store.ParseProperty(members, *owner)
			property.Row.Line = line
			if err == nil && property.Owner != "" && !known[property.Owner] {
				problems := api.FieldErrors{}
				problems.Add("owner", "names no client: %q", property.Owner)
				err = problems.Err()
			}
			return property, err
		}, nil
	}
}
