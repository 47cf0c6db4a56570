package property

import (
	"strconv"
	"strings"

	"example.com/perks/api/client"
	"example.com/perks/cli/command"
	"example.com/perks/cli/exit"
	"example.com/perks/cli/session"
)

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
	return &exit.Advised{Err: err, Advice: strings.Join(advice, "\n")}
}
