package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/store"
)

// followEvery is how often the database is asked for new entries.
const followEvery = time.Second

// everyTime is how a program waits: it returns what ticks, and how to end that.
func everyTime(d time.Duration) (<-chan time.Time, func()) {
	ticker := time.NewTicker(d)
	return ticker.C, ticker.Stop
}

// followAudit prints the entries that are there and then new ones, until ctx ends: that is how it is meant to end.
func (p *program) followAudit(ctx context.Context, query store.AuditQuery, format string) error {
	err := p.withExistingStore(ctx, func(db store.Store) error {
		ticks, stop := p.every(followEvery)
		defer stop()
		f := follower{log: db, query: query, out: p.stdout, write: writeAuditLine}
		if format == "jsonl" {
			f.write = writeAuditJSON
		} else {
			fmt.Fprintf(&f.held, auditLine, "AT", "ACTOR", "ACTION", "SUBJECT")
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

func writeAuditLine(out io.Writer, e store.AuditEntry) error {
	cells := lines(auditCells(e))
	_, err := fmt.Fprintf(out, auditLine, cells[0], cells[1], cells[2], cells[3])
	return err
}

func writeAuditJSON(out io.Writer, e store.AuditEntry) error {
	return json.NewEncoder(display.JSONWriter(out)).Encode(e)
}

// follower reads the audit log in turns.
type follower struct {
	log      store.AuditLog
	query    store.AuditQuery
	position store.AuditPosition
	held     bytes.Buffer // read but not yet printed
	out      io.Writer
	write    func(io.Writer, store.AuditEntry) error
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
			err = f.write(&f.held, entry)
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
