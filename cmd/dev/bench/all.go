package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"
)

// allPerks is how many perks a list of all has.
const allPerks = 1_000_000

// mostMemory is what perksctl may take at most, however much it works through.
var mostMemory = target{64, atMost}

// measureAll measures what it takes perksctl to write a list of a million perks.
func measureAll(ctx context.Context, l *lab) (result *table, err error) {
	file, err := l.sqliteWith(ctx, allPerks)
	if err != nil {
		return nil, err
	}
	perksd, err := l.serve(ctx, file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, perksd.stop()) }()
	l.say("all: listing %s perks", grouped(allPerks))
	var written lines
	cost, err := l.perksctl(ctx, perksd, &written, "perk", "list", "--all", "--include-expired", "--output", "jsonl")
	if err != nil {
		return nil, err
	}
	if written.count != allPerks {
		return nil, fmt.Errorf("the list of %d perks has %d lines", allPerks, written.count)
	}
	result = newMemoryTable("Listing all (`all`)", "over SQLite", "lines", "bytes", "time", "processor's time")
	result.add(float64(cost.peak), mostMemory, "`perksctl perk list --all -o jsonl`", grouped(written.count), grouped(written.bytes), seconds(cost.time), seconds(cost.cpu))
	return result, nil
}

// newMemoryTable makes a table of work that is bound by an amount of memory instead of a ratio.
func newMemoryTable(title string, header ...string) *table {
	t := newTable(title, header...)
	t.header[len(header)] = "peak MiB"
	return t
}

// seconds writes a duration to the tenth.
func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// lines counts what is written to it.
type lines struct{ count, bytes int64 }

func (l *lines) Write(text []byte) (int, error) {
	l.count += int64(bytes.Count(text, []byte{'\n'}))
	l.bytes += int64(len(text))
	return len(text), nil
}
