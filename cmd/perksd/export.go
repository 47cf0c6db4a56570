package main

import (
	"context"
	"iter"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/rows"
	"example.com/perks/store"
)

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
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return p.withExistingStore(cmd.Context(), func(db store.Store) error {
			return writeRows(p.stdout, rows.Format(output.value), columns, export(db, cmd.Context()))
		})
	}
	return cmd
}
