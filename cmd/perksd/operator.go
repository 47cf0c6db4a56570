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
	"golang.org/x/term"

	"example.com/perks/api/display"
	"example.com/perks/api/rows"
	"example.com/perks/store"
)

// whoOperates is how the audit log names the person who types: by the account of the process and, where sudo says so, by
// the one who became it. What sudo says is what the environment says: it helps to find a person, and proves nothing, which
// is why the account itself always comes first.
func whoOperates(getenv func(string) string) store.Actor {
	var account string
	// Not user.Current, which asks the environment when it finds no name.
	if found, err := user.LookupId(fmt.Sprint(os.Getuid())); err == nil {
		account = found.Username
	} else if os.Getuid() < 0 { // Windows has names where others have numbers
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

// maxAccountName is longer than any system's names are.
const maxAccountName = 64

// accountName keeps a name to what is plain in a log and cannot be taken for more than one name.
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

func isTerminal(stream any) bool {
	file, isFile := stream.(*os.File)
	return isFile && term.IsTerminal(int(file.Fd()))
}

var errNotConfirmed = errors.New("cancelled; nothing was changed")

// yesFlag declares --yes for a command that asks before something is lost, and refuses to run it where nobody can be asked.
func (p *program) yesFlag(cmd *cobra.Command, whether string) {
	cmd.Flags().BoolVar(&p.yes, "yes", false, "do not ask")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if !p.yes && !p.canAsk {
			return usagef(cmd, "there is nobody to ask here whether %s: add --yes", whether)
		}
		return nil
	}
}

// confirm asks, unless --yes is given. Only the whole word will do: a finger on the wrong key is no agreement.
func (p *program) confirm(ctx context.Context, question string) error {
	if p.yes {
		return nil
	}
	fmt.Fprintf(p.stderr, "%s\nType yes to go on: ", question)
	answered := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(p.stdin).ReadString('\n') // the end of the input is no yes
		answered <- line
	}()
	select {
	case line := <-answered:
		if strings.TrimSpace(line) == "yes" {
			return nil
		}
	case <-ctx.Done():
		fmt.Fprintln(p.stderr)
	}
	return errNotConfirmed
}

type choice struct {
	value   string
	allowed []string
}

// outputFlag declares -o with the formats that the command can print; the first is what it prints by default.
func outputFlag(cmd *cobra.Command, formats ...string) *choice {
	c := &choice{value: formats[0], allowed: formats}
	cmd.Flags().VarP(c, "output", "o", "how to print")
	// It fails only for a flag that is not there.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func (c *choice) String() string { return c.value }

// Type is how help shows the values.
func (c *choice) Type() string { return strings.Join(c.allowed, "|") }

func (c *choice) Set(word string) error {
	if !slices.Contains(c.allowed, word) {
		return fmt.Errorf("it must be one of %s", strings.Join(c.allowed, ", "))
	}
	c.value = word
	return nil
}

// listing is how a list of R is shown as a table.
type listing[R any] struct {
	columns []string
	cells   func(R) []string
}

// print writes the records as they come, in constant memory: a table, one JSON array, or JSON lines.
func (l listing[R]) print(out io.Writer, format string, records iter.Seq2[R, error]) error {
	switch format {
	case "json":
		return printJSONArray(out, records)
	case "jsonl":
		return writeRows(out, rows.JSONL, nil, records)
	}
	return l.printTable(out, records)
}

// printOne writes a record as JSON, or as a table of one row.
func (l listing[R]) printOne(out io.Writer, format string, record R) error {
	if format == "json" {
		return printJSON(out, record)
	}
	return l.printTable(out, each([]R{record}, nil))
}

// blockRows is how many rows of a table are lined up with each other.
const blockRows = 1000

func (l listing[R]) printTable(out io.Writer, records iter.Seq2[R, error]) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(l.columns, "\t"))
	n := 0
	for record, err := range records {
		if err != nil {
			return err
		}
		fmt.Fprintln(w, strings.Join(lines(l.cells(record)), "\t"))
		if n++; n%blockRows == 0 {
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
	return w.Flush()
}

// lines makes each text one line without control characters, in place.
func lines(texts []string) []string {
	for i, text := range texts {
		texts[i] = display.Line(text)
	}
	return texts
}

func printJSONArray[R any](out io.Writer, records iter.Seq2[R, error]) error {
	w := bufio.NewWriter(out)
	before, end := "[", "[]"
	for record, err := range records {
		if err != nil {
			return err
		}
		text, err := json.Marshal(record)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s\n  %s", before, display.JSON(text))
		before, end = ",", "\n]"
	}
	fmt.Fprintln(w, end)
	return w.Flush()
}

func writeRows[R any](out io.Writer, format rows.Format, header []string, records iter.Seq2[R, error]) error {
	w, err := rows.NewWriter(out, format, header, display.JSON)
	if err != nil {
		return err
	}
	for record, err := range records {
		if err != nil {
			return err
		}
		if err := w.Write(record); err != nil {
			return err
		}
	}
	return w.Flush()
}

// each makes a sequence of a list, or of the error that there is in its place.
func each[R any](list []R, err error) iter.Seq2[R, error] {
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
