package property

import (
	"strconv"

	"example.com/perks/api/client"
	"example.com/perks/cli/command"
	"example.com/perks/cli/exit"
	"example.com/perks/cli/session"
)

// settle adds to an unknown outcome how to find out. Updating or deleting again does no harm, but reading tells.
func settle(s *session.Session, id int64, err error) error {
	if !client.OutcomeUnknown(err) {
		return err
	}
	look := s.CommandLine("property", "get", strconv.FormatInt(id, 10))
	return &exit.Advised{Err: err, Advice: "See how it is now:\n  " + command.Quote(look)}
}
