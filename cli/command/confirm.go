package command

import (
	"context"

	"example.com/perks/cli/exit"
	"example.com/perks/cli/streams"
)

// Confirm asks before something is lost. With yes it does not ask; where nobody can answer, it refuses.
func Confirm(ctx context.Context, s *streams.Streams, yes bool, question string) error {
	if yes {
		return nil
	}
	if !s.CanAsk() {
		return exit.Usagef("%s There is nobody to ask here: add --yes.", question)
	}
	agreed, err := s.Confirm(ctx, question)
	if err != nil {
		return err
	}
	if !agreed {
		return &exit.Cancelled{Message: "Cancelled; nothing was changed."}
	}
	return nil
}
