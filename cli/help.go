package cli

import (
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"example.com/perks/cli/command"
	"example.com/perks/cli/completion"
	"example.com/perks/cli/session"
)

// Meaning is a name, such as an exit code or a variable of the environment, and what it means.
type Meaning struct{ Name, Text string }

// ExitCodes returns what each exit code says.
func ExitCodes() []Meaning {
	code := strconv.Itoa
	return []Meaning{
		{code(command.ExitOK), "done"},
		{code(command.ExitFailed), "refused or failed"},
		{code(command.ExitUsage), "wrong usage, or a file that cannot be used; nothing was sent"},
		{code(command.ExitCancelled), "cancelled"},
		{code(command.ExitDenied), "not logged in, or not allowed"},
		{code(command.ExitNotFound), "not found"},
		{code(command.ExitConflict), "conflict: already redeemed, changed meanwhile, or another run is using the results file"},
		{code(command.ExitSomeFailed), "some rows failed or are unknown, or in a dry run would fail"},
		{code(command.ExitUnreached), "the server was not reached, or the outcome is unknown"},
		{code(command.ExitInterrupted), "interrupted"},
	}
}

// Environment returns the variables that perksctl reads.
func Environment() []Meaning {
	return []Meaning{
		{session.EnvAPIURL, "the address of the API"},
		{session.EnvClientID, "the id of the client"},
		{session.EnvClientSecret, "the secret of the client; with the two above no login is needed"},
		{session.EnvToken, "a bearer token, in the place of id and secret"},
		{session.EnvProfile, "the profile to use"},
		{session.EnvCACert, "a PEM file of certificates to trust, beside the system's"},
		{session.EnvConfigDir, "the folder of the configuration"},
		{session.EnvKeyring, "off keeps secrets in a file, and leaves the keyring alone"},
		{completion.EnvTimeout, "how long a completion in the shell may take"},
		{"NO_COLOR", "if set, write no colour; CLICOLOR_FORCE=1 writes it even off a terminal"},
	}
}

const (
	groupWork   = "work"
	groupAccess = "access"
	groupOther  = "other"
)

// groupOf says under which heading of the help a command of the root stands.
func groupOf(name string) string {
	switch name {
	case "auth", "login", "profile":
		return groupAccess
	case "api", "completion", "doctor", "help", "version":
		return groupOther
	}
	return groupWork
}

// explain orders the help of the root and adds to it what concerns every command.
func explain(root *cobra.Command) {
	root.AddGroup(
		&cobra.Group{ID: groupWork, Title: "Perks and properties:"},
		&cobra.Group{ID: groupAccess, Title: "Access:"},
		&cobra.Group{ID: groupOther, Title: "More:"},
	)
	root.SetHelpCommand(newHelp())
	root.SetHelpCommandGroupID(groupOther)
	for _, cmd := range root.Commands() {
		cmd.GroupID = groupOf(cmd.Name())
	}
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		help(cmd, args)
		if cmd == root {
			out := cmd.OutOrStdout()
			list(out, "Environment", Environment())
			list(out, "Exit codes", ExitCodes())
		}
	})
}

func list(out io.Writer, heading string, meanings []Meaning) {
	width := 0
	for _, m := range meanings {
		width = max(width, len(m.Name))
	}
	fmt.Fprintf(out, "\n%s:\n", heading)
	for _, m := range meanings {
		fmt.Fprintf(out, "  %-*s  %s\n", width, m.Name, m.Text)
	}
}

// newHelp is cobra's help command, except that a command that does not exist is wrong usage.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]...",
		Short:   "Show the help of a command",
		Example: "  perksctl help perk redeem",
		GroupID: groupOther,
		RunE: func(cmd *cobra.Command, args []string) error {
			found := cmd.Root()
			for _, word := range args {
				member := command.Member(found, word)
				if member == nil {
					return command.Unknown(found, word)
				}
				found = member
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			found := cmd.Root()
			for _, word := range args {
				if found = command.Member(found, word); found == nil {
					return cobra.NoFileCompletions(cmd, args, typed)
				}
			}
			return command.Members(found, typed), cobra.ShellCompDirectiveNoFileComp
		},
	}
}
