package event

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"example.com/perks/api"
	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
)

// state is the file of --state. It is replaced after each delivery, before the next one begins.
type state struct {
	path string

	Service     string      `json:"service"`
	Sandbox     bool        `json:"sandbox"`
	Client      string      `json:"client"`
	After       string      `json:"after"`       // the position behind all events that were taken; "" at first
	Undelivered []api.Event `json:"undelivered"` // of these, those to deliver, oldest first
}

// openState locks the file, and reads it if it exists. It refuses one of another service or client, and one that
// another perksctl uses.
func openState(path string, connection session.Connection) (_ *state, unlock func(), err error) {
	unlock, err = command.TryLockFile(path)
	if err != nil {
		return nil, nil, command.FlagFile("state", err)
	}
	if unlock == nil {
		return nil, nil, command.Busy(fmt.Sprintf("Another perksctl is using %s. End it, or choose another file with "+
			"--state.", path))
	}
	release := unlock
	defer func() {
		if err != nil {
			release()
		}
	}()
	s := &state{path: path}
	now := state{Service: connection.APIURL, Sandbox: connection.Sandbox, Client: connection.ClientID}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		now.path = path
		return &now, unlock, nil
	}
	if err != nil {
		return nil, nil, command.FlagFile("state", err)
	}
	if json.Unmarshal(text, s) != nil || s.Service == "" || s.After == "" {
		return nil, nil, command.Usagef("--state: %s is not a state of perksctl. Choose another file.", path)
	}
	if s.name() != now.name() {
		return nil, nil, command.Usagef("--state: %s is about the events of %s, not of %s. Choose another file.", path,
			s.name(), now.name())
	}
	return s, unlock, nil
}

// name names whose events the state is about.
func (s *state) name() string {
	name := s.Service
	if s.Sandbox {
		name = "the sandbox of " + name
	}
	if s.Client != "" {
		name = fmt.Sprintf("client %q at %s", s.Client, name)
	}
	return name
}

func (s *state) save(after string, undelivered []api.Event) error {
	s.After, s.Undelivered = after, undelivered
	err := command.WritePrivateJSON(s.path, s)
	if err == nil {
		err = command.SyncDir(s.path)
	}
	if err != nil {
		return fmt.Errorf("the state cannot be saved: %w", err)
	}
	return nil
}
