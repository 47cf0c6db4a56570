// Command bench measures the service and its client side by side with what bounds them, in one run, and prints the
// ratios as tables: reading a perk against a bare handler, redeeming against plain inserts, lists at a million perks
// against lists at ten thousand, redeeming from a file against a bare load generator.
//
// It drives the programs as they are built, over loopback, and starts and stops everything that it needs. It knows how
// to put load on a service and nothing of its insides.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// section is one thing to measure.
type section struct {
	name    string
	summary string
	measure func(context.Context, *harness) (*table, error)
}

var sections = []section{
	{"get", "one perk over HTTP, against a bare handler", measureGet},
	{"redeem-hot", "redeeming one hot perk on PostgreSQL, against pgbench", measureRedeemHot},
	{"redeem-sqlite", "redeeming on SQLite at 64 connections, against one and against bare writes",
		measureRedeemSQLite},
	{"lists", "lists at 1,000,000 perks, against 10,000", measureLists},
	{"version", "the start of perksctl, against bare cobra programs", measureStart},
	{"all", "perksctl's list of 1,000,000 perks, against perksd's export", measureAll},
	{"bulk", "redeeming the rows of a file, against a bare load generator", measureBulk},
	{"bulk-million", "perksctl's memory for a file of 1,000,000 rows", measureBulkMillion},
	{"frames", "the terminal UI from a key to its frame, with 1,000,000 perks", measureFrames},
	{"import", "importing 1,000,000 perks, against bare copies of them", measureImport},
}

// options is what the command line says.
type options struct {
	only   []string // sections; empty is all
	rounds int
	time   time.Duration
	cache  cache
	strict bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)                     // a second signal ends it at once
	if slices.Equal(os.Args[1:], []string{"bare"}) { // a program of its own, which the section get starts
		if err := serveBare(ctx, os.Getenv("BARE_DATABASE")); err != nil {
			fmt.Fprintln(os.Stderr, "bench bare:", err)
			os.Exit(1)
		}
		return
	}
	o, err := readOptions(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	missed, err := run(ctx, o, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	if missed > 0 && o.strict {
		os.Exit(1)
	}
}

func readOptions(args []string, stderr io.Writer) (options, error) {
	var o options
	var only string
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&only, "only", "", "the `SECTIONS` to measure, with commas between (default: all)")
	flags.IntVar(&o.rounds, "rounds", 5, "how often each side of a comparison is measured, at most 20")
	flags.DurationVar(&o.time, "time", 4*time.Second, "how long each side is measured in a round")
	flags.StringVar(&o.cache.dir, "cache", ".bench", "the `DIRECTORY` that keeps filled databases for the next run")
	flags.BoolVar(&o.strict, "strict", false, "exit with 1 when a target is missed")
	flags.Usage = func() {
		fmt.Fprintln(stderr, "Measure perksd and perksctl, and print ratios as tables. The sections:")
		for _, s := range sections {
			fmt.Fprintf(stderr, "  %-14s %s\n", s.name, s.summary)
		}
		fmt.Fprintln(stderr, "The flags:")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if only != "" {
		o.only = strings.Split(only, ",")
	}
	return o, o.check(flags.Args())
}

func (o options) check(left []string) error {
	for _, name := range o.only {
		if !slices.ContainsFunc(sections, func(s section) bool { return s.name == name }) {
			return fmt.Errorf("there is no section %q; -help lists them", name)
		}
	}
	switch {
	case len(left) > 0:
		return fmt.Errorf("%q is not understood; -help lists the flags", left[0])
	case o.rounds < 1 || o.rounds > 20:
		return errors.New("-rounds must be between 1 and 20")
	case o.time < time.Second:
		return errors.New("-time must be a second or more")
	}
	return nil
}

// wants tells whether a section is to be measured.
func (o options) wants(name string) bool {
	return len(o.only) == 0 || slices.Contains(o.only, name)
}

// run measures what is wanted, prints each table when it is there, and returns how many targets were missed.
func run(ctx context.Context, o options, out io.Writer) (missed int, err error) {
	// As make builds them: a program that loads the C library takes a millisecond longer to start.
	if err := os.Setenv("CGO_ENABLED", "0"); err != nil {
		return 0, err
	}
	l, err := openHarness(ctx, o)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	m, err := describeMachine(ctx)
	if err != nil {
		return 0, err
	}
	fmt.Fprintf(out, "%s\n\n", m)
	for _, s := range sections {
		if !o.wants(s.name) {
			continue
		}
		t, err := l.measure(ctx, s)
		if err != nil {
			return 0, err
		}
		if err := t.write(out); err != nil {
			return 0, err
		}
		missed += t.missed
	}
	fmt.Fprintf(out, "Targets missed: %d.\n", missed)
	return missed, nil
}
