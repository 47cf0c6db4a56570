package record

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/cli/command"
	"example.com/perks/cli/list"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

// AsOf is the flag --as-of.
type AsOf struct {
	At   time.Time // zero without the flag
	text string
}

// Bind declares the flag. show begins its help.
func (a *AsOf) Bind(cmd *cobra.Command, show string) {
	cmd.Flags().StringVar(&a.text, "as-of", "",
		show+" at this `TIME`, such as 2026-01-31 or 2026-01-31T09:00:00Z")
}

// Check reads the flag.
func (a *AsOf) Check(cmd *cobra.Command) (err error) {
	if problem := ""; cmd.Flags().Changed("as-of") {
		if a.At, problem = api.ParseTime(a.text); problem != "" {
			err = command.Usagef("--as-of %q: %s.", a.text, problem)
		}
	}
	return err
}

// NewGet adds to a command with a description that it shows records, or with --as-of former versions of them.
func (k *Kind[I, R, P]) NewGet(s *session.Session, cmd cobra.Command, show string) *cobra.Command {
	var asOf AsOf
	get := func(ctx context.Context, c *client.Client, id string) (v Versioned[R], err error) {
		if asOf.At.IsZero() {
			v.Record, v.ETag, err = k.Get(c, ctx, I(id))
		} else {
			v.Record, v.ETag, err = k.AsOf(c, ctx, I(id), asOf.At)
		}
		return v, err
	}
	print := func(ctx context.Context, printer *output.Printer[Versioned[R]], records []Versioned[R]) error {
		isGuarded := func(v Versioned[R]) bool { return v.ETag != "" }
		if slices.ContainsFunc(records, isGuarded) || slices.Contains(s.Output.Fields, etagColumn) {
			return printer.OneOrList(ctx, records)
		}
		// Without ETags, leave the column out: empty cells would make every row of an update fail.
		without, err := output.New[R](s.Output, s.Streams, k.View)
		if err != nil {
			return err
		}
		plain := make([]R, len(records))
		for i, v := range records {
			plain[i] = v.Record
		}
		return without.OneOrList(ctx, plain)
	}
	cmd.Use, cmd.Short = "get ID...", "Show "+k.Plural+" by their ids"
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		_, invalid := k.parseIDs(args)
		return cmp.Or(command.AtLeastOne("ID")(cmd, args), cmp.Or(invalid, asOf.Check(cmd)))
	}
	cmd.ValidArgsFunction = k.IDs(s, false)
	getter := list.Getter[Versioned[R]]{View: k.View, Noun: k.Name, Get: get, Show: print}.Command(s, cmd)
	asOf.Bind(getter, show)
	return getter
}
