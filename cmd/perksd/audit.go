package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.com/perks/store"
)

var auditListing = listing[store.AuditEntry]{columns: []string{"AT", "ACTOR", "ACTION", "SUBJECT"}, cells: auditCells}

func auditCells(e store.AuditEntry) []string {
	return []string{timeText(e.At), string(e.Actor), e.Action, e.Subject}
}

type auditOptions struct {
	query        store.AuditQuery
	since, until string
	follow       bool
	output       *choice
}

func (p *program) auditCommand() *cobra.Command {
	var o auditOptions
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Show who did what, in the order in which it happened",
		Long: "Show who did what, in the order in which it happened.\n\n" +
			"The formats json and jsonl hold each record as it was before and after. Actors are operator/ACCOUNT, followed by /NAME for who used sudo,\n" +
			"and client/ID. The names of actors and actions may end in *, which stands for anything.\n\n" +
			"--since and --until take an instant (2026-06-15T12:00:00Z), a day (2026-06-15, which begins at midnight UTC), or how long ago it was (90m, 24h, 7d).\n\n" +
			"With --follow the entries that are there are followed by new ones, within a second of their being made and until the command is interrupted.\n" +
			"New ones come in the order in which they are committed, each exactly once.",
		Example: "  perksd audit --subject property/42 -o json\n" +
			"  perksd audit --actor 'operator/*' --since 7d\n" +
			"  perksd audit --action 'client.*' --limit 20\n" +
			"  perksd audit --follow --limit 10 -o jsonl",
		Args: arguments(),
	}
	f := cmd.Flags()
	f.StringVar(&o.query.Subject, "subject", "", "only what was done to this, such as property/42, client/ID or redemption/ID")
	f.StringVar(&o.query.Actor, "actor", "", "only what this one did, such as client/ID or 'operator/*'")
	f.StringVar(&o.query.Action, "action", "", "only this, such as redemption.approve or 'property.*'")
	f.StringVar(&o.since, "since", "", "only what was done at this `TIME` or later")
	f.StringVar(&o.until, "until", "", "only what was done before this `TIME`")
	f.IntVar(&o.query.Last, "limit", 0, "only the last `N` entries; 0 shows all")
	f.BoolVarP(&o.follow, "follow", "f", false, "go on with new entries as they come")
	o.output = outputFlag(cmd, "table", "json", "jsonl")
	p.sandboxFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := o.read(cmd, p.now()); err != nil {
			return err
		}
		if o.follow {
			return p.followAudit(cmd.Context(), o.query, o.output.value)
		}
		return p.showAudit(cmd.Context(), o.query, o.output.value)
	}
	return cmd
}

// read checks the flags and puts them into the query.
func (o *auditOptions) read(cmd *cobra.Command, now time.Time) (err error) {
	switch {
	case o.query.Last < 0:
		return usagef(cmd, "--limit must not be negative")
	case o.follow && o.output.value == "json":
		return usagef(cmd, "--follow has no end, and a JSON array needs one: use -o jsonl")
	case o.follow && o.until != "":
		return usagef(cmd, "--follow shows what is still to come, and --until what is over: use one of them")
	}
	for name, pattern := range map[string]string{"--actor": o.query.Actor, "--action": o.query.Action} {
		if strings.Contains(strings.TrimSuffix(pattern, "*"), "*") {
			return usagef(cmd, "%s takes a * only at its end", name)
		}
	}
	if o.query.Since, err = readTime(o.since, now); err != nil {
		return usagef(cmd, "--since %w", err)
	}
	if o.query.Until, err = readTime(o.until, now); err != nil {
		return usagef(cmd, "--until %w", err)
	}
	return nil
}

// readTime reads an instant, a day, or how long ago something was. Nothing gives the zero time.
func readTime(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), nil
		}
	}
	if ago, err := readAgo(text); err == nil && ago >= 0 {
		return now.Add(-ago).UTC(), nil
	}
	return time.Time{}, fmt.Errorf("%q is no time: write an instant (2026-06-15T12:00:00Z), a day (2026-06-15) or how long ago it was (24h, 7d)", text)
}

func readAgo(text string) (time.Duration, error) {
	if days, found := strings.CutSuffix(text, "d"); found {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err
	}
	return time.ParseDuration(text)
}

func (p *program) showAudit(ctx context.Context, query store.AuditQuery, format string) error {
	return p.withExistingStore(ctx, func(db store.Store) error {
		return auditListing.print(p.stdout, format, db.Audit(ctx, query))
	})
}
