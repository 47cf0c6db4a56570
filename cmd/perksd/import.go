package main

import (
	"context"
	"fmt"
	"iter"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/store"
)

// kind is one kind of record that can be imported.
type kind[R any] struct {
	one, many string   // what people call it
	fields    []string // the columns that a file can have
	inSandbox bool     // the sandbox has it too
	// parser returns the reader of records and checks what holds for the whole import.
	parser func(ctx context.Context, db store.Store) (func([]api.Member) (R, error), error)
	take   func(ctx context.Context, db store.Store, records iter.Seq2[R, error]) (int64, error)
}

func (p *program) importCommand() *cobra.Command {
	perks := kind[store.PerkRecord]{
		one: "perk", many: "perks", fields: store.PerkFields(), inSandbox: true, parser: parseWith(store.ParsePerk),
		take: func(ctx context.Context, db store.Store, records iter.Seq2[store.PerkRecord, error]) (int64, error) {
			return db.ImportPerks(ctx, records, p.newID, p.operator, p.now())
		},
	}
	categories := kind[api.Category]{
		one: "category", many: "categories", fields: store.CategoryFields(), inSandbox: true, parser: parseWith(store.ParseCategory),
		take: func(ctx context.Context, db store.Store, records iter.Seq2[api.Category, error]) (int64, error) {
			return db.ImportCategories(ctx, records, p.operator, p.now())
		},
	}
	users := kind[store.User]{
		one: "user", many: "users", fields: store.UserFields(), inSandbox: true, parser: parseWith(store.ParseUser),
		take: func(ctx context.Context, db store.Store, records iter.Seq2[store.User, error]) (int64, error) {
			return db.ImportUsers(ctx, records, p.operator, p.now())
		},
	}
	var owner string
	properties := kind[store.PropertyRecord]{
		one: "property", many: "properties", fields: store.PropertyFields(), parser: propertyParser(&owner),
		take: func(ctx context.Context, db store.Store, records iter.Seq2[store.PropertyRecord, error]) (int64, error) {
			return db.ImportProperties(ctx, records, p.operator, p.now())
		},
	}
	importProperties := importOf(p, properties)
	importProperties.Flags().StringVar(&owner, "owner", "", "the `CLIENT_ID` that may change the properties without an owner of their own")
	cmd := group("import", "Take records from files", importOf(p, perks), importOf(p, categories), importOf(p, users), importProperties)
	return cmd
}

func importOf[R any](p *program, k kind[R]) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   k.many + " FILE",
		Short: "Import " + k.many,
		Long: fmt.Sprintf("Import %s from a file that ends in .csv, .json (one array) or .jsonl, or from stdin if FILE is '-'.\n\n", k.many) +
			"Either every row is taken or none: each row that is not valid is named with its line, and then nothing is changed.\n" +
			"A record whose id is known updates the one that is there. Of several rows with the same id the last counts.",
		Example: fmt.Sprintf("  perksd import %s %s.csv\n  perksd import %s --format jsonl - < export.jsonl", k.many, k.many, k.many),
		Args:    arguments("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			source, err := p.openSource(cmd, args[0], format)
			if err != nil {
				return err
			}
			defer source.Close()
			return runImport(cmd.Context(), p, source, k)
		},
	}
	cmd.Flags().StringVar(&format, "format", "", "csv, json or jsonl, whatever the file is called; stdin needs it")
	if k.inSandbox {
		p.sandboxFlag(cmd)
	}
	return cmd
}

func runImport[R any](ctx context.Context, p *program, source *source, k kind[R]) error {
	return p.withStore(ctx, func(db store.Store) error {
		parse, err := k.parser(ctx, db)
		if err != nil {
			return err
		}
		reading := &reading[R]{source: source, fields: k.fields, parse: parse, report: p.stderr}
		taken, err := k.take(ctx, db, reading.records(ctx))
		if reading.failure != nil {
			// The store hands it back in its own words, or in none.
			err = reading.failure
		}
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(p.stdout, "Imported %s%s.\n", count(taken, k.one, k.many), p.ifSandbox(" into the sandbox"))
		return err
	})
}

func parseWith[R any](parse func([]api.Member) (R, error)) func(context.Context, store.Store) (func([]api.Member) (R, error), error) {
	return func(context.Context, store.Store) (func([]api.Member) (R, error), error) { return parse, nil }
}

// propertyParser finds an owner that is not known while the line is at hand; the store could only name the owner.
func propertyParser(owner *string) func(context.Context, store.Store) (func([]api.Member) (store.PropertyRecord, error), error) {
	return func(ctx context.Context, db store.Store) (func([]api.Member) (store.PropertyRecord, error), error) {
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
		return func(members []api.Member) (store.PropertyRecord, error) {
			property, err := store.ParseProperty(members, *owner)
			if err == nil && !known[property.Owner] {
				problems := api.FieldErrors{}
				problems.Add("owner", "names no client: %q", property.Owner)
				err = problems.Err()
			}
			return property, err
		}, nil
	}
}
