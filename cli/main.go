package cli

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"example.com/perks/api/build"
	"example.com/perks/cli/command"
	"example.com/perks/cli/completion"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

// Main runs perksctl with the arguments behind its name and returns the exit code.
func Main(args []string, s *command.Streams, env func(string) string) int {
	run := session.New(s, completion.Environment(args, env), build.Read().Version)
	root := NewRoot(run)
	root.SetArgs(args)
	help := &command.Watched{To: s.Out}
	root.SetOut(help)
	refuseSwallowedFlags(root, args)
	stop := heedSignals(root)
	defer stop()
	err := root.ExecuteContext(context.Background())
	if err == nil {
		err = help.Err
	}
	err = run.Advise(command.ExplainFailure(err))
	if err != nil {
		command.TellError(s, err, run.Output.WantsJSON() || asksForJSON(args))
	}
	return command.ExitCode(err)
}

// heedSignals lets an interrupt or SIGTERM end what a command is doing; a second one ends the process. It begins when a
// command does, because listening costs a tenth of the start of the program, and version has nothing that could be ended.
func heedSignals(root *cobra.Command) (stop func()) {
	ignore := func() {}
	prepare := root.PersistentPreRunE
	root.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		ctx, cancel := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
		context.AfterFunc(ctx, cancel)
		ignore = cancel
		cmd.SetContext(ctx)
		return prepare(cmd, args)
	}
	return func() { ignore() }
}

// refuseSwallowedFlags refuses a flag whose value was forgotten, so that it took the next flag for it: a command that was to be
// a dry run would be carried out.
func refuseSwallowedFlags(root *cobra.Command, args []string) {
	prepare := root.PersistentPreRunE
	root.PersistentPreRunE = func(cmd *cobra.Command, rest []string) error {
		if err := command.Swallowed(cmd, args); err != nil {
			return err
		}
		return prepare(cmd, rest)
	}
}

// asksForJSON looks at the arguments themselves, because flags behind a wrong one are never parsed.
func asksForJSON(args []string) bool {
	for i, arg := range args {
		value, joined := strings.CutPrefix(arg, "--output=")
		if !joined {
			value, joined = strings.CutPrefix(arg, "-o")
			value = strings.TrimPrefix(value, "=")
		}
		if (arg == "-o" || arg == "--output") && i+1 < len(args) {
			value, joined = args[i+1], true
		}
		if joined && (value == output.JSON || value == output.JSONL) {
			return true
		}
	}
	return false
}
