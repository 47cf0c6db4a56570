package perk

import (
	"context"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

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
