package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/user"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"example.com/perks/api/display"
	"example.com/perks/api/rows"
	"example.com/perks/store"
)

// currentOperator is how the audit log names the operator: the account of the process and, under sudo, who ran it.
// SUDO_USER comes from the environment: it helps to find a person, but proves nothing, so the account always comes
// first.
func currentOperator(getenv func(string) string) store.Actor {
	var account string
	// Not user.Current, which falls back to the environment.
	if found, err := user.LookupId(fmt.Sprint(os.Getuid())); err == nil {
		account = found.Username
	} else if os.Getuid() < 0 { // Windows has no numeric ids
		if found, err := user.Current(); err == nil {
			account = found.Username
		}
	}
	return operatorActor(account, os.Getuid(), getenv("SUDO_USER"))
}

func operatorActor(account string, uid int, sudoUser string) store.Actor {
	account = cmp.Or(account, fmt.Sprintf("uid-%d", uid))
	if sudoUser == "" || sudoUser == account {
		return store.OperatorActor(accountName(account))
	}
	return store.OperatorActor(accountName(account), accountName(sudoUser))
}

// maxAccountName is longer than any system allows.
const maxAccountName = 64

// accountName keeps only characters that are safe in a log and can't look like a second name.
func accountName(name string) string {
	if utf8.RuneCountInString(name) > maxAccountName {
		name = string([]rune(name)[:maxAccountName])
	}
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', strings.ContainsRune(`._-@+\$`, r):
			return r
		}
		return '_'
	}, name)
}

var errNotConfirmed = errors.New("cancelled; nothing was changed")

// yesFlag adds --yes to a command that asks for confirmation, and makes it fail if it can't ask.
func (p *program) yesFlag(cmd *cobra.Command, action string) {
	cmd.Flags().BoolVar(&p.yes, "yes", false, "do not ask")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if !p.yes && !p.CanAsk() {
			return usagef(cmd, "cannot ask for confirmation without a terminal: add --yes to %s", action)
		}
		return nil
	}
}

// confirm asks for confirmation, unless --yes is given. A key is easily hit by mistake, so it takes a whole word.
func (p *program) confirm(ctx context.Context, question string) error {
	if p.yes {
		return nil
	}
	fmt.Fprintln(p.Err, question)
	// The end of the input counts as no.
	if line, _ := p.Ask(ctx, "Type yes to continue: "); strings.TrimSpace(line) != "yes" {
		return errNotConfirmed
	}
	return nil
}

// enumFlag is a flag with a few allowed values.
type enumFlag struct {
	value   string
	allowed []string
}

// outputFlag adds -o with the formats that the command can print; the first is the default.
func outputFlag(cmd *cobra.Command, formats ...string) *enumFlag {
	c := &enumFlag{value: formats[0], allowed: formats}
	cmd.Flags().VarP(c, "output", "o", "output format")
	// It fails only if there is no such flag.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func (c *enumFlag) String() string { return c.value }

// Type is how help shows the values.
func (c *enumFlag) Type() string { return strings.Join(c.allowed, "|") }

func (c *enumFlag) Set(word string) error {
	if !slices.Contains(c.allowed, word) {
		return fmt.Errorf("it must be one of %s", strings.Join(c.allowed, ", "))
	}
	c.value = word
	return nil
}

// table is how a list of R is shown as a table.
type table[R any] struct {
	columns []string
	cells   func(R) []string
}

// print writes the records in constant memory: as a table, one JSON array, or JSON lines.
func (l table[R]) print(out io.Writer, format string, records iter.Seq2[R, error]) error {
	switch format {
	case "json":
		return printJSONArray(out, records)
	case "jsonl":
		return writeRows(out, rows.JSONL, nil, records)
	}
	return l.printTable(out, records)
}

// printOne writes a record as JSON, or as a table of one row.
func (l table[R]) printOne(out io.Writer, format string, record R) error {
	if format == "json" {
		return printJSON(out, record)
	}
	return l.printTable(out, sequence([]R{record}, nil))
}

// blockRows is how many rows of a table are aligned with each other.
const blockRows = 1000

func (l table[R]) printTable(out io.Writer, records iter.Seq2[R, error]) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(l.columns, "\t"))
	n := 0
	return writeAll(records, func(record R) error {
		fmt.Fprintln(w, strings.Join(cleanCells(l.cells(record)), "\t"))
		if n++; n%blockRows == 0 {
			return w.Flush()
		}
		return nil
	}, w.Flush)
}

// writeAll writes records until one fails, and then what is left in a buffer.
func writeAll[R any](records iter.Seq2[R, error], write func(R) error, flush func() error) error {
	for record, err := range records {
		if err == nil {
			err = write(record)
		}
		if err != nil {
			return err
		}
	}
	return flush()
}

// cleanCells makes each text one line without control characters.
func cleanCells(texts []string) []string {
	for i, text := range texts {
		texts[i] = display.Line(text)
	}
	return texts
}

func printJSONArray[R any](out io.Writer, records iter.Seq2[R, error]) error {
	w := bufio.NewWriter(out)
	separator, end := "[", "[]"
	return writeAll(records, func(record R) error {
		text, err := json.Marshal(record)
		fmt.Fprintf(w, "%s\n  %s", separator, display.JSON(text))
		separator, end = ",", "\n]"
		return err
	}, func() error {
		fmt.Fprintln(w, end)
		return w.Flush()
	})
}

func writeRows[R any](out io.Writer, format rows.Format, header []string, records iter.Seq2[R, error]) error {
	w, err := rows.NewWriter(out, format, header, display.JSON)
	if err != nil {
		return err
	}
	return writeAll(records, func(record R) error { return w.Write(record) }, w.Flush)
}

// sequence yields the records of a list, or the error.
func sequence[R any](list []R, err error) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		if err != nil {
			yield(*new(R), err)
			return
		}
		for _, record := range list {
			if !yield(record, nil) {
				return
			}
		}
	}
}

func printJSON(out io.Writer, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\n", display.JSON(text))
	return err
}

func timeText(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// timeOrDash writes a time that may be nil.
func timeOrDash(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return timeText(*t)
}

// orNull is nil, and null in JSON, for the zero time.
func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC())
}
