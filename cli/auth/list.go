package auth

import (
	"context"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

func newList(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the profiles",
		Example: "  perksctl profile list\n  perksctl profile list --output id",
		Args:    command.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runList(cmd.Context(), s) },
	}
}

func runList(ctx context.Context, s *session.Session) error {
	printer, err := output.New[entry](s.Output, s.Streams, view())
	if err != nil {
		return err
	}
	c, err := s.LoadConfig()
	if err != nil {
		return err
	}
	var entries []entry
	for _, name := range slices.Sorted(maps.Keys(c.Profiles)) {
		entries = append(entries, newEntry(s, c, name))
	}
	if len(entries) == 0 {
		s.Streams.Note("There are no profiles yet. Make one: perksctl auth login")
	}
	if name, chosen := s.ProfileName(c); chosen && name != c.CurrentName() {
		s.Streams.Note("Commands here use %s, which goes before the current profile.", name)
	}
	return printer.List(ctx, output.Each(entries))
}
