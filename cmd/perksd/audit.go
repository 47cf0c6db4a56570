package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/store"
)

var auditListing = listing[store.AuditEntry]{
	columns: []string{"AT", "ACTOR", "ACTION", "SUBJECT"},
	cells: func(e store.AuditEntry) []string {
		return []string{timeText(e.At), string(e.Actor), e.Action, e.Subject}
	},
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
		return p.withExistingStore(cmd.Context(), func(db store.Store) error {
			return auditListing.print(p.stdout, o.output.value, db.Audit(cmd.Context(), o.query))
		})
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
	if days, found := strings.CutSuffix(text, "d"); found {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return now.Add(-time.Duration(n) * 24 * time.Hour).UTC(), nil
		}
	} else if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago).UTC(), nil
	}
	return time.Time{}, fmt.Errorf("%q is no time: write an instant (2026-06-15T12:00:00Z), a day (2026-06-15) or how long ago it was (24h, 7d)", text)
}

// followEvery is how often the database is asked for new entries.
const followEvery = time.Second

// followAudit prints the entries that are there and then new ones, until ctx ends: that is how it is meant to end.
func (p *program) followAudit(ctx context.Context, query store.AuditQuery, format string) error {
	err := p.withExistingStore(ctx, func(db store.Store) error {
		ticks, stop := p.every(followEvery)
		defer stop()
		f := follower{log: db, query: query, out: p.stdout}
		line := func(cells []string) error {
			_, err := fmt.Fprintf(&f.held, auditLine, cells[0], cells[1], cells[2], cells[3])
			return err
		}
		if format == "jsonl" {
			encoder := json.NewEncoder(display.JSONWriter(&f.held))
			f.hold = func(e store.AuditEntry) error { return encoder.Encode(e) }
		} else {
			f.hold = func(e store.AuditEntry) error { return line(lines(auditListing.cells(e))) }
			_ = line(auditListing.columns) // a buffer takes everything
		}
		return f.follow(ctx, ticks, p.stderr)
	})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// auditLine has room for most actors and actions, since what is still to come cannot be measured.
const auditLine = "%-20s  %-24s  %-21s  %s\n"

// follower reads the audit log in turns.
type follower struct {
	log      store.AuditLog
	query    store.AuditQuery
	position store.AuditPosition
	held     bytes.Buffer // read but not yet printed
	out      io.Writer
	hold     func(store.AuditEntry) error
}

// mostHeld bounds the memory of a turn, at some 40,000 lines or a few thousand records in JSON.
const mostHeld = 4 << 20

// follow takes a turn now and at each tick. A database that is away for a while is waited for, once there was a first turn.
func (f *follower) follow(ctx context.Context, ticks <-chan time.Time, complaints io.Writer) error {
	away := false
	for {
		begun, err := f.turn(ctx)
		switch {
		case err == nil:
			away = false
		case begun || f.position == "" || api.CodeOf(err) != api.CodeUnavailable:
			return err
		case !away:
			away = true
			fmt.Fprintln(complaints, "perksd: the database does not answer; no entry is lost, and they go on when it does")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticks:
		}
	}
}

// turn prints what is new, after it has read all of it: a pager may take hours to read the output, and a transaction that
// stays open that long keeps the database from vacuuming. begun reports whether it has printed anything, so that a retry
// would print it twice.
func (f *follower) turn(ctx context.Context) (begun bool, err error) {
	for entry, err := range f.log.AuditSince(ctx, f.query, &f.position) {
		if err == nil {
			err = f.hold(entry)
		}
		if err == nil && f.held.Len() >= mostHeld {
			begun = true
			_, err = f.held.WriteTo(f.out)
		}
		if err != nil {
			f.held.Reset()
			return begun, err
		}
	}
	_, err = f.held.WriteTo(f.out)
	return err != nil, err
}
