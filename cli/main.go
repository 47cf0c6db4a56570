package cli

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"example.com/perks/cli/exit"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
	"example.com/perks/cli/streams"
)

// version is set by the linker: -ldflags "-X example.com/perks/cli.version=1.2.3".
var version = "dev"

// Main runs perksctl with the arguments behind its name and returns the exit code. An interrupt or SIGTERM ends what is
// under way; a second one ends the process.
func Main(args []string, s *streams.Streams, env func(string) string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)

	run := session.New(s, env, version)
	root := NewRoot(run)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil {
		exit.Tell(s, err, run.Output.WantsJSON() || asksForJSON(args))
	}
	return exit.Code(err)
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
