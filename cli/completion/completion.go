// Package completion is the completion command, which prints the script of a shell, and the values that commands offer
// it while a line is typed, some of them from the service. A completion asks nothing, writes no messages, and offers
// only what it has in time.
package completion

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

// Attach adds the completions of the global flags to the root.
func Attach(root *cobra.Command, s *session.Session) {
	root.CompletionOptions.DisableDefaultCmd = true
	prepare := root.PersistentPreRunE
	root.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Name() == cobra.ShellCompRequestCmd {
			s.Streams, _, _ = command.BufferedStreams("")
			root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
			Flag(root, "output", Fixed(output.Formats()...))
			Flag(root, "fields", List(s.FieldsOf))
			Flag(root, "profile", Profiles(s))
			Flag(root, "confirm-profile", Profiles(s))
			completeFlags(root)
		}
		return prepare(cmd, args)
	}
}

// completeFlags removes the quotes from the help of all flags, and completes those for files to any file unless the
// command completes them itself.
func completeFlags(cmd *cobra.Command) {
	cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		var value string
		if value, flag.Usage = pflag.UnquoteUsage(flag); value == "file" {
			Flag(cmd, flag.Name, Files())
		}
	})
	for _, member := range cmd.Commands() {
		completeFlags(member)
	}
}

// Environment is the environment of a run with these arguments. A completion switches the keyring off, which might ask
// for its password: it uses the last token, or older values.
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

type script struct {
	Shell  string `json:"shell"`
	Script string `json:"script"`
}

// New makes the command.
func New(s *session.Session) *cobra.Command {
	return session.Command(s, output.View{ID: "shell"}, cobra.Command{
		Use:   "completion SHELL",
		Short: "Print the script that completes commands in a shell",
		Long: "Print the script that completes commands, flags and values in a shell: bash, zsh, fish or\n" +
			"powershell. The ids of perks, users, properties, categories and cities come from the service, if it\n" +
			"replies within " + defaultLimit.String() + "; " + EnvTimeout + " sets another limit.\n" +
			"The examples install it for new shells; bash needs the package bash-completion.",
		Example:   installation,
		Args:      command.Exactly("SHELL"),
		ValidArgs: shells,
	}, func(cmd *cobra.Command, args []string, printer *output.Printer[script]) error {
		return run(cmd, printer, args[0])
	})
}

func run(cmd *cobra.Command, printer *output.Printer[script], shell string) error {
	if !slices.Contains(shells, shell) {
		return command.Usagef("There is no completion for %q.%s The shells are %s.",
			shell, command.DidYouMean(shell, shells), strings.Join(shells, ", "))
	}
	text, err := generate(cmd.Root(), shell)
	if err != nil {
		return err
	}
	return printer.Text(cmd.Context(), text, script{shell, text})
}

// installation is how each shell loads its script from then on. The tests run these lines.
const installation = "  mkdir -p ~/.local/share/bash-completion/completions && " +
	"perksctl completion bash > ~/.local/share/bash-completion/completions/perksctl\n" +
	"  mkdir -p ~/.zfunc && perksctl completion zsh > ~/.zfunc/_perksctl && " +
	"echo 'fpath=(~/.zfunc $fpath); autoload -Uz compinit; compinit' >> ~/.zshrc\n" +
	`  mkdir -p ~/.config/fish/completions && perksctl completion fish > ~/.config/fish/completions/perksctl.fish
  perksctl completion powershell >> $PROFILE`

var shells = []string{"bash", "zsh", "fish", "powershell"}

// generate returns cobra's script for a shell, corrected.
func generate(root *cobra.Command, shell string) (string, error) {
	var text strings.Builder
	var err error
	var pairs []string // texts to replace, each followed by its replacement
	switch shell {
	case "bash":
		err = root.GenBashCompletionV2(&text, true)
		pairs = []string{bashDropsTitles, "", bashQuotesCommas, bashQuotesCommas + bashKeepsCommas}
	case "zsh":
		err = root.GenZshCompletion(&text)
		pairs = []string{zshDropsTitles, zshDropsTitles + zshKeepsTitles}
	case "fish":
		err = root.GenFishCompletion(&text, true)
		pairs = []string{fishSplitsFlags, "string split --max 1 -- \\t $"}
	case "powershell":
		err = root.GenPowerShellCompletionWithDesc(&text)
	}
	script := text.String()
	for pair := range slices.Chunk(pairs, 2) {
		if strings.Count(script, pair[0]) != 1 {
			return "", fmt.Errorf("cobra's script has changed: see what needs correcting where it had %q", pair[0])
		}
		script = strings.Replace(script, pair[0], pair[1], 1)
	}
	return script, err
}

// The corrections of cobra's scripts.
const (
	// A value that is found by a word of its title does not begin as typed.
	bashDropsTitles = `        # Only consider the completions that match
        [[ $comp == "$cur"* ]] || continue

`
	// Quoting the comma between the fields of a list, which means nothing to bash, would prevent completing the next
	// field.
	bashQuotesCommas = `            COMPREPLY[0]=$(printf "%q" "${COMPREPLY[0]}")
`
	bashKeepsCommas = `            COMPREPLY[0]=${COMPREPLY[0]//\\,/,}
`
	zshDropsTitles = `        __perksctl_debug "Calling _describe"
`
	// Without menu, zsh would replace the typed word by the common beginning of the values.
	zshKeepsTitles = `        local typed="${(Q)lastParam}" value
        local found=0
        [ -n "$flagPrefix" ] && typed="${typed#*=}"
        for value in "${completions[@]}"; do
            [[ "${value}" == "${typed//:/\\:}"* ]] && found=1
        done
        if [ $found -eq 0 ] && [ ${#completions} -ne 0 ]; then
            noSpace+=" -U"
            compstate[insert]=menu
        fi
`
	// It treats a value such as --sort=title as a flag of its own.
	fishSplitsFlags = `string split --max 1 \t $`
)
