// Package doctor is the command that finds out why perksctl does not work here: it looks at each thing between a command
// and the service in turn, and says of each what was found and what to do.
//
// It changes nothing, and what it writes can be shown to others: neither secrets nor tokens stand in it.
package doctor

import (
	"context"
	"fmt"
	"iter"

	"github.com/spf13/cobra"

	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

// New makes the command.
func New(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Find out what is wrong between here and the service",
		Long: "Check the configuration, the way to the service, its certificate, the clocks, the secret and what it allows, each for at\n" +
			"most 5 seconds. It changes nothing. The exit code is 0 if nothing failed, else that of the first failure: 2 the\n" +
			"configuration, 4 the credentials, 8 the service is not reached.",
		Example: "  perksctl doctor\n  perksctl doctor --profile staging --output json",
		Args:    command.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), newExamination(s)) },
	}
}

func run(ctx context.Context, x *examination) error {
	s := x.session
	printer, err := output.New[finding](s.Output, s.Streams, output.View{ID: "check"})
	if err != nil {
		return err
	}
	if s.Flags.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.Flags.Timeout)
		defer cancel()
	}
	var seen tally
	findings := seen.count(x.findings(ctx))
	if s.Output.IsTable() && len(s.Output.Fields) == 0 && s.Streams.OutTTY {
		err = tell(s.Streams, findings)
	} else {
		err = printer.List(ctx, findings)
	}
	if err != nil {
		return err
	}
	return seen.err()
}

// tally remembers the first failure among the findings that pass.
type tally struct {
	checks, failed int
	first          error
}

func (t *tally) count(findings iter.Seq2[finding, error]) iter.Seq2[finding, error] {
	return func(yield func(finding, error) bool) {
		for f, err := range findings {
			t.checks++
			if f.err != nil {
				t.failed++
			}
			if t.first == nil {
				t.first = f.err
			}
			if !yield(f, err) {
				return
			}
		}
	}
}

func (t *tally) err() error {
	if t.failed == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d checks failed. The first: %w", t.failed, t.checks, t.first)
}
