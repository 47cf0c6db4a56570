package main

import (
	"context"

	"github.com/spf13/cobra"

	"example.com/perks/store"
)

var auditListing = listing[store.AuditEntry]{
	columns: []string{"AT", "ACTOR", "ACTION", "SUBJECT"},
	cells: func(e store.AuditEntry) []string {
		return []string{timeText(e.At), string(e.Actor), e.Action, e.Subject}
	},
}

func (p *program) auditCommand() *cobra.Command {
	var subject string
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Show who did what, in the order in which it happened",
		Long: "Show who did what, in the order in which it happened.\n\n" +
			"The formats json and jsonl hold each record as it was before and after.",
		Example: "  perksd audit --subject property/42 -o json\n  perksd audit -o jsonl",
		Args:    arguments(),
	}
	cmd.Flags().StringVar(&subject, "subject", "", "only what was done to this, such as property/42, client/ID or redemption/ID")
	output := outputFlag(cmd, "table", "json", "jsonl")
	p.sandboxFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return p.showAudit(cmd.Context(), subject, output.value) }
	return cmd
}

func (p *program) showAudit(ctx context.Context, subject, format string) error {
	return p.withExistingStore(ctx, func(db store.Store) error {
		return auditListing.print(p.stdout, format, db.Audit(ctx, subject))
	})
}
