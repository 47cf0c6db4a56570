// Package completion is what happens when a person presses TAB: the completion command, which prints the script that a shell
// loads, and the values that the script is offered while a line is typed, some of them from the service itself.
//
// It puts its functions onto the finished tree of commands, which knows nothing of it. A completion asks for nothing, tells
// nothing and waits for little: what cannot be had in time is not offered.
package completion

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"example.com/perks/api/display"
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
		RunE:      func(cmd *cobra.Command, args []string) error { return run(cmd.Context(), s, cmd.Root(), args[0]) },
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
	if s.Output.IsPlain() {
		_, err := s.Streams.Out.Write([]byte(text.String()))
		return err
	}
	return printer.One(ctx, script{shell, text.String()})
}

// installation is how each shell is taught for good. The lines are run by the tests as they stand.
const installation = `  mkdir -p ~/.local/share/bash-completion/completions && perksctl completion bash > ~/.local/share/bash-completion/completions/perksctl
  mkdir -p ~/.zfunc && perksctl completion zsh > ~/.zfunc/_perksctl && echo 'fpath=(~/.zfunc $fpath); autoload -Uz compinit; compinit' >> ~/.zshrc
  mkdir -p ~/.config/fish/completions && perksctl completion fish > ~/.config/fish/completions/perksctl.fish
  perksctl completion powershell >> $PROFILE`

func shells() []string { return []string{"bash", "zsh", "fish", "powershell"} }

// generator returns what writes the script of a shell, with descriptions, or nil for a shell that is not known.
func generator(root *cobra.Command, shell string) func(io.Writer) error {
	switch shell {
	case "bash":
		return corrected(func(w io.Writer) error { return root.GenBashCompletionV2(w, true) },
			bashDropsTitles, "",
			bashQuotesCommas, bashQuotesCommas+bashKeepsCommas)
	case "zsh":
		return corrected(root.GenZshCompletion, zshDropsTitles, zshDropsTitles+zshKeepsTitles)
	case "fish":
		return corrected(func(w io.Writer) error { return root.GenFishCompletion(w, true) }, fishSplitsFlags, "string split --max 1 -- \\t $")
	case "powershell":
		return root.GenPowerShellCompletionWithDesc
	}
	return nil
}

// What is corrected in cobra's scripts.
const (
	// A value that was found by a word of its title does not begin as typed.
	bashDropsTitles = `        # Only consider the completions that match
        [[ $comp == "$cur"* ]] || continue

`
	// The comma between the fields of a list means nothing to bash, and quoted it stands in the way of the next field.
	bashQuotesCommas = `            COMPREPLY[0]=$(printf "%q" "${COMPREPLY[0]}")
`
	bashKeepsCommas = `            COMPREPLY[0]=${COMPREPLY[0]//\\,/,}
`
	zshDropsTitles = `        __perksctl_debug "Calling _describe"
`
	// Without menu, zsh would take the typed word away for the beginning that the values have in common.
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
	// It takes a value such as --sort=title for a flag of its own.
	fishSplitsFlags = `string split --max 1 \t $`
)

// corrected replaces parts of a script, each followed by what comes in its place. A version of cobra that writes another
// script is noticed.
func corrected(generate func(io.Writer) error, parts ...string) func(io.Writer) error {
	return func(w io.Writer) error {
		var text strings.Builder
		if err := generate(&text); err != nil {
			return err
		}
		script := text.String()
		for pair := range slices.Chunk(parts, 2) {
			if strings.Count(script, pair[0]) != 1 {
				return fmt.Errorf("the script has changed: see what still has to be corrected in it, where it said %q", pair[0])
			}
			script = strings.Replace(script, pair[0], pair[1], 1)
		}
		_, err := io.WriteString(w, script)
		return err
	}
}

// longestDescription is more than any shell shows on a line.
const longestDescription = 120

// offer writes values as the shells' scripts read them. A value that a shell could take for more than a word is left out:
// bash puts the common beginning of several values onto the line as it is, and evaluates the line when TAB is pressed
// again, so that a city called $(reboot) would do what it says.
func offer(items []item) []string {
	var lines []string
	seen := map[string]bool{}
	for _, i := range items {
		if !seen[i.ID] && isInsertable(i.ID) {
			seen[i.ID] = true
			lines = append(lines, cobra.CompletionWithDesc(i.ID, i.Title))
		}
	}
	return lines
}

// isInsertable tells whether a value begins with a letter or digit and holds nothing else than those and some marks that
// mean nothing to any shell. An apostrophe means something, but does nothing.
func isInsertable(value string) bool {
	for i, r := range value {
		isWord := unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r)
		if !isWord && (i == 0 || !strings.ContainsRune(" -_.,:+@/'", r)) {
			return false
		}
	}
	return value != "" && value == strings.TrimSpace(value)
}

// describe makes a text of the service a description: one line of bounded length, with nothing in it that steers a
// terminal.
func describe(text string) string {
	text = strings.TrimSpace(display.Line(text))
	runes := 0
	for at := range text {
		if runes++; runes > longestDescription {
			return text[:at] + "…"
		}
	}
	return text
}

const (
	// fresh is how long an answer is given again without asking. Whoever presses TAB at every letter asks once.
	fresh = time.Minute
	// maxAnswers bounds the file.
	maxAnswers = 32
)

// cache is the answers that were given on one connection: to a client, at an address, live or in the sandbox.
type cache struct {
	path    string
	Answers map[string]answer `json:"answers"` // by their questions
}

// loadCache returns an empty cache if there is none that can be read.
func loadCache(s *session.Session, c session.Connection) *cache {
	kept := &cache{path: cachePath(s, c)}
	if text, err := command.ReadPrivate(kept.path); err != nil || json.Unmarshal(text, kept) != nil || kept.Answers == nil {
		kept.Answers = map[string]answer{}
	}
	return kept
}

// keep writes an answer down for later completions. That it cannot be written is nobody's trouble.
func (c *cache) keep(question string, a answer) {
	c.Answers[question] = a
	for len(c.Answers) > maxAnswers {
		oldest := slices.MinFunc(slices.Collect(maps.Keys(c.Answers)), func(a, b string) int { return c.Answers[a].At.Compare(c.Answers[b].At) })
		delete(c.Answers, oldest)
	}
	if text, err := json.Marshal(c); err == nil && c.path != "" {
		_ = command.WritePrivate(c.path, text)
	}
}

// cachePath is "" where there is no place to keep anything.
func cachePath(s *session.Session, c session.Connection) string {
	folder, err := s.Folder()
	if err != nil {
		return ""
	}
	key := []string{c.ProfileName, c.APIURL, c.ClientID, s.Env(session.EnvToken), strconv.FormatBool(c.Sandbox)}
	sum := sha256.Sum256([]byte(strings.Join(key, "\x00")))
	return filepath.Join(folder, "cache", "completion-"+hex.EncodeToString(sum[:16])+".json")
}
