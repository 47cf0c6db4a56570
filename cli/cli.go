// Package cli is perksctl: the tree of its commands, and how a run begins and ends. It imports neither the server nor
// the store.
package cli

import (
	"bufio"
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/perks/api"
	"example.com/perks/cli/auth"
	"example.com/perks/cli/bulk"
	"example.com/perks/cli/command"
	"example.com/perks/cli/completion"
	"example.com/perks/cli/doctor"
	"example.com/perks/cli/event"
	"example.com/perks/cli/explain"
	"example.com/perks/cli/output"
	"example.com/perks/cli/perk"
	"example.com/perks/cli/property"
	"example.com/perks/cli/redemption"
	"example.com/perks/cli/session"
	"example.com/perks/cli/undo"
	"example.com/perks/cli/webhook"
)

// The groups of commands in the root's help.
const work, access, other = "work", "access", "other"

// members makes each command below the root.
var members = []struct {
	group, name string
	make        func(*session.Session) *cobra.Command
}{
	{access, "auth", auth.New}, {access, "login", auth.NewLogin}, {access, "logout", auth.NewLogout},
	{access, "whoami", auth.NewWhoami}, {access, "profile", auth.NewProfile}, {access, "config", newConfig},
	{work, "perk", perk.New}, {work, "redeem", perk.NewRedeem}, {work, "user", perk.NewUser},
	{work, "property", property.New}, {work, "redemption", redemption.New}, {work, "events", event.New},
	{work, "webhook", webhook.New},
	{work, "bulk", newBulk}, {work, "report", redemption.NewReport}, {work, "tui", newTUI}, {work, "mcp", newMCP},
	{other, "api", newAPI}, {other, "explain", explain.New}, {other, "open", newOpen}, {other, "doctor", doctor.New},
	{other, "completion", completion.New}, {other, "version", newVersion},
}

// NewRoot makes the tree of commands for one session.
func NewRoot(s *session.Session) *cobra.Command { return newRoot(s, nil) }

// newRoot makes what a run with these arguments needs of the tree. If the first one names a command, the others are not
// made, because declaring their flags takes longer than running version. Help, completions and mistakes need the whole
// tree.
func newRoot(s *session.Session, args []string) *cobra.Command {
	needed := members
	for i, m := range members {
		if len(args) > 0 && args[0] == m.name {
			needed = members[i : i+1]
		}
	}
	root := command.Group(cobra.Command{
		Use:   "perksctl",
		Short: "Browse and redeem perks, and manage properties",
		Long: "perksctl browses and redeems perks, and reads, updates and deletes properties.\n\n" +
			"Data goes to standard output, everything else to standard error. A setting is taken from its flag,\n" +
			"then from the environment, then from the profile.",
		Example: "  perksctl auth login --api-url https://perks.example/v2\n" +
			"  perksctl perk list --city Berlin\n" +
			"  perksctl perk redeem coffee-2for1 --user alice",
		SilenceErrors: true, SilenceUsage: true,
		PersistentPreRunE: func(*cobra.Command, []string) error { return s.Prepare() },
	})
	for _, m := range needed {
		cmd := m.make(s)
		cmd.GroupID = m.group
		root.AddCommand(cmd)
	}
	completion.Attach(root, s)
	describe(root)
	root.SetFlagErrorFunc(command.FlagError)
	root.SetIn(s.Streams.In)
	root.SetOut(s.Streams.Out)
	root.SetErr(s.Streams.Err)
	s.Bind(root.PersistentFlags())
	return root
}

// Main runs perksctl with the arguments behind its name and returns the exit code.
func Main(args []string, s *command.Streams, env func(string) string) int {
	if len(args) > 0 && args[0] == "--version" { // as other programs have it
		args = append([]string{"version"}, args[1:]...)
	}
	run := session.New(s, completion.Environment(args, env), api.Build().Version)
	root := newRoot(run, args)
	root.SetArgs(args)
	help := bufio.NewWriter(s.Out)
	root.SetOut(help)
	defer prepare(root, args)()
	err := root.ExecuteContext(context.Background())
	run.Finish()
	if flushed := help.Flush(); err == nil {
		err = flushed
	}
	err = run.Advise(command.ExplainFailure(err))
	if err != nil {
		output.WriteError(s, err, run.Output.WantsJSON() || asksForJSON(args))
	}
	return output.ExitCode(err)
}

// prepare adds to what the root does before a command runs. An interrupt or SIGTERM cancels the command, a second one
// ends the process; listening begins here because it takes a tenth of the program's start, which version does without.
func prepare(root *cobra.Command, args []string) (stop func()) {
	stopSignals := func() {}
	before := root.PersistentPreRunE
	root.PersistentPreRunE = func(cmd *cobra.Command, rest []string) error {
		ctx, cancel := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
		context.AfterFunc(ctx, cancel)
		stopSignals = cancel
		cmd.SetContext(ctx)
		if err := command.CheckFlagValues(cmd, args); err != nil {
			return err
		}
		return before(cmd, rest)
	}
	return func() { stopSignals() }
}

// asksForJSON parses the arguments once more, because the flags after a wrong one have not been parsed.
func asksForJSON(args []string) bool {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.BoolP("help", "h", false, "") // which would end the parsing
	o := output.Options{}
	flags.StringVarP(&o.Format, "output", "o", "", "")
	_ = flags.Parse(args)
	return o.WantsJSON()
}

// Reference explains the variables that perksctl reads, and its exit codes.
const Reference = `
Environment:
  PERKSCTL_API_URL             the address of the API
  PERKSCTL_CLIENT_ID           the id of the client
  PERKSCTL_CLIENT_SECRET       the secret of the client; with the two above no login is needed
  PERKSCTL_TOKEN               a bearer token, instead of id and secret
  PERKSCTL_ACTOR               the name of who sits at the client, kept with what is done
  PERKSCTL_PROFILE             the profile to use
  PERKSCTL_CA_CERT             a PEM file of certificates to trust as well
  PERKSCTL_CONFIG_DIR          the directory of the configuration
  PERKSCTL_KEYRING             off saves secrets in a file instead of the keyring
  PERKSCTL_COMPLETION_TIMEOUT  how long a completion in the shell may take
  NO_COLOR                     if set, write no colour; CLICOLOR_FORCE=1 writes it even off a terminal

Exit codes:
  0    done
  1    refused or failed
  2    wrong usage, or a file that cannot be used; nothing was sent
  3    cancelled
  4    not logged in, or not allowed
  5    not found
  6    conflict: already redeemed, changed meanwhile, or another run is using the results file
  7    some rows failed or are unknown, or in a dry run would fail
  8    the server was not reached, --timeout ended the wait, or the outcome is unknown
  130  interrupted
`

// describe groups the commands in the root's help, and adds the variables and exit codes to it.
func describe(root *cobra.Command) {
	root.AddGroup(&cobra.Group{ID: work, Title: "Perks and properties:"},
		&cobra.Group{ID: access, Title: "Access:"}, &cobra.Group{ID: other, Title: "More:"})
	root.SetHelpCommand(newHelp())
	command.SetHelp(root, Reference)
}

// newHelp is cobra's help command, except that an unknown command is a usage error.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]...",
		Short:   "Show the help of a command",
		Example: "  perksctl help perk redeem",
		GroupID: other,
		RunE: func(cmd *cobra.Command, args []string) error {
			found, err := find(cmd.Root(), args)
			if err != nil {
				return err
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
		ValidArgsFunction: completeCommands,
	}
}

// completeCommands completes the words of a command.
func completeCommands(cmd *cobra.Command, args []string, typed string) (names []string, _ cobra.ShellCompDirective) {
	if found, err := find(cmd.Root(), args); err == nil {
		for _, member := range found.Commands() {
			if member.IsAvailableCommand() {
				names = append(names, cobra.CompletionWithDesc(member.Name(), member.Short))
			}
		}
	}
	return completion.Beginning(names, typed), cobra.ShellCompDirectiveNoFileComp
}

// find returns the command that the words name.
func find(cmd *cobra.Command, words []string) (*cobra.Command, error) {
	for _, word := range words {
		isMeant := func(member *cobra.Command) bool { return member.Name() == word || member.HasAlias(word) }
		i := slices.IndexFunc(cmd.Commands(), isMeant)
		if i < 0 {
			return nil, command.Unknown(cmd, word)
		}
		cmd = cmd.Commands()[i]
	}
	return cmd, nil
}

// newBulk makes the group of commands about runs with --file.
func newBulk(s *session.Session) *cobra.Command {
	return command.Group(cobra.Command{
		Use:   "bulk",
		Short: "Show the progress of a run with --file, or undo it",
		Example: "  perksctl bulk status winners.csv\n" +
			"  perksctl bulk undo winners.csv --reason 'sent to the wrong list'",
	}, bulk.NewStatus(s), undo.New(s))
}

func newVersion(s *session.Session) *cobra.Command {
	return session.Command(s, output.View{ID: "version"}, cobra.Command{
		Use:     "version",
		Short:   "Show the version",
		Example: "  perksctl version\n  perksctl version --output json",
		Args:    command.NoArgs,
		// Replaces the root's, which prepares more than this command needs.
		PersistentPreRunE: func(*cobra.Command, []string) error { return s.Prepare() },
	}, func(cmd *cobra.Command, _ []string, printer *output.Printer[api.BuildInfo]) error {
		return printer.Text(cmd.Context(), api.Build().Line("perksctl")+"\n", api.Build())
	})
}
