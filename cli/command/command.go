// Package command is what commands of both programs share: arguments, suggestions, the standard streams, progress,
// private files, errors, exit codes, and what libraries say in plainer words. It imports no code that talks HTTP.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/perks/api"
)

// aliases are what other programs call a member of a group.
var aliases = map[string][]string{"list": {"ls"}, "get": {"show", "view"}, "show": {"view"}, "delete": {"rm"}}

// Group makes a command that only holds others. Alone it shows its help.
func Group(group cobra.Command, members ...*cobra.Command) *cobra.Command {
	group.Args = cobra.ArbitraryArgs
	group.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return Unknown(cmd, args[0])
	}
	for _, member := range members {
		member.Aliases = append(member.Aliases, aliases[member.Name()]...)
	}
	group.AddCommand(members...)
	return &group
}

// NoArgs refuses arguments.
func NoArgs(cmd *cobra.Command, args []string) error { return Exactly()(cmd, args) }

// Exactly asks for these arguments, each named as in the usage line.
func Exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return Usagef("%s is missing. Usage: %s", names[len(args)], cmd.UseLine())
		case len(args) > len(names) && len(names) == 0:
			return Usagef("%s takes no argument, but got %q.%s", cmd.CommandPath(), args[0], forFlag(cmd, args[0]))
		case len(args) > len(names):
			return Usagef("%s takes %s and no more, but got %q.%s", cmd.CommandPath(), strings.Join(names, " "),
				args[len(names)], forFlag(cmd, args[len(names)]))
		}
		return nil
	}
}

// forFlag says how to give an argument to the flag that was probably meant: one that also works without a value, such
// as --watch.
func forFlag(cmd *cobra.Command, arg string) (hint string) {
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if flag.NoOptDefVal != "" && flag.Value.Type() != "bool" {
			hint = fmt.Sprintf(" If it is for --%s, write --%s=%s", flag.Name, flag.Name, Quote([]string{arg}))
		}
	})
	return hint
}

// AtLeastOne asks for one or more arguments of a kind.
func AtLeastOne(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error { return Exactly(name)(cmd, args[:min(1, len(args))]) }
}

// FlagError makes a usage error of cobra's, with a suggestion for a flag that does not exist. After a misspelt command
// every flag is unknown, so it names the command instead.
func FlagError(cmd *cobra.Command, err error) error {
	if word := cmd.Flags().Arg(0); word != "" && cmd.HasSubCommands() {
		return Unknown(cmd, word)
	}
	text := ExplainFlag(err).Error()
	if unknown := new(pflag.NotExistError); errors.As(err, &unknown) {
		text = cmd.CommandPath() + " has no flag " + strings.TrimPrefix(text, "there is no flag ")
	}
	meant := ClosestFlag(err, cmd.Flags())
	if meant != "" {
		meant = fmt.Sprintf(" Did you mean %s?", meant)
	}
	return Usagef("%s.%s Run %s --help for the flags.", text, meant, cmd.CommandPath())
}

// DidYouMean returns a sentence, after a space, that names the candidate closest to the word, or "" if none is close.
func DidYouMean(word string, candidates []string) string {
	if meant := api.Closest(word, candidates); meant != "" {
		return fmt.Sprintf(" Did you mean %q?", meant)
	}
	return ""
}

// CheckFlagValues refuses a flag as the value of the flag before it, whose own value was forgotten: a command meant as
// a dry run would run. --flag=--other is allowed.
func CheckFlagValues(cmd *cobra.Command, args []string) error {
	for i := 0; i+1 < len(args); i++ {
		flag := valueFlag(cmd, args[i])
		switch {
		case args[i] == "--":
			return nil
		case flag == nil:
			continue
		}
		i++
		name, _, _ := strings.Cut(args[i], "=")
		if name, isLong := strings.CutPrefix(name, "--"); isLong && name != "" && cmd.Flags().Lookup(name) != nil {
			return Usagef("--%s has no value: --%s follows. If that is the value, write --%s=%s", flag.Name, name,
				flag.Name, args[i])
		}
	}
	return nil
}

// valueFlag returns the flag whose value is the argument after this one, nil if there is none.
func valueFlag(cmd *cobra.Command, arg string) *pflag.Flag {
	var flag *pflag.Flag
	if name, isLong := strings.CutPrefix(arg, "--"); isLong {
		flag = cmd.Flags().Lookup(name)
	} else if len(arg) == 2 && arg[0] == '-' && arg[1] != '-' {
		flag = cmd.Flags().ShorthandLookup(arg[1:])
	}
	if flag == nil || flag.NoOptDefVal != "" {
		return nil
	}
	return flag
}

// ErrorOf names the one of several things that an error is about.
func ErrorOf(count int, thing string, err error) error {
	if count == 1 {
		return err
	}
	return fmt.Errorf("%s: %w", thing, err)
}

// Confirm asks before something is lost; only "y" and "yes" are consent. Without a terminal it refuses, unless yes.
func Confirm(ctx context.Context, s *Streams, yes bool, question string) error {
	if yes {
		return nil
	}
	if !s.CanAsk() {
		return Usagef("%s There is no terminal to ask on: add --yes.", question)
	}
	reply, err := s.Ask(ctx, question+" [y/N] ")
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if reply = strings.ToLower(strings.TrimSpace(reply)); reply != "y" && reply != "yes" {
		return Cancelled("Cancelled; nothing was changed.")
	}
	return nil
}

// OrFile allows --file, whose value file points to, instead of the arguments.
func OrFile(file *string, arguments cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if *file == "" {
			return arguments(cmd, args)
		}
		if len(args) > 0 {
			return Usagef("%q cannot be combined with --file: the rows name the records.", args[0])
		}
		return nil
	}
}

// NotWithFile refuses flags that are about one record where there is a file of them.
func NotWithFile(cmd *cobra.Command, file string, flags ...string) error {
	for _, flag := range flags {
		if file != "" && cmd.Flags().Changed(flag) {
			return Usagef("--%s is for one record; with --file, put it in the rows.", flag)
		}
	}
	return nil
}

// FileHelp is the help of --file, for every command that has it.
const FileHelp = "Commas, semicolons or tabs separate the cells of CSV, as in its header. " +
	`The names there may be in any case, with blanks
or hyphens for underscores. Each row's result is written as the row finishes, by default to FILE.results.jsonl. Run
the same command again to resume after any failure or interruption: it skips rows that are done, and first checks
those with an unknown outcome. --failed saves the failed rows as input for another run. Exit code 7 says that some
rows failed or are unknown, 8 that the server was not reached. bulk undo takes back what the run has done.

--job NAME gives the run files of its own, so that tonight's rows in a file of the same name are not taken for
yesterday's. To resume, give the same name and file; a name stands for one file, command and server.

--dry-run predicts the outcome of each row, without changing anything or writing results; --output json lists every
row. It cannot predict what others do meanwhile, whether earlier rows use up the stock, or whether you may change a
record.`

// Unknown says that a group has no such command, or that a command is not a group.
func Unknown(cmd *cobra.Command, word string) error {
	if !cmd.HasSubCommands() {
		return Usagef("%s has no subcommands, so there is no %q. Run %s --help.", cmd.CommandPath(), word,
			cmd.CommandPath())
	}
	var names []string
	for _, member := range cmd.Commands() {
		if member.IsAvailableCommand() {
			names = append(append(names, member.Name()), member.Aliases...)
		}
	}
	return Usagef("%q is not a command of %s.%s Run %s --help for the commands.", word, cmd.CommandPath(),
		DidYouMean(word, names), cmd.CommandPath())
}

// needsNoQuotes are the characters that mean nothing to a shell.
const needsNoQuotes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-"

// GivenFlags returns the command's own flags that were given, except some, as words of a command line: sorted, or as
// given if the command does not sort its flags.
func GivenFlags(cmd *cobra.Command, except ...string) []string {
	var words []string
	own := cmd.LocalNonPersistentFlags()
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if own.Lookup(flag.Name) == nil || slices.Contains(except, flag.Name) {
			return
		}
		values := []string{flag.Value.String()}
		if list, isList := flag.Value.(pflag.SliceValue); isList {
			values = list.GetSlice()
		}
		for _, value := range values {
			switch {
			case flag.Value.Type() != "bool":
				words = append(words, "--"+flag.Name, value)
			case value == "true":
				words = append(words, "--"+flag.Name)
			default:
				words = append(words, "--"+flag.Name+"="+value)
			}
		}
	})
	return words
}

// Quote writes a command line that a POSIX shell reads back as these words.
func Quote(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		if word == "" || strings.Trim(word, needsNoQuotes) != "" {
			word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		quoted[i] = word
	}
	return strings.Join(quoted, " ")
}

// IdempotencyKey is the flag --idempotency-key of a command.
type IdempotencyKey struct{ Value string }

// KeyFlag is the flag with an idempotency key.
const KeyFlag = "idempotency-key"

// Bind declares the flag.
func (k *IdempotencyKey) Bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&k.Value, KeyFlag, "", "retry an earlier request safely under its key (default a new UUID)")
}

// Take checks the key, or chooses a new one. It returns the flags of the command that run it again under the same key.
func (k *IdempotencyKey) Take(cmd *cobra.Command) (again []string, err error) {
	cmd.Flags().SortFlags = false // for GivenFlags; the help has sorted them before
	again = GivenFlags(cmd)
	if k.Value == "" && cmd.Flags().Changed(KeyFlag) {
		return nil, Usagef("--%s must not be empty. Leave it out for a new one.", KeyFlag)
	}
	if problem := api.IdempotencyKeyRule(k.Value); problem != "" {
		return nil, Usagef("--%s %s.", KeyFlag, problem)
	}
	if k.Value == "" {
		k.Value = uuid.NewString()
		again = append(again, "--"+KeyFlag, k.Value)
	}
	return again, nil
}

// IfMatchFlag is the flag with the ETag of the version that a change is for.
const IfMatchFlag = "if-match"

// IfMatchOf returns the ETag of --if-match with its quotes, "" without the flag. It refuses an empty one, which a
// script may pass after a failed lookup: the change would be unguarded.
func IfMatchOf(cmd *cobra.Command, tag string) (string, error) {
	if !cmd.Flags().Changed(IfMatchFlag) {
		return "", nil
	}
	if problem := EntityTagRule(tag); problem != "" {
		return "", Usagef("--%s %s.", IfMatchFlag, problem)
	}
	return EntityTag(tag), nil
}

// EntityTag restores the quotes of an ETag (RFC 9110, section 8.8.3) that a shell has removed.
func EntityTag(tag string) string {
	if tag == "" || tag == "*" || tag[0] == '"' || len(tag) > 2 && tag[:2] == "W/" {
		return tag
	}
	return `"` + tag + `"`
}

// EntityTagRule returns why a text is not an ETag, or "". Whoever gives an empty one meant to guard the change.
func EntityTagRule(tag string) string {
	switch {
	case tag == "":
		return "must not be empty; leave it out to accept any version"
	case strings.ContainsFunc(tag, func(r rune) bool { return r < ' ' || r > '~' }):
		return "must be printable ASCII"
	}
	return ""
}
