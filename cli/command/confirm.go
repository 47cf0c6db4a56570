package command

import (
	"context"
)

// Confirm asks before something is lost. With yes it does not ask; where nobody can answer, it refuses.
func Confirm(ctx context.Context, s *Streams, yes bool, question string) error {
	if yes {
		return nil
	}
	if !s.CanAsk() {
		return Usagef("%s There is nobody to ask here: add --yes.", question)
	}
	agreed, err := s.Confirm(ctx, question)
	if err != nil {
		return err
	}
	if !agreed {
		return &Cancelled{Message: "Cancelled; nothing was changed."}
	}
	return nil
}
