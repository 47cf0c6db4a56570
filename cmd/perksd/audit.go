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
	"example.com/perks/cli/command"
	"example.com/perks/store"
)

var auditTable = table[store.AuditEntry]{
	columns: []string{"AT", "ACTOR", "ACTION", "SUBJECT"},
	cells: func(e store.AuditEntry) []string {
		return []string{timeText(e.At), string(e.Actor), e.Action, e.Subject}
	},
}

type auditOptions struct {
	query        store.AuditQuery
	since, until string
	follow       bool
	file         string // an archive to read instead of the database
	output       *enumFlag
}

func (p *program) auditCommand() *cobra.Command {
	var o auditOptions
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Show who did what, oldest first",
		Long: "Show who did what, oldest first.\n\n" +
			"The formats json and jsonl contain each record before and after the change, and of an updated\n" +
			"property the changed fields. Actors are client/ID and operator/ACCOUNT, followed by /NAME if NAME\n" +
			"used sudo. --actor and --action may end in *, which matches anything.\n\n" +
			"--since and --until take a time (2026-06-15T12:00:00Z), a day (2026-06-15, which starts at midnight\n" +
			"UTC), or an age (90m, 24h, 7d).\n\n" +
			"With --follow, new entries appear within a second, until you interrupt the command. New ones appear\n" +
			"in commit order, each exactly once.",
		Example: "  perksd audit --subject property/42 -o json\n" +
			"  perksd audit --actor 'operator/*' --since 7d\n" +
			"  perksd audit --action 'client.*' --limit 20\n" +
			"  perksd audit --follow --limit 10 -o jsonl",
		Args: command.NoArgs,
	}
	f := cmd.Flags()
	f.StringVar(&o.query.Subject, "subject", "",
		"only changes of this record, such as property/42, client/ID or redemption/ID")
	f.StringVar(&o.query.Actor, "actor", "", "only changes by this actor, such as client/ID (whoever sits at it), "+
		"client/ID/NAME or 'operator/*'")
	f.StringVar(&o.query.Action, "action", "", "only this action, such as redemption.approve or 'property.*'")
	f.StringVar(&o.since, "since", "", "only entries from this `TIME` on")
	f.StringVar(&o.until, "until", "", "only entries before this `TIME`")
	f.IntVar(&o.query.Last, "limit", 0, "only the last `N` entries; 0 shows all")
	f.BoolVarP(&o.follow, "follow", "f", false, "print new entries as they appear")
	f.StringVar(&o.file, "file", "", "read this `FILE` of 'perksd audit archive' instead of the database")
	o.output = outputFlag(cmd, "table", "json", "jsonl")
	p.sandboxFlag(cmd)
	cmd.AddCommand(p.auditArchiveCommand())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := o.read(cmd, p.now()); err != nil {
			return err
		}
		if o.file != "" {
			return auditTable.print(p.Out, o.output.value, archivedAudit(o.file, o.query))
		}
		if o.follow {
			return p.followAudit(cmd.Context(), o.query, o.output.value)
		}
		return p.withExistingStore(cmd.Context(), func(db store.Store) error {
			return auditTable.print(p.Out, o.output.value, db.Audit(cmd.Context(), o.query))
		})
	}
	return cmd
}

// read checks the flags and completes the query.
func (o *auditOptions) read(cmd *cobra.Command, now time.Time) (err error) {
	switch {
	case o.query.Last < 0:
		return usagef(cmd, "--limit must not be negative")
	case o.follow && o.file != "":
		return usagef(cmd,
			"--follow shows future entries, and an archive has none: use only one of --follow and --file")
	case o.follow && o.output.value == "json":
		return usagef(cmd, "--follow never ends, so it cannot print a JSON array: use -o jsonl")
	case o.follow && o.until != "":
		return usagef(cmd, "--follow shows future entries, --until past ones: use only one of them")
	}
	for name, pattern := range map[string]string{"--actor": o.query.Actor, "--action": o.query.Action} {
		if strings.Contains(strings.TrimSuffix(pattern, "*"), "*") {
			return usagef(cmd, "%s allows * only as the last character", name)
		}
	}
	if o.query.Since, err = readTime(o.since, now); err != nil {
		return usagef(cmd, "--since %s", err)
	}
	if o.query.Until, err = readTime(o.until, now); err != nil {
		return usagef(cmd, "--until %s", err)
	}
	return nil
}

// readTime parses a time, a day or an age. An empty text is the zero time.
func readTime(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if at, isInstant := readInstant(text); isInstant {
		return at, nil
	}
	if ago, isAge := readAge(text); isAge {
		return now.Add(-ago).UTC(), nil
	}
	return time.Time{},
		fmt.Errorf("%q is not a time: write 2026-06-15T12:00:00Z, a day (2026-06-15) or an age (24h, 7d)", text)
}

// readInstant parses a time, or a day, which is its midnight in UTC.
func readInstant(text string) (at time.Time, isInstant bool) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), true
		}
	}
	return time.Time{}, false
}

// readAge parses a duration that is not negative, also one of days.
func readAge(text string) (age time.Duration, isAge bool) {
	if days, found := strings.CutSuffix(text, "d"); found {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err == nil
	}
	age, err := time.ParseDuration(text)
	return age, err == nil && age >= 0
}

// followInterval is how often the database is polled for new entries.
const followInterval = time.Second

// followAudit prints existing entries and then new ones, until ctx ends, which is not an error.
func (p *program) followAudit(ctx context.Context, query store.AuditQuery, format string) error {
	err := p.withExistingStore(ctx, func(db store.Store) error {
		ticks, stop := p.every(followInterval)
		defer stop()
		f := follower{log: db, query: query, out: p.Out}
		line := func(cells []string) error {
			_, err := fmt.Fprintf(&f.buffer, auditLine, cells[0], cells[1], cells[2], cells[3])
			return err
		}
		if format == "jsonl" {
			encoder := json.NewEncoder(display.JSONWriter(&f.buffer))
			f.format = func(e store.AuditEntry) error { return encoder.Encode(e) }
		} else {
			f.format = func(e store.AuditEntry) error { return line(cleanCells(auditTable.cells(e))) }
			_ = line(auditTable.columns) // a buffer never fails
		}
		return f.follow(ctx, ticks, p.Err)
	})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// auditLine has columns wide enough for most actors and actions: the width of future entries is unknown.
const auditLine = "%-20s  %-24s  %-21s  %s\n"

// follower polls the audit log.
type follower struct {
	log      store.AuditLog
	query    store.AuditQuery
	position store.AuditPosition
	buffer   bytes.Buffer // read but not yet printed
	out      io.Writer
	format   func(store.AuditEntry) error // into the buffer
}

// maxBuffered limits the memory of a poll, to about 40,000 lines or a few thousand JSON records.
const maxBuffered = 4 << 20

// follow polls now and at each tick. After the first poll it waits for a database that becomes unavailable.
func (f *follower) follow(ctx context.Context, ticks <-chan time.Time, stderr io.Writer) error {
	unavailable := false
	for {
		printed, err := f.poll(ctx)
		switch {
		case err == nil:
			unavailable = false
		case printed || f.position == "" || api.CodeOf(err) != api.CodeUnavailable:
			return err
		case !unavailable:
			unavailable = true
			fmt.Fprintln(stderr, "perksd: the database is unavailable; the output resumes without gaps when it is back")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticks:
		}
	}
}

// poll prints new entries, after it has read all of them: a pager may take hours to read the output, and a transaction
// that stays open keeps the database from vacuuming. It returns whether it has printed any, because a retry would print
// them twice.
func (f *follower) poll(ctx context.Context) (printed bool, err error) {
	for entry, err := range f.log.AuditSince(ctx, f.query, &f.position) {
		if err == nil {
			err = f.format(entry)
		}
		if err == nil && f.buffer.Len() >= maxBuffered {
			printed = true
			_, err = f.buffer.WriteTo(f.out)
		}
		if err != nil {
			f.buffer.Reset()
			return printed, err
		}
	}
	_, err = f.buffer.WriteTo(f.out)
	return err != nil, err
}
