package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"example.com/perks/api/client"
	"example.com/perks/cli/command"
)

// ConnectToChange is Connect for a command that is about to change something. It refuses a read-only profile, and asks
// about a protected one, before anything is sent and before --timeout begins. A client of Connect would do so with its
// first change.
func (s *Session) ConnectToChange(ctx context.Context) (*client.Client, Connection, error) {
	if err := s.MayChange(ctx); err != nil {
		return nil, Connection{}, err
	}
	return s.Connect()
}

// MayChange returns an error if the profile in use is read-only. If it is protected, it asks once whether live data may
// be changed.
func (s *Session) MayChange(ctx context.Context) error {
	connection, err := s.Connection()
	if err != nil {
		return err
	}
	return s.mayChange(ctx, connection)
}

func (s *Session) mayChange(ctx context.Context, c Connection) error {
	s.asking.Lock()
	defer s.asking.Unlock()
	name, confirmed := c.ProfileName, s.Flags.ConfirmProfile
	switch {
	case c.ReadOnly:
		const refusal = "Profile %[1]s is read-only, so nothing was sent. To change that: perksctl profile set %[1]s " +
			"--read-only=false"
		return command.ReadOnly(fmt.Sprintf(refusal, name))
	case !s.needsName(c):
		return nil
	case confirmed != "":
		return command.Usagef("--confirm-profile names %q, but the profile in use is %s.", confirmed, name)
	case !s.Streams.CanAsk():
		return command.Usagef("Profile %s is protected, and there is no terminal to ask on. To change live data "+
			"there, add --confirm-profile %s.", name, name)
	}
	reply, err := s.Streams.Ask(ctx,
		fmt.Sprintf("Profile %s is protected. To change live data at %s, type the profile's name: ", name, c.APIURL))
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return s.confirm(c, reply)
}

// NeedsName tells whether the profile's name has to be typed before live data may be changed.
func (s *Session) NeedsName(c Connection) bool {
	s.asking.Lock()
	defer s.asking.Unlock()
	return s.needsName(c)
}

func (s *Session) needsName(c Connection) bool {
	return c.Protected && !c.Sandbox && s.Flags.ConfirmProfile != c.ProfileName
}

// Confirm lets live data be changed for the rest of this run. It returns an error unless what was typed is the
// profile's name.
func (s *Session) Confirm(c Connection, typed string) error {
	s.asking.Lock()
	defer s.asking.Unlock()
	return s.confirm(c, typed)
}

func (s *Session) confirm(c Connection, typed string) error {
	if strings.TrimSpace(typed) != c.ProfileName {
		return command.Cancelled("That is not the profile's name. Cancelled; nothing was changed.")
	}
	s.Flags.ConfirmProfile = c.ProfileName
	return nil
}
