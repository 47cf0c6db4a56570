// Package perk is the commands about perks and the users who redeem them: browse, read, redeem.
package perk

import (
	"context"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

// View is how perks are shown, here and wherever else a list of them appears.
var View = output.View{
	Columns: []string{"id", "title", "category", "merchant_name", "discount_text", "city", "valid_to"},
	Least:   []string{"category", "merchant_name", "city"},
	ID:      "id",
}

// New makes the group.
func New(s *session.Session) *cobra.Command {
	return command.Group(cobra.Command{
		Use:     "perk",
		Aliases: []string{"perks"},
		Short:   "Browse, read and redeem perks",
		Example: "  perksctl perk list --city Berlin\n  perksctl perk redeem coffee-2for1 --user alice",
	}, newList(s), newGet(s), newCategories(s), newRedeem(s))
}

type listOptions struct {
	session *session.Session
	flags   ListFlags
	filters ListFilters
	perks   client.PerkListOptions
}

func newList(s *session.Session) *cobra.Command {
	o := &listOptions{session: s}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List perks",
		Long: "List perks, one page unless --limit or --all says otherwise.\n\n" +
			"With --all the perks are written as they come; --output jsonl then needs little memory for any number of them.",
		Example: "  perksctl perk list --category \"Food & Drink\" --sort title\n" +
			"  perksctl perk list --near 51.5072,-0.1276 --radius 5 --sort distance\n" +
			"  perksctl perk list --all --output jsonl > perks.jsonl",
		Args: command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if err := o.flags.Check(cmd); err != nil {
				return err
			}
			if err := o.flags.CheckSort(s.Streams, api.PerkSortFields()); err != nil {
				return err
			}
			if err := o.flags.CheckDistance(o.filters); err != nil {
				return err
			}
			if o.perks, err = o.filters.Apply(cmd, o.flags.Options()); err != nil {
				return err
			}
			return runList(cmd.Context(), o)
		},
	}
	o.flags.Bind(cmd, api.PerkSortFields())
	o.filters.Bind(cmd)
	return cmd
}

func runList(ctx context.Context, o *listOptions) error {
	printer, err := output.New[api.Perk](o.session.Output, o.session.Streams, View)
	if err != nil {
		return err
	}
	c, _, err := o.session.Connect()
	if err != nil {
		return err
	}
	return ShowList(ctx, o.session.Streams, printer, o.flags, c.PerkPages(ctx, o.perks))
}

type getOptions struct {
	session *session.Session
	ids     []string
}

func newGet(s *session.Session) *cobra.Command {
	o := &getOptions{session: s}
	return &cobra.Command{
		Use:     "get ID...",
		Short:   "Show perks by their ids",
		Long:    "Show one perk, or several as a list. If one of them cannot be read, none is shown.",
		Example: "  perksctl perk get coffee-2for1\n  perksctl perk get coffee-2for1 spa-day --output json",
		Args:    command.AtLeastOne("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.ids = args
			return runGet(cmd.Context(), o)
		},
	}
}

func runGet(ctx context.Context, o *getOptions) error {
	printer, err := output.New[api.Perk](o.session.Output, o.session.Streams, View)
	if err != nil {
		return err
	}
	c, _, err := o.session.Connect()
	if err != nil {
		return err
	}
	perks := make([]api.Perk, len(o.ids))
	for i, id := range o.ids {
		if perks[i], err = c.Perk(ctx, id); err != nil {
			return command.Among(len(o.ids), "perk "+id, err)
		}
	}
	return printer.Few(ctx, perks)
}

func newCategories(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Use:     "categories",
		Short:   "List the categories of perks",
		Example: "  perksctl perk categories\n  perksctl perk list --category \"$(perksctl perk categories --output id | head -1)\"",
		Args:    command.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runCategories(cmd.Context(), s) },
	}
}

func runCategories(ctx context.Context, s *session.Session) error {
	printer, err := output.New[api.Category](s.Output, s.Streams, output.View{ID: "id"})
	if err != nil {
		return err
	}
	c, _, err := s.Connect()
	if err != nil {
		return err
	}
	categories, err := c.Categories(ctx)
	if err != nil {
		return err
	}
	return printer.List(ctx, output.Each(categories))
}
