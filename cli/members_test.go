package cli

import (
	"slices"
	"testing"

	"github.com/spf13/cobra"

	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
)

// TestRunMakesOnlyItsCommand also checks the names in the list of members: a wrong one would hide its command from its
// own run.
func TestRunMakesOnlyItsCommand(t *testing.T) {
	streams, _, _ := command.BufferedStreams("")
	s := session.New(streams, func(string) string { return "" }, "test")
	names := func(args ...string) (names []string) {
		for _, cmd := range newRoot(s, args).Commands() {
			names = append(names, cmd.Name())
		}
		return names
	}
	all := names()
	for _, m := range members {
		if made := names(m.name, "--help"); !slices.Equal(made, []string{m.name}) {
			t.Errorf("perksctl %s makes %q", m.name, made)
		}
	}
	for _, args := range [][]string{
		{"help", "perk"}, {"perks"}, {"--quiet", "perk"}, {cobra.ShellCompRequestCmd, "perk", ""}, {"prk"},
	} {
		if made := names(args...); !slices.Equal(made, all) {
			t.Errorf("perksctl %q makes %q, want all of %q", args, made, all)
		}
	}
}
