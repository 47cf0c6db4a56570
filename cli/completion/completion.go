// Package completion is what happens when a person presses TAB: the completion command, which prints the script that a shell
// loads, and the values that the script is offered while a line is typed, some of them from the service itself.
//
// It puts its functions onto the finished tree of commands, which knows nothing of it. A completion asks for nothing, tells
// nothing and waits for little: what cannot be had in time is not offered.
package completion

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

// Attach adds the completion command to the root, and has the tree's completions made when a shell asks for some. Every
// other command pays nothing for them.
func Attach(root *cobra.Command, s *session.Session) {
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(newCommand(s))
	prepare := root.PersistentPreRunE
	root.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Name() == cobra.ShellCompRequestCmd {
			register(root, s)
		}
		return prepare(cmd, args)
	}
}

// Environment is the environment of a run with these arguments. One that completes leaves the keyring alone, because the
// keyring might ask for its password: who presses TAB is content with what the last token can read, or with older values.
func Environment(args []string, env func(string) string) func(string) string {
	if len(args) == 0 || args[0] != cobra.ShellCompRequestCmd && args[0] != cobra.ShellCompNoDescRequestCmd {
		return env
	}
	return func(name string) string {
		if name == session.EnvKeyring {
			return "off"
		}
		return env(name)
	}
}

// script is what the command gives to programs.
type script struct {
	Shell  string `json:"shell"`
	Script string `json:"script"`
}

func newCommand(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print the script that completes commands in a shell",
		Long: "Print the script that lets a shell complete commands, flags and their values: bash, zsh, fish or powershell.\n" +
			"The ids of perks, categories and cities come from the service, if it answers within " + defaultLimit.String() + ";\n" +
			EnvTimeout + " names another limit. The examples install it for new shells; bash needs the package\n" +
			"bash-completion.",
		Example:   installation,
		Args:      command.Exactly("SHELL"),
		ValidArgs: shells(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return run(cmd.Context(), s, cmd.Root(), args[0])
		},
	}
}

func run(ctx context.Context, s *session.Session, root *cobra.Command, shell string) error {
	printer, err := output.New[script](s.Output, s.Streams, output.View{ID: "shell"})
	if err != nil {
		return err
	}
	var text strings.Builder
	generate := generator(root, shell)
	if generate == nil {
		return command.Usagef("There is no completion for %q.%s The shells are %s.", shell, command.DidYouMean(shell, shells()), strings.Join(shells(), ", "))
	}
	if err := generate(&text); err != nil {
		return err
	}
	if s.Output.IsTable() && len(s.Output.Fields) == 0 {
		_, err := s.Streams.Out.Write([]byte(text.String()))
		return err
	}
	return printer.One(ctx, script{shell, text.String()})
}
