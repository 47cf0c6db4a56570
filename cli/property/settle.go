package property

import (
	"context"
	"strconv"
	"strings"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
)

// lookTime is how long the search for a lost answer may take. It is not part of --timeout, which may have ended already.
const lookTime = 5 * time.Second

// found reads the property after a change of which no answer told, and tells whether the change was made. Anything but a
// lost answer, and an interrupted command, is not looked into.
func found(ctx context.Context, s *session.Session, c *client.Client, id int64, lost error, made func(api.Property, error) bool) bool {
	if !client.OutcomeUnknown(lost) || ctx.Err() != nil {
		return false
	}
	property, _, err := c.Until(time.Now().Add(lookTime)).Property(ctx, id)
	if !made(property, err) {
		return false
	}
	s.Streams.Note("No answer told of it, but the change of %s was made.", name(id))
	return true
}

// isGone tells whether a property that was read is not there any more.
func isGone(_ api.Property, err error) bool { return client.Missing(err) }

// settle adds advice to a failure, and to an unknown outcome how to find out. Updating or deleting again does no harm, but
// reading tells.
func settle(s *session.Session, id int64, err error, advice ...string) error {
	if client.OutcomeUnknown(err) {
		look := s.CommandLine("property", "get", strconv.FormatInt(id, 10))
		advice = append(advice, "See how it is now:\n  "+command.Quote(look))
	}
	if len(advice) == 0 {
		return err
	}
	return &command.Advised{Err: err, Advice: strings.Join(advice, "\n")}
}
